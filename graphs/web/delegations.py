"""Delegations: who decides in whose place and until when, handing that over, and ending it."""

from __future__ import annotations

from typing import Any
from zoneinfo import ZoneInfo

from django.contrib.auth.models import User
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods, require_POST

from graphs import permissions
from graphs.actions import delegations as actions
from graphs.actions.errors import InputInvalid, NotFound
from graphs.models import Delegation, Preference
from graphs.models.clock import Now
from graphs.policies.checked_hours import is_zone
from graphs.web import keyset
from graphs.web.errors import answers_refusals
from graphs.web.keyset import Column
from graphs.web.people import person
from graphs.web.shell import SeeOther, page

PAGE = 50
MOST_NAMED = 50
GROUPS = {"standing": _("Now and later"), "ended": _("Ended")}
ORDER = [Column("ends_at", True)]
FIELDS = ("receiver", "queue", "starts_at", "ends_at", "zone", "note")


@require_http_methods(["GET", "HEAD", "POST"])
@answers_refusals
def delegations(request: HttpRequest) -> HttpResponse:
    """The list, with the form that hands over."""
    return give(request) if request.method == "POST" else shown(request)


def shown(
    request: HttpRequest, typed: dict[str, str] | None = None, problems: Any = (), status: int = 200
) -> HttpResponse:
    user = person(request)
    group = request.GET.get("show", "standing")
    group = group if group in GROUPS else "standing"
    text = " ".join(request.GET.get("q", "").replace("\x00", "").split())[:200]
    found = paged(narrowed(user, group, text), request.GET.get("after", ""))
    own = actions.own_queues(user)
    context = {
        "nav": "delegations",
        "rows": [row(user, one) for one in found[:PAGE]],
        "group": group,
        "groups": list(GROUPS.items()),
        "q": text,
        "next_after": keyset.cursor([found[PAGE - 1].ends_at], found[PAGE - 1].pk) if len(found) > PAGE else "",
        "own": own,
        "colleagues": colleagues(user, [one.pk for one in own]),
        "typed": typed or {"zone": zone_of(user)},
        "problems": {place[1:]: message for place, message in reversed(list(problems))},
    }
    return page(request, "delegations/list.html", context, status=status)


def narrowed(user: User, group: str, text: str) -> QuerySet[Delegation]:
    rows = Delegation.objects.visible_to(user)
    running = Q(ended_at=None, ends_at__gt=Now())
    rows = rows.filter(running) if group == "standing" else rows.exclude(running)
    for word in text.split()[:10]:
        rows = rows.filter(
            Q(giver_name__icontains=word)
            | Q(receiver_name__icontains=word)
            | Q(queue__title__icontains=word)
            | Q(note__icontains=word)
        )
    return rows.distinct()


def paged(rows: QuerySet[Delegation], after: str) -> list[Delegation]:
    """One page and one row more, where there is one."""
    last = keyset.read(after, ORDER, keyset.whole)
    if last is not None:
        rows = rows.filter(keyset.past(ORDER, *last))
    return list(rows.select_related("queue").order_by("-ends_at", "-pk")[: PAGE + 1])


def row(user: User, one: Delegation) -> dict[str, Any]:
    running = one.ended_at is None and one.ends_at > timezone.now()
    return {
        "one": one,
        "begun": one.starts_at <= timezone.now(),
        "mine": one.giver_id == user.pk,
        "to_me": one.receiver_id == user.pk,
        # Of one's own it is known without asking again, so that a list of them takes no more queries.
        "may_end": running and (one.giver_id == user.pk or permissions.can(user, "end", one)),
    }


def colleagues(user: User, queue_ids: list[int]) -> list[User]:
    """Those beside whom this person decides: suggestions, while anybody may be named."""
    if not queue_ids:
        return []
    found = Q(pk__in=[])
    for pk in queue_ids[:20]:
        found |= permissions.candidates(pk)
    return list(User.objects.filter(found, is_active=True).exclude(pk=user.pk).distinct()[:MOST_NAMED])


def zone_of(user: User) -> str:
    """The zone that this person chose for their pages; the site's where they chose none."""
    chosen = Preference.objects.filter(user=user).values_list("zone", flat=True).first()
    return chosen if is_zone(chosen) and chosen else timezone.get_current_timezone_name()


def give(request: HttpRequest) -> HttpResponse:
    typed = {name: request.POST.get(name, "").replace("\x00", "").strip()[:400] for name in FIELDS}
    typed["move_open"] = "1" if request.POST.get("move_open") else ""
    try:
        actions.give(person(request), wanted(typed))
    except InputInvalid as error:
        return shown(request, typed, error.problems, 422)
    return SeeOther(reverse("delegations"))


def wanted(typed: dict[str, str]) -> actions.Wanted:
    """What was typed, times read in the zone beside them; no beginning is now. Raises InputInvalid."""
    if not is_zone(typed["zone"]):
        raise InputInvalid([("/zone", gettext("must be the name of a time zone, such as Europe/Lisbon"))])
    zone = ZoneInfo(typed["zone"])
    starts = keyset.moment(typed["starts_at"], zone) if typed["starts_at"] else timezone.now()
    return actions.Wanted(
        receiver=typed["receiver"],
        queue=typed["queue"],
        starts_at=starts,
        ends_at=keyset.moment(typed["ends_at"], zone),
        move_open=bool(typed["move_open"]),
        note=typed["note"],
    )


@require_POST
@answers_refusals
def end(request: HttpRequest, pk: int) -> HttpResponse:
    if pk > 2**31:
        raise NotFound
    actions.end(person(request), pk)
    return SeeOther(reverse("delegations"))
