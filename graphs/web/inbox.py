"""The inbox: what waits for this person, beside the question that is being read."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from graphs.actions import preferences
from graphs.models import ApprovalQueue, Decision, Interrupt, SavedView, Thread
from graphs.web import dead_parts, listing, news, rails
from graphs.web.opening import opened
from graphs.web.people import person
from graphs.web.review import review_context
from graphs.web.shell import page


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """The inbox, with the saved view that this person chose to begin with, as long as it is there."""
    user = person(request)
    pk = preferences.chosen(user).get("default_view")
    view = SavedView.objects.visible_to(user).filter(pk=pk).first() if pk else None
    return redirect(rails.address(view.query, view.pk) if view else "inbox")


@require_safe
def inbox(request: HttpRequest) -> HttpResponse:
    """The list; scripts fetch the same address to bring it up to date."""
    return shown(request, request.GET)


def shown(
    request: HttpRequest, asked: QueryDict, more: dict[str, Any] | None = None, status: int = 200
) -> HttpResponse:
    """The inbox that an address asks for. A saved view that is not this person's any more shows none of its rows, and
    says so (U15)."""
    user = person(request)
    wanted, queues, kept = listing.parse(asked), listing.counted_queues(user), rails.kept(user)
    lost = ""
    try:
        view = dead_parts.active(kept.saved, asked)
    except Http404:
        view, wanted = None, listing.Filter()
        lost = _("This saved view was deleted or is no longer shared with you. Here is everything that waits for you.")
    found = listing.page(user, wanted, queues)
    mark(found.rows, queues)
    news.note_present(user, found.rows)
    context: dict[str, Any] = {
        "nav": "inbox",
        "wanted": wanted,
        "title": view.name if view else heading(wanted, queues),
        # The badge is the list's own number, in the same answer (U07).
        "open_count": listing.open_count(queues),
        # What every page asks the database for stands in the queues that were read; who administers all may have none.
        "may_oversee": user.has_perm("graphs.change_approvalqueue") or any(queue.oversees for queue in queues),  # type: ignore[attr-defined]
        **rail(wanted, queues, kept, view),
        "page": found,
        "next_query": f"{wanted.query()}&after={found.next}" if found.next else "",
        "chips": [(chip, wanted.without(chip)) for chip in wanted.chips],
        "sorts": [(name, label, wanted.query(sort=name)) for name, label in listing.SORTS.items()],
        "from": wanted.query(),
        "here": request.get_full_path() if request.method != "POST" else f"{reverse('inbox')}?{wanted.query()}",
        "item": None,
        "choices": kept.choices,
        "lost": lost,
        "dead": dead_parts.dead(user, wanted, queues, view.address) if view else [],
    }
    if not found.rows:
        context["empty"] = emptiness(user, wanted, queues)
    if (item := chosen(request)) is not None:
        context |= review_context(request, item)
    return page(request, "inbox/page.html", context | (more or {}), status=status)


def rail(
    wanted: listing.Filter, queues: list[ApprovalQueue], kept: rails.Kept, view: rails.Saved | None
) -> dict[str, Any]:
    """The lines of the rail, and the saved view that is open with what may be done to it."""
    pk = view.pk if view else None
    return {
        "rail": rails.views(wanted, queues, kept.counts, pk),
        "queue_rail": rails.queue_views(wanted, queues, pk),
        "saved_rail": rails.saved_views(kept.saved, pk),
        "saved": view,
        "refiltered": view is not None and view.wanted.query(saved="") != wanted.query(saved=""),
        "opens_inbox": view is not None and kept.choices.get("default_view") == view.pk,
        "teams": [queue for queue in queues if queue.decides],  # type: ignore[attr-defined]
    }


def mark(rows: Sequence[Interrupt], queues: list[ApprovalQueue]) -> None:
    """Say of each row whether this person may take and decide it, by the rights that were read with the queues."""
    decided = {queue.pk for queue in queues if queue.decides}  # type: ignore[attr-defined]
    for row in rows:
        row.decidable = row.queue_id in decided and row.status in listing.WAITING  # type: ignore[attr-defined]


def heading(wanted: listing.Filter, queues: list[ApprovalQueue]) -> str:
    named = next((queue.title for queue in queues if queue.slug == wanted.queue), wanted.queue)
    return named if wanted.queue and wanted.view == "open" else str(listing.VIEWS[wanted.view])


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
