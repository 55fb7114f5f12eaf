"""The alarm "nobody can decide this": the permission function run over the people of a queue, again and again."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from django.db.models import Exists, OuterRef, Q

from graphs import permissions
from graphs.actions import deadlines
from graphs.models import ApprovalQueue, Interrupt, Vote
from graphs.models.clock import Now
from graphs.models.interrupts import InterruptQuerySet
from graphs.policies import policy as policies
from graphs.policies import quorum


def find_stuck() -> int:
    """Mark the open questions that nobody, or too few, can decide, and escalate them where the policy names a queue
    that can; take the mark from those that can be decided again."""
    waiting = Interrupt.objects.waiting().filter(queue=OuterRef("pk"))
    return sum(look_through(queue) for queue in ApprovalQueue.objects.filter(Exists(waiting)))


def look_through(queue: ApprovalQueue) -> int:
    policy = policies.parse(queue.policy_spec)
    return sum(look_at(policy, questions) for questions in alike(queue, policy))


def alike(queue: ApprovalQueue, policy: policies.Policy) -> Iterator[InterruptQuerySet]:
    """The queue's open questions in parts whose every question the same people may decide: who may is a matter of the
    queue and, where nobody decides what they asked for themselves, of who asked."""
    waiting = Interrupt.objects.waiting().filter(queue=queue)
    if policy.self_approval:
        yield waiting
        return
    people = list(permissions.concerned(queue.pk))
    asked = "thread__conversation__requester"
    yield waiting.exclude(**{f"{asked}__in": people})
    for person in people:
        yield waiting.filter(**{asked: person})


def look_at(policy: policies.Policy, questions: InterruptQuerySet) -> int:
    """Mark or clear one part; one question of it stands for all."""
    sample = questions.select_related(*deadlines.BESIDE).order_by("-created_at", "-id").first()
    if sample is None:
        return 0
    able = list(islice(permissions.able(sample), policy.quorum))
    if quorum.possible(policy, len(able)):
        marked = questions.filter(stuck_since__isnull=False).select_related(*deadlines.BESIDE)
        return sum(clear(one) for one in marked[: deadlines.AT_ONCE])
    unmarked = questions.filter(stuck_since=None).select_related(*deadlines.BESIDE).order_by("-created_at", "-id")
    return sum(mark(one, policy, {one.pk for one in able}) for one in unmarked[: deadlines.AT_ONCE])


def mark(question: Interrupt, policy: policies.Policy, able: set[int]) -> bool:
    """Say of one question that it is stuck, unless the votes that it has make up for the people."""
    rounds = Vote.objects.filter(interrupt=question).order_by("-round").values_list("round", "voter_id")
    voters = {voter for round_, voter in rounds if round_ == rounds[0][0]} if policy.quorum > 1 else set()
    why = quorum.why_not(policy, len(able | voters))
    if not why:
        return False
    target = deadlines.next_queue(question) if question.escalated_at is None else None
    if target is not None and deadlines.decidable_in(target, question):
        return deadlines.escalate(question, Q(stuck_since=None, escalated_at=None), why)
    return deadlines.changed(question, Q(stuck_since=None), {"stuck_since": Now()}, "stuck", {"because": why})


def clear(question: Interrupt) -> bool:
    return deadlines.changed(question, Q(stuck_since__isnull=False), {"stuck_since": None}, "unstuck", {})
