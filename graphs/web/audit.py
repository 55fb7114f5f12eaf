"""The audit: the chain to read, filter, verify and export. Looking writes nothing; what is done with it is recorded."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from graphs.actions import auditing
from graphs.models import ApprovalQueue, AuditEntry
from graphs.permissions import can, operates
from graphs.web import audit_filters, exports, keyset
from graphs.web.people import person
from graphs.web.shell import SeeOther, page

PAGE = 50
#: The newest entries that the form's suggestions are taken from.
RECENT = 2000
#: Where the facts of an entry name what was there before, and what is there after it.
BEFORE = ("digest", "from", "parent")
AFTER = ("value", "to", "input", "state", "arguments", "fork")

View = Callable[[HttpRequest], HttpResponseBase]


def auditors_only(view: View) -> View:
    """The chain names everybody and everything, so it is for those who are told to look over it."""

    @wraps(view)
    def asked(request: HttpRequest) -> HttpResponseBase:
        if not can(request.user, "audit"):
            raise PermissionDenied
        return view(request)

    return asked


@require_safe
@auditors_only
def audit(request: HttpRequest) -> HttpResponse:
    """The entries that match, the newest first."""
    return shown(request, audit_filters.parse(request.GET))


def shown(request: HttpRequest, wanted: audit_filters.Wanted, status: int = 200) -> HttpResponse:
    user = person(request)
    rows = audit_filters.narrowed(AuditEntry.objects.visible_to(user), wanted)
    last = keyset.read(request.GET.get("after", ""), [], keyset.whole)
    found = list((rows.filter(keyset.past([], *last)) if last else rows).order_by("-seq")[: PAGE + 1])
    context = {
        "nav": "audit",
        "rows": [row(one) for one in found[:PAGE]],
        "wanted": wanted,
        "narrowed": bool(wanted.given()),
        "query": wanted.query(),
        "next_after": keyset.cursor([], found[PAGE - 1].pk) if len(found) > PAGE else "",
        "queues": list(ApprovalQueue.objects.order_by("title").values_list("slug", "title")[:200]),
        "links": operates(user) or user.has_perm("graphs.view_interrupt"),
        "verified": verified(request.GET.get("verified", "")),
        **suggestions(),
    }
    return page(request, "audit/list.html", context, status)


def row(entry: AuditEntry) -> dict[str, Any]:
    """One entry, with what it says was before and after."""
    data = entry.data if isinstance(entry.data, dict) else {}
    texts = {name: value for name, value in data.items() if isinstance(value, str) and value}
    return {
        "entry": entry,
        "on_behalf_of": texts.get("on_behalf_of", ""),
        "before": next((texts[name] for name in BEFORE if name in texts), ""),
        "after": next((texts[name] for name in AFTER if name in texts), ""),
    }


def suggestions() -> dict[str, list[str]]:
    """The actions and channels of the newest entries, for the form."""
    newest = AuditEntry.objects.order_by("-seq").values("action", "channel")[:RECENT]
    found = list(newest.values_list("action", "channel"))
    return {
        "actions": sorted({action for action, _ in found}),
        "channels": sorted({channel for _, channel in found if channel}),
    }


def verified(text: str) -> AuditEntry | None:
    """The entry of the verification that the address names, for its result."""
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        return None
    return AuditEntry.objects.filter(seq=int(text), action=auditing.VERIFY).first()


@require_POST
@auditors_only
def verify(request: HttpRequest) -> HttpResponse:
    """Walk the chain; what was found is an entry of its own, and the page shows that one."""
    entry = auditing.verify(person(request))
    return SeeOther(f"{reverse('audit')}?verified={entry.seq}")


@require_POST
@auditors_only
def export(request: HttpRequest) -> HttpResponseBase:
    """All entries that match, in a zip with its verification file."""
    wanted, kind = audit_filters.parse(request.POST), request.POST.get("format", "csv")
    if wanted.problems or kind not in exports.KINDS:
        # An export that left a condition out would hold more than was asked for.
        return shown(request, wanted, status=422)
    user = person(request)
    noted = auditing.note_export(user, wanted.given(), kind)
    rows = audit_filters.narrowed(AuditEntry.objects.visible_to(user), wanted).filter(seq__lt=noted.seq)
    facts: dict[str, Any] = {
        "exported_at": noted.at.isoformat(),
        "exported_by": noted.actor_name,
        "filter": wanted.given(),
    }
    facts |= {"format": kind, "entry": noted.seq}
    name = f"audit-{timezone.localdate(noted.at):%Y-%m-%d}-{noted.seq}.zip"
    return exports.streamed(request, exports.packed(rows, kind, facts), name, "application/zip")
