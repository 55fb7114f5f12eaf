"""The SQL of leases: claim, acquire, renew. Every moment is by the database's clock (F20)."""

from __future__ import annotations

from typing import NamedTuple

from django.db import connection

from graphs.engine.statuses import ThreadStatus
from graphs.store import sql


class Claimed(NamedTuple):
    """The thread that was claimed."""

    pk: int
    graph_id: str
    thread_id: str
    step: int
    fingerprint: str


def claim() -> Claimed | None:
    """Mark the thread that has been ready longest as running; None where none is ready and free."""
    assert connection.in_atomic_block
    rows = sql.fetch(
        f"UPDATE graphs_thread SET status = %s, updated_at = {sql.now()} WHERE status = %s AND id = ("
        "SELECT t.id FROM graphs_thread t JOIN graphs_lease l ON l.thread_id = t.id WHERE t.status = 'ready'"
        f" AND (l.expires_at IS NULL OR l.expires_at <= {sql.now()}) ORDER BY t.ready_at, t.id LIMIT 1"
        # Both rows, and neither waited for: whoever holds one of them may be waiting for the other.
        f" {sql.locking('FOR UPDATE SKIP LOCKED')}) RETURNING id, graph_id, thread_id, step, fingerprint",
        [ThreadStatus.RUNNING, ThreadStatus.READY],
    )
    return Claimed(*rows[0]) if rows else None


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
