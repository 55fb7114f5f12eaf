"""Hook events around what an agent does; they are registered like those around nodes (`graphs.engine.hooks`).

In all of them `agent` is the agent as it runs (`graphs.agents.run.AgentRun`): its name, its messages so far, and its
state, whose changes are kept with the thread. Only those before a tool call and before a batch may ask (H42).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from graphs.engine.context import Context
from graphs.engine.hooks import HookEvent


@dataclass(slots=True)
class BeforeInvocationEvent(HookEvent):
    """Before each pass through the agent's loop: its first one, and each one that an answer begins."""

    kind: ClassVar[str] = "before_invocation"

    agent: Any = None


@dataclass(slots=True)
class AfterInvocationEvent(HookEvent):
    """After each pass, however it ended. `result` is the agent's output; None where the pass paused or failed."""

    kind: ClassVar[str] = "after_invocation"

    agent: Any = None
    result: Any = None


@dataclass(slots=True)
class MessageAddedEvent(HookEvent):
    """After a message was added to the conversation: the prompt, a reply of the model, or the results of its calls."""

    kind: ClassVar[str] = "message_added"

    agent: Any = None
    message: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class BeforeModelCallEvent(HookEvent):
    """Before the model is really called; a reply that the journal holds calls nobody."""

    kind: ClassVar[str] = "before_model"

    agent: Any = None


@dataclass(slots=True)
class AfterModelCallEvent(HookEvent):
    """After the model has replied with the message `stop_response`, or failed with `exception`."""

    kind: ClassVar[str] = "after_model"

    agent: Any = None
    stop_response: Mapping[str, Any] | None = None
    exception: BaseException | None = None


@dataclass(slots=True)
class BeforeToolsEvent(HookEvent):
    """Before all tool calls of one reply, `message`, and before any hook of a single one. Settled once.

    `cancel` (True or a text) keeps every tool of the batch from running; the model sees the text for each (H05, H06).
    """

    kind: ClassVar[str] = "before_tools"
    asks: ClassVar[bool] = True

    agent: Any = None
    message: Mapping[str, Any] = field(default_factory=dict)
    cancel: bool | str = False

    @property
    def cancelled(self) -> bool:
        """Whether a callback has cancelled the batch."""
        return bool(self.cancel)


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
    selected_tool: Any = None
    invocation_state: Mapping[str, Any] = field(default_factory=dict)

    @property
    def cancelled(self) -> bool:
        """Whether a callback has cancelled the call."""
        return bool(self.cancel_tool)


@dataclass(slots=True)
class AfterToolCallEvent(HookEvent):
    """After one tool call ended, or was kept from running: then `cancel_message` says why (H16).

    `result` is what the `toolResult` block holds; a new one is what the model sees. `exception` is what a tool raised.
    """

    kind: ClassVar[str] = "after_tool"

    tool_use: dict[str, Any] = field(default_factory=dict)
    agent: Any = None
    result: dict[str, Any] = field(default_factory=dict)
    cancel_message: str | None = None
    exception: BaseException | None = None


@dataclass(slots=True)
class AfterToolsEvent(HookEvent):
    """After the calls of a reply that could end in this pass; `message` has their results and no earlier ones (H15)."""

    kind: ClassVar[str] = "after_tools"

    agent: Any = None
    message: Mapping[str, Any] = field(default_factory=dict)
