"""Reading a thread back: four statements, bounded by what is under way and never by the length of its history (Z47)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from django.db import connection

from graphs.engine import interrupts as engine
from graphs.engine.cells import spell
from graphs.engine.ports import (
    Cells,
    CheckpointInfo,
    JournalEntry,
    Json,
    Snapshot,
    StepLog,
    TaskKey,
    TaskRecord,
    TaskResult,
    ThreadRef,
)
from graphs.engine.statuses import TaskStatus, ThreadStatus
from graphs.models import Checkpoint, Conversation, Decision, Interrupt, Task, Thread
from graphs.models.fields import REFERENCE, read_blob
from graphs.store import sql
from graphs.store.packing import fold, unpack
from graphs.store.questions import decision_of, engine_question
from graphs.store.rows import table
from graphs.store.writing import Tail

ENDED_TASKS = (TaskStatus.FINISHED, TaskStatus.FAILED, TaskStatus.REJECTED, TaskStatus.CANCELLED)
#: A question that was answered, or that took an answered one's place: its task may have to run again.
SPOKEN = "c.status IN ('closed', 'superseded')"
RESULT_FIELDS = ("path", "visit", "status", "output", "detail", "error", "attempt", "seconds")


@dataclass(slots=True)
class Loaded:
    """A thread as loaded, with what its holder keeps in mind for the next commits."""

    thread: Thread
    snapshot: Snapshot
    tail: Tail


def find(ref: ThreadRef) -> Thread | None:
    """The row of this thread, its conversation with it."""
    threads, conversations = table(Thread), table(Conversation)
    rows = sql.fetch(
        f"SELECT {threads.columns('t')}, {conversations.columns('c')} FROM graphs_thread t"
        " JOIN graphs_conversation c ON c.id = t.conversation_id WHERE t.graph_id = %s AND t.thread_id = %s",
        [ref.graph_id, ref.thread_id],
    )
    if not rows:
        return None
    thread: Thread = threads.read(rows[0])
    thread.conversation = conversations.read(rows[0], threads.width)
    return thread


def load(ref: ThreadRef, brief: bool = False) -> Loaded | None:
    """The thread as its last commit left it, with the tasks that are under way and the verdicts that count by now.

    `brief` leaves out the questions of tasks that go on waiting, which whoever only advances the thread has no use for:
    with them each of W answers to a wide fan-out would read all W.
    """
    thread = find(ref)
    if thread is None:
        return None
    cells = cells_at(thread, thread.step) or {}
    tasks, ids = under_way(thread.pk)
    if tasks:
        awake = [ids[key] for key in tasks if f"wait:{spell(key)}" not in cells] if brief else None
        attach_questions(thread.pk, tasks, awake)
    snapshot = Snapshot(
        ref=ref,
        status=ThreadStatus(thread.status),
        fingerprint=thread.fingerprint,
        graph_version=thread.graph_version,
        step=thread.step,
        input=thread.input,
        cells=cells,
        tasks=tasks,
        next_seq=thread.next_seq,
        output=thread.output,
        error=thread.error,
    )
    return Loaded(thread, snapshot, Tail(thread.full_step, thread.full_size, thread.tail_size))


def cells_at(thread: Thread, step: int) -> Cells | None:
    """The cells as checkpoint `step` left them; None where there is no such checkpoint."""
    # The bound is on the row already for the newest; for an older step the index is walked back to its full one.
    start = thread.full_step if step >= thread.full_step else None
    if start is None:
        past = Checkpoint.objects.filter(thread=thread.pk, step__lte=step, full=True)
        start = past.order_by("-step").values_list("step", flat=True).first()
    rows = sql.fetch(
        "SELECT step, data FROM graphs_checkpoint WHERE thread_id = %s AND step BETWEEN %s AND %s ORDER BY step",
        [thread.pk, start or 0, step],
    )
    if not rows or rows[-1][0] != step:
        return None
    return fold([orjson.loads(data) for _, data in rows])


def history(thread: Thread, limit: int) -> list[CheckpointInfo]:
    """The newest checkpoints first."""
    rows = Checkpoint.objects.filter(thread=thread.pk).order_by("-step").values_list("step", "at", "status")[:limit]
    return [CheckpointInfo(step, at, ThreadStatus(status)) for step, at, status in rows]


def log(thread: Thread, first: int, limit: int) -> list[StepLog]:
    """The checkpoints from step `first` on, oldest first, each with what was logged of it."""
    rows = Checkpoint.objects.filter(thread=thread.pk, step__gte=first).order_by("step")[:limit]
    found = []
    for row in rows:
        delta = unpack(row.data)
        cells, change = (dict(delta.set), None) if row.full else (None, delta)
        found.append(StepLog(row.step, ThreadStatus(row.status), row.log or {}, cells, change))
    return found


def under_way(thread_id: int) -> tuple[dict[TaskKey, TaskRecord], dict[TaskKey, int]]:
    """The tasks whose results are in no checkpoint yet, with their journals; and the keys of their rows."""
    rows = sql.fetch(
        f"SELECT {', '.join(f't.{name}' for name in RESULT_FIELDS)}, j.key, j.ordinal, j.state, j.value, j.mode, t.id"
        " FROM graphs_task t LEFT JOIN graphs_journalentry j ON j.task_id = t.id"
        " WHERE t.thread_id = %s AND NOT t.applied ORDER BY t.id, j.id",
        [thread_id],
    )
    tasks: dict[TaskKey, TaskRecord] = {}
    ids: dict[TaskKey, int] = {}
    for path, visit, status, output, detail, error, attempt, seconds, name, ordinal, state, value, mode, id in rows:
        key = TaskKey(path, visit)
        ids[key] = id
        if key not in tasks:
            texts = {"output": parsed(output), "detail": parsed(detail), "error": parsed(error)}
            row = {"path": path, "visit": visit, "status": status, "attempt": attempt, "seconds": seconds, **texts}
            tasks[key] = TaskRecord(key, TaskStatus(status), result=result_of(key, row))
        if name is not None:
            tasks[key].journal.append(JournalEntry(name, ordinal, state, parsed(value), mode))
    return tasks, ids


def result_of(key: TaskKey, row: dict[str, Any]) -> TaskResult | None:
    status = TaskStatus(row["status"])
    if status not in ENDED_TASKS:
        return None
    detail = row["detail"] or {}
    return TaskResult(
        key=key,
        status=status,
        output=row["output"],
        route=detail.get("route"),
        has_route="route" in detail,
        writes=tuple((channel, value) for channel, value in detail.get("writes", ())),
        error=row["error"],
        attempt=row["attempt"],
        seconds=row["seconds"],
        usage=detail.get("usage", {}),
        targets=tuple(detail["targets"]) if "targets" in detail else None,
    )


def results(thread_id: int, keys: Sequence[TaskKey]) -> dict[TaskKey, TaskResult]:
    """The recorded results of these tasks."""
    wanted = set(keys)
    visits = [key.visit for key in wanted] or [0]
    # Between the first and the last visit that is asked for: a loop's other visits may be thousands.
    near = Task.objects.filter(thread=thread_id, visit__range=(min(visits), max(visits)))
    rows = near.filter(path__in={key.path for key in wanted}).values(*RESULT_FIELDS)
    found = {TaskKey(row["path"], row["visit"]): row for row in rows}
    results = {key: result_of(key, found[key]) for key in wanted if key in found}
    return {key: result for key, result in results.items() if result is not None}


def attach_questions(thread_id: int, tasks: dict[TaskKey, TaskRecord], awake: list[int] | None) -> None:
    """Give the tasks their questions; where `awake` names rows, only these and those that have had an answer."""
    condition, parameters = "k.thread_id = %s AND NOT k.applied", [thread_id]
    if awake is not None and len(awake) < sql.PARAMETERS:
        named = f" OR k.id IN ({sql.marks(awake)})" if awake else ""
        condition += f" AND (EXISTS (SELECT 1 FROM graphs_interrupt c WHERE c.task_id = k.id AND {SPOKEN}){named})"
        parameters += awake
    for interrupt in questions(condition, parameters):
        tasks[TaskKey(interrupt.path, interrupt.visit)].interrupts.append(interrupt)


def questions(condition: str, parameters: Sequence[Any]) -> list[engine.Interrupt]:
    """Questions with the verdict of their last round, where it counts already by the database's clock.

    `condition` is SQL over the interrupt `i`, its task `k` and its decision `d`.
    """
    interrupts, decisions = table(Interrupt), table(Decision)
    rows = sql.fetch(
        f"SELECT {interrupts.columns('i')}, {decisions.columns('d')}, k.path, k.visit, q.slug,"
        f" CASE WHEN i.status IN ('closed', 'superseded') AND d.effective_at <= {sql.now()} THEN 1 ELSE 0 END"
        " FROM graphs_interrupt i JOIN graphs_task k ON k.id = i.task_id JOIN graphs_approvalqueue q"
        f" ON q.id = i.queue_id LEFT JOIN graphs_decision d ON d.interrupt_id = i.id WHERE {condition}"
        " ORDER BY i.created_at, i.seq, d.round",
        parameters,
    )
    found: dict[Any, engine.Interrupt] = {}
    for row in rows:
        *_, path, visit, slug, counts = row
        verdict = decision_of(decisions.read(row, interrupts.width)) if counts else None
        question = interrupts.read(row)
        found[question.pk] = engine_question(question, path, visit, slug, verdict)
    return list(found.values())


def decided_of(thread_id: int, waiting: Sequence[str]) -> list[engine.Interrupt]:
    """Those of these questions of a thread whose verdict counts by now. A pause asks this of all that it waits for, and
    hardly ever has one been decided already: so it asks for the closed ones, and reads these alone."""
    closed = (
        "i.status = 'closed' AND i.task_id IN (SELECT w.id FROM graphs_task w WHERE w.thread_id = %s AND NOT w.applied)"
    )
    if not sql.fetch(f"SELECT 1 FROM graphs_interrupt i WHERE {closed} LIMIT 1", [thread_id]):
        return []
    wanted = set(waiting)
    return [one for one in questions(closed, [thread_id]) if one.decision and one.id in wanted]


def parsed(text: str | None) -> Json:
    """A JSON column's value, large ones from the blob table."""
    if text is None:
        return None
    if text.startswith(REFERENCE):
        return read_blob(text[1:], connection.alias)
    return orjson.loads(text)


def decided_by_name(thread_id: int, name: str) -> list[engine.Interrupt]:
    """The questions of this name whose decision counts, oldest first."""
    found = questions("i.thread_id = %s AND i.name = %s AND d.id IS NOT NULL", [thread_id, name])
    return [one for one in found if one.decision is not None]
