"""One tool call of a model, alike for agents and tool nodes: an entry of the task's journal.

The entries are the ledger of tool results: a call that finished is not run again while another of its batch waits for a
person, under `invoke` and `stream` alike and on every store (T11).
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from graphs.agents import trust
from graphs.agents.approvals import gate_schema, verdict_of
from graphs.agents.asked_hooks import NO, asked_before, cancelled_by
from graphs.agents.hooks import AfterToolCallEvent, AfterToolsEvent, BeforeToolCallEvent
from graphs.agents.state import settled as settled_state
from graphs.agents.tool_context import ToolContext
from graphs.agents.toolbox import Toolbox
from graphs.agents.tools import LongRunningFunctionTool, Tool
from graphs.engine import answers, asking, canonical, effects, events
from graphs.engine.answers import TaskEnded
from graphs.engine.context import Context
from graphs.engine.hooks import HookRegistry
from graphs.engine.interrupts import GraphInterrupt, Interrupt
from graphs.engine.messages import tool_result
from graphs.engine.ports import Json
from graphs.engine.scopes import Scope, ToolCallInfo
from graphs.engine.statuses import Outcome
from graphs.engine.task import failure_of, is_authors, text_of
from graphs.engine.trust import GATE, Grant


def hooks_of(box: Toolbox, ctx: Context) -> HookRegistry:
    """The hooks of the agent, followed by those of the run."""
    around: HookRegistry | None = getattr(ctx.services, "hooks", None)
    return box.hooks if around is None else box.hooks.followed_by(around)


class Call:
    """One call. `place` is its turn and index, so that the model's own call ids may repeat (T29).

    `agent` is the agent as it runs, None for a tool node. `fresh` says that its result came about in this pass.
    """

    def __init__(self, box: Toolbox, ctx: Context, place: str, call: Mapping[str, Any], agent: Any = None) -> None:
        self.box = box
        self.owner = box.owner or ctx.node_id
        self.ctx = ctx
        self.place = place
        self.call = call
        self.agent = agent if agent is not None else box
        self.hooks = hooks_of(box, ctx)
        self.arguments: Mapping[str, Any] = call.get("input") or {}
        self.scope = self._scope()
        self.fresh = False
        self._grant: Grant | None = None
        self._exception: BaseException | None = None

    async def run(self) -> Json:
        """Its result block. Raises the pause of whatever it asks."""
        self._leave_waiting()
        # What the journal holds of a call stands, also where its tool has gone from the list since.
        tool = self.box.tools.get(self.call["name"])
        if not self._settled():
            refused = await self._kept(tool)
            if refused is not None:
                return await self._close(*refused)
        mode = effects.AT_MOST_ONCE if tool is None else tool.crash
        settled = await self._settle("call", lambda: self._run(tool), mode, harmless=False)
        if not isinstance(settled, dict) or "status" not in settled:
            # A person said that an effect in doubt had happened, and what it had given.
            settled = {"status": "success", "content": settled, "arguments": dict(self.arguments)}
        question = self._wait(tool, settled) if settled["status"] == "success" else None
        if question is not None:
            return await self._close(self._given(question))
        outcome = Outcome(settled["outcome"]) if "outcome" in settled else None
        return await self._close(self._result(settled["status"], settled["content"], outcome))

    async def cancelled(self, text: str) -> Json:
        """Its result where the whole batch was cancelled: nothing of it is asked or run."""
        return await self._close(self._result("error", text, Outcome.CANCELLED), text)

    def _leave_waiting(self) -> None:
        """Leave a call alone that waits for a person while only others of its batch were answered (G13)."""
        news = self.ctx.news
        own = asked_before(self.ctx, f"{self.place}/")
        if news is None or any(one.id in news for one in own):
            return
        pauses = [self.ctx.pause(one) for one in own if one.status in answers.OPEN]
        if pauses:
            raise pauses[0]

    async def _kept(self, tool: Tool | None) -> tuple[Json, str | None] | None:
        """The result of a call that is not made, and who says so; else None."""
        if tool is None:
            return self._gone()
        if self.call.get("broken"):
            return self._result("error", broken_text(tool.name, self.call["broken"])), None
        return await self._refused(tool)

    def _gone(self) -> tuple[Json, str | None] | None:
        """The same where there is no such tool, or none any more; None where the call may have been made all the same:
        then a person is asked, as ever."""
        before = self.ctx.journal.effect(f"{self.place}/before", 0)
        if before is not None and before.value["cancel"]:
            return self._result("error", before.value["cancel"], Outcome.CANCELLED), before.value["cancel"]
        self.arguments = before.value["input"] if before is not None else self.arguments
        self.scope = self._scope()
        gate = self.ctx.journal.question(self._gate_place, 0)
        verdict = verdict_of(gate, self.arguments) if gate is not None and gate.decision is not None else None
        if verdict is not None and not verdict.approved:
            return self._result("error", verdict.message, verdict.outcome), verdict.message
        place = f"{self.place}/call"
        if self.ctx.journal.effect(place, 0) or self.ctx.journal.inherited(place, 0):
            return None
        text = unknown_text(self.call["name"])
        if asked_before(self.ctx, f"{place}.0/"):
            text += " There was one, which this call had begun with: how far it came is not known."
        return self._result("error", text), None

    async def _refused(self, tool: Tool) -> tuple[Json, str | None] | None:
        """The result of a call that a hook or a person keeps from running, and why; else None, and the arguments are
        then final."""
        before = await self._before(tool)
        if before["cancel"]:
            return self._result("error", before["cancel"], Outcome.CANCELLED), before["cancel"]
        self.arguments = before["input"]
        self.scope = self._scope()
        # A question that was asked once holds, also where the rule behind it is gone by now.
        asked = self.ctx.journal.question(self._gate_place, 0) is not None
        if not asked and not self.box.gates(tool.name) and not before["confirm"]:
            return None
        self._grant = await trust.covering(self, self._gate_place)
        if self._grant is not None:
            return None
        verdict = verdict_of(self._gate(tool), self.arguments)
        if not verdict.approved:
            return self._result("error", verdict.message, verdict.outcome), verdict.message
        self.arguments = verdict.arguments
        return None

    @property
    def _gate_place(self) -> str:
        return f"{self.place}/approve"

    def _scope(self) -> Scope:
        details = {"agent": self.owner, "tool": self.call["name"], "arguments": self.arguments}
        return Scope(self.ctx, f"{self.place}/", call=ToolCallInfo(self.call["toolUseId"], details))

    def _settled(self) -> bool:
        found = self.ctx.journal.effect(f"{self.place}/call", 0)
        return found is not None and found.state == "done"

    async def _settle(
        self,
        key: str,
        work: Callable[[], Awaitable[dict[str, Json]]],
        mode: str = effects.IDEMPOTENT,
        *,
        harmless: bool = True,
    ) -> Any:
        values = getattr(self.agent, "state", None)
        return await settled_state(values, self.scope, key, work, mode, harmless=harmless)

    # Before the call

    async def _before(self, tool: Tool) -> dict[str, Any]:
        """What hooks and rules make of the call, settled once: a re-fire evaluates neither again (E23)."""
        prefix = f"{self.place}/{BeforeToolCallEvent.kind}/"
        rules = callable(tool.require_confirmation) or self.box.predicates
        if not self.hooks.wants(BeforeToolCallEvent) and not rules and not asked_before(self.ctx, prefix):
            return {"input": self.arguments, "cancel": "", "confirm": False}
        settled: dict[str, Any] = await self._settle("before", lambda: self._prepare(tool, prefix))
        return settled

    async def _prepare(self, tool: Tool, prefix: str) -> dict[str, Json]:
        use = {"toolUseId": self.call["toolUseId"], "name": tool.name, "input": canonical.copy(dict(self.arguments))}
        event = BeforeToolCallEvent(use, self.agent, self.ctx, False, tool, self.ctx.context)
        event.scope = Scope(self.ctx, prefix, call=self.scope.call)
        default = f"The call of {tool.name} was cancelled."
        text = await cancelled_by(self.hooks, event, self.ctx, lambda: event.cancel_tool, default)
        given = canonical.encode(event.tool_use["input"], f"{tool.name}/input")
        confirm = not text and await self.box.must_confirm(tool, given, self.agent)
        return {"input": given, "cancel": text, "confirm": confirm}

    def _gate(self, tool: Tool) -> Interrupt:
        draft = asking.build(
            self.scope,
            "tool",
            f"{self.owner} wants to call {tool.name}",
            payload={"tool": tool.name, "arguments": self.arguments},
            schema=gate_schema(tool.schema),
            reason=GATE,
            kind=GATE,
            name=tool.name,
        )
        return self.ctx.pose(draft, self._gate_place, 0)

    # The call

    async def _run(self, tool: Tool | None) -> Json:
        if tool is None:
            return {"status": "error", "content": unknown_text(self.call["name"]), "arguments": dict(self.arguments)}
        told = {"tool": tool.name, "tool_call_id": self.call["toolUseId"]}
        self.ctx.services.tell(events.TOOL_START, self.ctx, **told, arguments=dict(self.arguments))
        ended = await self._ended(tool)
        # Kept with the result: a later question about this call must show the same in every pass.
        ended["arguments"] = dict(self.arguments)
        if self._grant is not None:
            ended["trust"] = {"id": self._grant.id, "by": self._grant.granted_by, "scope": self._grant.scope}
        self.ctx.services.tell(events.TOOL_END, self.ctx, **told, result=ended["status"])
        return ended

    async def _ended(self, tool: Tool) -> dict[str, Json]:
        try:
            return {"status": "success", "content": canonical.encode(await self._answered(tool), tool.name)}
        except GraphInterrupt:
            raise
        except TaskEnded as ended:
            text = ended.text or f"The call of {tool.name} was {ended.status}."
            return {"status": "error", "content": text, "outcome": str(ended.status)}
        except (asyncio.CancelledError, SystemExit) as error:
            return self._failed(failure_of(error, f"tool {tool.name!r}"))
        except Exception as error:
            if self.ctx.fault is not None or self.ctx.store_error is not None:
                raise
            return self._failed(error)
        except BaseException as error:
            if self.ctx.fault is not None or self.ctx.store_error is not None or not is_authors(error):
                raise
            return self._failed(failure_of(error, f"tool {tool.name!r}"))

    async def _answered(self, tool: Tool) -> Any:
        try:
            return await self._called(tool)
        except GraphInterrupt as pause:
            if pause.interrupt.id in self.ctx.raised:
                raise
            return self._deferred(pause.interrupt)

    async def _called(self, tool: Tool) -> Any:
        limit = tool.timeout if tool.timeout is not None else self.box.timeout
        deadline = asyncio.timeout(limit)
        try:
            async with deadline:
                use = {"toolUseId": self.call["toolUseId"], "name": tool.name, "input": dict(self.arguments)}
                bound = tool.bind(self.arguments, ToolContext(use, self.agent, self.ctx.context, self.ctx))
                if tool.is_async:
                    return await tool.fn(**bound)
                result = await self.ctx.services.pool.run(lambda: tool.fn(**bound))
                return await result if inspect.isawaitable(result) else result
        except TimeoutError:
            if not deadline.expired():
                raise
            raise TimeoutError(f"{tool.name} took longer than {limit} s and was given up") from None

    def _failed(self, error: Exception) -> dict[str, Json]:
        self._exception = error
        return {"status": "error", "content": f"{type(error).__name__}: {text_of(error)}"}

    def _deferred(self, raised: Interrupt) -> Json:
        """A tool that raised a pause itself has nobody to hand the answer to: the answer is the tool's result."""
        draft = asking.adopted(self.scope, raised)
        return answers.delivered(self.ctx.pose(draft, f"{self.scope.prefix}raised", 0))

    # A tool whose result a person gives

    def _wait(self, tool: Tool | None, settled: Mapping[str, Json]) -> Interrupt | None:
        """The decided question for the result of such a tool, None for another one. Raises the pause."""
        if not isinstance(tool, LongRunningFunctionTool):
            known = self.ctx.journal.question(f"{self.place}/wait", 0)
            if known is not None and known.decision is None:
                raise self.ctx.pause(known)
            return known
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
        if decision.outcome in NO:
            return self._result("error", decision.comment or f"The call was {decision.outcome}.", decision.outcome)
        return self._result("success", answers.delivered(question))

    # After the call

    async def _close(self, result: dict[str, Json], cancelled: str | None = None) -> Json:
        """The result block, after the hooks have seen it: once for each result, also where a crash lies between."""
        if not self.hooks.wants(AfterToolCallEvent) and not self.hooks.wants(AfterToolsEvent):
            return {"toolResult": result}
        settled = await self._settle("after", lambda: self._tell_after(result, cancelled))
        return {"toolResult": settled["result"]}

    async def _tell_after(self, result: dict[str, Json], cancelled: str | None) -> dict[str, Json]:
        self.fresh = True
        event = AfterToolCallEvent(dict(self.call), self.agent, canonical.copy(result), cancelled, self._exception)
        event.scope = Scope(self.ctx, f"{self.place}/{event.kind}/", call=self.scope.call)
        await self.hooks.fire(event, self.ctx)
        return {"result": canonical.encode(event.result, "result")}

    def _result(self, status: str, content: Json, outcome: Outcome | None = None) -> dict[str, Json]:
        """A result. `outcome` is there where a person or a hook kept the tool from running: no failure of it."""
        result = tool_result(self.call["toolUseId"], status, content)
        return {**result, "outcome": str(outcome)} if outcome is not None else result


def broken_text(name: str, given: str) -> str:
    """What the model is told of a call with arguments that could not be read."""
    return f"The arguments of {name} were no JSON object, so it was not called: {given:.200}"


def unknown_text(name: str) -> str:
    """What the model is told of a call of a tool that there is not."""
    return f"There is no tool named {name!r}."
