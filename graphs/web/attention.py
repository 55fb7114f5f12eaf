"""Who attends to one question: its holder, its watchers, the reader's own snooze, and whom it can be handed to."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.db.models import Count, Q
from django.utils import timezone

from graphs.actions import deadlines
from graphs.models import ApprovalQueue, Interrupt, Snooze, Watch
from graphs.permissions import able, can
from graphs.web import news
from graphs.web.assignments import SPANS

#: Names that are offered for a hand-over; others can be typed.
MOST_OFFERED = 50


def around(user: User, interrupt: Interrupt, here: str) -> dict[str, Any]:
    """What the head of a question's page shows of people; `here` is where their buttons lead back to."""
    watches = Watch.objects.filter(interrupt=interrupt).aggregate(all=Count("pk"), own=Count("pk", filter=Q(user=user)))
    news.note_present(user, [interrupt])
    may_assign = interrupt.is_waiting and can(user, "assign", interrupt)
    return {
        "here": here,
        "escalates_to": escalates_to(user, interrupt),
        "spans": SPANS,
        "watchers": watches["all"],
        "watching": bool(watches["own"]),
        "snoozed": Snooze.objects.filter(user=user, interrupt=interrupt, until__gt=timezone.now()).first(),
        "may_assign": may_assign,
        "assignable": offered(interrupt) if may_assign else [],
    }


def escalates_to(user: User, interrupt: Interrupt) -> ApprovalQueue | None:
    """The queue that this reader may move the question to, by the policy that it is under."""
    if not interrupt.is_waiting or interrupt.escalated_at or not can(user, "claim", interrupt):
        return None
    return deadlines.next_queue(interrupt)


def offered(interrupt: Interrupt) -> list[User]:
    return [one for _, one in zip(range(MOST_OFFERED), able(interrupt), strict=False)]
