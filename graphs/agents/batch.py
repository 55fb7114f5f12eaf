"""The tool calls of one reply: the hooks around them all, and the order and time in which they run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from graphs.agents.asked_hooks import asked_before, cancelled_by
from graphs.agents.calling import Call, hooks_of
from graphs.agents.hooks import AfterToolsEvent, BeforeToolsEvent
from graphs.agents.state import settled
from graphs.agents.toolbox import SEQUENTIAL, Toolbox
from graphs.engine import canonical
from graphs.engine.answers import TaskEnded
from graphs.engine.context import Context
from graphs.engine.interrupts import GraphInterrupt
from graphs.engine.messages import Message, answered_calls, since_prompt
from graphs.engine.ports import Json
from graphs.engine.scopes import Scope
from graphs.engine.statuses import Outcome, TaskStatus
from graphs.engine.together import all_ended, errors_of


class Batch:
    """The calls of `message`, the reply of turn `turn`. `agent` is the agent as it runs, None for a tool node."""

    def __init__(self, box: Toolbox, ctx: Context, turn: int, message: Message, agent: Any = None) -> None:
        self.box = box
        self.ctx = ctx
        self.message = message
        self.agent = agent if agent is not None else box
        self.hooks = hooks_of(box, ctx)
        self.place = f"batch:{turn}"
        self.scope = Scope(ctx, f"{self.place}/")
        self.calls = [
            Call(box, ctx, f"tool:{turn}.{index}", call, agent) for index, call in enumerate(message.tool_calls)
        ]
        self._ended: list[tuple[Call, Json]] = []

    async def run(self) -> list[Json]:
        """The `toolResult` blocks in the order of the calls.

        Those that finish are settled before a pause of another one ends the pass. A tool that raises, that does not
        exist or that is rejected is an error result (T13).
        """
        text = await self._cancelled()
        try:
            results = await (self._cancel(text) if text else self._run_all())
        finally:
            _order(self.ctx, [f"{one.place}/" for one in self.calls])
            await self._tell_after()
        return results

    async def _cancelled(self) -> str:
        """Why the whole batch is cancelled; empty where it is not. Settled once (H07)."""
        prefix = f"{self.place}/{BeforeToolsEvent.kind}/"
        if not self.hooks.wants(BeforeToolsEvent) and not asked_before(self.ctx, prefix):
            return ""
        values = getattr(self.agent, "state", None)
        found = await settled(values, self.scope, "before", lambda: self._ask_hooks(prefix))
        return str(found["cancel"])

    async def _ask_hooks(self, prefix: str) -> dict[str, Json]:
        event = BeforeToolsEvent(self.agent, canonical.copy(self.message))
        event.scope = Scope(self.ctx, prefix)
        default = "The calls were cancelled."
        return {"cancel": await cancelled_by(self.hooks, event, self.ctx, lambda: event.cancel, default)}

    async def _cancel(self, text: str) -> list[Json]:
        return [self._note(one, await one.cancelled(text)) for one in self.calls]

    async def _run_all(self) -> list[Json]:
        if self.box.execution == SEQUENTIAL:
            return [await self._run_one(one) for one in self.calls]
        ended = await all_ended(self._run_one(one) for one in self.calls)
        for error in sorted(errors_of(ended), key=lambda error: isinstance(error, GraphInterrupt)):
            raise error
        return [one.result() for one in ended]

    async def _run_one(self, call: Call) -> Json:
        return self._note(call, await call.run())

    def _note(self, call: Call, result: Json) -> Json:
        self._ended.append((call, result))
        return result

    async def _tell_after(self) -> None:
        """Call the hooks that come after a batch, with the results that came about in this pass and no others (H15)."""
        fresh = [(call, result) for call, result in self._ended if call.fresh]
        if not fresh or not self.hooks.wants(AfterToolsEvent):
            return
        ordered = sorted(fresh, key=lambda one: self.calls.index(one[0]))
        event = AfterToolsEvent(self.agent, Message.tool_result_message([result for _, result in ordered]))
        event.scope = Scope(self.ctx, f"{self.place}/{event.kind}/")
        await self.hooks.fire(event, self.ctx)


def _order(ctx: Context, places: Sequence[str]) -> None:
    """Have the questions of a batch open in the order of its calls, not in that in which threads came to ask (Z27)."""
    at = {place: index for index, place in enumerate(places)}
    raised = sorted(ctx.raised.items(), key=lambda one: at.get(one[1].key.partition("/")[0] + "/", -1))
    ctx.raised.clear()
    ctx.raised.update(raised)


def stop_repeated(box: Toolbox, messages: Sequence[Message]) -> None:
    """End the task as rejected where a call of the last batch was rejected as often as the limit says (E10)."""
    latest = [_spelled(call) for call in _rejected(messages[-2:])]
    if not latest:
        return
    rejected = [_spelled(call) for call in _rejected(since_prompt(messages))]
    for spelled in latest:
        if rejected.count(spelled) >= box.max_rejections:
            name = canonical.loads(spelled)[0]
            text = f"The same call of {name} was proposed {box.max_rejections} times, and rejected each time."
            raise TaskEnded(TaskStatus.REJECTED, text)


def _rejected(said: Sequence[Message]) -> list[Mapping[str, Any]]:
    """The rejected calls of these messages."""
    return [call for call, result in answered_calls(said) if result.get("outcome") == Outcome.REJECTED]


def _spelled(call: Mapping[str, Any]) -> bytes:
    return canonical.dumps([call["name"], call.get("input")])
