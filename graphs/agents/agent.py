"""An agent: a node whose loop (model, tools, model …) goes through the journal, so that a pause repeats nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from graphs.agents.approvals import gate_schema, verdict_of
from graphs.agents.models import Message, Model, ModelReply
from graphs.agents.tools import Tool, as_tool
from graphs.engine import answers, asking, canonical, effects
from graphs.engine.context import Context, Scope, ToolCallInfo
from graphs.engine.errors import DefinitionError, SaysoError
from graphs.engine.interrupts import GraphInterrupt, Interrupt
from graphs.engine.ports import Json


class TooManyTurns(SaysoError):
    """The model asked for tools more often than the agent allows."""


class Agent:
    """A model with tools. `approve` holds name patterns of tools that a person must agree to before each call.

    As a node its output is the text of the model's last reply. `max_turns` bounds the model calls of one execution.
    """

    node_kind = "agent"
    rerun_on_resume = True

    def __init__(
        self,
        name: str,
        model: Model,
        system_prompt: str = "",
        tools: Sequence[Any] = (),
        approve: Sequence[str] = (),
        max_turns: int = 20,
    ) -> None:
        self.name = name
        self.model = model
        self.system_prompt = system_prompt
        self.tools: dict[str, Tool] = {}
        self.approve = tuple(approve)
        self.max_turns = max_turns
        for one in map(as_tool, tools):
            if self.tools.setdefault(one.name, one) is not one:
                raise DefinitionError(f"agent {name!r} has two tools named {one.name!r}")

    async def run_node(self, ctx: Context, value: Any) -> Json:
        """Run the loop from its start; what the journal holds is not done again."""
        return await _Conversation(self, ctx).run(value)

    def gates(self, tool_name: str) -> bool:
        """Whether a person must agree to calls of this tool."""
        return any(fnmatchcase(tool_name, pattern) for pattern in self.approve)


class _Conversation:
    """One execution of an agent."""

    def __init__(self, agent: Agent, ctx: Context) -> None:
        self.agent = agent
        self.ctx = ctx
        self.messages: list[Message] = []

    async def run(self, value: Any) -> Json:
        self.messages.append({"role": "user", "content": [{"text": _prompt(value)}]})
        for turn in range(self.agent.max_turns):
            message = await self._ask_model(turn)
            self.messages.append(message)
            calls = [block["toolUse"] for block in message["content"] if "toolUse" in block]
            if not calls:
                return "".join(block.get("text", "") for block in message["content"])
            results = await self._call_tools(turn, calls)
            self.messages.append({"role": "user", "content": results})
        raise TooManyTurns(f"agent {self.agent.name!r} called its model {self.agent.max_turns} times without an end")

    async def _ask_model(self, turn: int) -> Message:
        settled = await effects.settle(self.ctx.scope, "model", self._complete, ordinal=turn)
        self.ctx.spend(**settled["usage"])
        message: Message = settled["message"]
        return message

    async def _complete(self) -> Json:
        agent = self.agent
        reply = await agent.model.complete(
            canonical.copy(self.messages), [one.spec for one in agent.tools.values()], agent.system_prompt
        )
        return {"message": _assistant(reply), "usage": dict(reply.usage)}

    async def _call_tools(self, turn: int, calls: Sequence[Mapping[str, Any]]) -> list[Json]:
        """All calls of a batch at once. Those that finish are settled before a pause of another one ends the pass."""
        running = [asyncio.create_task(self._call_tool(turn, index, call)) for index, call in enumerate(calls)]
        try:
            await asyncio.wait(running)
        except asyncio.CancelledError:
            for one in running:
                one.cancel()
            raise
        errors = [error for one in running if (error := one.exception()) is not None]
        for error in sorted(errors, key=lambda error: isinstance(error, GraphInterrupt)):
            raise error
        return [one.result() for one in running]

    async def _call_tool(self, turn: int, index: int, call: Mapping[str, Any]) -> Json:
        tool = self.agent.tools.get(call["name"])
        if tool is None:
            return _result(call, "error", f"There is no tool named {call['name']!r}.")
        place = f"tool:{turn}.{index}"
        details = {"agent": self.agent.name, "tool": tool.name, "arguments": call["input"]}
        scope = Scope(self.ctx, f"{place}/", call=ToolCallInfo(call["toolUseId"], details))
        arguments = call["input"]
        settled_before = self.ctx.journal.effect(f"{place}/call", 0)
        if self.agent.gates(tool.name) and (settled_before is None or settled_before.state != "done"):
            verdict = verdict_of(self._gate(scope, tool, call), arguments)
            if not verdict.approved:
                return _result(call, "error", verdict.message)
            arguments = verdict.arguments
        settled = await effects.settle(scope, "call", lambda: self._run(scope, tool, arguments), tool.crash, 0)
        return _result(call, settled["status"], settled["content"])

    def _gate(self, scope: Scope, tool: Tool, call: Mapping[str, Any]) -> Interrupt:
        draft = asking.build(
            scope,
            "tool",
            f"{self.agent.name} wants to call {tool.name}",
            payload={"tool": tool.name, "arguments": call["input"]},
            schema=gate_schema(tool.schema),
            reason="tool_approval",
            kind="tool_approval",
            name=tool.name,
        )
        return self.ctx.pose(draft, f"{scope.prefix}approve", 0)

    async def _run(self, scope: Scope, tool: Tool, arguments: Mapping[str, Any]) -> Json:
        try:
            bound = tool.bind(arguments)
            if tool.is_async:
                result = await tool.fn(**bound)
            else:
                result = await self.ctx.services.pool.run(lambda: tool.fn(**bound))
            return {"status": "success", "content": canonical.encode(result, tool.name)}
        except GraphInterrupt as pause:
            if pause.interrupt.id in self.ctx.raised:
                raise
            return {"status": "success", "content": self._deferred(scope, pause.interrupt)}
        except Exception as error:
            if self.ctx.fault is not None or self.ctx.store_error is not None:
                raise
            return {"status": "error", "content": f"{type(error).__name__}: {error}"}

    def _deferred(self, scope: Scope, raised: Interrupt) -> Json:
        """A tool that raised a pause itself has nobody to hand the answer to: the answer is the tool's result."""
        draft = asking.build(
            scope,
            raised.style,
            raised.question,
            payload=raised.value,
            schema=raised.response_schema,
            reason=raised.reason,
            kind=raised.kind,
            metadata=raised.metadata,
        )
        return answers.delivered(self.ctx.pose(draft, f"{scope.prefix}raised", 0))


def _prompt(value: Any) -> str:
    return value if isinstance(value, str) else canonical.dumps(value).decode()


def _assistant(reply: ModelReply) -> Message:
    blocks: list[Json] = [{"text": reply.text}] if reply.text else []
    for index, call in enumerate(reply.tool_calls):
        id = call.id or f"call-{index}"
        blocks.append(
            {"toolUse": {"toolUseId": id, "name": call.name, "input": canonical.encode(dict(call.input), "input")}}
        )
    return {"role": "assistant", "content": blocks}


def _result(call: Mapping[str, Any], status: str, content: Json) -> Json:
    block = {"text": content} if isinstance(content, str) else {"json": content}
    return {"toolResult": {"toolUseId": call["toolUseId"], "status": status, "content": [block]}}
