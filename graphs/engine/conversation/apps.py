"""An application: a root to run, and whether its threads resume from checkpoints or are rebuilt from their log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from graphs.engine.conversation.content import REQUEST_INPUT, Content, FunctionCall, Part
from graphs.engine.errors import DefinitionError
from graphs.engine.graph import CompiledGraph
from graphs.engine.interrupts import Interrupt
from graphs.engine.ports import Json
from graphs.engine.workflow import compiled


@dataclass(frozen=True, slots=True)
class ResumabilityConfig:
    """`is_resumable`: go on from the last checkpoint and tell each step in `event.actions.agent_state`; else the thread
    is rebuilt from its log first. Both come to the same state (W32)."""

    is_resumable: bool = False


@dataclass(frozen=True, slots=True)
class App:
    """What a module exports as `app`: a workflow, graph or agent under a name. Raises `DefinitionError`."""

    name: str
    root_agent: Any
    resumability_config: ResumabilityConfig | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise DefinitionError(f"App(name={self.name!r}): a name is text")
        compiled(self.root_agent)

    @property
    def graph(self) -> CompiledGraph:
        """The graph of its root."""
        return compiled(self.root_agent)

    @property
    def is_resumable(self) -> bool:
        """Whether threads go on from their checkpoints."""
        return self.resumability_config is not None and self.resumability_config.is_resumable


@dataclass(frozen=True, slots=True)
class EventActions:
    """What an event tells beside its content: in a resumable app where every node stands, and the mark of the end.

    `agent_state` is `{"nodes": {path: {"status": running|waiting|completed|failed, "interrupts": [ids]}}}` (W33).
    """

    agent_state: Mapping[str, Json] | None = None
    end_of_agent: bool = False


@dataclass(frozen=True, slots=True)
class RunEvent:
    """One event of `Runner.run_async`: a node's output, a question as a function call, or how the run ended.

    `invocation_id` is the thread's id; `node_path` is empty for what the whole run says; `partial` marks streamed
    pieces; `error_code` and `error_message` say why a run ended otherwise than completed.
    """

    author: str
    invocation_id: str
    content: Content | None = None
    actions: EventActions = field(default_factory=EventActions)
    output: Json = None
    node_path: str = ""
    partial: bool = False
    final: bool = False
    long_running_tool_ids: frozenset[str] = frozenset()
    error_code: str = ""
    error_message: str = ""

    def is_final_response(self) -> bool:
        """Whether this is what the run came to."""
        return self.final

    def get_function_calls(self) -> list[FunctionCall]:
        """The calls that wait for a response: questions."""
        parts = self.content.parts if self.content is not None else ()
        return [one.function_call for one in parts if one.function_call is not None]


def call_id(question: Interrupt) -> str:
    """The id that a question goes by in function calls: that of its `RequestInput`, else its own."""
    return question.interrupt_id if question.style == "request_input" else question.id


def call_of(question: Interrupt) -> Content:
    """A question as the function call that clients answer (W46)."""
    args = {"interrupt_id": call_id(question), "message": question.message, "payload": question.payload}
    args["response_schema"] = question.response_schema
    return Content("model", [Part(function_call=FunctionCall(call_id(question), REQUEST_INPUT, args))])
