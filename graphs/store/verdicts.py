"""The SQL of deciding: each a conditional UPDATE whose row count is the truth (F21)."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from django.db import connection

from graphs.models import Conversation, Decision, Thread, Vote
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


#: The question as it was seen, still open, under the policy that was read.
SAME = (
    "id = %s AND status IN ('open', 'needs_info') AND version = %s AND digest = %s AND EXISTS (SELECT 1 FROM"
    " graphs_approvalqueue q WHERE q.id = graphs_interrupt.queue_id AND q.policy_version = %s)"
)


def close(interrupt_id: UUID, version: int, digest: str, policy: int) -> bool:
    """Close a question if it is still the one that was seen, and its queue's policy the one that it was judged by."""
    assert connection.in_atomic_block
    changed = sql.execute(
        f"UPDATE graphs_interrupt SET status = 'closed', version = version + 1, closed_at = {sql.now()},"
        f" paused_at = NULL WHERE {SAME}",
        [sql.identifier(str(interrupt_id)), version, digest, policy],
    )
    return changed == 1


def still(interrupt_id: UUID, version: int, digest: str, policy: int) -> bool:
    """Whether a question is still the one that was seen. Its thread's lock keeps it so."""
    assert connection.in_atomic_block
    seen = [sql.identifier(str(interrupt_id)), version, digest, policy]
    return bool(sql.fetch(f"SELECT 1 FROM graphs_interrupt WHERE {SAME}", seen))


def reopen(interrupt_id: UUID) -> bool:
    """Open a question again whose verdict does not count yet: the next round. False where it counts already."""
    assert connection.in_atomic_block
    changed = sql.execute(
        "UPDATE graphs_interrupt SET status = 'open', version = version + 1, closed_at = NULL WHERE id = %s"
        " AND status = 'closed' AND (SELECT d.effective_at FROM graphs_decision d"
        f" WHERE d.interrupt_id = graphs_interrupt.id ORDER BY d.round DESC LIMIT 1) > {sql.now()}",
        [sql.identifier(str(interrupt_id))],
    )
    return changed == 1


def round_of(interrupt_id: UUID) -> int:
    """The round in which a question is or would be decided next, from 1."""
    rows = sql.fetch(
        "SELECT COALESCE(MAX(round), 0) FROM graphs_decision WHERE interrupt_id = %s",
        [sql.identifier(str(interrupt_id))],
    )
    return int(rows[0][0]) + 1


def keep(decision: Decision, hold_seconds: float = 0) -> None:
    """Write a verdict as its round of its question. It counts once the hold has passed by the database's clock, which
    is what it is compared with wherever it is read."""
    assert connection.in_atomic_block
    moment = sql.later(hold_seconds) if hold_seconds else sql.now()
    table(Decision).insert([decision], {"effective_at": moment})


def keep_vote(vote: Vote) -> None:
    """Write one person's vote."""
    assert connection.in_atomic_block
    table(Vote).insert([vote])


def votes_of(interrupt_id: UUID, round_: int) -> list[Vote]:
    """The votes of one round, in the order in which they came."""
    votes = table(Vote)
    rows = sql.fetch(
        f"SELECT {votes.columns('v')} FROM graphs_vote v WHERE v.interrupt_id = %s AND v.round = %s ORDER BY v.id",
        [sql.identifier(str(interrupt_id)), round_],
    )
    return [votes.read(row) for row in rows]


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
