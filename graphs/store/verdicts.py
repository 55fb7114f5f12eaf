"""The SQL of deciding: each a conditional UPDATE whose row count is the truth (F21)."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from django.db import connection

from graphs.models import Conversation, Decision, Thread
from graphs.store import sql
from graphs.store.rows import table


def lock_threads(ids: Sequence[int]) -> dict[int, Thread]:
    """These threads' rows, locked in the order of their keys, with their conversations.

    Everywhere a thread's row is locked FOR NO KEY UPDATE: rows that refer to it (a remark, a question) take a key share
    of it when they commit, with the audit chain or a counter already theirs, and would wait for who waits for those.
    """
    assert connection.in_atomic_block
    threads, conversations = table(Thread), table(Conversation)
    rows = sql.fetch(
        f"SELECT {threads.columns('t')}, {conversations.columns('c')} FROM graphs_thread t JOIN graphs_conversation c"
        f" ON c.id = t.conversation_id WHERE t.id IN ({sql.marks(ids)}) ORDER BY t.id"
        f" {sql.locking('FOR NO KEY UPDATE OF t')}",
        ids,
    )
    found = {}
    for row in rows:
        thread = threads.read(row)
        thread.conversation = conversations.read(row, threads.width)
        found[thread.pk] = thread
    return found


def close(interrupt_id: UUID, version: int, digest: str) -> bool:
    """Close a question if it is still the one that was seen."""
    assert connection.in_atomic_block
    changed = sql.execute(
        f"UPDATE graphs_interrupt SET status = 'closed', version = version + 1, closed_at = {sql.now()}"
        " WHERE id = %s AND status IN ('open', 'needs_info') AND version = %s AND digest = %s",
        [sql.identifier(str(interrupt_id)), version, digest],
    )
    return changed == 1


def keep(decision: Decision) -> None:
    """Write a verdict as the next round of its question. It counts from now by the database's clock, which is what it
    is compared with wherever it is read."""
    assert connection.in_atomic_block
    rows = sql.fetch(
        "SELECT COALESCE(MAX(round), 0) FROM graphs_decision WHERE interrupt_id = %s",
        [sql.identifier(str(decision.interrupt_id))],
    )
    decision.round = rows[0][0] + 1
    table(Decision).insert([decision], {"effective_at": sql.now()})


def number(interrupt_id: UUID, seq: int) -> None:
    """Give a changed question its queue's new number."""
    sql.execute("UPDATE graphs_interrupt SET seq = %s WHERE id = %s", [seq, sql.identifier(str(interrupt_id))])


def wake(thread_id: int) -> bool:
    """Make a thread that waited for people ready; False where it does not, or somebody suspended it (E17)."""
    changed = sql.execute(
        f"UPDATE graphs_thread SET status = 'ready', ready_at = {sql.now()}, updated_at = {sql.now()}"
        " WHERE id = %s AND status = 'interrupted'",
        [thread_id],
    )
    return changed == 1


def any_ready() -> bool:
    """Whether a thread waits for a job."""
    return bool(
        sql.fetch(f"SELECT 1 FROM graphs_thread WHERE status = 'ready' AND ready_at <= {sql.now()} LIMIT 1", [])
    )
