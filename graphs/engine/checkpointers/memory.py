"""Threads in the memory of one process: for tests, notebooks and runs that need not outlive it."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

from graphs.engine.answers import OPEN
from graphs.engine.checkpointers import rules
from graphs.engine.errors import LeaseLost, ThreadExists, UnknownThread
from graphs.engine.interrupts import Decision, Interrupt
from graphs.engine.ports import (
    Answer,
    Cells,
    CheckpointInfo,
    Clock,
    Commit,
    Delta,
    JournalEntry,
    Json,
    Snapshot,
    StepLog,
    SystemClock,
    TaskKey,
    TaskRecord,
    TaskResult,
    ThreadRef,
    ThreadStart,
)
from graphs.engine.statuses import DONE, InterruptStatus, ThreadStatus
from graphs.engine.trust import Grant


@dataclass(slots=True)
class _Step:
    info: CheckpointInfo
    delta: Delta | None
    full: Cells | None
    log: Mapping[str, Json] = field(default_factory=dict)


@dataclass(slots=True)
class _Thread:
    start: ThreadStart
    status: ThreadStatus
    cells: Cells
    history: list[_Step]
    step: int = 0
    output: Json = None
    error: Mapping[str, Json] | None = None
    live: dict[TaskKey, TaskRecord] = field(default_factory=dict)
    done: dict[TaskKey, TaskResult] = field(default_factory=dict)
    settled: dict[TaskKey, list[JournalEntry]] = field(default_factory=dict)
    questions: dict[str, Interrupt] = field(default_factory=dict)
    events: list[Mapping[str, Any]] = field(default_factory=list)

    @property
    def next_seq(self) -> int:
        return len(self.events) + 1


class InMemoryCheckpointer:
    """Keeps threads in this process. Safe to use from several threads and event loops."""

    #: Between two whole copies of the cells lie so many deltas, so that reading an old step stays bounded.
    FULL_EVERY = 64

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._threads: dict[ThreadRef, _Thread] = {}
        self._grants: list[Grant] = []
        self._lock = threading.Lock()

    async def create(self, ref: ThreadRef, start: ThreadStart) -> None:
        with self._lock:
            if ref in self._threads:
                raise ThreadExists(f"graph {ref.graph_id!r} has a thread {ref.thread_id!r} already")
            info = CheckpointInfo(0, self._clock.now(), ThreadStatus.READY)
            first = _Step(info, None, dict(start.cells))
            self._threads[ref] = _Thread(start, ThreadStatus.READY, dict(start.cells), [first])

    async def load(self, ref: ThreadRef) -> Snapshot | None:
        with self._lock:
            thread = self._threads.get(ref)
            return None if thread is None else _snapshot(ref, thread)

    def holding(self, ref: ThreadRef) -> AbstractAsyncContextManager[None]:
        return nullcontext()

    async def record_effect(self, ref: ThreadRef, task: TaskKey, entry: JournalEntry) -> None:
        with self._lock:
            record = _under_way(self._thread(ref), task)
            place = (entry.key, entry.ordinal)
            if any((one.key, one.ordinal) == place and one.state == "done" for one in record.journal):
                raise LeaseLost(f"{entry.key!r} of {task.path!r} is done already: another holder went on")
            record.journal = [one for one in record.journal if (one.key, one.ordinal) != place]
            record.journal.append(entry)

    async def open_interrupt(self, ref: ThreadRef, interrupt: Interrupt) -> Interrupt:
        with self._lock:
            thread = self._thread(ref)
            record = _under_way(thread, TaskKey(interrupt.path, interrupt.visit))
            for one in list(record.interrupts):
                if (one.key, one.ordinal) != (interrupt.key, interrupt.ordinal):
                    continue
                if one.revision == interrupt.revision:
                    return one
                _put(thread, replace(one, status=InterruptStatus.SUPERSEDED))
            _put(thread, interrupt)
            return interrupt

    async def record_tasks(self, ref: ThreadRef, results: Sequence[TaskResult]) -> None:
        with self._lock:
            thread = self._thread(ref)
            for result in results:
                _under_way(thread, result.key)
            _keep(thread, results)

    async def commit(self, ref: ThreadRef, commit: Commit) -> Sequence[Interrupt]:
        with self._lock:
            thread = self._thread(ref)
            if commit.step != thread.step + 1:
                raise LeaseLost(f"checkpoint {commit.step} does not follow {thread.step}: another holder went on")
            _keep(thread, commit.results)
            for result in commit.results:
                if result.status in DONE:
                    record = thread.live.pop(result.key)
                    thread.done[result.key] = record.result or result
                    if record.journal:
                        thread.settled[result.key] = record.journal
            commit.delta.apply(thread.cells)
            decided = _decided(thread, commit)
            thread.step, thread.output, thread.error = commit.step, commit.output, commit.error
            thread.status = ThreadStatus.RUNNING if decided else commit.status
            if thread.status in rules.WITHDRAWS:
                _withdraw(thread, thread.questions.values())
            thread.events.extend(commit.events)
            full = dict(thread.cells) if commit.step % self.FULL_EVERY == 0 else None
            info = CheckpointInfo(commit.step, self._clock.now(), thread.status)
            thread.history.append(_Step(info, commit.delta, full, dict(commit.log)))
            return decided

    async def answer(self, ref: ThreadRef, answers: Sequence[Answer], *, actor: str = "") -> Sequence[Decision]:
        with self._lock:
            thread = self._thread(ref)
            now = self._clock.now()
            closed, decisions = rules.decide(thread.questions, answers, actor, now)
            for question in closed:
                _put(thread, question)
            self._grants += rules.grants(closed, ref, now)
            if closed:
                thread.status = rules.after_answer(thread.status)
            return decisions

    async def retry(self, ref: ThreadRef) -> None:
        with self._lock:
            thread = self._thread(ref)
            thread.status, thread.error = rules.after_retry(thread.status), None

    async def history(self, ref: ThreadRef, limit: int = 100) -> Sequence[CheckpointInfo]:
        with self._lock:
            return [one.info for one in reversed(self._thread(ref).history[-limit:])]

    async def results(self, ref: ThreadRef, keys: Sequence[TaskKey]) -> Mapping[TaskKey, TaskResult]:
        with self._lock:
            thread = self._thread(ref)
            found = {key: thread.done.get(key) or _result_of(thread, key) for key in keys}
            return {key: result for key, result in found.items() if result is not None}

    async def load_step(self, ref: ThreadRef, step: int) -> Cells | None:
        with self._lock:
            history = self._thread(ref).history
            if not 0 <= step < len(history):
                return None
            base = next(index for index in range(step, -1, -1) if history[index].full is not None)
            cells = dict(history[base].full or {})
            for one in history[base + 1 : step + 1]:
                if one.delta is not None:
                    one.delta.apply(cells)
            return cells

    async def log(self, ref: ThreadRef, first: int = 0, limit: int = 500) -> Sequence[StepLog]:
        with self._lock:
            rows = self._thread(ref).history[first : first + limit]
            return [
                StepLog(
                    one.info.step, one.info.status, one.log, None if one.full is None else dict(one.full), one.delta
                )
                for one in rows
            ]

    async def grants(self, ref: ThreadRef) -> Sequence[Grant]:
        now = self._clock.now()
        with self._lock:
            return [one for one in self._grants if one.reaches(ref) and one.valid(now)]

    async def revoke(self, ref: ThreadRef, grant_id: str, *, actor: str = "") -> bool:
        with self._lock:
            kept = [one for one in self._grants if one.id != grant_id or not one.reaches(ref)]
            self._grants, before = kept, len(self._grants)
            return len(kept) < before

    async def decided(self, ref: ThreadRef, name: str) -> Sequence[Interrupt]:
        with self._lock:
            asked = self._thread(ref).questions.values()
            return [one for one in asked if one.name == name and one.decision is not None]

    async def journals(self, ref: ThreadRef) -> Mapping[TaskKey, Sequence[JournalEntry]]:
        with self._lock:
            thread = self._thread(ref)
            return {**thread.settled, **{key: list(one.journal) for key, one in thread.live.items() if one.journal}}

    def events(self, ref: ThreadRef) -> list[Mapping[str, Any]]:
        """The stored timeline, oldest first."""
        with self._lock:
            return list(self._thread(ref).events)

    def questions(self, ref: ThreadRef) -> list[Interrupt]:
        """All questions that were ever opened, oldest first."""
        with self._lock:
            return list(self._thread(ref).questions.values())

    def _thread(self, ref: ThreadRef) -> _Thread:
        thread = self._threads.get(ref)
        if thread is None:
            raise UnknownThread(f"graph {ref.graph_id!r} has no thread {ref.thread_id!r}")
        return thread


def _snapshot(ref: ThreadRef, thread: _Thread) -> Snapshot:
    tasks = {
        key: TaskRecord(key, one.status, list(one.journal), list(one.interrupts), one.result)
        for key, one in thread.live.items()
    }
    return Snapshot(
        ref,
        thread.status,
        thread.start.fingerprint,
        thread.start.graph_version,
        thread.step,
        thread.start.input,
        dict(thread.cells),
        tasks,
        thread.next_seq,
        thread.output,
        thread.error,
    )


def _record(thread: _Thread, key: TaskKey) -> TaskRecord:
    return thread.live.setdefault(key, TaskRecord(key))


def _under_way(thread: _Thread, key: TaskKey) -> TaskRecord:
    if key in thread.done:
        raise LeaseLost(f"{key.path!r} is finished: another holder went on")
    return _record(thread, key)


def _put(thread: _Thread, question: Interrupt) -> None:
    thread.questions[question.id] = question
    record = thread.live.get(TaskKey(question.path, question.visit))
    if record is None:
        return
    for index, one in enumerate(record.interrupts):
        if one.id == question.id:
            record.interrupts[index] = question
            return
    record.interrupts.append(question)


def _keep(thread: _Thread, results: Sequence[TaskResult]) -> None:
    for result in results:
        record = _record(thread, result.key)
        if record.result is not None and record.result.status in DONE:
            continue
        record.result, record.status = result, result.status
        if result.status in DONE:
            _withdraw(thread, record.interrupts)


def _withdraw(thread: _Thread, questions: Any) -> None:
    for question in list(questions):
        if question.status in OPEN:
            _put(thread, replace(question, status=InterruptStatus.WITHDRAWN))


def _decided(thread: _Thread, commit: Commit) -> list[Interrupt]:
    if commit.status is not ThreadStatus.INTERRUPTED:
        return []
    found = [thread.questions[id] for id in commit.waiting if id in thread.questions]
    return [one for one in found if one.decision is not None]


def _result_of(thread: _Thread, key: TaskKey) -> TaskResult | None:
    record = thread.live.get(key)
    return None if record is None else record.result
