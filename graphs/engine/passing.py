"""One pass through a node: gates and hooks around its body, what it gives, and where that leads."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Generator, Sequence
from typing import Any, Protocol

from graphs.engine import answers, asking, canonical, effects, routing
from graphs.engine.answers import TaskEnded
from graphs.engine.context import Context, Services
from graphs.engine.errors import NodeTimeout, PayloadError
from graphs.engine.hooks import AfterNodeCallEvent, BeforeNodeCallEvent, HookRegistry
from graphs.engine.interrupts import GraphInterrupt, Interrupt
from graphs.engine.machine import Active, Machine
from graphs.engine.outputs import Collected
from graphs.engine.pool import Pool
from graphs.engine.ports import Clock, JournalEntry, Json, ThreadRef
from graphs.engine.scopes import entered
from graphs.engine.state import SET
from graphs.engine.statuses import TaskStatus


class Host(Services, Protocol):
    """What a task needs of the loop around it."""

    ref: ThreadRef
    clock: Clock
    hooks: HookRegistry
    pool: Pool
    machine: Machine

    async def open_interrupt(self, question: Interrupt) -> Interrupt: ...

    async def decided(self, name: str) -> Sequence[Interrupt]: ...


#: Marks what a node gave as it is kept in the journal.
GIVEN = "$given"


class Entered(Exception):  # not an error: the way out of a pass that opens a nested graph
    """The node's gates are passed and its nested graph opens."""


class NodePass:
    """One attempt at one node. Raises whatever the node raises, the pause among it."""

    def __init__(self, host: Host, task: Active, ctx: Context) -> None:
        self.host = host
        self.task = task
        self.place = task.place
        self.node = task.place.node
        self.ctx = ctx
        self.journal = ctx.journal
        self.collected = Collected()
        self._earlier_states: list[dict[str, Json]] = [entry.value for entry in self.journal.effects("state")]
        self._states_seen = 0
        self._fresh_states: list[dict[str, Json]] = []

    async def run(self, attempt: int) -> tuple[str, ...]:
        """Where the node's output leads; the output itself is in `collected`. Raises `Entered` for a nested graph."""
        self.ctx.begin_attempt(attempt, self.host.machine.view(self.task.frame))
        for state in self._earlier_states:
            self._write_state(state)
        if self.node.binder is not None:
            self.ctx.patches.known_to(self.node.binder.fn)
        try:
            with entered(self.ctx.scope):
                return await self._through()
        finally:
            await self._leave()

    async def handle(self, error: Exception) -> tuple[str, ...]:
        """Let the node's `on_error` answer for it."""
        self.collected = Collected()
        self.ctx.scope.pass_on()
        try:
            with entered(self.ctx.scope):
                await self._collect(self.node.on_error, error)
                return self._targets()
        finally:
            await self._leave()

    async def _leave(self) -> None:
        await self.ctx.see_children_through()
        if self.ctx.store_error is None:
            await self.ctx.keep_patches()

    async def keep_states(self) -> None:
        """Journal the state that was yielded before the pause, for the re-run to see (W19)."""
        kept = len(self._earlier_states)
        for number, state in enumerate(self._fresh_states):
            await self.ctx.record(JournalEntry("state", kept + number, "done", state))
        self._fresh_states = []

    async def tell_failure(self, error: BaseException) -> None:
        """Call the hooks that come after a node that failed."""
        if self.host.hooks.wants(AfterNodeCallEvent):
            await self.host.hooks.fire(AfterNodeCallEvent(self.node.id, None, error, self.ctx), self.ctx)

    async def _through(self) -> tuple[str, ...]:
        if self.task.last is not None:
            self.collected.add(self.task.last[0])
        elif not self._answered():
            await self._before()
            if self.node.kind == "graph":
                raise Entered
            await self._body()
        await self._after()
        return self._targets()

    def _answered(self) -> bool:
        """Whether answers stand for the body: a node that is not run again, all of whose requests are decided."""
        asked = [one for one in self.journal.questions() if one.style == "request_input"]
        if self.node.rerun_on_resume or self.task.waiting is None or not asked:
            return False
        if any(one.decision is None for one in asked):
            return False
        self.collected.add(_answer_of(asked))
        return True

    async def _before(self) -> None:
        if self.place.gated_before:
            self._structural("before", f"Go on to “{self.node.label}”?", {"input": self.task.input})
        if self.host.hooks.wants(BeforeNodeCallEvent):
            event = BeforeNodeCallEvent(self.node.id, canonical.copy(self.task.input), self.ctx)
            await self.host.hooks.fire(event, self.ctx)
            if event.cancel_node:
                text = event.cancel_node if isinstance(event.cancel_node, str) else f"{self.node.id} was cancelled"
                raise TaskEnded(TaskStatus.CANCELLED, text)

    async def _after(self) -> None:
        if self.place.gated_after:
            self._structural("after", f"Go on after “{self.node.label}”?", {"output": self.collected.output})
        if self.host.hooks.wants(AfterNodeCallEvent):
            event = AfterNodeCallEvent(self.node.id, canonical.copy(self.collected.output), None, self.ctx)
            await self.host.hooks.fire(event, self.ctx)

    def _structural(self, where: str, message: str, payload: dict[str, Json]) -> None:
        draft = asking.build(
            self.ctx.scope,
            "structural",
            message,
            payload=payload,
            schema=asking.STRUCTURAL_SCHEMA,
            reason=f"interrupt_{where}",
        )
        value = answers.delivered(self.ctx.pose(draft, f"structural:{where}", 0))
        edits = value.get("state") if isinstance(value, dict) else None
        for name, edited in (edits or {}).items():
            self.ctx.state.write(f"{SET}{name}", edited)

    async def _body(self) -> None:
        # The output of a node that is followed by a pause, or that may run only once, is settled like an effect.
        if self.place.gated_after or self.node.crash == effects.AT_MOST_ONCE:
            settled = await effects.settle(self.ctx.scope, "node", self._called_as_effect, self.node.crash, 0)
            self._restore(settled)
        else:
            await self._called()

    async def _called_as_effect(self) -> Json:
        await self._called()
        given = self.collected
        return {
            GIVEN: True,
            "output": given.output,
            "route": given.route,
            "has_route": given.has_route,
            "writes": [list(write) for write in self.ctx.state.writes],
        }

    def _restore(self, settled: Json) -> None:
        if not isinstance(settled, dict) or GIVEN not in settled:
            # A person said that the node had run, and what it gave.
            self.collected = Collected(settled, True)
            return
        self.collected = Collected(settled["output"], True, settled["route"], settled["has_route"])
        written = [tuple(write) for write in settled["writes"]]
        if self.ctx.state.writes != written:
            for name, value in written[len(self.ctx.state.writes) :]:
                self.ctx.state.write(name, value)

    async def _called(self) -> None:
        limit = asyncio.timeout(self.node.timeout)
        try:
            async with limit:
                await self._collect(self.node.binder)
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise NodeTimeout(f"node {self.node.id!r} took longer than {self.node.timeout} s") from error
        if self.collected.requests:
            self._pose_requests()

    async def _collect(self, binder: Any, error: BaseException | None = None) -> None:
        value = self.task.input
        if binder is None:
            self._take(await self.node.body.run_node(self.ctx, canonical.copy(value)))
        elif binder.is_async_generator:
            async for item in binder.call(self.ctx, value, error):
                self._take(item)
        elif binder.is_async:
            self._take(await binder.call(self.ctx, value, error))
        elif binder.is_generator:
            await self.host.pool.run(lambda: self._drain(binder.call(self.ctx, value, error)))
        else:
            given = await self.host.pool.run(lambda: binder.call(self.ctx, value, error))
            self._take(await given if inspect.isawaitable(given) else given)

    def _drain(self, items: Generator[Any, None, Any]) -> None:
        for item in _with_return(items):
            self._take(item)

    def _take(self, given: Any) -> None:
        try:
            state = self.collected.add(given)
        except PayloadError as error:
            raise PayloadError(
                f"node {self.node.id!r} returned what cannot be stored: {error.reason}", error.path
            ) from None
        if state is None:
            return
        index, self._states_seen = self._states_seen, self._states_seen + 1
        if index < len(self._earlier_states) and self._earlier_states[index] == state:
            return  # a re-run that gives the same state again writes it once
        self._fresh_states.append(state)
        self._write_state(state)

    def _write_state(self, state: dict[str, Json]) -> None:
        for name, value in state.items():
            self.ctx.state.write(name, value)

    def _pose_requests(self) -> None:
        again = self.node.rerun_on_resume
        asked = [one for one in self.journal.questions() if one.key.endswith("request_input")]
        number = len([one for one in asked if one.decision is not None]) if again else 0
        first: GraphInterrupt | None = None
        decided = []
        for request in self.collected.requests:
            key = f"request_input:{request.interrupt_id}" if request.interrupt_id else "request_input"
            ordinal = 0 if request.interrupt_id else number
            number += not request.interrupt_id
            try:
                decided.append(self.ctx.pose(asking.request(self.ctx.scope, request), key, ordinal, again=again))
            except GraphInterrupt as pause:
                first = first or pause
        if first is not None:
            raise first
        self.collected.requests.clear()
        self.collected.add(_answer_of(decided))

    def _targets(self) -> tuple[str, ...]:
        given = self.collected
        return routing.targets(
            self.place.graph, self.node.id, given.output, given.route, given.has_route, self.ctx.state, self.ctx.context
        )


def _with_return(items: Generator[Any, None, Any]) -> Generator[Any, None, None]:
    """All that a generator gives: what it returns at its end is given like what it yields (W02)."""
    returned = yield from items
    if returned is not None:
        yield returned


def _answer_of(questions: list[Interrupt]) -> Any:
    if len(questions) == 1:
        return answers.delivered(questions[0])
    return {one.interrupt_id: answers.delivered(one) for one in questions}
