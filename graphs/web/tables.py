"""Tables of numbers: the same rows for people, for charts and as CSV."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from graphs.web.tags import percent, span

TEXT, DAY, COUNT, SHARE, SPAN = "text", "day", "count", "share", "span"


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its name in files, its title on pages, and the kind of its values."""

    name: str
    title: str
    kind: str

    @property
    def number(self) -> bool:
        return self.kind not in (TEXT, DAY)


@dataclass(frozen=True, slots=True)
class Cell:
    """One value as people read it, and as scripts and files have it; empty where there is none."""

    column: Column
    text: str
    plain: str


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of values, each of its column's kind; None is none."""

    name: str
    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Any]]

    def cells(self) -> Iterator[list[Cell]]:
        """The rows for a page."""
        for row in self.rows:
            pairs = zip(self.columns, row, strict=True)
            yield [Cell(column, shown(column.kind, value), plain(value)) for column, value in pairs]

    def plain(self) -> Iterator[list[str]]:
        """The rows for a file."""
        for row in self.rows:
            yield [plain(value) for value in row]


def share(part: int, whole: int) -> float | None:
    """A share between 0 and 1; None of nothing."""
    return part / whole if whole else None


def shown(kind: str, value: Any) -> str:
    if value is None:
        return ""
    if kind == SHARE:
        return percent(value)
    return span(value) if kind == SPAN else str(value)


def plain(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, timedelta):
        return f"{value.total_seconds():.3f}"
    return f"{value:.4f}" if isinstance(value, float) else str(value)
