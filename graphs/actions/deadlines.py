"""What the clock does about time: reminders, escalation, and what a policy says that counts in the end.

Each is the same conditional UPDATE as people's acts, whose row count is the truth. A moment that passed while nothing
ran is acted on once: what a question has behind it, it never has twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from graphs import outbox, permissions, store
from graphs.actions import audit, decisions, hints, judging, queues
from graphs.actions.actors import CLOCK, TIMEOUT
from graphs.actions.errors import AnswerRefused, Refused
from graphs.engine.statuses import Outcome
from graphs.models import ApprovalQueue, Interrupt, OutboxMessage
from graphs.models.clock import Now
from graphs.policies import policy as policies
from graphs.policies import quorum
from graphs.policies.deadlines import times

if TYPE_CHECKING:
    from graphs.actions.actors import Actor
    from graphs.models import Thread
    from graphs.models.interrupts import InterruptQuerySet

#: Rows of one kind that one sweep touches: the rest is the next one's, a few seconds later.
AT_ONCE = 200
CHANNEL = "clock"
BESIDE = ("queue", "thread__conversation")


def expire_due() -> int:
    """Questions past their deadline take their declared default or what their queue's policy says, through the same
    compare-and-set as a person's answer. Those that declared none stay open, and are shown overdue."""
    found = (Interrupt.objects.expired(), Interrupt.objects.expired_by_policy())
    rows = [row for kind in found for row in kind.order_by("expires_at").only(*NEEDED)[:AT_ONCE]]
    return sum(expire(one) for one in rows)


NEEDED = ("pk", "version", "digest", "default", "expiry_outcome")


def expire(question: Interrupt) -> bool:
    """End one question as it says itself. One that offers no way to be rejected is cancelled instead."""
    for outcome in dict.fromkeys([Outcome(question.expiry_outcome), Outcome.CANCELLED]):
        value = question.default if outcome is Outcome.EXPIRED else None
        given = decisions.Given(str(question.pk), question.version, question.digest, outcome, value, "expired")
        try:
            return not decisions.decide(TIMEOUT, [given], channel=CHANNEL)[0].replay
        except AnswerRefused:
            if outcome is Outcome.EXPIRED:
                return False
        except Refused:
            # A person was quicker.
            return False
    return False


def remind_due() -> int:
    """Questions that should be decided soon say so, once, to everybody who sees them."""
    due = Interrupt.objects.waiting().filter(remind_at__lte=Now(), paused_at=None).order_by("remind_at")
    return sum(remind(one) for one in due.select_related(*BESIDE)[:AT_ONCE])


def remind(question: Interrupt) -> bool:
    facts = {"due": moment(question.due_at)}
    due = Q(remind_at__lte=Now(), paused_at=None)
    return changed(question, due, {"remind_at": None, "reminded_at": Now()}, "remind", facts)


def escalate_due() -> int:
    """Questions that nobody decided in time move to the queue that their policy names, or are marked where none is."""
    due = Interrupt.objects.waiting().filter(escalate_at__lte=Now(), paused_at=None).order_by("escalate_at")
    return sum(
        escalate(one, Q(escalate_at__lte=Now(), paused_at=None)) for one in due.select_related(*BESIDE)[:AT_ONCE]
    )


def escalate(question: Interrupt, still: Q, because: str = "", by: Actor = CLOCK, channel: str = CHANNEL) -> bool:
    """Move one question to its policy's next queue, or mark it. `still` is what must hold of it as it is now."""
    marked = {"escalate_at": None, "escalated_at": Now()}
    facts = {"because": because} if because else {}
    target = next_queue(question)
    if target is None:
        return changed(question, still, marked, "escalate", facts, by, channel)
    policy = policies.parse(target.policy_spec)
    fields = judging.weighed(target, policy, {**judging.facts_of(question), "queue": target.slug})
    fields["look_by"] = times(policy, timezone.now()).look_by
    # Who had it is in the audit chain; in the other queue nobody has it yet, and nobody is reminded of it by the first.
    freed = {"assignee": None, "assignee_name": "", "claimed_at": None, "remind_at": None, "stuck_since": None}
    facts |= {"from": question.queue.slug, "to": target.slug, "assignee": question.assignee_name}
    return changed(question, still, {**fields, **freed, **marked, "queue": target}, "escalate", facts, by, channel)


def next_queue(question: Interrupt) -> ApprovalQueue | None:
    """The queue that the policy escalates to, where it is another one that there is."""
    slug = policies.parse(question.queue.policy_spec).escalate_to
    found = ApprovalQueue.objects.filter(slug=slug).first() if slug and slug != question.queue.slug else None
    return found if found and found.pk != question.queue_id else None


def decidable_in(queue: ApprovalQueue, question: Interrupt) -> bool:
    """Whether enough people could decide this question if it were in that queue."""
    there = Interrupt(pk=question.pk, thread=question.thread, queue=queue)
    return quorum.possible(policies.parse(queue.policy_spec), len(permissions.deciders(there)))


def refresh_judged() -> int:
    """Open questions that were judged by an older policy of their queue get the risk and the times of the one in force.
    A policy's change is one act with one audit entry; what it makes of the questions is no act of its own."""
    done = 0
    for queue in ApprovalQueue.objects.filter(policy_version__gt=0):
        older = Interrupt.objects.waiting().filter(queue=queue, policy_version__lt=queue.policy_version)
        rows = older.select_related(*BESIDE).order_by("policy_version")[: AT_ONCE - done]
        done += sum(refresh(one) for one in rows)
        if done >= AT_ONCE:
            break
    return done


def refresh(question: Interrupt) -> bool:
    fields = judging.judged_again(question)
    same = Q(queue=question.queue_id, policy_version=question.policy_version, paused_at=question.paused_at)
    return changed(question, same, fields, "", {})


def changed(
    question: Interrupt,
    still: Q,
    fields: Mapping[str, Any],
    action: str,
    facts: Mapping[str, Any],
    by: Actor = CLOCK,
    channel: str = CHANNEL,
) -> bool:
    """Change one open question if it is still so, with its audit entry where it is an act, and tell who sees it. Locks
    in the order thread, interrupt, audit chain, counter."""
    with transaction.atomic():
        threads = store.verdicts.lock_threads([question.thread_id])
        if question.thread_id not in threads or not of(question).filter(still).update(**fields):
            return False
        if action:
            audit.record(by, action, "interrupt", question.pk, facts, channel)
        target: ApprovalQueue = fields.get("queue", question.queue)
        outbox.put(told(threads[question.thread_id], question, target.pk))
    return True


def of(question: Interrupt) -> InterruptQuerySet:
    return Interrupt.objects.waiting().filter(pk=question.pk)


def told(thread: Thread, question: Interrupt, now_in: int) -> list[OutboxMessage]:
    """Hints to the queue that has it and, where it moved, to the one that had it; their counters in order of id."""
    messages: list[OutboxMessage] = []
    for queue_id in sorted({question.queue_id, now_in}):
        seq = queues.advance_cursor(queue_id)
        if queue_id == now_in:
            store.verdicts.number(question.pk, seq)
        messages += hints.question_changed(thread, str(question.pk), queue_id, seq)
    return messages


def moment(at: Any) -> str | None:
    return None if at is None else at.isoformat()
