"""The SQL of leases: claim, acquire, renew. Every moment is by the database's clock (F20)."""

from __future__ import annotations

from typing import Any, NamedTuple

from django.db import OperationalError, connection, transaction

from graphs.engine.statuses import ThreadStatus
from graphs.store import sql


class Claimed(NamedTuple):
    """The thread that was claimed."""

    pk: int
    graph_id: str
    thread_id: str
    step: int
    fingerprint: str
    #: When somebody asked to cancel it: nothing of it may start any more.
    cancel_at: Any


def claim() -> Claimed | int | None:
    """Mark the thread that has been ready longest as running; None where none is ready, due and free.

    Where all that are ready are locked by others at this moment, the id of one of them.
    """
    assert connection.in_atomic_block
    update = (
        f"UPDATE graphs_thread SET status = %s, updated_at = {sql.now()} WHERE status = %s AND id = ("
        "SELECT t.id FROM graphs_thread t JOIN graphs_lease l ON l.thread_id = t.id WHERE t.status = 'ready'"
        f" AND t.ready_at <= {sql.now()} AND (l.expires_at IS NULL OR l.expires_at <= {sql.now()})"
        " ORDER BY t.ready_at, t.id LIMIT 1"
        # Both rows, and neither waited for: whoever holds one of them may be waiting for the other.
        f" {sql.locking('FOR NO KEY UPDATE SKIP LOCKED')}) RETURNING id, graph_id, thread_id, step,"
        " fingerprint, cancel_at"
    )
    if connection.vendor == "postgresql":
        update = (
            f"WITH claimed AS ({update}) SELECT * FROM claimed UNION ALL"
            " (SELECT t.id, '', '', -1, '', NULL::timestamptz"
            " FROM graphs_thread t JOIN graphs_lease l ON l.thread_id = t.id WHERE t.status = 'ready'"
            f" AND t.ready_at <= {sql.now()} AND (l.expires_at IS NULL OR l.expires_at <= {sql.now()})"
            " AND NOT EXISTS (SELECT 1 FROM claimed) LIMIT 1)"
        )
    rows = sql.fetch(update, [ThreadStatus.RUNNING, ThreadStatus.READY])
    if not rows:
        return None
    found = Claimed(*rows[0])
    return found.pk if found.step < 0 else found


def await_locks(pk: int, seconds: float) -> bool:
    """Wait until nobody holds the rows of this thread, its lease first as everywhere; False where that takes longer."""
    assert connection.in_atomic_block
    try:
        with transaction.atomic():
            sql.execute(f"SET LOCAL lock_timeout = '{int(seconds * 1000)}ms'", [])
            sql.fetch("SELECT 1 FROM graphs_lease WHERE thread_id = %s FOR UPDATE", [pk])
            sql.fetch("SELECT 1 FROM graphs_thread WHERE id = %s FOR NO KEY UPDATE", [pk])
    except OperationalError:
        return False
    return True


def acquire(pk: int, step: int, holder: str, seconds: float) -> tuple[int, int]:
    """Raise the token and count the acquisition. Returns the token and how many in a row were barren, this one too.

    Counted here, before anything can go wrong with it, so that kill -9 and a lack of memory count too.
    """
    assert connection.in_atomic_block
    rows = sql.fetch(
        f"UPDATE graphs_lease SET token = token + 1, holder = %s, expires_at = {sql.later(seconds)},"
        " barren = CASE WHEN step < %s THEN 1 ELSE barren + 1 END, step = %s WHERE thread_id = %s"
        " RETURNING token, barren",
        [holder, step, step, pk],
    )
    return int(rows[0][0]), int(rows[0][1])


def lock_free(pk: int) -> bool:
    """Lock this thread's lease, if nobody holds it."""
    assert connection.in_atomic_block
    free = sql.fetch(
        f"SELECT 1 FROM graphs_lease WHERE thread_id = %s AND (expires_at IS NULL OR expires_at <= {sql.now()})"
        f" {sql.locking('FOR UPDATE')}",
        [pk],
    )
    return bool(free)


def renew(pk: int, token: int, seconds: float) -> bool:
    """Move the deadline on; False where the lease is no longer this holder's."""
    changed = sql.execute(
        f"UPDATE graphs_lease SET expires_at = {sql.later(seconds)}"
        " WHERE thread_id = %s AND token = %s AND expires_at IS NOT NULL",
        [pk, token],
    )
    return changed == 1


def release(pk: int, token: int) -> None:
    """Give the lease back: whoever claims the thread next need not wait for its deadline."""
    sql.execute(
        "UPDATE graphs_lease SET expires_at = NULL, holder = '' WHERE thread_id = %s AND token = %s", [pk, token]
    )


def fence(pk: int, token: int) -> bool:
    """Is this holder still the one? Locks its lease, so that a take-over waits for what follows; counts as progress."""
    assert connection.in_atomic_block
    return sql.execute("UPDATE graphs_lease SET barren = 0 WHERE thread_id = %s AND token = %s", [pk, token]) == 1
