"""The few places where the two databases spell a thing differently."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db import connection

#: SQLite's bound on parameters is 32,766; PostgreSQL gets its values as text and minds only the size.
PARAMETERS = 30_000


def now() -> str:
    """The database's clock: lease arithmetic in a worker's own would break where that clock is wrong (F20)."""
    if connection.vendor == "postgresql":
        return "STATEMENT_TIMESTAMP()"
    return "STRFTIME('%%Y-%%m-%%d %%H:%%M:%%f', 'NOW')"


def later(seconds: float) -> str:
    """That clock, `seconds` from now."""
    if connection.vendor == "postgresql":
        return f"(STATEMENT_TIMESTAMP() + INTERVAL '{float(seconds)} seconds')"
    return f"STRFTIME('%%Y-%%m-%%d %%H:%%M:%%f', 'NOW', '{float(seconds):+} seconds')"


def locking(clause: str) -> str:
    """A row lock where rows can be locked; SQLite's transactions hold the only write lock there is."""
    return clause if connection.vendor == "postgresql" else ""


def moment(value: datetime) -> Any:
    """A time as a parameter of plain SQL."""
    return connection.ops.adapt_datetimefield_value(value)


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


def insert_many(head: str, rows: Sequence[Sequence[Any]], tail: str = "") -> None:
    """`head` VALUES (…), (…) `tail`, in as few statements as the bound on parameters allows."""
    if not rows:
        return
    width = len(rows[0])
    place = f"({', '.join(['%s'] * width)})"
    at_once = PARAMETERS // width
    for start in range(0, len(rows), at_once):
        chunk = rows[start : start + at_once]
        values = ", ".join([place] * len(chunk))
        execute(f"{head} VALUES {values} {tail}", [value for row in chunk for value in row])
