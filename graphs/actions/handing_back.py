"""Questions whose assignee can no longer see to them: an account that is gone or deactivated, a delegation that begins
or ends. Their names stay in the audit chain (A16, N14)."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.db.models import F, Q

from graphs import permissions
from graphs.actions import deadlines
from graphs.actions.actors import actor_name
from graphs.models import ApprovalQueue, Delegation, Interrupt
from graphs.models.clock import Now
from graphs.models.interrupts import InterruptQuerySet

NOBODY: dict[str, Any] = {"assignee": None, "assignee_name": "", "claimed_at": None}
#: Questions of one person that a delegation moves; nobody has more in hand.
MOST_IN_HAND = 2000


def release_leavers() -> int:
    """Questions of people who are deactivated or deleted are nobody's again, in the same queue (A16)."""
    gone = User.objects.filter(is_active=False).values("pk")
    theirs = Interrupt.objects.waiting().filter(assignee__in=gone).select_related(*deadlines.BESIDE)
    orphaned = Interrupt.objects.orphaned().select_related(*deadlines.BESIDE)
    rows = [*theirs[: deadlines.AT_ONCE], *orphaned[: deadlines.AT_ONCE]]
    return sum(release(one) for one in rows)


def release(question: Interrupt) -> bool:
    because = "deactivated" if question.assignee_id else "deleted"
    facts = {"from": question.assignee_name, "because": because}
    return deadlines.changed(question, had_by(question), NOBODY, "release", facts)


def leave(person: User, queue: ApprovalQueue) -> int:
    """Questions of a queue that a person has claimed and may no longer decide are nobody's again."""
    theirs = Interrupt.objects.waiting().filter(assignee=person, queue=queue).select_related(*deadlines.BESIDE)
    lost = [one for one in theirs[: deadlines.AT_ONCE] if not permissions.can(person, "claim", one)]
    facts = {"from": actor_name(person), "because": "left the queue"}
    return sum(deadlines.changed(one, had_by(one), NOBODY, "release", facts) for one in lost)


def had_by(question: Interrupt) -> Q:
    return Q(assignee=question.assignee_id, assignee_name=question.assignee_name)


def begin_delegations() -> int:
    """What the giver has in hand goes to the receiver, where the delegation says so and has begun (N14)."""
    begun = Delegation.objects.current().filter(move_open=True, moved_at=None, receiver__is_active=True)
    return sum(begin(one) for one in begun.select_related("giver", "receiver")[: deadlines.AT_ONCE])


def begin(delegation: Delegation) -> bool:
    if delegation.giver is not None and delegation.receiver is not None:
        for question in in_hand(delegation.giver, delegation):
            if permissions.can(delegation.receiver, "decide", question):
                hand(question, delegation.receiver, delegation)
    return Delegation.objects.filter(pk=delegation.pk, moved_at=None).update(moved_at=Now()) == 1


def end_delegations() -> int:
    """What the receiver may no longer decide goes back to the giver when the time is up."""
    over = Delegation.objects.filter(ended_at=None, ends_at__lte=Now()).order_by("ends_at")
    return sum(end(one) for one in over.select_related("giver", "receiver")[: deadlines.AT_ONCE])


def end(delegation: Delegation) -> bool:
    """Mark one as ended where its time is up, and give back what it had moved."""
    give_back(delegation)
    over = Delegation.objects.filter(pk=delegation.pk, ended_at=None, ends_at__lte=Now())
    return over.update(ended_at=F("ends_at")) == 1


def give_back(delegation: Delegation) -> None:
    """Questions that the receiver has and may not decide without this delegation, which counts no more, go to the
    giver; to nobody where the giver may not decide them either."""
    if delegation.receiver is None:
        return
    for question in in_hand(delegation.receiver, delegation):
        if not permissions.can(delegation.receiver, "decide", question):
            giver = delegation.giver
            back = giver is not None and permissions.can(giver, "decide", question)
            hand(question, giver if back else None, delegation)


def in_hand(person: User, delegation: Delegation) -> InterruptQuerySet:
    found = Interrupt.objects.waiting().filter(assignee=person).select_related(*deadlines.BESIDE)
    return (found.filter(queue=delegation.queue_id) if delegation.queue_id else found)[:MOST_IN_HAND]


def hand(question: Interrupt, person: User | None, delegation: Delegation) -> bool:
    """Give one question to a person or to nobody, with both names in its history."""
    name = actor_name(person) if person else ""
    fields = {"assignee": person, "assignee_name": name, "claimed_at": Now()} if person else NOBODY
    facts = {"from": question.assignee_name, "name": name, "delegation": delegation.pk}
    return deadlines.changed(question, had_by(question), fields, "assign", facts)
