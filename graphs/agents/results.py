"""What agents and teams give back when they are called."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from graphs.engine.interrupts import Interrupt
from graphs.engine.messages import Message
from graphs.engine.statuses import ThreadStatus


class Status(StrEnum):
    """How a node or a whole team stands."""

    PENDING = "pending"
    EXECUTING = "executing"
    COMPLETED = "completed"
    FAILED = "failed"
    INTERRUPTED = "interrupted"
    CANCELLED = "cancelled"
    REJECTED = "rejected"

    @classmethod
    def of(cls, status: ThreadStatus) -> Status:
        """The status of a team whose thread has this one."""
        return _STATUSES.get(status, cls.EXECUTING)


_STATUSES: dict[ThreadStatus, Status] = {
    ThreadStatus.COMPLETED: Status.COMPLETED,
    ThreadStatus.FAILED: Status.FAILED,
    ThreadStatus.QUARANTINED: Status.FAILED,
    ThreadStatus.INTERRUPTED: Status.INTERRUPTED,
    ThreadStatus.CANCELLED: Status.CANCELLED,
    ThreadStatus.REJECTED: Status.REJECTED,
}


@dataclass(frozen=True, slots=True)
class AgentResult:
    """How one call of an agent ended (H41).

    `stop_reason` is `end_turn`, `interrupt` (then `interrupts` holds the open questions), `max_turns`, `max_tokens`,
    `rejected` or `cancelled`. `message` is the newest message of the agent, plain JSON. `state` is `agent.state`.
    `structured_output` is there where the agent has an output schema.
    """

    stop_reason: str
    message: dict[str, Any] = field(default_factory=dict)
    interrupts: tuple[Interrupt, ...] = ()
    state: Mapping[str, Any] = field(default_factory=dict)
    usage: Mapping[str, int] = field(default_factory=dict)
    structured_output: Any = None
    thread_id: str = ""
    error: Mapping[str, Any] | None = None

    def __str__(self) -> str:
        return Message(self.message).text() if self.message else ""


@dataclass(frozen=True, slots=True)
class NodeResult:
    """How one node of a team ended, and in how many seconds."""

    result: AgentResult | MultiAgentResult
    status: Status
    execution_time: float = 0.0


@dataclass(frozen=True, slots=True)
class MultiAgentResult:
    """How a team stands: its nodes' results by name, in which order they ran, and the questions that are open."""

    status: Status
    results: Mapping[str, NodeResult] = field(default_factory=dict)
    interrupts: tuple[Interrupt, ...] = ()
    execution_order: tuple[str, ...] = ()
    output: Any = None
    error: Mapping[str, Any] | None = None
    thread_id: str = ""

    def __str__(self) -> str:
        return self.output if isinstance(self.output, str) else ""
