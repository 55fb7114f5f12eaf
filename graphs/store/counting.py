"""Numbers that grow in commit order, and the audit chain that hangs on one of them."""

from __future__ import annotations

from django.db import connection

from graphs.models import AuditEntry
from graphs.store import sql
from graphs.store.rows import table


def advance(name: str, by: int = 1) -> int:
    """Move a counter on and return its new value; its row stays locked until the transaction ends."""
    return counted(name, by)[0]


def next_of_chain(name: str) -> tuple[int, str]:
    """The number of the chain's next entry and the digest of its last one, empty where there is none."""
    return counted(name, 1)


def counted(name: str, by: int) -> tuple[int, str]:
    assert connection.in_atomic_block
    rows = sql.fetch(
        "INSERT INTO graphs_counter (name, value, text) VALUES (%s, %s, '')"
        " ON CONFLICT (name) DO UPDATE SET value = graphs_counter.value + %s RETURNING value, text",
        [name, by, by],
    )
    return int(rows[0][0]), str(rows[0][1])


def extend_chain(name: str, entry: AuditEntry) -> None:
    """Append an entry whose number `next_of_chain` gave in this transaction."""
    assert connection.in_atomic_block
    table(AuditEntry).insert([entry])
    sql.execute("UPDATE graphs_counter SET text = %s WHERE name = %s", [entry.digest, name])
