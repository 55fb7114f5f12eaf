"""The SQL of the outbox: every change writes to it, so it is kept to one statement each way."""

from __future__ import annotations

from collections.abc import Sequence

from graphs.models import OutboxMessage
from graphs.store import sql
from graphs.store.rows import table

#: Counting ends here, at what the column holds: after a week without Redis nobody asks how often.
ATTEMPTS = 32_767


def insert_messages(messages: Sequence[OutboxMessage]) -> None:
    """Write messages within the transaction of the change that they tell of."""
    table(OutboxMessage).insert(messages)


def mark_said(ids: Sequence[int]) -> None:
    """Note that these were said. Where the note is lost, the sweep says them once more."""
    if not ids:
        return
    with sql.unhurried() as condition:
        sql.execute(
            f"UPDATE graphs_outboxmessage SET published_at = {sql.now()}"
            f" WHERE id IN ({sql.marks(ids)}) AND published_at IS NULL AND {condition}",
            ids,
        )


def mark_unsaid(ids: Sequence[int]) -> None:
    """Count one more attempt."""
    if not ids:
        return
    with sql.unhurried() as condition:
        sql.execute(
            f"UPDATE graphs_outboxmessage SET attempts = attempts + CASE WHEN attempts < {ATTEMPTS} THEN 1 ELSE 0 END"
            f" WHERE id IN ({sql.marks(ids)}) AND published_at IS NULL AND {condition}",
            ids,
        )
