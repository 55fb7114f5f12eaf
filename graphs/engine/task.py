"""One pass of one task: gates and hooks around the node's body, its attempts, and the boundary that opens pauses."""

from __future__ import annotations

import asyncio
import inspect
import traceback
from collections.abc import Iterator
from typing import Any, Protocol

from graphs.engine import answers, asking, canonical, effects, routing
from graphs.engine.answers import TaskEnded
from graphs.engine.context import Context, Services, entered
from graphs.engine.errors import NodeTimeout, PauseSwallowed, SaysoError
from graphs.engine.hooks import AfterNodeCallEvent, BeforeNodeCallEvent, HookRegistry
from graphs.engine.interrupts import GraphInterrupt, Interrupt
from graphs.engine.journal import Journal
from graphs.engine.machine import Active, Machine
from graphs.engine.outputs import Collected
from graphs.engine.pool import Pool
from graphs.engine.ports import Clock, JournalEntry, Json, TaskRecord, TaskResult, ThreadRef
from graphs.engine.state import SET, StateView
from graphs.engine.statuses import TaskStatus
from graphs.engine.superstep import Ran

_MAX_TRACEBACK = 8_000


class Host(Services, Protocol):
    """What a task needs of the loop around it."""

    ref: ThreadRef
    clock: Clock
    hooks: HookRegistry
    pool: Pool
    machine: Machine

    async def open_interrupt(self, question: Interrupt) -> Interrupt: ...


class _Entered(Exception):
    """The node's gates are passed and its nested graph opens."""


class TaskRun:
    """Runs one task once. Failures of the node become results; only errors of the store and cancellation come out."""

    def __init__(self, host: Host, task: Active, record: TaskRecord) -> None:
        self.host = host
        self.task = task
        self.place = task.place
        self.node = task.place.node
        self.journal = Journal(record)
        self.collected = Collected()
        self._earlier_states: list[dict[str, Json]] = []
        self._states_seen = 0
        self.ctx = self._context()

    async def run(self) -> Ran:
        """One pass: attempts until one ends in a result or a pause."""
        waits = self._still_waits()
        if waits:
            return Ran(self.task, waiting=waits)
        started = self.host.clock.monotonic()
        attempt = 0
        while True:
            attempt += 1
            ran = await self._attempt(attempt, started)
            if ran is not None:
                return ran
            await asyncio.sleep(self.node.retry.wait(attempt))
            started = self.host.clock.monotonic()

    def _context(self) -> Context:
        task, place = self.task, self.place
        return Context(
            self.host,
            self.journal,
            graph_id=self.host.ref.graph_id,
            thread_id=self.host.ref.thread_id,
            graph_path=place.graph_path,
            node_id=self.node.id,
            path=task.key.path,
            visit=task.key.visit,
            input=task.input,
            state=self.host.machine.view(task.frame),
            context=self.host.machine.cells.get("context") or {},
            queue=place.graph.queue or self.host.machine.graph.queue,
        )

    def _still_waits(self) -> tuple[Interrupt, ...]:
        # A node that is not run again waits for the last of its answers, without a pass that has nothing to do (W10).
        if self.node.rerun_on_resume or self.task.waiting is None:
            return ()
        asked = [one for one in self.journal.questions() if one.style == "request_input"]
        waits = tuple(one for one in asked if one.decision is None)
        return waits if waits and len(waits) == len(self.journal.open()) else ()

    # One attempt and its ends

    async def _attempt(self, attempt: int, started: float) -> Ran | None:
        self.collected = Collected()
        try:
            self._begin(attempt)
            with entered(self.ctx.scope):
                targets = await self._pass()
            self._refuse_swallowed()
            return Ran(self.task, self._result(TaskStatus.FINISHED, started, targets))
        except _Entered:
            return Ran(self.task, entered=True)
        except GraphInterrupt as pause:
            return await self._paused(pause, started)
        except TaskEnded as ended:
            self.collected = Collected(output=ended.text or None)
            return Ran(self.task, self._result(ended.status, started))
        except BaseExceptionGroup as group:
            return await self._grouped(group, started)
        except Exception as error:  # noqa: BLE001 - whatever a node raises becomes its result
            return await self._raised(error, started)

    def _begin(self, attempt: int) -> None:
        view = self.host.machine.view(self.task.frame)
        self._earlier_states = [entry.value for entry in self.journal.effects("state")]
        self._states_seen = 0
        for state in self._earlier_states:
            self._write_state(view, state)
        self.ctx.begin_attempt(attempt, view)

    def _refuse_swallowed(self) -> None:
        if self.ctx.store_error is not None:
            raise self.ctx.store_error
        if self.ctx.fault is not None:
            raise self.ctx.fault
        if self.ctx.raised:
            raise PauseSwallowed(
                f"node {self.node.id!r} caught the pause that it had raised; let GraphInterrupt through"
            )

    async def _paused(self, pause: GraphInterrupt, started: float) -> Ran:
        if self.ctx.store_error is not None:
            raise self.ctx.store_error
        if self.ctx.fault is None and pause.interrupt.id not in self.ctx.raised:
            self._adopt(pause.interrupt)
        if self.ctx.fault is not None:
            return self._failed(self.ctx.fault, started)
        opened = await self._open_raised()
        return Ran(self.task, waiting=tuple(self.journal.open()), opened=opened)

    def _adopt(self, raised: Interrupt) -> None:
        """Place a question that the node raised by itself (G38): its answer comes back in the envelope."""
        number = len([one for one in self.journal.questions() if one.key == "raised" and one.decision is not None])
        draft = asking.build(
            self.ctx.scope,
            raised.style,
            raised.question,
            payload=raised.value,
            schema=raised.response_schema,
            reason=raised.reason,
            kind=raised.kind,
            metadata=raised.metadata,
            queue=raised.queue,
            name=raised.name,
            interrupt_id=raised.interrupt_id,
            tool_call_id=raised.tool_call_id,
        )
        try:
            self.ctx.pose(draft, "raised", number)
        except (GraphInterrupt, SaysoError):
            return  # noted in ctx.raised or ctx.fault, as for every other question

    async def _open_raised(self) -> tuple[Interrupt, ...]:
        await self._keep_states()
        known = set(self.task.waiting or ())
        opened = []
        for question in list(self.ctx.raised.values()):
            if not any(one.id == question.id for one in self.journal.record.interrupts):
                question = await self.host.open_interrupt(question)
                self.journal.opened(question)
            if question.id not in known:
                opened.append(question)
        return tuple(opened)

    async def _keep_states(self) -> None:
        kept = len(self._earlier_states)
        for state in self.collected.states[self._repeated() :]:
            await self.ctx.record(JournalEntry("state", kept, "done", state))
            kept += 1

    def _repeated(self) -> int:
        pairs = zip(self.collected.states, self._earlier_states, strict=False)
        return next(
            (i for i, (now, then) in enumerate(pairs) if now != then),
            min(len(self.collected.states), len(self._earlier_states)),
        )

    async def _grouped(self, group: BaseExceptionGroup[BaseException], started: float) -> Ran | None:
        pauses, rest = group.split(GraphInterrupt)
        if pauses is not None and rest is None:
            return await self._paused(_first_leaf(pauses), started)
        ends, _ = group.split(lambda error: not isinstance(error, (Exception, GraphInterrupt, BaseExceptionGroup)))
        if ends is not None:
            raise _first_leaf(ends)
        return await self._raised(_first_leaf(rest) if rest is not None else Exception(str(group)), started)

    async def _raised(self, error: Exception, started: float) -> Ran | None:
        if self.ctx.store_error is not None:
            raise self.ctx.store_error
        if self.ctx.fault is not None:
            return self._failed(self.ctx.fault, started)
        if self.ctx.raised and _came_from_pause(error):
            return self._failed(PauseSwallowed(f"node {self.node.id!r} caught its pause and raised {error!r}"), started)
        if isinstance(error, PauseSwallowed):
            return self._failed(error, started)
        if self.node.retry.retries(error, self.ctx.attempt):
            return None
        if self.ctx.raised:
            # Another flow of this node asked before this one broke: its question must not be lost (Z42).
            opened = await self._open_raised()
            return Ran(self.task, self._failed(error, started).result, opened=opened)
        if self.node.on_error is not None:
            return await self._handled(error, started)
        return self._failed(error, started)

    async def _handled(self, error: Exception, started: float) -> Ran:
        assert self.node.on_error is not None
        self.collected = Collected()
        try:
            with entered(self.ctx.scope):
                await self._collect(self.node.on_error, error)
                targets = self._targets()
            self._refuse_swallowed()
            return Ran(self.task, self._result(TaskStatus.FINISHED, started, targets))
        except GraphInterrupt as pause:
            return await self._paused(pause, started)
        except Exception as second:  # noqa: BLE001 - a handler that fails fails the node
            return self._failed(second, started)

    def _failed(self, error: BaseException, started: float) -> Ran:
        result = TaskResult(
            self.task.key,
            TaskStatus.FAILED,
            error=describe(error),
            attempt=self.ctx.attempt,
            seconds=round(self.host.clock.monotonic() - started, 6),
            usage=dict(self.ctx.usage),
        )
        return Ran(self.task, result)

    def _result(self, status: TaskStatus, started: float, targets: tuple[str, ...] | None = None) -> TaskResult:
        given = self.collected
        return TaskResult(
            self.task.key,
            status,
            given.output,
            given.route,
            given.has_route,
            tuple(self.ctx.state.writes) if status is TaskStatus.FINISHED else (),
            attempt=self.ctx.attempt,
            seconds=round(self.host.clock.monotonic() - started, 6),
            usage=dict(self.ctx.usage),
            targets=targets,
        )

    # The pass itself

    async def _pass(self) -> tuple[str, ...]:
        if self.task.last is not None:
            self.collected.add(self.task.last[0])
        elif not self._answered():
            await self._before()
            if self.node.kind == "graph":
                raise _Entered
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
        if self.host.hooks.wants(AfterNodeCallEvent):
            event = AfterNodeCallEvent(self.node.id, canonical.copy(self.collected.output), None, self.ctx)
            await self.host.hooks.fire(event, self.ctx)
        if self.place.gated_after:
            self._structural("after", f"Go on after “{self.node.label}”?", {"output": self.collected.output})

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
            "output": given.output,
            "route": given.route,
            "has_route": given.has_route,
            "writes": [list(write) for write in self.ctx.state.writes],
        }

    def _restore(self, settled: dict[str, Json]) -> None:
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

    def _drain(self, items: Iterator[Any]) -> None:
        for item in items:
            self._take(item)

    def _take(self, given: Any) -> None:
        state = self.collected.add(given)
        if state is None:
            return
        index, self._states_seen = self._states_seen, self._states_seen + 1
        if index < len(self._earlier_states) and self._earlier_states[index] == state:
            return  # a re-run that gives the same state again writes it once
        self._write_state(self.ctx.state, state)

    @staticmethod
    def _write_state(view: StateView, state: dict[str, Json]) -> None:
        for name, value in state.items():
            view.write(name, value)

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


def describe(error: BaseException) -> dict[str, Json]:
    """An error as JSON: `type` (a code for the engine's own), `message`, `traceback`; text that every store takes."""
    kind = error.code() if isinstance(error, SaysoError) else type(error).__name__
    lines = "".join(traceback.format_exception(error))
    return {
        "type": kind,
        "message": _clean(str(error) or kind, 4_000),
        "traceback": _clean(lines[-_MAX_TRACEBACK:], _MAX_TRACEBACK),
    }


def _clean(text: str, limit: int) -> str:
    return text[:limit].replace("\0", "\\0").encode("utf-8", "backslashreplace").decode()


def _answer_of(questions: list[Interrupt]) -> Any:
    if len(questions) == 1:
        return answers.delivered(questions[0])
    return {one.interrupt_id: answers.delivered(one) for one in questions}


def _first_leaf(group: BaseExceptionGroup[Any]) -> Any:
    leaf: BaseException = group
    while isinstance(leaf, BaseExceptionGroup):
        leaf = leaf.exceptions[0]
    return leaf


def _came_from_pause(error: BaseException) -> bool:
    seen: set[int] = set()
    found: BaseException | None = error
    while found is not None and id(found) not in seen:
        if isinstance(found, GraphInterrupt):
            return True
        seen.add(id(found))
        found = found.__cause__ or found.__context__
    return False
