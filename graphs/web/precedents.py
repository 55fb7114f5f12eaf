"""What was decided before of the same kind, for whoever decides now: counts, how long it took, and the last few."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from statistics import median

from django.contrib.auth.models import User
from django.db import models
from django.utils import timezone

from graphs.engine.statuses import Outcome
from graphs.models import Decision, Interrupt
from graphs.web import differences
from graphs.web.differences import Differences

DAYS = 30
#: Decisions that are looked over, the newest first, and those that are named.
MOST, NAMED = 200, 3
NOES = (Outcome.REJECTED, Outcome.CANCELLED)


@dataclass(frozen=True, slots=True)
class Precedents:
    """People's decisions of the same tool or node in `days`: `yes` of `count`, the median time to decide, the last
    few, those of the same requester among them, and what was changed where that was done last."""

    days: int
    count: int
    yes: int
    changed: int
    typical: timedelta
    latest: list[Decision]
    theirs: int
    theirs_yes: int
    lately: Differences | None


def of(user: User, interrupt: Interrupt) -> Precedents | None:
    """Those that this reader may see; None where there are none."""
    rows = alike(user, interrupt)
    found = list(rows.select_related("interrupt", "interrupt__thread__conversation")[:MOST])
    if not found:
        return None
    yes = [one for one in found if one.outcome not in NOES]
    requester = interrupt.thread.conversation.requester_id
    theirs = [one for one in found if requester and one.interrupt.thread.conversation.requester_id == requester]
    return Precedents(
        DAYS,
        len(found),
        len(yes),
        sum(one.original is not None for one in found),
        timedelta(seconds=median((one.decided_at - one.interrupt.created_at).total_seconds() for one in found)),
        found[:NAMED],
        len(theirs),
        sum(one in yes for one in theirs),
        differences.latest(found),
    )


def alike(user: User, interrupt: Interrupt) -> models.QuerySet[Decision]:
    """People's verdicts that count, on the same tool in any thread, or on the same node of the same graph."""
    since = timezone.now() - timedelta(days=DAYS)
    rows = Decision.objects.visible_to(user).standing().filter(decided_at__gte=since)
    rows = rows.exclude(interrupt=interrupt.pk).exclude(reviewer_id=None).order_by("-decided_at", "-pk")
    if interrupt.name:
        return rows.filter(interrupt__name=interrupt.name, interrupt__queue=interrupt.queue_id)
    return rows.filter(interrupt__node_id=interrupt.node_id, interrupt__thread__graph_id=interrupt.thread.graph_id)
