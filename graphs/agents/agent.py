"""An agent: a node whose loop (model, tools, model …) goes through the journal, so that a pause repeats nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from graphs.agents.calling import MAX_REJECTIONS, Toolbox
from graphs.agents.models import Model, ModelReply
from graphs.agents.named import resolve
from graphs.agents.tools import Tool
from graphs.engine import canonical, effects, messages
from graphs.engine.context import Context
from graphs.engine.counters import counted
from graphs.engine.errors import SaysoError
from graphs.engine.messages import Message
from graphs.engine.ports import Json


class TooManyTurns(SaysoError):
    """The model asked for tools more often than the agent allows."""


class Agent:
    """A model with tools. `approve` holds name patterns of tools that a person must agree to before each call.

    `model` is a model, the name of one, or None (`graphs.agents.named`); `hooks` are hook providers. As a node its
    output is the text of the model's last reply. `max_turns` bounds the model calls of one execution,
    `max_rejections` how often the very same call may be proposed and rejected before the run ends as rejected (E10).

    In a thread that keeps `messages` (one that `invoke` began) what it says and does is appended to them, and an input
    of messages is the whole conversation so far (T31).
    """

    node_kind = "agent"
    rerun_on_resume = True

    def __init__(
        self,
        name: str,
        model: Model | str | None = None,
        system_prompt: str = "",
        tools: Sequence[Any] = (),
        approve: Sequence[str] = (),
        max_turns: int = 20,
        *,
        hooks: Sequence[Any] = (),
        max_rejections: int = MAX_REJECTIONS,
    ) -> None:
        self.name = name
        self.model = resolve(model)
        self.system_prompt = system_prompt
        self.toolbox = Toolbox(name, tools, approve, hooks, max_rejections)
        self.max_turns = max_turns

    @property
    def tools(self) -> Mapping[str, Tool]:
        """Its tools by name."""
        return self.toolbox.tools

    async def run_node(self, ctx: Context, value: Any) -> Json:
        """Run the loop from its start; what the journal holds is not done again."""
        return await _Conversation(self, ctx).run(value)

    def gates(self, tool_name: str) -> bool:
        """Whether a person must agree to calls of this tool."""
        return self.toolbox.gates(tool_name)


class LlmAgent(Agent):
    """An `Agent` under the names that seed 002 uses: `LlmAgent(name=, model=, instruction=, tools=)`."""

    def __init__(
        self,
        name: str,
        model: Model | str | None = None,
        instruction: str = "",
        tools: Sequence[Any] = (),
        *,
        description: str = "",
        **options: Any,
    ) -> None:
        super().__init__(name, model, instruction, tools, **options)
        self.description = description


class _Conversation:
    """One execution of an agent."""

    def __init__(self, agent: Agent, ctx: Context) -> None:
        self.agent = agent
        self.ctx = ctx
        self.messages: list[Message] = []

    async def run(self, value: Any) -> Json:
        self.messages = self._opening(value)
        known = len(self.messages)
        for turn in range(self.agent.max_turns):
            message = await self._ask_model(turn)
            self.messages.append(message)
            if not message.tool_calls:
                self._keep(known)
                return "".join(block.get("text", "") for block in message.content)
            results = await self.agent.toolbox.call(self.ctx, turn, message.tool_calls)
            self.messages.append(Message.tool_result_message(results))
            self.agent.toolbox.stop_repeated(self.messages)
        raise TooManyTurns(f"agent {self.agent.name!r} called its model {self.agent.max_turns} times without an end")

    def _opening(self, value: Any) -> list[Message]:
        if isinstance(value, Mapping) and "messages" in value and "messages" in self.ctx.state:
            return messages.read(self.ctx.state["messages"])
        return [Message.text_message(value if isinstance(value, str) else canonical.dumps(value).decode())]

    def _keep(self, known: int) -> None:
        if "messages" in self.ctx.state:
            self.ctx.state["messages"] = self.messages[known:]

    async def _ask_model(self, turn: int) -> Message:
        settled = await effects.settle(self.ctx.scope, "model", self._complete, ordinal=turn, harmless=True)
        self.ctx.spend(**settled["usage"])
        return Message(settled["message"])

    async def _complete(self) -> Json:
        agent = self.agent
        said = [Message(one) for one in canonical.copy(self.messages)]
        reply = await agent.model.complete(said, [one.spec for one in agent.tools.values()], agent.system_prompt)
        if not isinstance(reply, ModelReply):
            raise TypeError(f"the model of agent {agent.name!r} gave {reply!r:.100}, which is no ModelReply")
        return {"message": _assistant(reply), "usage": counted(reply.usage)}


def _assistant(reply: ModelReply) -> Message:
    calls = [
        {"toolUseId": one.id or f"call-{index}", "name": one.name, "input": canonical.encode(dict(one.input), "input")}
        for index, one in enumerate(reply.tool_calls)
    ]
    return Message.tool_call_message(*calls, text=reply.text)
