"""Writing a thread: all of it inside the caller's transaction, fenced by the holder's token (R3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection
from django.utils import timezone

from graphs.engine.ports import Commit, JournalEntry, Json, TaskKey, TaskResult, ThreadStart
from graphs.engine.statuses import ENDED, TaskStatus, ThreadStatus
from graphs.models import Conversation, Lease, Thread
from graphs.models.fields import Packed
from graphs.store import sql
from graphs.store.packing import Packer
from graphs.store.rows import table

#: A tail of deltas may grow to twice what it changes, to this many bytes for tiny states, and to so many rows: one more
#: for each of these bytes of state, since reading a row costs about as much as reading that many bytes.
TAIL_FACTOR, TAIL_BYTES, TAIL_ROWS, BYTES_A_ROW = 2, 8 * 1024, 64, 1024

UNAPPLIED = (TaskStatus.FAILED, TaskStatus.WAITING, TaskStatus.RUNNING)

TASK = "graphs_task (thread_id, path, visit, step, status, output, detail, error, attempt, seconds, applied, at)"
RESULT_COLUMNS = ("output", "detail", "error", "attempt", "seconds", "at", "status")
# A task that is recorded as done keeps its first result, whoever comes late (R4); its superstep only marks it applied.
TASK_CONFLICT = (
    "ON CONFLICT (thread_id, path, visit) DO UPDATE SET step = excluded.step, applied = excluded.applied, "
    + ", ".join(
        f"{column} = CASE WHEN graphs_task.status IN ('finished', 'rejected', 'cancelled')"
        f" THEN graphs_task.{column} ELSE excluded.{column} END"
        for column in RESULT_COLUMNS
    )
    + " WHERE NOT graphs_task.applied"
)
EVENT = "graphs_threadevent (thread_id, seq, type, path, visit, data, at)"
CHECKPOINT = 'graphs_checkpoint (thread_id, step, format, "full", data, size, status, log, at)'


@dataclass(frozen=True, slots=True)
class Tail:
    """Where the last full checkpoint is, its bytes, and the bytes of the deltas after it."""

    full_step: int
    full_size: int
    size: int

    def outgrown(self, step: int, size: int) -> bool:
        """Would a delta of `size` bytes at `step` make the tail longer than reading it back may be?"""
        rows = max(TAIL_ROWS, self.full_size // BYTES_A_ROW)
        allowed = max(TAIL_BYTES, TAIL_FACTOR * self.full_size)
        return step - self.full_step >= rows or self.size + size > allowed


@dataclass(slots=True)
class Superstep:
    """One commit as rows, made before its transaction begins so that the write lock is held for milliseconds (F17)."""

    commit: Commit
    tail: Tail
    full: bool
    body: str
    log: Packed | None
    thread: list[Any]
    tasks: list[tuple[Any, ...]]
    events: list[tuple[Any, ...]]
    packer: Packer
    at: datetime

    @classmethod
    def of(cls, thread_id: int, commit: Commit, tail: Tail) -> Superstep:
        """Serialise a commit, as a delta or, where the tail would outgrow its bound, as a snapshot of all cells."""
        packer = Packer()
        body = packer.delta(commit.delta)
        full = tail.outgrown(commit.step, len(body))
        if full:
            packer = Packer()
            body = packer.full(commit.full())
        size = len(body) + sum(size for _, size in packer.blobs.values())
        tail = Tail(commit.step, size, 0) if full else Tail(tail.full_step, tail.full_size, tail.size + size)
        at = timezone.now()
        moment = sql.moment(at)
        thread = thread_row(commit, tail, at, packer)
        tasks = [task_row(thread_id, commit.step, result, packer, moment, commit=True) for result in commit.results]
        events = [event_row(thread_id, event, packer) for event in commit.events]
        log = packer.column(dict(commit.log) or None)
        return cls(commit, tail, full, body.decode(), log, thread, tasks, events, packer, at)

    @property
    def plain(self) -> bool:
        """Nothing but a step from one running state to the next, without a value that needs a table of its own."""
        return self.commit.status == ThreadStatus.RUNNING and not self.packer.blobs


def task_row(
    thread_id: int, step: int, result: TaskResult, packer: Packer, moment: Any, *, commit: bool
) -> tuple[Any, ...]:
    detail: dict[str, Json] = {}
    if result.has_route:
        detail["route"] = result.route
    if result.writes:
        detail["writes"] = [list(write) for write in result.writes]
    if result.usage:
        detail["usage"] = dict(result.usage)
    if result.targets is not None:
        detail["targets"] = list(result.targets)
    return (
        thread_id,
        result.key.path,
        result.key.visit,
        step,
        str(result.status),
        packer.column(result.output),
        packer.column(detail or None),
        packer.column(None if result.error is None else dict(result.error)),
        result.attempt,
        result.seconds,
        commit and result.status not in UNAPPLIED,
        moment,
    )


def event_row(thread_id: int, event: Mapping[str, Json], packer: Packer) -> tuple[Any, ...]:
    at = event.get("at")
    if isinstance(at, str):
        at = datetime.fromisoformat(at)
    return (
        thread_id,
        event["seq"],
        event["type"],
        event.get("path") or "",
        event.get("visit") or 0,
        packer.column(event.get("data")),
        sql.moment(at or timezone.now()),
    )


def open_conversation(conversation: Conversation) -> Conversation:
    """Write a new conversation and return it with its key."""
    table(Conversation).insert([conversation])
    return conversation


def create(thread: Thread, start: ThreadStart) -> None:
    """Write a new thread with its lease and checkpoint 0. Raises IntegrityError where its id is taken."""
    assert connection.in_atomic_block
    packer = Packer()
    body = packer.full(start.cells)
    thread.full_size = len(body)
    # By the database's clock, as claims compare it: a starter whose clock is ahead would keep its thread waiting (F20).
    table(Thread).insert([thread], {"ready_at": sql.now()})
    table(Lease).insert([Lease(thread=thread)])
    packer.write()
    row = (thread.pk, 0, 1, True, body.decode(), len(body), str(thread.status), None, sql.moment(thread.created_at))
    sql.insert_many(f"INSERT INTO {CHECKPOINT}", [row])


def write_superstep(thread_id: int, token: int, superstep: Superstep) -> ThreadStatus | None:
    """Write one superstep: at most four statements, and one more for new blobs.

    Returns the status that the thread now has (`cancelled` or `suspended` where somebody asked for that meanwhile), or
    None where the step or the token is no longer the one that this holder knows; then nothing was written.
    """
    assert connection.in_atomic_block
    with connection.cursor() as cursor:
        cursor.execute(thread_statement(), fenced_thread(thread_id, token, superstep))
        moved = cursor.fetchall()
        if not moved:
            return None
        status = ThreadStatus(moved[0][0])
        superstep.packer.write()
        checkpoint = checkpoint_row(thread_id, superstep, str(status))
        sql.insert_many(f"INSERT INTO {CHECKPOINT}", [checkpoint], cursor=cursor)
        sql.insert_many(f"INSERT INTO {TASK}", superstep.tasks, TASK_CONFLICT, cursor)
        sql.insert_many(f"INSERT INTO {EVENT}", superstep.events, cursor=cursor)
    return status


def write_at_once(thread_id: int, token: int, superstep: Superstep) -> ThreadStatus | None:
    """Write a plain superstep as one statement, which is its own transaction: PostgreSQL only, where round trips cost
    more than anything else. Returns as `write_superstep` does."""
    parts = [f"moved AS ({thread_statement()})"]
    parameters = fenced_thread(thread_id, token, superstep)
    checkpoint = checkpoint_row(thread_id, superstep, str(superstep.commit.status))
    for name, target, rows, conflict in (
        ("checkpointed", CHECKPOINT, [checkpoint], ""),
        ("recorded", TASK, superstep.tasks, TASK_CONFLICT),
        ("told", EVENT, superstep.events, ""),
    ):
        if rows:
            places = ", ".join([f"({', '.join(['%s'] * len(rows[0]))})"] * len(rows))
            parts.append(
                f"{name} AS (INSERT INTO {target} SELECT given.* FROM moved, (VALUES {places}) AS given {conflict})"
            )
            parameters += [value for row in rows for value in row]
    moved = sql.fetch(f"WITH {', '.join(parts)} SELECT status FROM moved", parameters)
    return ThreadStatus(moved[0][0]) if moved else None


def checkpoint_row(thread_id: int, superstep: Superstep, status: str) -> tuple[Any, ...]:
    body, step = superstep.body, superstep.commit.step
    return (thread_id, step, 1, superstep.full, body, len(body), status, superstep.log, sql.moment(superstep.at))


def thread_statement() -> str:
    # The subquery locks the lease on PostgreSQL: a take-over could otherwise slip in between this check and the commit.
    return (
        "UPDATE graphs_thread SET step = %s, status = CASE WHEN cancel_at IS NOT NULL THEN 'cancelled'"
        " WHEN suspend_at IS NOT NULL AND %s THEN 'suspended' ELSE %s END,"
        " suspend_at = CASE WHEN %s THEN suspend_at END,"
        " next_seq = COALESCE(%s, next_seq), active = %s, output = %s, error = %s, full_step = %s, full_size = %s,"
        f" tail_size = %s, updated_at = {sql.now()}, ended_at = %s WHERE id = %s AND step = %s AND EXISTS"
        f" (SELECT 1 FROM graphs_lease WHERE thread_id = %s AND token = %s {sql.locking('FOR UPDATE')})"
        " RETURNING status"
    )


def thread_row(commit: Commit, tail: Tail, at: datetime, packer: Packer) -> list[Any]:
    # An end is an end; what would go on or wait is suspended where somebody asked for that.
    goes_on = commit.status not in ENDED
    return [
        commit.step,
        goes_on,
        str(commit.status),
        goes_on,
        commit.events[-1]["seq"] + 1 if commit.events else None,
        packer.column([key.path for key in commit.active] or None),
        packer.column(commit.output),
        packer.column(None if commit.error is None else dict(commit.error)),
        tail.full_step,
        tail.full_size,
        tail.size,
        sql.moment(at) if commit.status in ENDED else None,
    ]


def fenced_thread(thread_id: int, token: int, superstep: Superstep) -> list[Any]:
    return [*superstep.thread, thread_id, superstep.commit.step - 1, thread_id, token]


def record_tasks(thread_id: int, step: int, results: Sequence[TaskResult], packer: Packer) -> None:
    """Write results ahead of their superstep's commit; a load finds them and nothing runs them again (R4)."""
    assert connection.in_atomic_block
    moment = sql.moment(timezone.now())
    rows = [task_row(thread_id, step, result, packer, moment, commit=False) for result in results]
    packer.write()
    sql.insert_many(f"INSERT INTO {TASK}", rows, TASK_CONFLICT)


def touch_task(thread_id: int, key: TaskKey, step: int, status: TaskStatus) -> int:
    """The id of this task's row, made where it has none yet."""
    row = (thread_id, key.path, key.visit, step, str(status), 1, 0.0, False, sql.moment(timezone.now()))
    places = ", ".join(["%s"] * len(row))
    # The assignment changes nothing where the status is the same; without it RETURNING would give no row.
    found = sql.fetch(
        "INSERT INTO graphs_task (thread_id, path, visit, step, status, attempt, seconds, applied, at)"
        f" VALUES ({places}) ON CONFLICT (thread_id, path, visit) DO UPDATE SET status = CASE WHEN graphs_task.applied"
        " THEN graphs_task.status ELSE excluded.status END RETURNING id",
        row,
    )
    return int(found[0][0])


def record_effect(thread_id: int, key: TaskKey, step: int, entry: JournalEntry, packer: Packer) -> None:
    """Write one effect as started or done."""
    assert connection.in_atomic_block
    packed = packer.column(entry.value)
    packer.write()
    task_id = touch_task(thread_id, key, step, TaskStatus.RUNNING)
    row = (task_id, entry.key, entry.ordinal, entry.state, entry.mode, packed, sql.moment(timezone.now()))
    sql.insert_many(
        "INSERT INTO graphs_journalentry (task_id, key, ordinal, state, mode, value, at)",
        [row],
        "ON CONFLICT (task_id, key, ordinal) DO UPDATE SET state = excluded.state, mode = excluded.mode,"
        " value = excluded.value, at = excluded.at WHERE graphs_journalentry.state <> 'done'",
    )


def reset_failed(thread_id: int) -> None:
    """Failed tasks may run again, with their journals and answers (Z04)."""
    sql.execute(
        "UPDATE graphs_task SET status = %s, error = NULL WHERE thread_id = %s AND status = %s AND NOT applied",
        [str(TaskStatus.RUNNING), thread_id, str(TaskStatus.FAILED)],
    )
