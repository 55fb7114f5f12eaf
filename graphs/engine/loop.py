"""The one loop: load a thread, run supersteps and commit each, until it pauses, ends, or its slice is up."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from graphs.engine import counters, events, failpoints, replaying, routing, superstep
from graphs.engine.context import Context
from graphs.engine.errors import DefinitionChanged, UnknownThread
from graphs.engine.graph import CompiledGraph
from graphs.engine.hooks import AfterNodeCallEvent, BeforeNodeCallEvent, HookProvider, HookRegistry
from graphs.engine.interrupts import Interrupt
from graphs.engine.journal import open_questions
from graphs.engine.machine import Active, Machine, always, never
from graphs.engine.pool import SHARED, Pool
from graphs.engine.ports import (
    Answer,
    Checkpointer,
    Clock,
    Commit,
    Emit,
    IdFactory,
    JournalEntry,
    Json,
    Snapshot,
    TaskKey,
    TaskRecord,
    TaskResult,
    ThreadRef,
)
from graphs.engine.statuses import DONE, TaskStatus, ThreadStatus
from graphs.engine.superstep import Applied, Ran
from graphs.engine.task import TaskRun, describe
from graphs.engine.telling import Teller
from graphs.engine.trust import Grant

#: Finished siblings of a task that still runs are recorded together, at most this many seconds after the first of them.
GROUP_WINDOW = 0.05
_MOVES = frozenset({ThreadStatus.READY, ThreadStatus.RUNNING, ThreadStatus.INTERRUPTED, ThreadStatus.WAITING_VERSION})


@dataclass(frozen=True, slots=True)
class Advanced:
    """How far a thread came: its stored status, the supersteps done, its open questions in node order.

    `more` says that the slice is up and something is ready; `outputs` are those of the nodes that finished, by path,
    `settled` those of nodes that wait for a person after their output (T16).
    """

    status: ThreadStatus
    steps: int = 0
    more: bool = False
    output: Json = None
    error: Mapping[str, Json] | None = None
    interrupts: tuple[Interrupt, ...] = ()
    outputs: Mapping[str, Json] = field(default_factory=dict)
    settled: Mapping[str, Json] = field(default_factory=dict)
    cells: Mapping[str, Json] = field(default_factory=dict)

    @property
    def progressed(self) -> bool:
        """Whether anything was committed."""
        return self.steps > 0


async def advance(
    graph: CompiledGraph,
    checkpointer: Checkpointer,
    ref: ThreadRef,
    *,
    clock: Clock,
    new_id: IdFactory,
    emit: Emit | None = None,
    slice_seconds: float | None = None,
    slice_steps: int | None = None,
    hooks: Sequence[HookProvider] = (),
    answers: Sequence[Answer] | None = None,
    pool: Pool = SHARED,
) -> Advanced:
    """Bring one thread as far as it comes. Failures of nodes end in `Advanced.status`, never in an exception.

    Raises `UnknownThread`, `DefinitionChanged` (nothing has run and nothing is written), `LeaseLost`, and whatever the
    store raises.
    """
    if answers:
        await checkpointer.answer(ref, answers)
    snapshot = await checkpointer.load(ref)
    if snapshot is None:
        raise UnknownThread(f"graph {ref.graph_id!r} has no thread {ref.thread_id!r}")
    loop = Loop(graph, checkpointer, snapshot, clock, new_id, emit, HookRegistry(hooks), pool)
    return await loop.run(slice_seconds, slice_steps)


class Loop:
    """One thread while it is advanced."""

    def __init__(
        self,
        graph: CompiledGraph,
        checkpointer: Checkpointer,
        snapshot: Snapshot,
        clock: Clock,
        new_id: IdFactory,
        emit: Emit | None,
        hooks: HookRegistry,
        pool: Pool,
    ) -> None:
        self.graph, self.checkpointer, self.ref = graph, checkpointer, snapshot.ref
        self.clock, self._new_id, self.hooks, self.pool = clock, new_id, hooks, pool
        self.snapshot, self.records = snapshot, snapshot.tasks
        self.status, self.step = snapshot.status, snapshot.step
        self.output, self.error = snapshot.output, snapshot.error
        self.outputs: dict[str, Json] = {}
        self.steps, self._renewed = 0, False
        self.teller = Teller(graph, snapshot, clock, emit)
        self._check_definition()
        self._gated = hooks.wants(BeforeNodeCallEvent) or hooks.wants(AfterNodeCallEvent)
        self.machine = Machine(graph, snapshot.cells, always if self._gated else never)

    async def run(self, slice_seconds: float | None, slice_steps: int | None) -> Advanced:
        """Supersteps until there is no reason to go on."""
        self.teller.tell(events.GRAPH_START, input=self.snapshot.input)
        until = None if slice_seconds is None else self.clock.monotonic() + slice_seconds
        tasks = self._first_tasks() or await self._settle_standing()
        while tasks:
            over = counters.exceeded(self.machine.draft, self.graph.budgets)
            if over is not None:
                await self._commit(Applied(ThreadStatus.FAILED, error={**describe(over), "path": ""}), "budget")
                break
            await self._superstep(tasks)
            if self.status is not ThreadStatus.RUNNING:
                break
            tasks = superstep.plan(self.machine, self.records)
            self._renew_activation(tasks)
            if tasks and self._slice_is_up(until, slice_steps):
                return self._advanced(more=True)
        return self._tell_end()

    # Services for tasks

    def new_id(self) -> str:
        """A new id from the factory that was passed in."""
        return self._new_id()

    def now(self) -> datetime:
        """The time by the clock that was passed in."""
        return self.clock.now()

    async def record_effect(self, task: Context, entry: JournalEntry) -> None:
        """Store one effect before the next one begins."""
        failpoints.reach("before_record_effect")
        await self.checkpointer.record_effect(self.ref, TaskKey(task.path, task.visit), entry)

    async def grants(self) -> Sequence[Grant]:
        """The trust that reaches this thread at this moment."""
        return await self.checkpointer.grants(self.ref)

    async def decided(self, name: str) -> Sequence[Interrupt]:
        """The questions of this name that somebody has decided in this thread."""
        return await self.checkpointer.decided(self.ref, name)

    async def open_interrupt(self, question: Interrupt) -> Interrupt:
        """Open one question in its own commit, at once (Z08, Z51)."""
        failpoints.reach("before_open_interrupt")
        stored = await self.checkpointer.open_interrupt(self.ref, question)
        failpoints.reach("after_open_interrupt")
        return stored

    def tell(self, type_: str, task: Context, **details: Any) -> None:
        """Tell the stream something about a task."""
        self.teller.tell(type_, node_id=task.node_id, path=task.path, visit=task.visit, **details)

    # Beginning

    def _check_definition(self) -> None:
        if self.snapshot.fingerprint == self.graph.fingerprint or self.status not in _MOVES:
            return
        reason = superstep.compatible(self.graph, self.snapshot.cells)
        if reason:
            raise DefinitionChanged(
                f"graph {self.graph.id!r} changed under thread {self.ref.thread_id!r}: {reason}; "
                f"register that version ({self.snapshot.graph_version!r}) beside this one, or undo the change"
            )

    def _first_tasks(self) -> list[Active]:
        if self.status not in _MOVES:
            return []
        retrying = self.status is not ThreadStatus.INTERRUPTED
        tasks = superstep.plan(self.machine, self.records, retrying)
        decided = any(superstep.newly_decided(task, self.records) for task in tasks)
        if self.status is ThreadStatus.INTERRUPTED and not decided:
            return []  # a resume without an answer runs nothing (G07)
        if counters.was_exceeded(self.machine.cells) or any(task.failed for task in tasks):
            self._renew()
        self._renew_activation(tasks)
        return tasks

    async def _settle_standing(self) -> list[Active]:
        """A thread that is to run and has nothing to run is written down as what it is: paused, ended or failed."""
        if self.status not in _MOVES or self.status is ThreadStatus.INTERRUPTED:
            return []
        await self._commit(superstep.standing(self.machine, Applied(ThreadStatus.RUNNING)), "standing")
        return superstep.plan(self.machine, self.records) if self.status is ThreadStatus.RUNNING else []

    def _renew_activation(self, tasks: Sequence[Active]) -> None:
        """A person's decision starts the activation's budgets anew (G36)."""
        if any(superstep.newly_decided(task, self.records) for task in tasks):
            self._renew()

    def _renew(self) -> None:
        counters.renew(self.machine.draft)
        self._renewed = True

    # One superstep

    async def _superstep(self, tasks: list[Active]) -> None:
        started = self.clock.monotonic()
        self.teller.tell(events.SUPERSTEP_START, step=self.step + 1)
        ran = await self._run_tasks(tasks)
        applied = superstep.apply(self.machine, ran)
        seconds = self.clock.monotonic() - started
        used = counters.count(self.machine.draft, self.graph.budgets, applied.results, seconds)
        await self._commit(applied, "step", ran, used)

    async def _run_tasks(self, tasks: list[Active]) -> list[Ran]:
        ran = [Ran(task, result) for task in tasks if (result := self._recorded(task)) is not None]
        known = {one.task.key for one in ran}
        todo = [task for task in tasks if task.key not in known]
        for task in todo:
            self.teller.tell(events.NODE_START, node_id=task.place.node.id, path=task.key.path, visit=task.key.visit)
        if len(todo) == 1:
            ran.append(await self._run_one(todo[0]))
        elif todo:
            ran.extend(await self._run_together(todo))
        return ran

    def _recorded(self, task: Active) -> TaskResult | None:
        """The result that a run cut off before its commit has left: it is applied, never run again (R4).

        A failure is none where the task is to try again, or has asked since: then it is an earlier attempt's.
        """
        record = self.records.get(task.key)
        result = record.result if record is not None else None
        if result is None or (result.status not in DONE and (task.failed or task.waiting is not None)):
            return None
        if result.status is TaskStatus.FINISHED and result.targets is None:
            view = self.machine.view(task.frame)
            for name, value in result.writes:
                view.write(name, value)
            context = self.machine.cells.get("context") or {}
            found = routing.targets(
                task.place.graph, task.place.node.id, result.output, result.route, result.has_route, view, context
            )
            return replace(result, targets=found)
        return result

    async def _run_one(self, task: Active) -> Ran:
        record = self.records.get(task.key)
        if record is None:
            record = self.records[task.key] = TaskRecord(task.key)
        ran = await TaskRun(self, task, record).run()
        if ran.result is not None:
            self.teller.tell_result(task, ran.result)
        return ran

    async def _run_together(self, tasks: list[Active]) -> list[Ran]:
        handles = [asyncio.create_task(self._run_one(task)) for task in tasks]
        pending = set(handles)
        unrecorded: list[TaskResult] = []
        try:
            while pending:
                how = asyncio.FIRST_EXCEPTION if unrecorded else asyncio.FIRST_COMPLETED
                done, pending = await asyncio.wait(
                    pending, timeout=GROUP_WINDOW if unrecorded else None, return_when=how
                )
                due = unrecorded
                unrecorded = [result for handle in done if (result := handle.result().result) is not None]
                if pending and due:
                    unrecorded = await self._record_early([*due, *unrecorded])
                else:
                    unrecorded = [*due, *unrecorded]
        except BaseException:
            await _cancel(pending)
            raise
        return [handle.result() for handle in handles]

    async def _record_early(self, results: list[TaskResult]) -> list[TaskResult]:
        failpoints.reach("before_record_tasks")
        await self.checkpointer.record_tasks(self.ref, results)
        failpoints.reach("after_record_tasks")
        return []

    # The commit

    async def _commit(
        self, applied: Applied, kind: str, ran: Sequence[Ran] = (), used: Mapping[str, Json] | None = None
    ) -> None:
        self.step += 1
        self.teller.note(applied, ran, self.step)
        waiting = self._waiting_ids() if applied.status is ThreadStatus.INTERRUPTED else ()
        cells = self.machine.cells
        commit = Commit(
            self.step,
            applied.status,
            self.machine.draft.take(),
            lambda: dict(cells),
            tuple(applied.results),
            waiting,
            tuple(self.machine.tasks),
            self.teller.take(),
            applied.output,
            applied.error,
            self._log(kind, ran, used),
        )
        failpoints.reach("before_commit")
        decided = await self.checkpointer.commit(self.ref, commit)
        failpoints.reach("after_commit")
        self._committed(commit, decided)

    def _log(self, kind: str, ran: Sequence[Ran], used: Mapping[str, Json] | None) -> dict[str, Json]:
        renewed, self._renewed = self._renewed, False
        targets = replaying.late_targets(ran, self.records)
        return replaying.log_of(kind, ran, used=used, renewed=renewed, gated=self._gated, targets=targets)

    def _committed(self, commit: Commit, decided: Sequence[Interrupt]) -> None:
        self.steps += 1
        self.status = ThreadStatus.RUNNING if decided else commit.status
        self.output, self.error = commit.output, commit.error
        for result in commit.results:
            self.outputs[result.key.path] = result.output
            if result.status in DONE:
                self.records.pop(result.key, None)
        for question in decided:
            self._replace_question(question)
        ended = [one.key.path for one in commit.results if one.status is TaskStatus.FINISHED]
        self.teller.tell(events.SUPERSTEP_END, step=commit.step, nodes=ended)

    def _replace_question(self, question: Interrupt) -> None:
        record = self.records.get(TaskKey(question.path, question.visit))
        if record is not None:
            kept = [question if one.id == question.id else one for one in record.interrupts]
            # A store may leave out the questions of tasks that go on waiting, until one of them is answered.
            record.interrupts = kept if any(one.id == question.id for one in kept) else [*kept, question]

    def _waiting_ids(self) -> tuple[str, ...]:
        return tuple(id for task in self.machine.tasks.values() for id in task.waiting or ())

    def _slice_is_up(self, until: float | None, slice_steps: int | None) -> bool:
        return (slice_steps is not None and self.steps >= slice_steps) or (
            until is not None and self.clock.monotonic() >= until
        )

    def _tell_end(self) -> Advanced:
        done = self._advanced()
        for question in done.interrupts:
            node_id = question.path.split("/")[0]
            self.teller.tell(events.NODE_INTERRUPT, node_id=node_id, path=question.path, interrupt=question)
        asked = [question.id for question in done.interrupts]
        self.teller.tell(events.GRAPH_END, status=done.status, output=done.output, error=done.error, interrupts=asked)
        return done

    def _advanced(self, more: bool = False) -> Advanced:
        ends = (self.output, self.error, self._open(), self.outputs, self._settled(), self.machine.cells)
        return Advanced(self.status, self.steps, more, *ends)

    def _settled(self) -> dict[str, Json]:
        found = {}
        for task in self.machine.tasks.values():
            record = self.records.get(task.key)
            if record is not None and task.place.gated_after:
                for one in filter(_is_output, record.journal):
                    found[task.key.path] = one.value["output"]
        return found

    def _open(self) -> tuple[Interrupt, ...]:
        if self.status in (ThreadStatus.COMPLETED, ThreadStatus.REJECTED, ThreadStatus.CANCELLED):
            return ()
        records = self.records
        found = [
            one for task in self.machine.ordered() if task.key in records for one in open_questions(records[task.key])
        ]
        return tuple(found)


def _is_output(entry: JournalEntry) -> bool:
    return entry.key == "node" and entry.state == "done"


async def _cancel(pending: set[asyncio.Task[Ran]]) -> None:
    for handle in pending:
        handle.cancel()
    if pending:
        await asyncio.wait(pending)
    for handle in pending:
        if not handle.cancelled():
            handle.exception()  # seen, so that nobody reports it as never retrieved
