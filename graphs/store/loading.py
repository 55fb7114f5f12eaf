"""Reading a thread back: four statements, bounded by what is under way and never by the length of its history (Z47)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import BooleanField, Case, F, Q, Value, When
from django.db.models.functions import Now

from graphs.engine import interrupts as engine
from graphs.engine.ports import (
    Cells,
    CheckpointInfo,
    JournalEntry,
    Snapshot,
    TaskKey,
    TaskRecord,
    TaskResult,
    ThreadRef,
)
from graphs.engine.statuses import InterruptStatus, TaskStatus, ThreadStatus
from graphs.models import Checkpoint, Interrupt, Task, Thread
from graphs.store.packing import fold
from graphs.store.questions import decision_of, interrupt_of
from graphs.store.writing import Tail

ENDED_TASKS = (TaskStatus.FINISHED, TaskStatus.FAILED, TaskStatus.REJECTED, TaskStatus.CANCELLED)
RESULT_FIELDS = ("path", "visit", "status", "output", "detail", "error", "attempt", "seconds")
VERDICT = ("outcome", "value", "comment", "reviewer_name", "decided_at", "digest")


@dataclass(slots=True)
class Loaded:
    """A thread as loaded, with what its holder keeps in mind for the next commits."""

    thread: Thread
    snapshot: Snapshot
    tail: Tail


def find(ref: ThreadRef) -> Thread | None:
    """The row of this thread, its conversation with it."""
    return Thread.objects.select_related("conversation").filter(graph_id=ref.graph_id, thread_id=ref.thread_id).first()


def load(ref: ThreadRef) -> Loaded | None:
    """The thread as its last commit left it, with the tasks that are under way and the verdicts that count by now."""
    thread = find(ref)
    if thread is None:
        return None
    cells = cells_at(thread, thread.step) or {}
    tasks = under_way(thread.pk)
    if tasks:
        attach_questions(thread.pk, tasks)
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
    past = Checkpoint.objects.filter(thread=thread.pk, step__lte=step)
    # The bound is on the row already for the newest; for an older step the index is walked back to its full one.
    start = thread.full_step if step >= thread.full_step else None
    if start is None:
        start = past.filter(full=True).order_by("-step").values_list("step", flat=True).first()
    tail = past.filter(step__gte=start or 0).order_by("step")
    rows: list[tuple[int, Any]] = list(tail.values_list("step", "data"))
    if not rows or rows[-1][0] != step:
        return None
    return fold([data for _, data in rows])


def history(thread: Thread, limit: int) -> list[CheckpointInfo]:
    """The newest checkpoints first."""
    rows = Checkpoint.objects.filter(thread=thread.pk).order_by("-step").values_list("step", "at", "status")[:limit]
    return [CheckpointInfo(step, at, ThreadStatus(status)) for step, at, status in rows]


def under_way(thread_id: int) -> dict[TaskKey, TaskRecord]:
    """The tasks whose results are in no checkpoint yet, with their journals."""
    entries = ("journal__key", "journal__ordinal", "journal__state", "journal__value", "journal__mode")
    rows = (
        Task.objects.filter(thread=thread_id, applied=False)
        .order_by("pk", "journal__pk")
        .values(*RESULT_FIELDS, *entries)
    )
    tasks: dict[TaskKey, TaskRecord] = {}
    for row in rows:
        key = TaskKey(row["path"], row["visit"])
        if key not in tasks:
            tasks[key] = TaskRecord(key, TaskStatus(row["status"]), result=result_of(key, row))
        if row["journal__key"] is not None:
            tasks[key].journal.append(JournalEntry(*(row[name] for name in entries)))
    return tasks


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
    rows = Task.objects.filter(thread=thread_id, path__in={key.path for key in wanted}).values(*RESULT_FIELDS)
    found = {TaskKey(row["path"], row["visit"]): row for row in rows}
    results = {key: result_of(key, found[key]) for key in wanted if key in found}
    return {key: result for key, result in results.items() if result is not None}


def attach_questions(thread_id: int, tasks: dict[TaskKey, TaskRecord]) -> None:
    asked = questions(Q(task__thread=thread_id, task__applied=False))
    for interrupt in asked:
        tasks[TaskKey(interrupt.path, interrupt.visit)].interrupts.append(interrupt)


def questions(wanted: Q) -> list[engine.Interrupt]:
    """Questions with the verdict of their last round, where it counts already by the database's clock."""
    rows = (
        Interrupt.objects.filter(wanted)
        .select_related("task", "queue")
        .annotate(
            counts=Case(
                When(status=InterruptStatus.CLOSED, decisions__effective_at__lte=Now(), then=Value(True)),
                default=Value(False),
                output_field=BooleanField(),
            ),
            **{f"verdict_{name}": F(f"decisions__{name}") for name in VERDICT},
        )
        .order_by("created_at", "seq", "decisions__round")
    )
    found: dict[Any, engine.Interrupt] = {}
    for row in rows:
        counts = getattr(row, "counts", False)
        verdict = decision_of(*(getattr(row, f"verdict_{name}") for name in VERDICT)) if counts else None
        found[row.pk] = interrupt_of(row, verdict)
    return list(found.values())


def decided_of(interrupt_ids: Sequence[str]) -> list[engine.Interrupt]:
    """Those of these questions whose verdict counts by now."""
    return [one for one in questions(Q(pk__in=interrupt_ids, status=InterruptStatus.CLOSED)) if one.decision]
