"""What an inbox address asks for: the view, the words, the chips, the order and where the page begins."""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from graphs.engine.statuses import InterruptStatus, Outcome
from graphs.models.interrupts import RISKS
from graphs.web import keyset
from graphs.web.keyset import Column

VIEWS = {
    "mine": _("My items"),
    "open": _("All open"),
    "unassigned": _("Unassigned"),
    "watching": _("Watching"),
    "snoozed": _("Snoozed"),
    "overdue": _("Overdue"),
    "asked": _("My threads"),
    "decided": _("Decided by me"),
    "closed": _("Closed"),
}
SORTS = {
    "newest": _("Newest"),
    "oldest": _("Oldest"),
    "deadline": _("Deadline"),
    "risk": _("Risk"),
    "value": _("Value"),
}
CHIP = re.compile(
    r"(?<!\S)(queue|graph|node|tool|risk|status|older|assignee|requester|due):(\"[^\"]+\"|\S+)", re.IGNORECASE
)
AGE = re.compile(r"(\d{1,5})(m|h|d|w)")
UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
LEVELS = {word: number for number, word in RISKS}
#: Views of what is over, which are in the order of their end.
PAST = ("decided", "closed")


@dataclass(frozen=True, slots=True)
class Chip:
    """One `key:value` of the search box; `known` is false where nothing could be made of it."""

    key: str
    value: str
    known: bool = True
    text: str = ""

    def __str__(self) -> str:
        return self.text or f"{self.key}:{self.value}"


@dataclass(frozen=True, slots=True)
class Filter:
    """What the address of an inbox page asks for. Anything odd in it is dropped, never an error (A14)."""

    view: str = "open"
    queue: str = ""
    text: str = ""
    sort: str = "newest"
    words: tuple[str, ...] = ()
    chips: tuple[Chip, ...] = ()
    after: tuple[list[Any], uuid.UUID] | None = None
    #: The number of the saved view that it is, or was before it was changed.
    saved: str = ""

    @property
    def narrowed(self) -> bool:
        """Whether more than a view was asked for."""
        return bool(self.words or self.chips)

    @property
    def columns(self) -> list[Column]:
        """The order of the rows; their key comes after these."""
        return columns(self.view, self.sort)

    def query(self, **changes: str) -> str:
        """The address's query with changes, without what is at its default."""
        values = {"view": self.view, "queue": self.queue, "q": self.text, "sort": self.sort, "saved": self.saved}
        values |= changes
        defaults = {"view": "open", "sort": "newest"}
        kept = QueryDict(mutable=True)
        kept.update({key: value for key, value in values.items() if value and defaults.get(key) != value})
        return kept.urlencode()

    def without(self, chip: Chip) -> str:
        """The query without one chip."""
        return self.query(q=" ".join(self.text.replace(str(chip), " ").split()))


def columns(view: str, sort: str) -> list[Column]:
    age = Column("closed_at", sort != "oldest", nullable=True) if view in PAST else Column("created_at", True)
    if sort == "deadline":
        return [Column("deadline", False, nullable=True)]
    if sort == "risk":
        return [Column("risk", True, number=True), age]
    if sort == "value":
        return [Column("amount", True, nullable=True, number=True), age]
    return [age] if view in PAST else [Column("created_at", sort != "oldest")]


def parse(query: QueryDict) -> Filter:
    """Read the address."""
    text = query.get("q", "").replace("\x00", "")[:500]
    view, sort, saved = query.get("view", ""), query.get("sort", ""), query.get("saved", "")
    view, sort = view if view in VIEWS else "open", sort if sort in SORTS else "newest"
    return Filter(
        view=view,
        queue=query.get("queue", "")[:60].replace("\x00", ""),
        text=" ".join(text.split()),
        sort=sort,
        words=tuple(CHIP.sub(" ", text).lower().split()[:10]),
        chips=tuple(_chip(match) for match in CHIP.finditer(" ".join(text.split()))),
        after=keyset.read(query.get("after", ""), columns(view, sort)),
        saved=saved if saved.isascii() and saved.isdigit() and len(saved) < 12 else "",
    )


def _chip(match: re.Match[str]) -> Chip:
    key, value = match[1].lower(), match[2].strip('"')
    if key in ("older", "due"):
        known = bool(AGE.fullmatch(value.lower()))
    elif key == "risk":
        known = value.lower() in LEVELS
    else:
        known = key != "status" or value.lower() in {*map(str, InterruptStatus), *map(str, Outcome)}
    return Chip(key, value, known, match[0])


def age(text: str) -> timedelta:
    """`2h`, `30m`, `3d`, `1w`."""
    match = AGE.fullmatch(text.lower())
    return timedelta(**{UNITS[match[2]]: int(match[1])}) if match else timedelta()
