"""The Trust page: which calls are not asked about any more, why, since when and for how long, and how to end that."""

from __future__ import annotations

import uuid
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST, require_safe

from graphs.actions import trust as actions
from graphs.engine import trust
from graphs.models import Trust
from graphs.permissions import can
from graphs.web.definitions import title
from graphs.web.errors import answers_refusals
from graphs.web.people import person
from graphs.web.reading import humanise
from graphs.web.shell import SeeOther, page
from graphs.web.trusting import spoken

PAGE = 50
GROUPS = {"standing": gettext_lazy("Standing"), "ended": gettext_lazy("Ended")}
WHERE = {
    trust.THREAD: gettext_lazy("in one thread"),
    trust.CONVERSATION: gettext_lazy("in one conversation"),
    trust.AGENT: gettext_lazy("in every thread of the agent"),
}


@require_safe
def trusted(request: HttpRequest) -> HttpResponse:
    user = person(request)
    group = request.GET.get("show", "standing")
    group = group if group in GROUPS else "standing"
    text = request.GET.get("q", "").replace("\x00", "").strip()[:200]
    rows = Trust.objects.visible_to(user)
    standing = Trust.objects.standing().values("pk")
    rows = rows.filter(pk__in=standing) if group == "standing" else rows.exclude(pk__in=standing)
    for word in text.split()[:10]:
        rows = rows.filter(
            Q(tool__icontains=word)
            | Q(agent__icontains=word)
            | Q(graph_id__icontains=word)
            | Q(granted_by_name__icontains=word)
        )
    found, before = paged(rows, request.GET.get("before", ""))
    context = {
        "nav": "trust",
        "rows": [row(user, one, group) for one in found],
        "group": group,
        "groups": list(GROUPS.items()),
        "q": text,
        "next_before": before,
    }
    return page(request, "trust/list.html", context)


def paged(rows: Any, before: str) -> tuple[list[Trust], str]:
    """One page, newest first, and where the next one begins; a cursor of nobody's making is dropped."""
    rows = rows.select_related("thread", "queue").order_by("-granted_at", "-pk")
    try:
        last = rows.filter(pk=uuid.UUID(before)).first() if before else None
    except ValueError:
        last = None
    if last is not None:
        rows = rows.filter(Q(granted_at__lt=last.granted_at) | Q(granted_at=last.granted_at, pk__lt=last.pk))
    found = list(rows[: PAGE + 1])
    return found[:PAGE], str(found[PAGE - 1].pk) if len(found) > PAGE else ""


def row(user: User, one: Trust, group: str) -> dict[str, Any]:
    return {
        "trust": one,
        "graph": title(one.graph_id),
        "where": WHERE[one.scope],
        "rules": [(humanise(name), *told(rule)) for name, rule in (one.arguments or {}).items()],
        "thread": one.thread if one.thread is not None and can(user, "view", one.thread) else None,
        "may_revoke": group == "standing" and can(user, "revoke", one),
    }


def told(rule: dict[str, Any]) -> tuple[str, str]:
    """What an argument must be, as a word and a value."""
    if not rule:
        return "any", ""
    return ("like", str(rule["like"])) if "like" in rule else ("is", spoken(rule.get("is")))


@require_POST
@answers_refusals
def revoke(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
    """End one. Calls like these are asked about again from now on."""
    user = person(request)
    found = Trust.objects.visible_to(user).select_related("thread__conversation").filter(pk=pk).first()
    if found is None:
        raise Http404
    actions.revoke(user, found)
    return SeeOther(reverse("trust"))
