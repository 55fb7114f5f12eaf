"""An agent: a node whose loop (model, tools, model …) goes through the journal, so that a pause repeats nothing."""

from __future__ import annotations

import copy
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from functools import cached_property
from typing import Any

from graphs.agents.agent_tool import AgentTool, DirectCalls
from graphs.agents.given_up import left_over
from graphs.agents.models import Model
from graphs.agents.named import resolve
from graphs.agents.outcomes import agent_result, conversation, state_of
from graphs.agents.results import AgentResult
from graphs.agents.run import AgentRun, holds_conversation, prompt_of
from graphs.agents.sessions import AgentInput, Session, SessionManager
from graphs.agents.state import AgentValues
from graphs.agents.structured import NAME as FINAL_ANSWER
from graphs.agents.structured import OutputSchema
from graphs.agents.telling import Listener, heard, told_to
from graphs.agents.toolbox import CONCURRENT, MAX_REJECTIONS, Rule, Toolbox
from graphs.agents.tools import Tool
from graphs.engine.blocking import blocking
from graphs.engine.context import Context
from graphs.engine.errors import DefinitionError
from graphs.engine.messages import Message
from graphs.engine.ports import Json, TaskRecord
from graphs.engine.results import GraphRunResult
from graphs.engine.state import Channel, StateView
from graphs.engine.workflow import compiled


class Agent:
    """A model with tools. `approve` holds name patterns, or functions of a tool's name and arguments, for the calls
    that a person must agree to.

    `model` is a model, the name of one, or None (`graphs.agents.named`); `hooks` are hook providers. As a node its
    output is the text of the model's last reply, or what fits `output_schema`. Bounds: `max_turns` and `max_tokens` of
    one activation, `tool_timeout` in seconds of each tool call that names none, `max_rejections` how often the very
    same call may be proposed and rejected before the run ends as rejected (E10), `window` how many messages the model
    is shown. `execution` is `concurrent` or `sequential` (H19). `queue` is the team that its questions go to where
    they name none themselves; without it that of the graph it works in.

    It is called with a prompt, or with responses to what it asked, and keeps its conversation then: in memory for as
    long as the object lives, or where `session_manager` says. In a thread that keeps `messages` (one that `invoke`
    began) what it says and does is appended to them, and an input of messages is the whole conversation so far (T31).
    """

    node_kind = "agent"
    rerun_on_resume = True
    #: What pages call it where it is registered; its name where this is empty.
    title = ""

    def __init__(
        self,
        name: str = "agent",
        model: Model | str | None = None,
        system_prompt: str | None = None,
        tools: Sequence[Any] = (),
        approve: Sequence[Rule] = (),
        max_turns: int = 20,
        *,
        hooks: Sequence[Any] = (),
        session_manager: SessionManager | None = None,
        callback_handler: Listener | None = None,
        description: str = "",
        execution: str = CONCURRENT,
        max_tokens: int | None = None,
        tool_timeout: float | None = None,
        window: int | None = None,
        output_schema: Any = None,
        state: Mapping[str, Any] | None = None,
        max_rejections: int = MAX_REJECTIONS,
        queue: str = "",
    ) -> None:
        if not isinstance(name, str) or not name:
            raise DefinitionError(f"an agent's name is text that is not empty, not {name!r:.100}")
        self.name = name
        self.model = resolve(model)
        self.system_prompt = system_prompt or ""
        self.description = description
        self.queue = queue
        self.toolbox = Toolbox(
            name,
            tools,
            approve,
            hooks,
            max_rejections,
            execution,
            tool_timeout,
            "" if output_schema is None else FINAL_ANSWER,
        )
        self.max_turns = max_turns
        self.max_tokens = max_tokens
        self.window = window
        self.output_schema = None if output_schema is None else OutputSchema(output_schema)
        self.initial_state = AgentValues(state).get()
        self.callback_handler = callback_handler
        #: The state channel in which the agent finds and keeps its conversation over turns; empty where a graph has it.
        self.remembers = ""
        self._session_manager = session_manager

    # As a node

    async def run_node(self, ctx: Context, value: Any) -> Json:
        """Run the loop from its start; what the journal holds is not done again."""
        return await self.running(ctx).run(value)

    def running(self, ctx: Context) -> AgentRun:
        """One execution of it in a task, whose questions are then those of the agent's queue."""
        ctx.queue = self.queue or ctx.queue
        return AgentRun(self, ctx)

    def given_up(self, state: StateView, value: Any, record: TaskRecord, how: str) -> Mapping[str, Json]:
        """What its channels are written with where its task was given up: what was said and done is not forgotten."""
        opening = [] if holds_conversation(value, state) else [prompt_of(value)]
        return left_over(self, state, opening, record, how)

    def by_itself(self, channel: str = "messages") -> tuple[Agent, dict[str, Channel]]:
        """The same agent as one that keeps its conversation in a state channel, and the channels it then needs."""
        alone = copy.copy(self)
        alone.remembers = channel
        return alone, {channel: Channel("messages", [])}

    def with_tools(self, more: Sequence[Any]) -> Agent:
        """The same agent with more tools, as one of its own: a team gives its members what they need there."""
        other = copy.copy(self)
        other.toolbox = self.toolbox.with_tools(more)
        return other

    @property
    def tools(self) -> Mapping[str, Tool]:
        """Its tools by name; those of sources that were not opened yet are missing."""
        return self.toolbox.tools

    @property
    def specs(self) -> list[dict[str, Any]]:
        """What its model is told of its tools."""
        own = [one.spec for one in self.tools.values()]
        return own if self.output_schema is None else [*own, self.output_schema.spec]

    def gates(self, tool_name: str) -> bool:
        """Whether a person must agree to calls of this tool."""
        return self.toolbox.gates(tool_name)

    def as_tool(self, *, name: str = "", description: str = "") -> Tool:
        """The agent as a tool of another one: it is run with a text, and asks through whoever called it (H35)."""
        return AgentTool(self, name or self.name, description or self.description or f"Ask the agent {self.name}.")

    # Called by itself

    def __call__(self, given: AgentInput = None, **invocation_state: Any) -> AgentResult:
        """`invoke_async` for code without an event loop."""
        return blocking(self.invoke_async(given, **invocation_state))

    async def invoke_async(self, given: AgentInput = None, **invocation_state: Any) -> AgentResult:
        """Bring a prompt, or responses to what it asked, and return how far that led.

        Raises `ThreadBusy`, `AnswerMismatch`, `AnswerInvalid` and `InputMismatch` where nothing was done, `AgentFailed`
        where the model or a hook failed: `retry()` then goes on where it did.
        """
        with told_to(self.callback_handler) as emit:
            result = await self.session.send(given, invocation_state=invocation_state, emit=emit)
        return await self._result(result)

    async def stream_async(self, given: AgentInput = None, **invocation_state: Any) -> AsyncIterator[Mapping[str, Any]]:
        """The same, told as it goes on: `{"data": text}` for pieces of replies, `{"current_tool_use": …}` and
        `{"tool_result": …}` for calls, and at the end `{"result": AgentResult}`."""
        async with aclosing(heard(self.session, given, invocation_state, self._result)) as things:
            async for _, told in things:
                yield told

    async def retry_async(self) -> AgentResult:
        """Go on where a call of this agent failed or was cut off, with its answers and finished tool calls."""
        return await self._result(await self.session.retry())

    def retry(self) -> AgentResult:
        """`retry_async` for code without an event loop."""
        return blocking(self.retry_async())

    async def _result(self, result: GraphRunResult) -> AgentResult:
        return await agent_result(self, self.session, result)

    @cached_property
    def session(self) -> Session:
        """The conversation that it is called in."""
        return Session(compiled(self), self._session_manager)

    @property
    def messages(self) -> list[Message]:
        """What was said in its conversation so far, with what the turn under way has added."""
        return conversation(self, blocking(self.session.snapshot()))

    @property
    def state(self) -> AgentValues:
        """A copy of what its conversation holds beside its messages; hooks and tools change it on `event.agent`.
        Changing the copy raises RuntimeError: no call would know of it."""
        return AgentValues(state_of(self, blocking(self.session.snapshot())), copied=True)

    @property
    def tool(self) -> DirectCalls:
        """Its tools, to be called directly: `agent.tool.look(path="a")`. Nothing can be asked there (H26)."""
        return DirectCalls(self)


class LlmAgent(Agent):
    """An `Agent` under the names that seed 002 uses: `LlmAgent(name=, model=, instruction=, tools=)`."""

    def __init__(
        self,
        name: str,
        model: Model | str | None = None,
        instruction: str = "",
        tools: Sequence[Any] = (),
        **options: Any,
    ) -> None:
        super().__init__(name, model, instruction, tools, **options)
