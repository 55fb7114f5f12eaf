"""Numbers about questions and their decisions, counted by the database: how many, how long, in time, and how looked at.

Each function is one or two statements, however many rows or groups there are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any

from django.core.exceptions import EmptyResultSet
from django.db import connection
from django.db.models import (
    Case,
    Count,
    Exists,
    F,
    Max,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Value,
    When,
)
from django.db.models.functions import Coalesce, Concat, TruncDate

from graphs.engine.statuses import Outcome
from graphs.models.attention import Look
from graphs.models.clock import Now, Seconds
from graphs.models.interrupts import Decision, Interrupt, Vote

if TYPE_CHECKING:
    from django.db.models.expressions import Combinable

    from graphs.models.interrupts import DecisionQuerySet, InterruptQuerySet

#: Nobody reads a question and decides it in less.
QUICK = timedelta(seconds=2)
#: Decisions from which on never saying no says something.
ENOUGH = 50
YES = (Outcome.APPROVED, Outcome.ANSWERED)
#: What the clock decided: nobody had, in time.
BY_CLOCK = Q(outcome=Outcome.EXPIRED) | Q(reviewer_id=None, reviewer_name="system:timeout")
BY_PEOPLE = Q(reviewer_id__isnull=False)
EDITED = BY_PEOPLE & Q(outcome__in=YES, original__isnull=False)
#: What a decision is counted as; each is one of them.
SHARES = {
    "approved": BY_PEOPLE & Q(outcome=Outcome.APPROVED, original=None),
    "edited": EDITED,
    "rejected": BY_PEOPLE & Q(outcome=Outcome.REJECTED),
    "answered": BY_PEOPLE & Q(outcome=Outcome.ANSWERED, original=None),
}
TOOK = Seconds("interrupt__created_at", "decided_at")
NODE = Concat(F("interrupt__thread__graph_id"), Value(" · "), F("interrupt__node_id"))
#: The ways in which decisions are grouped; what has no tool is told by its node.
GROUPS: dict[str, Combinable] = {
    "tool": Case(When(interrupt__name="", then=NODE), default=F("interrupt__name")),
    "queue": F("interrupt__queue__title"),
    "channel": F("channel"),
}


@dataclass(frozen=True, slots=True)
class Scope:
    """Which queues, from when on."""

    queues: tuple[int, ...]
    since: datetime

    @property
    def asked(self) -> InterruptQuerySet:
        """Questions that came in."""
        return Interrupt.objects.filter(queue__in=self.queues, created_at__gte=self.since)

    @property
    def given(self) -> DecisionQuerySet:
        """Decisions, those that were undone too."""
        # Spelled so that no index of queues fits: SQLite would go through every question they ever had, not by date.
        rows = Decision.objects.alias(of=Coalesce("interrupt__queue_id", 0))
        return rows.filter(of__in=self.queues, decided_at__gte=self.since)


@dataclass(slots=True)
class Spans:
    """How long `n` of something took. Without any there is no time to tell."""

    n: int = 0
    median: timedelta | None = None
    mean: timedelta | None = None
    p90: timedelta | None = None


@dataclass(slots=True)
class Group:
    """Decisions of one kind that count."""

    key: Any
    n: int = 0
    people: int = 0
    due: int = 0
    in_time: int = 0
    by_clock: int = 0
    shares: dict[str, int] = field(default_factory=dict)
    spans: Spans = field(default_factory=Spans)


@dataclass(frozen=True, slots=True)
class Reviewer:
    """How one person decided `n` questions: `quick` of them within QUICK of opening them, `unread` without opening
    their long values, `unopened` without opening them on a page of their own, and `yes` with a yes."""

    name: str
    n: int
    quick: int
    unread: int
    unopened: int
    yes: int

    @property
    def always_yes(self) -> bool:
        """Whether they never said no, in so many that it says something."""
        return self.n >= ENOUGH and self.yes == self.n


def waiting(queues: Iterable[int]) -> dict[str, int]:
    """How many questions are open now, and how many of those are late."""
    rows = Interrupt.objects.waiting().filter(queue__in=queues)
    return rows.aggregate(open=Count("pk"), overdue=Count("pk", filter=Q(due_at__lt=Now())))


def totals(scope: Scope) -> Group:
    """All decisions of the scope that count, with how long they took."""
    rows = scope.given.standing()
    found = Group("", **counted(rows.annotate(part=Value(""))).get("", {}))
    found.spans = spans(rows.annotate(part=Value(""), span=TOOK)).get("", Spans())
    return found


def undone(scope: Scope) -> tuple[int, int]:
    """How many decisions were taken back, of how many."""
    found = scope.given.with_undone().aggregate(n=Count("pk"), back=Count("pk", filter=Q(undone=True)))
    return found["back"], found["n"]


def grouped(scope: Scope, by: str) -> list[Group]:
    """The same by tool, queue or channel, in the order of their names."""
    rows = scope.given.standing().annotate(part=GROUPS[by])
    times = spans(rows.annotate(span=TOOK))
    groups = [Group(key, **numbers, spans=times.get(key, Spans())) for key, numbers in counted(rows).items()]
    return sorted(groups, key=lambda one: str(one.key).lower())


def counted(rows: QuerySet[Any]) -> dict[Any, dict[str, Any]]:
    """The counts of each `part`."""
    found = rows.order_by().values("part").annotate(
        n=Count("pk"),
        people=Count("pk", filter=BY_PEOPLE),
        due=Count("pk", filter=Q(interrupt__due_at__isnull=False)),
        in_time=Count("pk", filter=Q(interrupt__due_at__gte=F("decided_at"))),
        by_clock=Count("pk", filter=BY_CLOCK),
        **{f"share_{name}": Count("pk", filter=part) for name, part in SHARES.items()},
    )  # fmt: skip
    return {row.pop("part"): shared(row) for row in found}


def shared(row: dict[str, Any]) -> dict[str, Any]:
    shares = {name: row.pop(f"share_{name}") for name in SHARES}
    return {**row, "shares": shares}


def first_looks(scope: Scope) -> Spans:
    """How long questions that came in waited until anybody but their requester opened them."""
    asker = Coalesce(OuterRef("thread__conversation__requester_id"), 0)
    looks = Look.objects.filter(interrupt=OuterRef("pk")).exclude(user_id=asker).order_by("first_at")
    rows = scope.asked.annotate(part=Value(""), looked=Subquery(looks.values("first_at")[:1])).filter(
        looked__isnull=False
    )
    return spans(rows.annotate(span=Seconds("created_at", "looked"))).get("", Spans())


def spans(rows: QuerySet[Any]) -> dict[Any, Spans]:
    """Median, mean and 90th percentile (nearest rank) of the `span` of each `part`, in seconds."""
    found: dict[Any, Spans] = {}
    middles: dict[Any, list[float]] = defaultdict(list)
    for key, place, n, mean, span in ranked(rows):
        one = found.setdefault(key, Spans(n, mean=timedelta(seconds=mean)))
        if place in ((n + 1) // 2, (n + 2) // 2):
            middles[key].append(span)
        if place == (9 * n + 9) // 10:
            one.p90 = timedelta(seconds=span)
    for key, one in found.items():
        one.median = timedelta(seconds=sum(middles[key]) / len(middles[key]))
    return found


#: The rows in the middle and at the 90th percentile of each part. Windows over a query of its own, so that what a row
#: costs (a day of SQLite calls back into Python) is paid once and not once for each of them.
RANKED = """
SELECT part, place, total, mean, span FROM (
  SELECT part, span, ROW_NUMBER() OVER (PARTITION BY part ORDER BY span) AS place,
    COUNT(*) OVER (PARTITION BY part) AS total, AVG(span) OVER (PARTITION BY part) AS mean
  FROM ({}) AS told
) AS placed WHERE place IN ((total + 1) / 2, (total + 2) / 2, (total * 9 + 9) / 10)
"""


def ranked(rows: QuerySet[Any]) -> list[tuple[Any, int, int, float, float]]:
    """At most three rows of each part, as the database has them."""
    try:
        sql, params = rows.order_by().values("part", "span").query.sql_with_params()
    except EmptyResultSet:
        return []
    with connection.cursor() as cursor:
        cursor.execute(RANKED.format(sql), params)
        return list(cursor.fetchall())


def arrivals(scope: Scope) -> dict[date, int]:
    """How many questions came in on each day, of the site's zone."""
    rows = scope.asked.order_by().annotate(day=TruncDate("created_at")).values("day")
    return dict(rows.annotate(n=Count("pk")).values_list("day", "n"))


def daily(scope: Scope) -> dict[date, Spans]:
    """How long the decisions of each day took, and how many they were."""
    found = spans(scope.given.standing().annotate(part=TruncDate("decided_at"), span=TOOK))
    return {date.fromisoformat(str(day)): one for day, one in found.items()}


def agreement(scope: Scope) -> tuple[int, int]:
    """Of the questions on which several people voted: on how many all of them said the same, and how many they are."""
    votes = Vote.objects.filter(interrupt__queue__in=scope.queues, voted_at__gte=scope.since).order_by()
    rounds = votes.values("interrupt", "round").annotate(n=Count("pk"), outcomes=Count("outcome", distinct=True))
    several = rounds.filter(n__gte=2)
    return several.filter(outcomes=1).count(), several.count()


def reviewers(scope: Scope) -> list[Reviewer]:
    """How each person decided, in the order of their names: facts to ask about, and no order of merit."""
    mine = Look.objects.filter(interrupt=OuterRef("interrupt"), user=OuterRef("reviewer_id"))
    rows = scope.given.standing().filter(BY_PEOPLE)
    rows = rows.annotate(
        seen=Subquery(mine.values("first_at")[:1]), skipped=Exists(mine.filter(read_all=False))
    ).order_by()
    found = rows.values("reviewer_id").annotate(
        name=Max("reviewer_name"),
        n=Count("pk"),
        quick=Count("pk", filter=Q(seen__gt=F("decided_at") - QUICK, seen__lte=F("decided_at"))),
        unread=Count("pk", filter=Q(skipped=True)),
        unopened=Count("pk", filter=Q(seen=None) | Q(seen__gt=F("decided_at"))),
        yes=Count("pk", filter=Q(outcome__in=YES)),
    )
    people = [
        Reviewer(row["name"], row["n"], row["quick"], row["unread"], row["unopened"], row["yes"]) for row in found
    ]
    return sorted(people, key=lambda one: one.name.lower())
