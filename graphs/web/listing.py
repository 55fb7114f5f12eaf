"""The inbox as a question to the database: one query for each list and its count (U07)."""

from __future__ import annotations

import base64
import binascii
import re
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from typing import TYPE_CHECKING

import orjson
from django.db.models import Case, Count, F, IntegerField, OuterRef, Q, QuerySet, Subquery, Value, When
from django.db.models.expressions import OrderBy, RawSQL
from django.db.models.functions import Coalesce
from django.http import QueryDict
from django.utils import timezone

from graphs.engine.statuses import InterruptStatus, Outcome
from graphs.models import ApprovalQueue, Interrupt
from graphs.models.heads import open_heads
from graphs.permissions import DECIDERS, operates

if TYPE_CHECKING:
    from django.contrib.auth.models import User

    from graphs.models.interrupts import InterruptQuerySet

PAGE = 50
VIEWS = {"open": "Open", "asked": "My threads", "decided": "Decided by me", "closed": "Closed"}
SORTS = {"newest": "Newest", "oldest": "Oldest", "deadline": "Deadline"}
WAITING = [InterruptStatus.OPEN, InterruptStatus.NEEDS_INFO]
CHIP = re.compile(r"(queue|graph|node|status|older):(\S+)", re.IGNORECASE)
AGE = re.compile(r"(\d{1,5})(m|h|d|w)")
UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
#: A person of more queues than these gets the plain query: SQLite merges at most 500 of them.
HEADS = 100
#: What a row shows; payloads and schemas stay in the database until a question is opened (F28).
ROW_ONLY = ("payload", "metadata", "response_schema", "search", "default", "graph_path")


@dataclass(frozen=True, slots=True)
class Chip:
    """One `key:value` of the search box; `known` is false where nothing could be made of it."""

    key: str
    value: str
    known: bool = True

    def __str__(self) -> str:
        return f"{self.key}:{self.value}"


@dataclass(frozen=True, slots=True)
class Filter:
    """What the address of an inbox page asks for. Anything odd in it is dropped, never an error (A14)."""

    view: str = "open"
    queue: str = ""
    text: str = ""
    sort: str = "newest"
    words: tuple[str, ...] = ()
    chips: tuple[Chip, ...] = ()
    after: tuple[datetime | None, uuid.UUID] | None = None

    @property
    def narrowed(self) -> bool:
        """Whether more than a view was asked for."""
        return bool(self.words or self.chips)

    def query(self, **changes: str) -> str:
        """The address's query with changes, without what is at its default."""
        values = {"view": self.view, "queue": self.queue, "q": self.text, "sort": self.sort} | changes
        defaults = {"view": "open", "sort": "newest"}
        kept = QueryDict(mutable=True)
        kept.update({key: value for key, value in values.items() if value and defaults.get(key) != value})
        return kept.urlencode()

    def without(self, chip: Chip) -> str:
        """The query without one chip."""
        return self.query(q=" ".join(self.text.replace(str(chip), " ").split()))


@dataclass(frozen=True, slots=True)
class Page:
    """One page of rows, and the cursor of the next where there is one."""

    rows: list[Interrupt] = field(default_factory=list)
    next: str = ""


def parse(query: QueryDict) -> Filter:
    """Read the address."""
    text = query.get("q", "").replace("\x00", "")[:500]
    chips = tuple(_chip(match) for match in CHIP.finditer(text))
    view, sort = query.get("view", ""), query.get("sort", "")
    return Filter(
        view=view if view in VIEWS else "open",
        queue=query.get("queue", "")[:60].replace("\x00", ""),
        text=" ".join(text.split()),
        sort=sort if sort in SORTS else "newest",
        words=tuple(CHIP.sub(" ", text).lower().split()[:10]),
        chips=chips,
        after=_cursor(query.get("after", "")),
    )


def _chip(match: re.Match[str]) -> Chip:
    key, value = match[1].lower(), match[2]
    known = key not in ("older", "status") or bool(
        AGE.fullmatch(value) if key == "older" else value.lower() in _statuses()
    )
    return Chip(key, value, known)


def _statuses() -> set[str]:
    return {*map(str, InterruptStatus), *map(str, Outcome)}


def visible(user: User, view: str, queue: str = "") -> InterruptQuerySet:
    """The rows of a view, before any filter. Every one starts from what this person may see; what is open without a
    queue named is what they may decide, since only that waits for them."""
    rows = Interrupt.objects.visible_to(user)
    if view == "open":
        return rows.waiting().filter(queue__in=queues_of(user) if queue else decided_by(user))
    if view == "asked":
        return rows.waiting().filter(thread__conversation__requester=user.pk)
    if view == "decided":
        return rows.filter(decisions__reviewer_id=user.pk)
    return rows.exclude(status__in=WAITING)


def queues_of(user: User) -> QuerySet[ApprovalQueue]:
    """The queues that are this person's; an operator's are all."""
    if user.has_perm("graphs.view_interrupt") or operates(user):
        return ApprovalQueue.objects.all()
    return ApprovalQueue.objects.of(user)


def decided_by(user: User) -> QuerySet[ApprovalQueue]:
    """Those of them whose questions this person may decide, by the same rights as `permissions.may_decide`."""
    if user.has_perm("graphs.decide_interrupt"):
        return queues_of(user)
    return ApprovalQueue.objects.of(user, *DECIDERS)


def narrow(rows: InterruptQuerySet, wanted: Filter) -> InterruptQuerySet:
    """Apply the queue, the words and the chips."""
    if wanted.queue:
        rows = rows.filter(queue__slug=wanted.queue)
    for word in wanted.words:
        rows = rows.filter(search__contains=word)
    for chip in wanted.chips:
        rows = _by_chip(rows, chip)
    return rows


def _by_chip(rows: InterruptQuerySet, chip: Chip) -> InterruptQuerySet:
    if not chip.known:
        return rows
    if chip.key == "queue":
        return rows.filter(queue__slug__iexact=chip.value)
    if chip.key == "graph":
        return rows.filter(thread__graph_id__iexact=chip.value)
    if chip.key == "node":
        return rows.filter(node_id__iexact=chip.value)
    if chip.key == "status":
        value = chip.value.lower()
        return rows.filter(status=value) if value in set(InterruptStatus) else rows.filter(decisions__outcome=value)
    return rows.filter(created_at__lt=timezone.now() - age(chip.value))


def age(text: str) -> timedelta:
    """`2h`, `30m`, `3d`, `1w`."""
    match = AGE.fullmatch(text)
    return timedelta(**{UNITS[match[2]]: int(match[1])}) if match else timedelta()


def page(user: User, wanted: Filter, queues: Sequence[ApprovalQueue] | None = None) -> Page:
    """One page, by keyset: no row is skipped or repeated while others arrive (A13). `queues` are the person's, where
    the caller has read them already."""
    column, descending = _order(wanted)
    shown = list_of(user, wanted, queues)
    heads = _heads(shown, wanted, descending) if column == "created_at" else None
    if heads is not None:
        rows = Interrupt.objects.visible_to(user).filter(pk__in=heads)
    else:
        rows = narrow(visible(user, wanted.view, wanted.queue), wanted)
        if wanted.after is not None:
            rows = rows.filter(_past(column, descending, *wanted.after))
    rows = rows.order_by(_ordering(column, descending), "-id" if descending else "id")
    found = list(
        rows.select_related("queue", "thread", "thread__conversation", "task")
        .prefetch_related(*(["decisions"] if wanted.view in ("decided", "closed") else []))
        .defer(*ROW_ONLY, "thread__input", "thread__output", "task__output", "task__detail")[: PAGE + 1]
    )
    more = len(found) > PAGE
    found = found[:PAGE]
    return Page(found, cursor(getattr(found[-1], column), found[-1].pk) if more else "")


def list_of(user: User, wanted: Filter, queues: Sequence[ApprovalQueue] | None = None) -> Iterable[ApprovalQueue]:
    """The queues whose open questions a list holds: the one that is named, else those that are decided."""
    if queues is None:
        return queues_of(user).filter(slug=wanted.queue) if wanted.queue else decided_by(user)
    return [queue for queue in queues if (queue.slug == wanted.queue if wanted.queue else queue.decides)]  # type: ignore[attr-defined]


def _heads(queues: Iterable[ApprovalQueue], wanted: Filter, descending: bool) -> RawSQL | None:
    """The keys of one page of this person's open questions; None where the plain query serves."""
    if wanted.view != "open" or wanted.narrowed:
        return None
    ids = [queue.pk for queue in queues]
    if len(ids) > HEADS:
        return None
    moment, pk = wanted.after or (None, None)
    past = (moment, pk) if moment is not None and pk is not None else None
    return open_heads(ids, descending=descending, limit=PAGE + 1, past=past)


def _ordering(column: str, descending: bool) -> OrderBy:
    # Said of a column that is never null it would keep PostgreSQL from using the index.
    nulls_last = True if column != "created_at" else None
    return F(column).desc(nulls_last=nulls_last) if descending else F(column).asc(nulls_last=nulls_last)


def _order(wanted: Filter) -> tuple[str, bool]:
    if wanted.sort == "deadline":
        return "expires_at", False
    closed = wanted.view in ("decided", "closed")
    return ("closed_at" if closed else "created_at"), wanted.sort == "newest"


def _past(column: str, descending: bool, moment: datetime | None, pk: uuid.UUID) -> Q:
    beyond = "lt" if descending else "gt"
    tie = Q(**{f"pk__{beyond}": pk})
    if moment is None:
        return Q(**{f"{column}__isnull": True}) & tie
    return Q(**{f"{column}__{beyond}": moment}) | (Q(**{column: moment}) & tie) | Q(**{f"{column}__isnull": True})


def cursor(moment: datetime | None, pk: uuid.UUID) -> str:
    """Where a page ended, opaque to its reader."""
    raw = orjson.dumps([moment.isoformat() if moment else None, str(pk)])
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def _cursor(text: str) -> tuple[datetime | None, uuid.UUID] | None:
    try:
        told, pk = orjson.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        at = moment(told, UTC) if told is not None else None
        return None if at is None and told is not None else (at, uuid.UUID(pk))
    except (ValueError, TypeError, AttributeError, binascii.Error):
        return None


def moment(text: str, naive: tzinfo | None = None) -> datetime | None:
    """The moment that a cursor names, in UTC; None for what is none. One without a zone is of `naive`, where given."""
    try:
        at = datetime.fromisoformat(text)
        at = at if at.tzinfo or naive is None else at.replace(tzinfo=naive)
        # In UTC already here, since the ends of the calendar overflow on the way there.
        return at.astimezone(UTC) if at.tzinfo else None
    except (ValueError, OverflowError):
        return None


def counted_queues(user: User) -> list[ApprovalQueue]:
    """This person's queues, each with `waiting`, the length of its list, and whether this person `decides` it."""
    inside = (
        Interrupt.objects.waiting()
        .filter(queue=OuterRef("pk"))
        .order_by()
        .values("queue")
        .annotate(n=Count("pk"))
        .values("n")
    )
    waiting = Coalesce(Subquery(inside, output_field=IntegerField()), 0)
    decides = Case(When(pk__in=decided_by(user).values("pk"), then=Value(True)), default=Value(False))
    return list(queues_of(user).annotate(waiting=waiting, decides=decides).order_by("title"))


def open_count(queues: Iterable[ApprovalQueue]) -> int:
    """The length of the open list, of queues that are counted already."""
    return sum(queue.waiting for queue in queues if queue.decides)  # type: ignore[attr-defined]
