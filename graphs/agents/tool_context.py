"""What a tool may know of the call it runs for, and how it asks a person."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from graphs.engine import answers, asking
from graphs.engine.context import Context
from graphs.engine.scopes import current_scope


@dataclass(frozen=True, slots=True)
class ToolContext:
    """The call (`tool_use` with its `name`, `input` and `toolUseId`), the agent that makes it, what the run's caller
    gave beside the input (`invocation_state`), and the task it belongs to (`context`, with its idempotency key)."""

    tool_use: Mapping[str, Any] = field(default_factory=dict)
    agent: Any = None
    invocation_state: Mapping[str, Any] = field(default_factory=dict)
    context: Context | None = None

    def interrupt(self, name: str, reason: Any = None, response: Any = None) -> Any:
        """Ask a person under `name` and return the answer; `response`, where given, answers at once (H08, H38).

        The tool is run again from its start when it is answered. Raises the pause, `PayloadError` where the reason is
        not JSON, and RuntimeError where the tool was called directly: nobody could answer there (H26).
        """
        scope = current_scope("tool_context.interrupt")
        if response is not None:
            return response
        message = reason if isinstance(reason, str) and reason else name
        draft = asking.build(scope, "tool", message, reason=reason, name=name, interrupt_id=name)
        return answers.delivered(asking.pose(scope, draft, name))
