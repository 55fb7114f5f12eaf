"""The inbox as a question to the database: one queryset for each list and its count (U07)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from django.core.exceptions import EmptyResultSet
from django.db import connection
from django.db.models import Case, Count, F, IntegerField, OuterRef, Q, QuerySet, Subquery, Value, When
from django.db.models import prefetch_related_objects as prefetch
from django.db.models.expressions import RawSQL
from django.db.models.functions import Coalesce
from django.utils import timezone

from graphs.engine.statuses import InterruptStatus
from graphs.models import ApprovalQueue, Decision, Interrupt, Look, Snooze, Watch
from graphs.models.clock import Now
from graphs.models.heads import open_heads
from graphs.permissions import DECIDERS, operates
from graphs.policies import policy
from graphs.web import keyset
from graphs.web.filters import LEVELS, PAST, Chip, age
from graphs.web.filters import SORTS as SORTS
from graphs.web.filters import VIEWS as VIEWS
from graphs.web.filters import Filter as Filter
from graphs.web.filters import parse as parse
from graphs.web.keyset import moment as moment

if TYPE_CHECKING:
    from django.contrib.auth.models import User

    from graphs.models.interrupts import InterruptQuerySet

PAGE = 50
#: Counting stops here; a badge shows "999+".
MOST_COUNTED = 1000
WAITING = [InterruptStatus.OPEN, InterruptStatus.NEEDS_INFO]
#: Views whose number stands in the rail; the lists of the past have none.
COUNTED = ("mine", "unassigned", "watching", "snoozed", "overdue", "asked")
#: A person of more queues than these gets the plain query: SQLite merges at most 500 of them.
HEADS = 100
#: What a row shows; payloads and schemas stay in the database until a question is opened (F28).
ROW_ONLY = ("payload", "metadata", "response_schema", "search", "default", "graph_path")
#: The nearer of the policy's deadline and the question's own.
DEADLINE = Case(When(due_at__lt=F("expires_at"), then=F("due_at")), default=Coalesce("expires_at", "due_at"))


@dataclass(frozen=True, slots=True)
class Page:
    """One page of rows, and the cursor of the next where there is one."""

    rows: list[Interrupt] = field(default_factory=list)
    next: str = ""


def visible(user: User, view: str, queue: str = "") -> InterruptQuerySet:
    """The rows of a view, before any filter. Every one starts from what this person may see; what is open without a
    queue named is what they may decide, since only that waits for them."""
    rows = Interrupt.objects.visible_to(user)
    if view == "asked":
        return rows.waiting().filter(thread__conversation__requester=user.pk)
    if view == "decided":
        return rows.filter(pk__in=Decision.objects.filter(reviewer_id=user.pk).values("interrupt"))
    if view == "closed":
        return rows.exclude(status__in=WAITING)
    if view == "watching":
        return rows.filter(pk__in=Watch.objects.filter(user=user.pk).values("interrupt"))
    if view == "snoozed":
        return rows.waiting().filter(pk__in=snoozed(user))
    return _awake(user, rows.waiting(), view, queue)


def _awake(user: User, rows: InterruptQuerySet, view: str, queue: str) -> InterruptQuerySet:
    """The views that a snoozed question leaves until its moment."""
    rows = rows.exclude(pk__in=snoozed(user))
    if view == "mine":
        return rows.filter(assignee=user.pk)
    rows = rows.filter(queue__in=queues_of(user) if queue and view == "open" else decided_by(user))
    if view == "unassigned":
        return rows.filter(assignee=None)
    return rows.filter(Q(due_at__lte=Now()) | Q(expires_at__lte=Now())) if view == "overdue" else rows


def snoozed(user: User) -> QuerySet[Snooze, object]:
    """The keys of what this person does not want to see now, by the database's clock."""
    return Snooze.objects.filter(user=user.pk, until__gt=Now()).values("interrupt")


def queues_of(user: User) -> QuerySet[ApprovalQueue]:
    """The queues that are this person's; an operator's are all."""
    if user.has_perm("graphs.view_interrupt") or operates(user):
        return ApprovalQueue.objects.all()
    return ApprovalQueue.objects.of(user)


def decided_by(user: User) -> QuerySet[ApprovalQueue]:
    """Those of them whose questions this person may decide, by the same rights as `permissions.deciding`."""
    if user.has_perm("graphs.decide_interrupt"):
        return queues_of(user)
    return ApprovalQueue.objects.of(user, *DECIDERS)


def narrow(rows: InterruptQuerySet, wanted: Filter, user: User | None = None) -> InterruptQuerySet:
    """Apply the queue, the words and the chips; `user` is who "me" is."""
    if wanted.queue:
        rows = rows.filter(queue__slug=wanted.queue)
    for word in wanted.words:
        rows = rows.filter(search__contains=word)
    for chip in wanted.chips:
        if chip.known:
            rows = rows.filter(_by_chip(chip, user))
    return rows


def _by_chip(chip: Chip, user: User | None) -> Q:
    value = chip.value
    if chip.key in ("assignee", "requester"):
        return _by_person(chip, user)
    if chip.key == "status":
        value = value.lower()
        decided = Decision.objects.standing().filter(outcome=value).values("interrupt")
        return Q(status=value) if value in set(InterruptStatus) else Q(pk__in=decided)
    if chip.key == "older":
        return Q(created_at__lt=timezone.now() - age(value))
    if chip.key == "due":
        soon = timezone.now() + age(value)
        return Q(due_at__lte=soon) | Q(expires_at__lte=soon)
    if chip.key == "risk":
        return Q(risk=LEVELS[value.lower()])
    return Q(**{PLAIN[chip.key]: value})


PLAIN = {
    "queue": "queue__slug__iexact",
    "graph": "thread__graph_id__iexact",
    "node": "node_id__iexact",
    "tool": "name__iexact",
}


def _by_person(chip: Chip, user: User | None) -> Q:
    """`none`, `me`, or a name as the page shows it or as it is signed in with."""
    place = "assignee" if chip.key == "assignee" else "thread__conversation__requester"
    if chip.value.lower() == "none":
        return Q(**{f"{place}__isnull": True})
    if chip.value.lower() == "me":
        return Q(**{place: user.pk}) if user else Q(pk__in=[])
    return Q(**{f"{place}_name__iexact": chip.value}) | Q(**{f"{place}__username__iexact": chip.value})


def page(user: User, wanted: Filter, queues: Sequence[ApprovalQueue] | None = None) -> Page:
    """One page, by keyset: no row is skipped or repeated while others arrive (A13). `queues` are the person's, where
    the caller has read them already."""
    columns = wanted.columns
    heads = _heads(user, list_of(user, wanted, queues), wanted)
    if heads is not None:
        rows = Interrupt.objects.visible_to(user).filter(pk__in=heads).annotate(deadline=DEADLINE)
    else:
        rows = narrow(visible(user, wanted.view, wanted.queue), wanted, user).annotate(deadline=DEADLINE)
        if wanted.after is not None:
            rows = rows.filter(keyset.past(columns, *wanted.after))
    rows = rows.order_by(*(one.ordering for one in columns), "-id" if columns[-1].descending else "id")
    found = list(
        rows.annotate(seen_version=seen(user))
        .select_related("queue", "thread", "thread__conversation", "task")
        .prefetch_related(*(["decisions"] if wanted.view in (*PAST, "watching") else []))
        .defer(*ROW_ONLY, "thread__input", "thread__output", "task__output", "task__detail")[: PAGE + 1]
    )
    more, found = len(found) > PAGE, found[:PAGE]
    count_votes(found)
    last = [getattr(found[-1], one.name) for one in columns] if more else []
    return Page(found, keyset.cursor(last, found[-1].pk) if more else "")


def seen(user: User) -> Subquery:
    """The version of a question that this person opened last."""
    return Subquery(Look.objects.filter(user=user.pk, interrupt=OuterRef("pk")).values("version")[:1])


def count_votes(rows: Sequence[Interrupt]) -> None:
    """Set `quorum` and `voted` of rows that need more than one vote: two queries more, however many rows there are."""
    several = [row for row in rows if policy.parse(row.queue.policy_spec).quorum > 1 and row.status in WAITING]
    prefetch(several, "votes", "decisions")
    for row in several:
        present = max((one.round for one in row.decisions.all()), default=0) + 1
        row.quorum = policy.parse(row.queue.policy_spec).quorum  # type: ignore[attr-defined]
        row.voted = sum(vote.round == present for vote in row.votes.all())  # type: ignore[attr-defined]


def list_of(user: User, wanted: Filter, queues: Sequence[ApprovalQueue] | None = None) -> Iterable[ApprovalQueue]:
    """The queues whose open questions a list holds: the one that is named, else those that are decided."""
    if queues is None:
        return queues_of(user).filter(slug=wanted.queue) if wanted.queue else decided_by(user)
    return [queue for queue in queues if (queue.slug == wanted.queue if wanted.queue else queue.decides)]  # type: ignore[attr-defined]


def _heads(user: User, queues: Iterable[ApprovalQueue], wanted: Filter) -> RawSQL | None:
    """The keys of one page of this person's open questions; None where the plain query serves."""
    if wanted.view != "open" or wanted.narrowed or wanted.sort not in ("newest", "oldest"):
        return None
    ids = [queue.pk for queue in queues]
    if len(ids) > HEADS:
        return None
    past = (wanted.after[0][0], wanted.after[1]) if wanted.after else None
    hidden = snoozed(user).query.sql_with_params()
    return open_heads(ids, descending=wanted.sort == "newest", limit=PAGE + 1, past=past, hidden=hidden)


def counted_queues(user: User) -> list[ApprovalQueue]:
    """This person's queues, each with `waiting`, the length of its list, and whether they decide and oversee it."""
    waiting = Interrupt.objects.waiting()
    count = per_queue(waiting) - per_queue(waiting.filter(pk__in=snoozed(user)))
    decides, oversees = within(decided_by(user)), within(ApprovalQueue.objects.overseen_by(user))
    return list(queues_of(user).annotate(waiting=count, decides=decides, oversees=oversees).order_by("title"))


def within(queues: QuerySet[ApprovalQueue]) -> Case:
    return Case(When(pk__in=queues.values("pk"), then=Value(True)), default=Value(False))


def per_queue(rows: InterruptQuerySet) -> Coalesce:
    inside = rows.filter(queue=OuterRef("pk")).order_by().values("queue").annotate(n=Count("pk")).values("n")
    return Coalesce(Subquery(inside, output_field=IntegerField()), 0)


def open_count(queues: Iterable[ApprovalQueue]) -> int:
    """The length of the open list, of queues that are counted already."""
    return sum(queue.waiting for queue in queues if queue.decides)  # type: ignore[attr-defined]


def counts(user: User) -> dict[str, int]:
    """The lengths of the counted views in one statement, each from its list's own queryset and up to MOST_COUNTED."""
    parts: list[str] = []
    values: list[Any] = []
    for view in COUNTED:
        try:
            sql, params = visible(user, view).order_by().values("pk")[:MOST_COUNTED].query.sql_with_params()
        except EmptyResultSet:
            sql, params = "SELECT 1 WHERE 1 = 0", ()
        parts.append(f"(SELECT COUNT(*) FROM ({sql}) AS counted)")  # noqa: S608 - the ORM wrote it
        values += params
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {', '.join(parts)}", values)
        row = cursor.fetchone()
    return dict(zip(COUNTED, row, strict=True))
