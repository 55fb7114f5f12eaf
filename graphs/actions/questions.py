"""Opening questions for the engine, and taking its answers to the one function that decides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from django.db import connection
from django.db.models import F
from django.db.models.functions import Coalesce
from django.utils import timezone

from graphs import outbox, store
from graphs.actions import decisions, hints, judging, queues
from graphs.actions.errors import AnswerRefused, NotAllowed, NotFound, Refused
from graphs.actions.receipts import Receipt
from graphs.engine.errors import AlreadyAnswered, AnswerInvalid, AnswerMismatch
from graphs.engine.interrupts import Decision, Interrupt
from graphs.engine.ports import Answer, TaskKey
from graphs.engine.statuses import InterruptStatus, Outcome, TaskStatus
from graphs.models import Interrupt as InterruptRow
from graphs.models import OutboxMessage, Thread
from graphs.models.clock import Now
from graphs.models.moves import question_sources

if TYPE_CHECKING:
    from graphs.actions.actors import Actor


def open_question(thread: Thread, asked: Interrupt, graph_queue: str) -> Interrupt:
    """Open one question within the caller's fenced transaction, and return it as it is stored.

    It goes to the queue it names, else where a queue's rules bring it, else to its graph's, else to the default one;
    its risk and its times are those of that queue's policy. What stands open at its place with a lower revision is
    superseded; what stands there with the same is returned instead.
    """
    assert connection.in_atomic_block
    task = store.touch_task(thread.pk, TaskKey(asked.path, asked.visit), thread.step + 1, TaskStatus.WAITING)
    standing = store.standing(task, asked.key, asked.ordinal)
    if standing and standing.revision >= asked.revision:
        return store.questions("i.id = %s", [store.identifier(str(standing.pk))])[0]
    if standing:
        # Whoever decides it holds the thread first and then wants the counter, which superseding takes before its row.
        store.verdicts.lock_threads([thread.pk])
    messages = supersede(thread, standing) if standing else []
    facts = facts_of(thread, asked)
    queue = queues.route(asked.queue, graph_queue, facts)
    # One moment for all: its times are so many minutes after it was asked, however long this took to write.
    now = timezone.now()
    judged = judging.judged(queue, {**facts, "queue": queue.slug}, now, asked.expires_at) | {"created_at": now}
    stored = replace(asked, queue=queue.slug, status=InterruptStatus.OPEN, version=1, decision=None)
    requester = thread.conversation.requester_name
    search = store.search_text(
        asked.question, asked.node_id, thread.graph_id, thread.title, requester, payload=asked.value
    )
    seq = queues.advance_cursor(queue.pk)
    place = {"thread_id": thread.pk, "task_id": task, "queue_id": queue.pk}
    store.insert_interrupt(stored, **place, seq=seq, search=search, judged=judged)
    outbox.put([*messages, *hints.question_changed(thread, asked.id, queue.pk, seq)])
    return stored


def facts_of(thread: Thread, asked: Interrupt) -> dict[str, Any]:
    """What routes and risk rules are about, before the question is in a queue."""
    return judging.facts(
        payload=asked.value,
        metadata=asked.metadata,
        kind=asked.kind,
        name=asked.name,
        graph=thread.graph_id,
        node=asked.node_id,
        reason=asked.reason,
        requester=thread.conversation.requester_name,
        queue=asked.queue,
    )


def supersede(thread: Thread, old: InterruptRow) -> list[OutboxMessage]:
    """Another question took this one's place: an answer to it would be an answer to nothing, and one that it has stays
    with it, in history."""
    seq = queues.advance_cursor(old.queue_id)
    standing = InterruptRow.objects.filter(pk=old.pk, status__in=question_sources(InterruptStatus.SUPERSEDED))
    changed = standing.update(
        status=InterruptStatus.SUPERSEDED,
        closed_because="The question was asked anew.",
        closed_at=Coalesce("closed_at", Now()),
        version=F("version") + 1,
        seq=seq,
    )
    return hints.question_changed(thread, str(old.pk), old.queue_id, seq) if changed else []


def answer(thread: Thread, answers: Sequence[Answer], actor: Actor) -> list[Decision]:
    """Answers that the engine has matched, recorded by `decide`, all or none; refusals in the engine's words.

    Raises AnswerMismatch (no such question, or answered twice at once), AlreadyAnswered, AnswerInvalid, and NotAllowed
    or NotFound where the actor may not decide one of them.
    """
    rows = {str(row.pk): row for row in InterruptRow.objects.filter(thread=thread).filter(pk__in=ids(answers))}
    waiting = [str(pk) for pk in InterruptRow.objects.filter(thread=thread).waiting().values_list("pk", flat=True)]
    for one in answers:
        if one.interrupt_id not in rows or ids(answers).count(one.interrupt_id) > 1:
            raise AnswerMismatch(f"{one.interrupt_id!r} names no open question", waiting)
    given = [as_given(one, rows[one.interrupt_id]) for one in answers]
    try:
        return [verdict(receipt) for receipt in decisions.decide(actor, given, channel="runner")]
    except AnswerRefused as refusal:
        raise AnswerInvalid(refusal.problems) from None
    except (NotAllowed, NotFound):
        raise
    except Refused as refusal:
        raise AlreadyAnswered(str(refusal), waiting) from None


def ids(answers: Sequence[Answer]) -> list[str]:
    return [one.interrupt_id for one in answers]


def as_given(answer: Answer, row: InterruptRow) -> decisions.Given:
    """The runner answers the question as it stands now."""
    return decisions.Given(answer.interrupt_id, row.version, row.digest, answer.outcome, answer.value, answer.comment)


def verdict(receipt: Receipt) -> Decision:
    return Decision(
        outcome=Outcome(receipt.outcome),
        value=receipt.value,
        comment=receipt.comment,
        reviewer=receipt.reviewer_name,
        decided_at=receipt.decided_at,
        digest=receipt.digest,
    )
