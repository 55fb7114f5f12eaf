"""What a question is, what its decision is, and the pause that carries it out of a node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from graphs.engine.errors import PayloadError
from graphs.engine.statuses import InterruptStatus, Outcome


@dataclass(frozen=True, slots=True)
class Decision:
    """The verdict that closed a question (Z22).

    `value` is the reviewer's JSON value, `comment` what they wrote beside it, `reviewer` their name, `decided_at` an
    aware UTC time. `digest` is the question's digest that the reviewer saw.
    """

    outcome: Outcome
    value: Any = None
    comment: str = ""
    reviewer: str = ""
    decided_at: datetime | None = None
    digest: str = ""

    @property
    def approved(self) -> bool:
        """True where the reviewer agreed, by the button or by answering."""
        return self.outcome in (Outcome.APPROVED, Outcome.ANSWERED)


@dataclass(frozen=True, slots=True)
class Interrupt:
    """One open question, constructible as `Interrupt(node_id=..., question=...)` (seed 000) and carrying what every
    way of asking reads from it.

    `id` is the global UUID (text); `key` and `ordinal` name its place in its task's journal; `path` and `visit` name
    the task; `revision` counts other questions asked at the same place; `style` is the way of asking, which decides
    what the node receives (`ask`, `request_human_input`, `interrupt`, `request_input`, `hook`, `tool`, `structural`,
    `effect`).
    """

    node_id: str = ""
    question: str = ""
    kind: str = "generic"
    metadata: Mapping[str, Any] = field(default_factory=dict)
    id: str = ""
    interrupt_id: str = ""
    graph_path: tuple[str, ...] = ()
    path: str = ""
    visit: int = 1
    key: str = ""
    ordinal: int = 0
    revision: int = 0
    style: str = "request_human_input"
    value: Any = None
    reason: Any = "input_required"
    name: str = ""
    response_schema: Mapping[str, Any] | bool | None = None
    default: Any = None
    has_default: bool = False
    queue: str = ""
    tool_call_id: str | None = None
    expires_at: datetime | None = None
    digest: str = ""
    version: int = 1
    status: InterruptStatus = InterruptStatus.OPEN
    decision: Decision | None = None

    @property
    def message(self) -> str:
        """The question under its other name (seed 001)."""
        return self.question

    @property
    def payload(self) -> Any:
        """The value under its other name (seed 002)."""
        return self.value


@dataclass(frozen=True, slots=True)
class GraphResume:
    """A caller's answers by interrupt id, or by node id where one question of it is open (G04, G06). Raises
    `PayloadError` for what is no mapping by text."""

    replies: Mapping[str, Any] = field(default_factory=dict)
    rejected: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, given in (("replies", self.replies), ("rejected", self.rejected)):
            if not isinstance(given, Mapping) or not all(isinstance(id, str) for id in given):
                raise PayloadError(f"a mapping from ids, which are text, not {given!r:.100}", name)


class GraphInterrupt(BaseException):
    """A pause on its way out of a node; a BaseException, so that `except Exception` lets it through (T08, Z28)."""

    def __init__(self, interrupt: Interrupt) -> None:
        super().__init__(interrupt.question)
        self.interrupt = interrupt


#: The name that seed 000 uses; one class, so that catching either means the same.
InterruptException = GraphInterrupt
