"""Where a conversation's entries stand: one order over rows of several tables, read by page from its end."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

from django.db.models import Model, Prefetch, Q, QuerySet

from graphs.engine import events
from graphs.engine.statuses import TaskStatus
from graphs.models import Comment, Decision, Interrupt, JournalEntry, Task, Thread, ThreadEvent
from graphs.web.listing import moment

#: Rows that one page of a conversation is made of; many of them become one bubble or none.
ROWS = 100
#: Rows that a page which has grown while it was open may have; past these it begins anew at the end.
MOST_ROWS = 600


class Place(NamedTuple):
    """A row's place in the order: its moment, then what kind of row it is, then its key."""

    at: datetime
    rank: int
    key: int

    def __str__(self) -> str:
        return "start" if self == START else f"{self.at.isoformat()}~{self.rank}~{self.key}"


#: Before everything.
START = Place(datetime(1970, 1, 1, tzinfo=UTC), 0, 0)


def behind(at: datetime) -> Place:
    """The place behind all that happened up to a moment."""
    return Place(at, len(SOURCES), 0)


def parsed(text: str) -> Place | None:
    """The place that an address names; None for what names none."""
    if text == str(START):
        return START
    told, _, rest = text.partition("~")
    rank, _, key = rest.partition("~")
    if len(text) > 120 or not all(one.isascii() and one.isdigit() for one in (rank, key)):
        return None
    at = moment(told)
    if at is None or int(rank) >= len(SOURCES) or int(key) >= 2**128:
        return None
    return Place(at, int(rank), int(key))


@dataclass(frozen=True, slots=True)
class Source:
    """One table's part in a conversation, with the column that says when."""

    moment: str
    rows: Callable[[Thread], QuerySet[Any]]
    #: Whether its keys are UUIDs.
    uuids: bool = False

    def read(self, thread: Thread, rank: int, before: Place | None, since: Place | None, limit: int) -> list[Row]:
        """Its newest rows before one place and not before another."""
        rows = self.rows(thread)
        if before is not None:
            rows = rows.filter(self._earlier(rank, before))
        if since is not None:
            rows = rows.exclude(self._earlier(rank, since))
        found = rows.order_by(f"-{self.moment}", "-pk")[:limit]
        return [Row(Place(getattr(row, self.moment), rank, int(row.pk)), row) for row in found]

    def _earlier(self, rank: int, place: Place) -> Q:
        at = Q(**{f"{self.moment}__lt": place.at})
        if rank > place.rank:
            return at
        same = Q(**{self.moment: place.at})
        if rank == place.rank:
            own = same & Q(pk__lt=uuid.UUID(int=place.key) if self.uuids else min(place.key, 2**63 - 1))
            return at | own
        return at | same


class Row(NamedTuple):
    """A row at its place."""

    place: Place
    row: Any


def told(thread: Thread) -> QuerySet[Model]:
    return ThreadEvent.objects.filter(thread=thread, type__in=[events.GRAPH_START, events.NODE_ERROR, events.GRAPH_END])


def settled(thread: Thread) -> QuerySet[Model]:
    """Effects, replies and calls. What an agent notes for itself says nothing to people."""
    own = Q(key__startswith="added:") | Q(key__contains="/added:") | Q(key__contains="/callback:")
    own |= Q(key__in=("budget", "before_member")) | Q(key__endswith="/budget") | Q(key__endswith="/before_member")
    hooks = Q(key__contains="tool:") & (Q(key__endswith="/before") | Q(key__endswith="/after"))
    batches = Q(key__contains="batch:") & (Q(key__endswith="/before") | Q(key__endswith="/after"))
    rows = JournalEntry.objects.filter(task__thread=thread, state="done").exclude(own | hooks | batches)
    return rows.select_related("task").defer("task__output", "task__detail", "task__error")


def finished(thread: Thread) -> QuerySet[Model]:
    return Task.objects.filter(thread=thread, status=TaskStatus.FINISHED).defer("detail", "error")


def asked(thread: Thread) -> QuerySet[Interrupt]:
    """Questions, each with its decisions."""
    decisions = Prefetch("decisions", queryset=Decision.objects.order_by("round"))
    rows = Interrupt.objects.filter(thread=thread).select_related("queue", "task").prefetch_related(decisions)
    return rows.defer("search", "task__output", "task__detail", "task__error")


def decided(thread: Thread) -> QuerySet[Model]:
    rows = (
        Decision.objects.filter(interrupt__thread=thread).with_undone().select_related("interrupt", "interrupt__task")
    )
    return rows.defer("interrupt__search", "interrupt__task__output", "interrupt__task__detail")


def remarks(thread: Thread) -> QuerySet[Model]:
    return Comment.objects.filter(thread=thread)


#: At the same moment they are shown in this order.
SOURCES = (
    Source("at", told),
    Source("at", settled),
    Source("at", finished),
    Source("created_at", asked, uuids=True),
    Source("decided_at", decided),
    Source("created_at", remarks),
)


class Page(NamedTuple):
    """Rows, oldest first, and whether there are older ones; `first` is where they begin. `cut` says that they do not
    reach back to where they were wanted from."""

    rows: list[Row]
    older: bool
    cut: bool = False

    @property
    def first(self) -> Place:
        return self.rows[0].place if self.older and self.rows else START


def page(thread: Thread, before: Place | None = None, since: Place | None = None) -> Page:
    """The newest rows of a conversation. `since` is where an open page begins, `START` where it has them all: it
    reaches back to there, unless more than MOST_ROWS have come after it."""
    if since is not None:
        rows = gathered(thread, before, since, MOST_ROWS)
        if len(rows) <= MOST_ROWS:
            return Page(rows, since != START)
    rows = gathered(thread, before, None, ROWS)
    return Page(rows[-ROWS:], len(rows) > ROWS, cut=since is not None)


def gathered(thread: Thread, before: Place | None, since: Place | None, limit: int) -> list[Row]:
    """Each source's newest rows, one more than `limit`, so that the newest `limit` of all are among them."""
    found = [source.read(thread, rank, before, since, limit + 1) for rank, source in enumerate(SOURCES)]
    return sorted((row for rows in found for row in rows), key=lambda one: one.place)


def of(rows: Sequence[Row], rank: int) -> list[Any]:
    """The rows of one source."""
    return [row for place, row in rows if place.rank == rank]


EVENTS, JOURNAL, TASKS, QUESTIONS, DECISIONS, COMMENTS = range(len(SOURCES))
