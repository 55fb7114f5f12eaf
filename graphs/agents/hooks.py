"""Hook events around what an agent does; they are registered like those around nodes (`graphs.engine.hooks`)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from graphs.engine.context import Context
from graphs.engine.hooks import HookEvent


@dataclass(slots=True)
class BeforeToolCallEvent(HookEvent):
    """Before one tool call, and before anybody is asked about it. What the callbacks decide is settled once.

    `tool_use` has the call's `name`, `input` and `toolUseId`; a new `input` is what the reviewer sees and what runs
    (E12). `cancel_tool` (True or a text) keeps the tool from running; the model sees the text.
    """

    kind: ClassVar[str] = "before_tool"
    asks: ClassVar[bool] = True

    tool_use: dict[str, Any] = field(default_factory=dict)
    agent: Any = None
    context: Context | None = None
    cancel_tool: bool | str = False

    @property
    def cancelled(self) -> bool:
        """Whether a callback has cancelled the call."""
        return bool(self.cancel_tool)
