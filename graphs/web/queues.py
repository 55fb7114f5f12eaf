"""The rooms of the queues: which there are, how each is doing, who belongs to it, and the policy that it has."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import Group, User
from django.db.models import Count, IntegerField, Min, OuterRef, Prefetch, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from graphs import permissions
from graphs.actions import policies
from graphs.models import ApprovalQueue, Delegation, Interrupt, QueueMembership, QueuePolicy, Right
from graphs.models.clock import Now
from graphs.permissions import can
from graphs.policies import wording
from graphs.web import proposals
from graphs.web.people import display_name, person
from graphs.web.shell import page

PAGE = 25
#: Versions that a page lists; older ones are reached by their number.
MOST_VERSIONS = 50
#: Groups, and people, whose names are offered.
MOST_OFFERED = 200
#: Members of one right that are named in the list of queues.
MOST_NAMED = 3


@require_safe
def queues(request: HttpRequest) -> HttpResponse:
    """Every queue of this reader, by its slug."""
    text = request.GET.get("q", "").replace("\x00", "").strip()[:200]
    rows = ApprovalQueue.objects.visible_to(person(request))
    for word in text.split()[:10]:
        rows = rows.filter(Q(title__icontains=word) | Q(slug__icontains=word) | Q(description__icontains=word))
    after = request.GET.get("after", "").replace("\x00", "")[:60]
    found = list(counted(rows.filter(slug__gt=after)).order_by("slug").prefetch_related(membership())[: PAGE + 1])
    context = {
        "nav": "queues",
        "rows": [{"queue": one, "people": by_right(one, MOST_NAMED)} for one in found[:PAGE]],
        "q": text,
        "after": after,
        "next_after": found[PAGE - 1].slug if len(found) > PAGE else "",
    }
    return page(request, "queues/list.html", context)


@require_safe
def queue(request: HttpRequest, slug: str) -> HttpResponse:
    """One queue: its health, people, policy and the history of that."""
    return shown(request, find(person(request), slug))


def shown(request: HttpRequest, found: ApprovalQueue, status: int = 200, **more: Any) -> HttpResponse:
    """A queue's page, for a look at it and for what an answer to one of its forms adds."""
    user = person(request)
    administers = can(user, "administer", found)
    context = {
        "nav": "queues",
        "queue": found,
        "rights": Right.choices,
        "candidates": candidates() if administers else [],
        "people": by_right(found),
        "away": away(found),
        "stuck": policies.undecidable(found, found.policy_spec),
        "policy": wording.worded(found.policy_spec),
        "versions": list(found.policies.order_by("-version")[:MOST_VERSIONS]),
        "compared": compared(request, found),
        "proposal": proposals.waiting(user, found),
        "may_administer": administers,
        "may_decide": permissions.own_right(user, found.pk) in permissions.DECIDERS,
    }
    return page(request, "queues/page.html", context | more, status)


def candidates() -> list[str]:
    """Names to choose from for who administers a queue; any other can be typed."""
    people = User.objects.filter(is_active=True).order_by("username").values_list("username", flat=True)
    return [*Group.objects.order_by("name").values_list("name", flat=True)[:MOST_OFFERED], *people[:MOST_OFFERED]]


def find(user: User, slug: str) -> ApprovalQueue:
    """The queue, with its counts and members; 404 for who may not see it, as for one that is not there."""
    rows = counted(ApprovalQueue.objects.visible_to(user)).prefetch_related(membership())
    found = rows.filter(slug=slug).first()
    if found is None:
        raise Http404
    return found


def membership() -> Prefetch[Any]:
    rows = QueueMembership.objects.select_related("user", "group").order_by("group__name", "user__username")
    return Prefetch("memberships", rows.exclude(user=None, group=None), to_attr="members")


def counted(rows: QuerySet[ApprovalQueue]) -> QuerySet[ApprovalQueue]:
    """With how the open questions of each stand: how many, the oldest, and how many are late in which way."""
    waiting = Interrupt.objects.waiting().filter(queue=OuterRef("pk")).order_by().values("queue")
    return rows.annotate(
        open_count=number(waiting),
        oldest=Subquery(waiting.annotate(first=Min("created_at")).values("first")),
        overdue=number(waiting.filter(due_at__lt=Now())),
        unclaimed=number(waiting.filter(look_by__lt=Now(), assignee=None)),
        stuck_count=number(waiting.filter(stuck_since__isnull=False)),
    )


def number(rows: QuerySet[Interrupt, Any]) -> Coalesce:
    return Coalesce(Subquery(rows.annotate(n=Count("pk")).values("n"), output_field=IntegerField()), 0)


def by_right(found: ApprovalQueue, most: int | None = None) -> list[dict[str, Any]]:
    """Who may do what, the greatest right first: groups, people, and how many more there are than are named."""
    told = []
    for right in reversed(list(Right)):
        rows = [one for one in found.members if one.right == right]  # type: ignore[attr-defined]
        told.append(
            {"right": right, "rows": [named(one) for one in rows[:most]], "more": len(rows[most:]) if most else 0}
        )
    return told


def named(row: QueueMembership) -> dict[str, Any]:
    if row.group is not None:
        return {"pk": row.pk, "name": row.group.name, "group": True, "away": False}
    assert row.user is not None
    return {"pk": row.pk, "name": display_name(row.user), "group": False, "away": not row.user.is_active}


def away(found: ApprovalQueue) -> list[Delegation]:
    """The members whose place somebody else has now, and who."""
    return list(Delegation.objects.within(found.pk).order_by("ends_at", "pk").distinct()[:MOST_VERSIONS])


def compared(request: HttpRequest, found: ApprovalQueue) -> dict[str, Any] | None:
    """What the two versions differ in that the address names; None where it names none that there are."""
    old, new = (version(found, request.GET.get(name, "")) for name in ("from", "to"))
    if old is None or new is None:
        return None
    changed = wording.differences(old[1], new[1])
    return {"from": old[0], "to": new[0], "rows": changed}


def version(found: ApprovalQueue, text: str) -> tuple[int, Any] | None:
    """A version's number and document; 0 is the built-in policy."""
    if not (text.isascii() and text.isdigit() and len(text) < 9):
        return None
    if int(text) == 0:
        return 0, None
    row = QueuePolicy.objects.filter(queue=found, version=int(text)).first()
    return (row.version, row.spec) if row else None
