"""The few places where the two databases spell a thing differently."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.db import connection

#: SQLite's bound on parameters is 32,766; PostgreSQL gets its values as text and minds only the size.
PARAMETERS = 30_000


def now() -> str:
    """The database's clock: lease arithmetic in a worker's own would break where that clock is wrong (F20)."""
    if connection.vendor == "postgresql":
        return "STATEMENT_TIMESTAMP()"
    return "STRFTIME('%%Y-%%m-%%d %%H:%%M:%%f000', 'NOW')"


def later(seconds: float) -> str:
    """That clock, `seconds` from now."""
    if connection.vendor == "postgresql":
        return f"(STATEMENT_TIMESTAMP() + INTERVAL '{float(seconds)} seconds')"
    return f"STRFTIME('%%Y-%%m-%%d %%H:%%M:%%f000', 'NOW', '{float(seconds):+} seconds')"


def locking(clause: str) -> str:
    """A row lock where rows can be locked; SQLite's transactions hold the only write lock there is."""
    return clause if connection.vendor == "postgresql" else ""


def moment(value: datetime) -> Any:
    """A time as a parameter of plain SQL."""
    if connection.vendor == "postgresql":
        return value
    # As Django spells it on SQLite: UTC without saying so.
    return str(value.astimezone(UTC).replace(tzinfo=None))


def identifier(value: str) -> Any:
    """A UUID as a parameter of plain SQL."""
    return UUID(value) if connection.vendor == "postgresql" else UUID(value).hex


def rolled_back(error: Exception) -> bool:
    """Whether the database gave this transaction up for another one's sake (serialization failure, deadlock), so that
    the same again may well succeed."""
    return getattr(error.__cause__, "sqlstate", None) in ("40001", "40P01")


def marks(values: Sequence[Any]) -> str:
    """As many placeholders as there are values."""
    return ", ".join(["%s"] * len(values))


@contextmanager
def unhurried() -> Iterator[str]:
    """Let one UPDATE commit without waiting for the disk, for marks whose loss only repeats what is harmless twice.

    Yields a condition that the statement must carry. The database stays whole, and whatever commits after it in the
    usual way takes it to the disk as well. Within a transaction it changes nothing: that one is durable as a whole.
    """
    if connection.in_atomic_block:
        yield "1 = 1"
    elif connection.vendor == "postgresql":
        yield "(SELECT set_config('synchronous_commit', 'off', true)) = 'off'"
    else:
        connection.ensure_connection()
        link = connection.connection
        (usual,) = link.execute("PRAGMA synchronous").fetchone()
        link.execute("PRAGMA synchronous = NORMAL")
        try:
            yield "1 = 1"
        finally:
            link.execute(f"PRAGMA synchronous = {usual}")


def execute(statement: str, parameters: Sequence[Any]) -> int:
    """Run one statement and return how many rows it touched."""
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return int(cursor.rowcount)


def fetch(statement: str, parameters: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Run one statement and return its rows."""
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return list(cursor.fetchall())


def insert_many(head: str, rows: Sequence[Sequence[Any]], tail: str = "", cursor: Any = None) -> None:
    """`head` VALUES (…), (…) `tail`, in as few statements as the bound on parameters allows. A caller with several
    statements gives its cursor: opening one costs as much as a small insert."""
    if not rows:
        return
    width = len(rows[0])
    place = f"({', '.join(['%s'] * width)})"
    at_once = PARAMETERS // width
    for start in range(0, len(rows), at_once):
        chunk = rows[start : start + at_once]
        statement = f"{head} VALUES {', '.join([place] * len(chunk))} {tail}"
        values = [value for row in chunk for value in row]
        if cursor is None:
            execute(statement, values)
        else:
            cursor.execute(statement, values)
