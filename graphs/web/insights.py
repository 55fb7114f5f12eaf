"""Insights: how much is asked and decided, how fast, and how it is looked at, for those who administer queues."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from statistics import median
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from django.views.decorators.http import require_safe

from graphs.models import ApprovalQueue, insight
from graphs.web import decisions
from graphs.web.exports import harmless
from graphs.web.people import person
from graphs.web.shell import page
from graphs.web.tables import COUNT, DAY, SHARE, SPAN, TEXT, Column, Table, share

PERIODS = (7, 30, 90)
USUAL = 30
#: Edited decisions that are counted field by field, the newest.
MOST_EDITED = 200
SHARES = {
    "approved": (gettext_noop("Approved"), "green"),
    "edited": (gettext_noop("Edited and approved"), "blue"),
    "rejected": (gettext_noop("Rejected"), "red"),
    "answered": (gettext_noop("Answered"), "grey"),
}


@dataclass(frozen=True, slots=True)
class Asked:
    """What an address asks for: the queues that this reader oversees, those that are looked at, and since when."""

    queues: list[ApprovalQueue]
    queue: str
    days: int
    scope: insight.Scope


def overseen(user: User) -> list[ApprovalQueue]:
    return list(ApprovalQueue.objects.overseen_by(user).order_by("title"))


def asked(request: HttpRequest) -> Asked:
    """Read the address; what is odd in it is dropped (A14). Raises PermissionDenied for who oversees no queue."""
    queues = overseen(person(request))
    if not queues:
        raise PermissionDenied
    text = request.GET.get("days", "")
    days = next((one for one in PERIODS if str(one) == text), USUAL)
    queue = next((one.slug for one in queues if one.slug == request.GET.get("queue")), "")
    chosen = tuple(one.pk for one in queues if queue in ("", one.slug))
    return Asked(queues, queue, days, insight.Scope(chosen, beginning(days)))


def beginning(days: int) -> datetime:
    """Where the period begins: whole days of the site's zone, today among them."""
    first = timezone.localdate() - timedelta(days=days - 1)
    return datetime.combine(first, time.min, timezone.get_current_timezone())


@require_safe
def insights(request: HttpRequest) -> HttpResponse:
    """The numbers, each with how many it is made of."""
    wanted = asked(request)
    total, looks = insight.totals(wanted.scope), insight.first_looks(wanted.scope)
    back, given = insight.undone(wanted.scope)
    days, people = daily(wanted), insight.reviewers(wanted.scope)
    context = {
        "nav": "insights",
        "queues": wanted.queues,
        "queue": wanted.queue,
        "days": wanted.days,
        "periods": PERIODS,
        "waiting": insight.waiting(wanted.scope.queues),
        "came": sum(row[1] for row in days.rows),
        "total": total,
        "looks": looks,
        "in_time": share(total.in_time, total.due),
        "by_clock": share(total.by_clock, total.n),
        "undone": {"n": given, "back": back, "share": share(back, given)},
        "shares": [
            (_(label), tone, total.shares.get(name, 0), share(total.shares.get(name, 0), total.people))
            for name, (label, tone) in SHARES.items()
        ],
        "daily": days,
        "tables": [by(wanted, name) for name in insight.GROUPS],
        "oversight": oversight(people),
        "agreement": agreed(wanted.scope),
        "edits": edits(wanted.scope),
        "people": by_person(people),
        "signs": [one for one in people if one.always_yes],
        "enough": insight.ENOUGH,
    }
    return page(request, "insights/page.html", context)


@require_safe
def download(request: HttpRequest) -> HttpResponse:
    """One of the page's tables as CSV: shares between 0 and 1, times in seconds."""
    wanted = asked(request)
    name = request.GET.get("table", "")
    if name in insight.GROUPS:
        table = by(wanted, name)
    elif name == "people":
        table = by_person(insight.reviewers(wanted.scope))
    else:
        table = daily(wanted)
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow([column.name for column in table.columns])
    writer.writerows([harmless(cell) for cell in row] for row in table.plain())
    response = HttpResponse(text.getvalue(), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="insights-{table.name}-{wanted.days}.csv"'
    response["Cache-Control"] = "no-store"
    return response


def daily(wanted: Asked) -> Table:
    """Every day of the period, those without anything too."""
    came, spans = insight.arrivals(wanted.scope), insight.daily(wanted.scope)
    nothing, rows = insight.Spans(), []
    for number in range(wanted.days):
        day: date = wanted.scope.since.date() + timedelta(days=number)
        one = spans.get(day, nothing)
        rows.append([day, came.get(day, 0), one.n, one.median, one.mean, one.p90])
    columns = [
        Column("day", _("Day"), DAY),
        Column("came_in", _("Came in"), COUNT),
        Column("decided", _("Decided"), COUNT),
        *times(),
    ]
    return Table("days", _("Day by day"), columns, rows)


def times() -> list[Column]:
    return [
        Column("median_seconds", _("Median"), SPAN),
        Column("mean_seconds", _("Mean"), SPAN),
        Column("p90_seconds", _("90 % within"), SPAN),
    ]


def by(wanted: Asked, name: str) -> Table:
    """Decisions that count by tool, queue or channel."""
    titles = {"tool": _("By tool or step"), "queue": _("By queue"), "channel": _("By channel")}
    heads = {"tool": _("Tool or step"), "queue": _("Queue"), "channel": _("Channel")}
    rows = [
        [
            one.key,
            one.n,
            one.spans.median,
            one.spans.mean,
            one.spans.p90,
            share(one.in_time, one.due),
            share(one.by_clock, one.n),
            *(share(one.shares[part], one.people) for part in SHARES),
        ]
        for one in insight.grouped(wanted.scope, name)
    ]
    columns = [
        Column(name, heads[name], TEXT),
        Column("decided", _("Decided"), COUNT),
        *times(),
        Column("in_time", _("In time"), SHARE),
        Column("by_clock", _("By the clock"), SHARE),
        *(Column(part, _(label), SHARE) for part, (label, _tone) in SHARES.items()),
    ]
    return Table(name, titles[name], columns, rows)


def oversight(people: list[insight.Reviewer]) -> dict[str, Any]:
    """How all of them together decided."""
    n = sum(one.n for one in people)
    counts = {name: sum(getattr(one, name) for one in people) for name in ("quick", "unread", "unopened")}
    return {"n": n, **{name: {"n": count, "share": share(count, n)} for name, count in counts.items()}}


def agreed(scope: insight.Scope) -> dict[str, Any]:
    """How often those agreed who voted on the same question: each vote is a second look at the others."""
    same, n = insight.agreement(scope)
    return {"n": n, "same": same, "share": share(same, n)}


def edits(scope: insight.Scope) -> dict[str, Any]:
    """How many fields are changed where a proposal is changed at all, in the newest decisions of the period."""
    rows = decisions.with_texts(scope.given.standing().filter(insight.EDITED)).order_by("-decided_at")[:MOST_EDITED]
    counts = [count for count in map(decisions.edited, rows) if count]
    return {"n": len(counts), "median": median(counts) if counts else None}


def by_person(people: list[insight.Reviewer]) -> Table:
    """The same by person, by name and not by number: something to ask about, and no ranking."""
    rows = [[one.name, one.n, share(one.yes, one.n), one.quick, one.unread, one.unopened] for one in people]
    columns = [
        Column("person", _("Person"), TEXT),
        Column("decided", _("Decided"), COUNT),
        Column("yes", _("Said yes"), SHARE),
        Column("under_2_seconds", _("Under 2 s"), COUNT),
        Column("long_values_unread", _("Long values unread"), COUNT),
        Column("unopened", _("Not opened"), COUNT),
    ]
    return Table("people", _("By person"), columns, rows)
