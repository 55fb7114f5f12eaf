"""The inbox: what waits for this person, beside the question that is being read."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_safe

from graphs.models import ApprovalQueue, Decision, Interrupt, Thread
from graphs.web import listing
from graphs.web.people import person
from graphs.web.review import opened, review_context
from graphs.web.shell import page


@dataclass(frozen=True, slots=True)
class View:
    """One line of the rail."""

    name: str
    icon: str
    query: str
    active: bool
    count: int | None = None
    note: str = ""


ICONS = {
    "mine": "user",
    "open": "inbox",
    "unassigned": "circle-dashed",
    "watching": "eye",
    "snoozed": "moon",
    "overdue": "hourglass",
    "asked": "message-circle",
    "decided": "check",
    "closed": "archive",
}


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    return redirect("inbox")


@require_safe
def inbox(request: HttpRequest) -> HttpResponse:
    """The list; scripts fetch the same address to bring it up to date."""
    user = person(request)
    wanted = listing.parse(request.GET)
    queues = listing.counted_queues(user)
    found = listing.page(user, wanted, queues)
    mark(found.rows, queues)
    context: dict[str, Any] = {
        "nav": "inbox",
        "wanted": wanted,
        "title": heading(wanted, queues),
        # The badge is the list's own number, in the same answer (U07).
        "open_count": listing.open_count(queues),
        "rail": rail(user, wanted, queues),
        "queue_rail": queue_rail(wanted, queues),
        "page": found,
        "next_query": f"{wanted.query()}&after={found.next}" if found.next else "",
        "chips": [(chip, wanted.without(chip)) for chip in wanted.chips],
        "sorts": [(name, label, wanted.query(sort=name)) for name, label in listing.SORTS.items()],
        "from": wanted.query(),
        "here": request.get_full_path(),
        "item": None,
    }
    if not found.rows:
        context["empty"] = emptiness(user, wanted, queues)
    if (item := chosen(request)) is not None:
        context |= review_context(request, item)
    return page(request, "inbox/page.html", context)


def mark(rows: list[Interrupt], queues: list[ApprovalQueue]) -> None:
    """Say of each row whether this person may take and decide it, by the rights that were read with the queues."""
    decided = {queue.pk for queue in queues if queue.decides}  # type: ignore[attr-defined]
    for row in rows:
        row.decidable = row.queue_id in decided and row.status in listing.WAITING  # type: ignore[attr-defined]


def heading(wanted: listing.Filter, queues: list[ApprovalQueue]) -> str:
    named = next((queue.title for queue in queues if queue.slug == wanted.queue), wanted.queue)
    return named if wanted.queue and wanted.view == "open" else str(listing.VIEWS[wanted.view])


def rail(user: User, wanted: listing.Filter, queues: list[ApprovalQueue]) -> list[View]:
    counts = {"open": listing.open_count(queues), **listing.counts(user)}
    return [
        View(
            str(label),
            ICONS[name],
            wanted.query(view=name, queue="", q=""),
            wanted.view == name and not wanted.queue,
            counts.get(name),
        )
        for name, label in listing.VIEWS.items()
    ]


def queue_rail(wanted: listing.Filter, queues: list[ApprovalQueue]) -> list[View]:
    return [
        View(
            queue.title,
            "users" if queue.decides else "eye",  # type: ignore[attr-defined]
            wanted.query(view="open", queue=queue.slug, q=""),
            wanted.view == "open" and wanted.queue == queue.slug,
            queue.waiting,  # type: ignore[attr-defined]
            "" if queue.decides else "to read only",  # type: ignore[attr-defined]
        )
        for queue in queues
    ]


def emptiness(user: User, wanted: listing.Filter, queues: list[ApprovalQueue]) -> dict[str, Any]:
    """Why a list is empty, since each reason has another way out."""
    if wanted.narrowed:
        hidden = listing.visible(user, wanted.view, wanted.queue).filter(
            **({"queue__slug": wanted.queue} if wanted.queue else {})
        )
        return {"kind": "filtered", "hidden": hidden[: listing.PAGE * 20].count(), "clear": wanted.query(q="")}
    if wanted.view != "open":
        return {"kind": wanted.view}
    if not Thread.objects.visible_to(user).exists() and not Interrupt.objects.visible_to(user).exists():
        return {"kind": "fresh" if queues or user.is_staff else "outside"}
    if not queues:
        return {"kind": "outside"}
    last = Decision.objects.filter(reviewer_id=user.pk).order_by("-decided_at").first()
    return {"kind": "done", "last": last, "now": timezone.now()}


def chosen(request: HttpRequest) -> Interrupt | None:
    """The question shown beside the list, where the address names one that this person may see."""
    try:
        return opened(person(request), uuid.UUID(request.GET.get("item", "")))
    except ValueError:
        return None
