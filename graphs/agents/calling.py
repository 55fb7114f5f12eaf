"""Calling tools for a model, alike for agents and tool nodes: each call is an entry of the task's journal.

The entries are the ledger of tool results: a call that finished is not run again while another of its batch waits for a
person, under `invoke` and `stream` alike and on every store (T11).
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import pairwise
from typing import Any

from graphs.agents.approvals import gate_schema, verdict_of
from graphs.agents.hooks import BeforeToolCallEvent
from graphs.agents.tools import LongRunningFunctionTool, Tool, as_tool
from graphs.engine import answers, asking, canonical, effects, events
from graphs.engine.answers import TaskEnded
from graphs.engine.context import Context
from graphs.engine.errors import DefinitionError
from graphs.engine.hooks import HookRegistry
from graphs.engine.interrupts import GraphInterrupt, Interrupt
from graphs.engine.messages import Message
from graphs.engine.ports import Json
from graphs.engine.scopes import Scope, ToolCallInfo
from graphs.engine.statuses import Outcome, TaskStatus
from graphs.engine.task import failure_of, text_of
from graphs.engine.together import all_ended, errors_of

_NO = frozenset({Outcome.REJECTED, Outcome.CANCELLED, Outcome.EXPIRED})
#: A model that proposes a call which people have rejected so often is stopped instead of asking for ever (E10).
MAX_REJECTIONS = 3


class Toolbox:
    """The tools that one agent or tool node (its `owner`) may call, and what stands before the calls.

    `approve` holds name patterns of tools that a person must agree to, beside those that require it themselves.
    """

    def __init__(
        self,
        owner: str,
        tools: Sequence[Any],
        approve: Sequence[str] = (),
        hooks: Sequence[Any] = (),
        max_rejections: int = MAX_REJECTIONS,
    ) -> None:
        self.owner = owner
        self.approve = tuple(approve)
        self.hooks = HookRegistry(tuple(hooks))
        self.max_rejections = max_rejections
        self.tools: dict[str, Tool] = {}
        for one in map(as_tool, tools):
            if self.tools.setdefault(one.name, one) is not one:
                raise DefinitionError(f"{owner!r} has two tools named {one.name!r}")

    def gates(self, tool_name: str) -> bool:
        """Whether a person must agree to all calls of this tool."""
        named = any(fnmatchcase(tool_name, pattern) for pattern in self.approve)
        tool = self.tools.get(tool_name)
        return named or (tool is not None and tool.require_confirmation is True)

    def schema_of(self, tool_name: str) -> dict[str, Any]:
        """What a reviewer of this tool's calls answers."""
        return gate_schema(self.tools[tool_name].schema)

    async def call(self, ctx: Context, turn: int, calls: Sequence[Mapping[str, Any]]) -> list[Json]:
        """The `toolResult` blocks of a batch of calls, all made at once, in their order.

        Those that finish are settled before a pause of another one ends the pass. A tool that raises, that does not
        exist or that is rejected is an error result (T13).
        """
        batch = [_Call(self, ctx, f"tool:{turn}.{index}", call) for index, call in enumerate(calls)]
        ended = await all_ended(one.run() for one in batch)
        _order(ctx, [f"{one.place}/" for one in batch])
        for error in sorted(errors_of(ended), key=lambda error: isinstance(error, GraphInterrupt)):
            raise error
        return [one.result() for one in ended]

    def stop_repeated(self, messages: Sequence[Message]) -> None:
        """End the task as rejected where a call of the last batch was rejected as often as the limit says (E10)."""
        rejected = [_spelled(call) for call in _rejected(_since_the_prompt(messages))]
        latest = [_spelled(call) for call in _rejected(messages[-2:])]
        for spelled in latest:
            if rejected.count(spelled) >= self.max_rejections:
                name = canonical.loads(spelled)[0]
                text = f"The same call of {name} was proposed {self.max_rejections} times, and rejected each time."
                raise TaskEnded(TaskStatus.REJECTED, text)


class _Call:
    """One call of one tool. `place` is its turn and index, so that the model's own call ids may repeat (T29)."""

    def __init__(self, box: Toolbox, ctx: Context, place: str, call: Mapping[str, Any]) -> None:
        self.box = box
        self.owner = box.owner or ctx.node_id
        self.ctx = ctx
        self.place = place
        self.call = call
        self.arguments: Mapping[str, Any] = call.get("input") or {}
        self.scope = self._scope()

    async def run(self) -> Json:
        """Its result block. Raises the pause of whatever it asks."""
        self._leave_waiting()
        tool = self.box.tools.get(self.call["name"])
        if tool is None:
            return self._result("error", f"There is no tool named {self.call['name']!r}.")
        if not self._settled():
            refused = await self._refused(tool)
            if refused is not None:
                return refused
        settled = await effects.settle(self.scope, "call", lambda: self._run(tool), tool.crash, 0)
        if isinstance(tool, LongRunningFunctionTool) and settled["status"] == "success":
            return self._given(self._wait(tool, settled))
        return self._result(settled["status"], settled["content"])

    def _leave_waiting(self) -> None:
        """Leave a call alone that waits for a person while only others of its batch were answered (G13)."""
        news = self.ctx.news
        own = [one for one in self.ctx.journal.record.interrupts if one.key.startswith(f"{self.place}/")]
        if news is None or any(one.id in news for one in own):
            return
        pauses = [self.ctx.pause(one) for one in own if one.status in answers.OPEN]
        if pauses:
            raise pauses[0]

    async def _refused(self, tool: Tool) -> Json:
        """The result of a call that a hook or a person keeps from running, else None; the arguments are then final."""
        before = await self._before(tool)
        if before["cancel"]:
            return self._result("error", before["cancel"], Outcome.CANCELLED)
        self.arguments = before["input"]
        self.scope = self._scope()
        if self.box.gates(tool.name) or before["confirm"]:
            verdict = verdict_of(self._gate(tool), self.arguments)
            if not verdict.approved:
                return self._result("error", verdict.message, verdict.outcome)
            self.arguments = verdict.arguments
        return None

    def _scope(self) -> Scope:
        details = {"agent": self.owner, "tool": self.call["name"], "arguments": self.arguments}
        return Scope(self.ctx, f"{self.place}/", call=ToolCallInfo(self.call["toolUseId"], details))

    def _settled(self) -> bool:
        found = self.ctx.journal.effect(f"{self.place}/call", 0)
        return found is not None and found.state == "done"

    # Before the call

    async def _before(self, tool: Tool) -> dict[str, Any]:
        """What hooks and rules make of the call, settled once: a re-fire evaluates neither again (E23)."""
        hooks = self._hooks()
        if not hooks.wants(BeforeToolCallEvent) and not callable(tool.require_confirmation):
            return {"input": self.arguments, "cancel": "", "confirm": False}
        settled: dict[str, Any] = await effects.settle(
            self.scope, "before", lambda: self._prepare(tool, hooks), ordinal=0, harmless=True
        )
        return settled

    def _hooks(self) -> HookRegistry:
        around: HookRegistry | None = getattr(self.ctx.services, "hooks", None)
        return self.box.hooks if around is None else self.box.hooks.followed_by(around)

    async def _prepare(self, tool: Tool, hooks: HookRegistry) -> Json:
        use = {"toolUseId": self.call["toolUseId"], "name": tool.name, "input": canonical.copy(dict(self.arguments))}
        event = BeforeToolCallEvent(use, self.box, self.ctx)
        event.scope = Scope(self.ctx, f"{self.place}/{event.kind}/", call=self.scope.call)
        text = await self._cancelled(hooks, event)
        given = canonical.encode(event.tool_use["input"], f"{tool.name}/input")
        return {"input": given, "cancel": text, "confirm": not text and await self._must_confirm(tool, given)}

    async def _cancelled(self, hooks: HookRegistry, event: BeforeToolCallEvent) -> str:
        """Why the hooks, or a person whom they asked, cancel the call; empty where they let it through."""
        default = f"The call of {event.tool_use['name']} was cancelled."
        try:
            await hooks.fire(event, self.ctx)
        except TaskEnded as ended:
            return ended.text or default
        return event.cancel_tool if isinstance(event.cancel_tool, str) else default if event.cancel_tool else ""

    async def _must_confirm(self, tool: Tool, arguments: Mapping[str, Any]) -> bool:
        rule = tool.require_confirmation
        if not callable(rule):
            return False
        try:
            bound = tool.bind(arguments)
        except ValueError:
            return False  # the call itself tells the model what does not fit
        wanted = inspect.signature(rule).parameters
        takes_all = any(one.kind is one.VAR_KEYWORD for one in wanted.values())
        said = rule(**{name: value for name, value in bound.items() if takes_all or name in wanted})
        return bool(await said if inspect.isawaitable(said) else said)

    def _gate(self, tool: Tool) -> Interrupt:
        draft = asking.build(
            self.scope,
            "tool",
            f"{self.owner} wants to call {tool.name}",
            payload={"tool": tool.name, "arguments": self.arguments},
            schema=gate_schema(tool.schema),
            reason="tool_approval",
            kind="tool_approval",
            name=tool.name,
        )
        return self.ctx.pose(draft, f"{self.scope.prefix}approve", 0)

    # The call

    async def _run(self, tool: Tool) -> Json:
        told = {"tool": tool.name, "tool_call_id": self.call["toolUseId"]}
        self.ctx.services.tell(events.TOOL_START, self.ctx, **told, arguments=dict(self.arguments))
        ended = await self._ended(tool)
        # Kept with the result: a later question about this call must show the same in every pass.
        ended["arguments"] = dict(self.arguments)
        self.ctx.services.tell(events.TOOL_END, self.ctx, **told, result=ended["status"])
        return ended

    async def _ended(self, tool: Tool) -> dict[str, Json]:
        try:
            bound = tool.bind(self.arguments)
            if tool.is_async:
                result = await tool.fn(**bound)
            else:
                result = await self.ctx.services.pool.run(lambda: tool.fn(**bound))
                result = await result if inspect.isawaitable(result) else result
            return {"status": "success", "content": canonical.encode(result, tool.name)}
        except GraphInterrupt as pause:
            if pause.interrupt.id in self.ctx.raised:
                raise
            return {"status": "success", "content": self._deferred(pause.interrupt)}
        except (asyncio.CancelledError, SystemExit) as error:
            return _failed(failure_of(error, f"tool {tool.name!r}"))
        except Exception as error:
            if self.ctx.fault is not None or self.ctx.store_error is not None:
                raise
            return _failed(error)

    def _deferred(self, raised: Interrupt) -> Json:
        """A tool that raised a pause itself has nobody to hand the answer to: the answer is the tool's result."""
        draft = asking.adopted(self.scope, raised)
        return answers.delivered(self.ctx.pose(draft, f"{self.scope.prefix}raised", 0))

    # A tool whose result a person gives

    def _wait(self, tool: LongRunningFunctionTool, settled: Mapping[str, Json]) -> Interrupt:
        self.arguments = settled["arguments"]
        self.scope = self._scope()
        shown = {"tool": tool.name, "arguments": self.arguments}
        if settled["content"] is not None:
            shown["provisional"] = settled["content"]
        draft = asking.build(
            self.scope,
            "tool",
            f"{self.owner} waits for the result of {tool.name}",
            payload=shown,
            schema=tool.response_schema,
            reason="long_running_tool",
            kind="long_running_tool",
            name=tool.name,
        )
        return self.ctx.pose(draft, f"{self.scope.prefix}wait", 0)

    def _given(self, question: Interrupt) -> Json:
        decision = question.decision
        assert decision is not None
        if decision.outcome in _NO:
            return self._result("error", decision.comment or f"The call was {decision.outcome}.", decision.outcome)
        return self._result("success", answers.delivered(question))

    def _result(self, status: str, content: Json, outcome: Outcome | None = None) -> Json:
        """A result block. `outcome` is there where a person or a hook kept the tool from running: no failure of it."""
        block = {"text": content} if isinstance(content, str) else {"json": content}
        result: dict[str, Json] = {"toolUseId": self.call["toolUseId"], "status": status, "content": [block]}
        return {"toolResult": {**result, "outcome": str(outcome)} if outcome is not None else result}


def _failed(error: Exception) -> dict[str, Json]:
    return {"status": "error", "content": f"{type(error).__name__}: {text_of(error)}"}


def _order(ctx: Context, places: Sequence[str]) -> None:
    """Have the questions of a batch open in the order of its calls, not in that in which threads came to ask (Z27)."""
    at = {place: index for index, place in enumerate(places)}
    raised = sorted(ctx.raised.items(), key=lambda one: at.get(one[1].key.partition("/")[0] + "/", -1))
    ctx.raised.clear()
    ctx.raised.update(raised)


def _since_the_prompt(messages: Sequence[Message]) -> Sequence[Message]:
    """What was said since a person last said something."""
    plain = [index for index, one in enumerate(messages) if one.role == "user" and not one.tool_results]
    return messages[plain[-1] :] if plain else messages


def _rejected(messages: Sequence[Message]) -> list[Mapping[str, Any]]:
    """The rejected calls of these messages: each paired with its result by call id, within its own turn."""
    found: list[Mapping[str, Any]] = []
    for asked, told in pairwise(messages):
        no = {one["toolUseId"] for one in told.tool_results if one.get("outcome") == Outcome.REJECTED}
        found += [call for call in asked.tool_calls if call["toolUseId"] in no]
    return found


def _spelled(call: Mapping[str, Any]) -> bytes:
    return canonical.dumps([call["name"], call.get("input")])
