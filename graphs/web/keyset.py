"""Paging by the last row that was shown: its columns travel as an opaque cursor, the next page begins beyond them."""

from __future__ import annotations

import base64
import binascii
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import Any, TypeVar, overload

import orjson
from django.db.models import F, Q
from django.db.models.expressions import OrderBy

Key = TypeVar("Key", uuid.UUID, int)

#: Numbers beyond this are in no column.
MOST = 1e15


@dataclass(frozen=True, slots=True)
class Column:
    """One column of an order; what has no value in it comes last."""

    name: str
    descending: bool
    nullable: bool = False
    number: bool = False

    @property
    def ordering(self) -> OrderBy:
        # Said of a column that is never null it would keep PostgreSQL from using the index.
        last = True if self.nullable else None
        return F(self.name).desc(nulls_last=last) if self.descending else F(self.name).asc(nulls_last=last)

    def fits(self, value: object) -> bool:
        """Whether a cursor's value is of this column's kind."""
        if value is None:
            return self.nullable
        if self.number:
            return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < MOST
        return isinstance(value, datetime)


def past(columns: Sequence[Column], values: Sequence[Any], pk: uuid.UUID | int) -> Q:
    """The rows beyond the one with these values, in the order of the columns and then of the key; without columns the
    newest key is the first."""
    found, same = Q(pk__in=[]), Q()
    for column, value in zip(columns, values, strict=True):
        if value is None:
            same &= Q(**{f"{column.name}__isnull": True})
            continue
        beyond = Q(**{f"{column.name}__{'lt' if column.descending else 'gt'}": value})
        found |= same & (beyond | Q(**{f"{column.name}__isnull": True}) if column.nullable else beyond)
        same &= Q(**{column.name: value})
    downward = columns[-1].descending if columns else True
    return found | (same & Q(**{f"pk__{'lt' if downward else 'gt'}": pk}))


def cursor(values: Sequence[Any], pk: uuid.UUID | int) -> str:
    """Where a page ended, opaque to its reader."""
    told = [one.isoformat() if isinstance(one, datetime) else one for one in values]
    return base64.urlsafe_b64encode(orjson.dumps([*told, str(pk)])).decode().rstrip("=")


def whole(text: str) -> int:
    """The integer key of a cursor. Raises ValueError for what is none."""
    if not (isinstance(text, str) and text.isascii() and text.isdigit() and len(text) < 19):
        raise ValueError(text)
    return int(text)


@overload
def read(text: str, columns: Sequence[Column]) -> tuple[list[Any], uuid.UUID] | None: ...


@overload
def read(text: str, columns: Sequence[Column], key: Callable[[str], Key]) -> tuple[list[Any], Key] | None: ...


def read(text: str, columns: Sequence[Column], key: Callable[[str], Any] = uuid.UUID) -> tuple[list[Any], Any] | None:
    """The cursor of an address; None for what is none of this order (A14). `key` reads the rows' keys: `whole` where
    they are numbers."""
    try:
        *told, pk = orjson.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        values = [moment(one, UTC) if isinstance(one, str) else one for one in told]
        fits = len(values) == len(columns) and all(
            column.fits(value) and (value is not None or one is None)
            for column, value, one in zip(columns, values, told, strict=True)
        )
        return (values, key(pk)) if fits else None
    except (ValueError, TypeError, AttributeError, binascii.Error):
        return None


def moment(text: str, naive: tzinfo | None = None) -> datetime | None:
    """The moment that a text names, in UTC; None for what is none. One without a zone is of `naive`, where given."""
    try:
        at = datetime.fromisoformat(text)
        at = at if at.tzinfo or naive is None else at.replace(tzinfo=naive)
        # In UTC already here, since the ends of the calendar overflow on the way there.
        return at.astimezone(UTC) if at.tzinfo else None
    except (ValueError, OverflowError):
        return None
