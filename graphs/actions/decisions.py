"""The one function that decides. Form, bulk, API, AG-UI, mail link, chat card, admin and the clock all end here."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, overload
from uuid import UUID

from django.db import OperationalError, connection, transaction
from django.utils import timezone

from graphs import outbox, permissions, store
from graphs.actions import audit, hints, queues, trust
from graphs.actions.actors import System, actor_id, actor_name
from graphs.actions.errors import (
    AlreadyDecided,
    AnswerRefused,
    InputInvalid,
    NoLongerOpen,
    NotAllowed,
    NotFound,
    Refused,
    Stale,
)
from graphs.actions.receipts import Receipt, receipt_of
from graphs.engine import answers as matching
from graphs.engine import canonical, failpoints
from graphs.engine.errors import AnswerInvalid, PayloadError
from graphs.engine.statuses import InterruptStatus, Outcome
from graphs.models import AuditEntry, Decision, Interrupt, OutboxMessage, Thread
from graphs.models.moves import ANSWERABLE

if TYPE_CHECKING:
    from graphs.actions.actors import Actor

logger = logging.getLogger(__name__)

COMMENT_LIMIT = 10_000


@dataclass(frozen=True, slots=True)
class Given:
    """One answer as a channel gives it: which question, the version and digest that were seen, and the verdict."""

    interrupt_id: str
    version: int
    digest: str
    outcome: Outcome
    value: Any = None
    comment: str = ""


@dataclass(slots=True)
class Prepared:
    """An answer that passed permission and schema; not `checked` where its question was closed when it was read."""

    given: Given
    interrupt: Interrupt
    value: Any
    checked: bool
    entry: AuditEntry | None = None
    decision: Decision | None = None
    receipt: Receipt | None = None


@overload
def decide(
    actor: Actor,
    answers: Sequence[Given],
    *,
    channel: str,
    submission_key: str | None = None,
    atomic: Literal[True] = True,
) -> list[Receipt]: ...


@overload
def decide(
    actor: Actor,
    answers: Sequence[Given],
    *,
    channel: str,
    submission_key: str | None = None,
    atomic: Literal[False],
) -> list[Receipt | Refused]: ...


def decide(
    actor: Actor,
    answers: Sequence[Given],
    *,
    channel: str,
    submission_key: str | None = None,
    atomic: bool = True,
) -> list[Receipt] | list[Receipt | Refused]:
    """Record verdicts and return their receipts in the order of `answers`; by then they are on disk (G04, Z03).

    `atomic` records all or none and raises what was refused first; otherwise each answer stands alone and the list
    holds, in its place, the receipt or the refusal. The same `submission_key` of one person returns the first receipt.

    Raises NotFound, NotAllowed, AnswerRefused (422), AlreadyDecided with the winner's receipt, Stale, NoLongerOpen.
    """
    if len({given.interrupt_id for given in answers}) < len(answers):
        raise InputInvalid([("", "one question is answered twice")])
    if atomic:
        return persist(actor, answers, channel, submission_key)
    return [alone(actor, given, channel, submission_key) for given in answers]


def alone(actor: Actor, given: Given, channel: str, submission_key: str | None) -> Receipt | Refused:
    try:
        return persist(actor, [given], channel, submission_key)[0]
    except Refused as refusal:
        return refusal


def persist(actor: Actor, answers: Sequence[Given], channel: str, submission_key: str | None) -> list[Receipt]:
    """The whole unit, once more where the database gave it up for another transaction: nothing was done yet (F18)."""
    try:
        return record([prepare(actor, given) for given in answers], actor, channel, submission_key)
    except OperationalError as error:
        if connection.in_atomic_block or not store.rolled_back(error):
            raise
        logger.warning("a decision begins again (%s)", type(error.__cause__).__name__)
    return record([prepare(actor, given) for given in answers], actor, channel, submission_key)


def prepare(actor: Actor, given: Given) -> Prepared:
    """Permission, then schema: all that needs no lock happens before the transaction."""
    interrupt = find(actor, given.interrupt_id)
    if not isinstance(actor, System) and not permissions.can(actor, "decide", interrupt):
        raise NotAllowed("You may see this question but not decide it.")
    check_shape(actor, interrupt, given)
    # A late answer is told who decided, not what its form lacks.
    checked = interrupt.status in ANSWERABLE and interrupt.version == given.version
    value = validate(interrupt, given) if checked else None
    trust.require(actor, interrupt, value)
    return Prepared(given, interrupt, value, checked)


def check_shape(actor: Actor, interrupt: Interrupt, given: Given) -> None:
    """What no schema knows of: the verdict's word and the comment's bounds."""
    words = [str(outcome) for outcome in Outcome if isinstance(actor, System) or outcome is not Outcome.EXPIRED]
    if given.outcome not in words:
        raise AnswerRefused(str(interrupt.pk), [("/outcome", f"must be one of {', '.join(words)}")])
    if len(given.comment) > COMMENT_LIMIT or "\x00" in given.comment:
        raise AnswerRefused(str(interrupt.pk), [("/comment", f"must be text of at most {COMMENT_LIMIT} characters")])


def find(actor: Actor, interrupt_id: str) -> Interrupt:
    try:
        wanted = UUID(str(interrupt_id))
    except ValueError:
        raise NotFound("There is no such question.") from None
    seen = Interrupt.objects.all() if isinstance(actor, System) else Interrupt.objects.visible_to(actor)
    interrupt = seen.select_related("task", "queue", "thread__conversation").filter(pk=wanted).first()
    if interrupt is None:
        raise NotFound("There is no such question.")
    return interrupt


def validate(interrupt: Interrupt, given: Given) -> Any:
    try:
        return matching.validate(store.interrupt_of(interrupt), Outcome(given.outcome), given.value, given.comment)
    except AnswerInvalid as error:
        raise AnswerRefused(str(interrupt.pk), error.problems) from None
    except PayloadError as error:
        raise AnswerRefused(str(interrupt.pk), [(error.path, error.reason)]) from None


def record(prepared: list[Prepared], actor: Actor, channel: str, submission_key: str | None) -> list[Receipt]:
    """One transaction. Locks in the order thread, interrupt, audit chain, counter, so that no two can deadlock."""
    with transaction.atomic():
        threads = lock_threads(prepared)
        fresh = [
            one for one in sorted(prepared, key=lambda one: one.interrupt.pk) if settle(one, actor, submission_key)
        ]
        # Votes, quorum and the hold find their place here: a verdict that is not reached yet closes nothing.
        for one in fresh:
            one.entry = audit.record(actor, "decide", "interrupt", one.interrupt.pk, facts(one), channel)
            one.decision = keep(one, actor, channel, submission_key)
            trust.keep(actor, one.interrupt, one.decision, channel)
            one.receipt = receipt_of(one.decision, audit_digest=one.entry.digest)
        messages = move_cursors(fresh, threads)
        messages += wake(fresh, threads)
        outbox.put(messages)
        failpoints.reach("decide_before_commit")
    failpoints.reach("decide_after_commit")
    return [one.receipt for one in prepared if one.receipt]


def lock_threads(prepared: Sequence[Prepared]) -> dict[int, Thread]:
    """A runner that suspends looks again under this same lock, so a decision cannot fall between its looks (F22)."""
    return store.verdicts.lock_threads(sorted({one.interrupt.thread_id for one in prepared}))


def settle(one: Prepared, actor: Actor, submission_key: str | None) -> bool:
    """Close the question if it is still the one that was seen; the row count is the truth (F21).

    True where this answer closed it, False where the same submission had closed it before.
    """
    assert connection.in_atomic_block
    if one.checked and store.verdicts.close(one.interrupt.pk, one.given.version, one.given.digest):
        return True
    one.receipt = replayed(one, actor, submission_key)
    if one.receipt is None:
        raise refusal_of(one)
    return False


def replayed(one: Prepared, actor: Actor, submission_key: str | None) -> Receipt | None:
    """The first receipt, where this very submission was recorded already: by its key, or by saying the same again."""
    decision = latest(one.interrupt.pk)
    if decision is None or decision.reviewer_id != actor_id(actor) or decision.reviewer_name != actor_name(actor):
        return None
    if submission_key and decision.submission_key == submission_key:
        return receipt_of(decision, replay=True)
    given = one.given
    same = (decision.outcome, decision.digest, decision.comment) == (given.outcome, given.digest, given.comment)
    if same and not submission_key and said_the_same(one, decision):
        return receipt_of(decision, replay=True)
    return None


def said_the_same(one: Prepared, decision: Decision) -> bool:
    try:
        return bool(canonical.dumps(validate(one.interrupt, one.given)) == canonical.dumps(decision.value))
    except AnswerRefused:
        return False


def latest(interrupt_id: UUID) -> Decision | None:
    return Decision.objects.filter(interrupt=interrupt_id).order_by("-round").first()


def refusal_of(one: Prepared) -> Refused:
    """Why the question could not be closed, read again within the transaction that failed to."""
    now = Interrupt.objects.only("status", "version", "digest", "closed_because", "task", "key", "ordinal").get(
        pk=one.interrupt.pk
    )
    decision = latest(now.pk)
    if now.status in (InterruptStatus.CLOSED, InterruptStatus.SUPERSEDED) and decision:
        return AlreadyDecided(receipt_of(decision))
    if now.status == InterruptStatus.SUPERSEDED:
        return NoLongerOpen(now.closed_because or "The question was asked anew with other contents.", newer(now))
    if now.status == InterruptStatus.WITHDRAWN:
        return NoLongerOpen(now.closed_because or "The question was withdrawn.")
    return Stale(now.version)


def newer(interrupt: Interrupt) -> str | None:
    place = Interrupt.objects.filter(task=interrupt.task_id, key=interrupt.key, ordinal=interrupt.ordinal)
    latest_id = place.order_by("-revision").values_list("pk", flat=True).first()
    return str(latest_id) if latest_id and latest_id != interrupt.pk else None


def facts(one: Prepared) -> dict[str, Any]:
    """What the audit chain holds: digests of what was seen and said, never the contents, which redaction may reach."""
    return {
        "outcome": str(one.given.outcome),
        "version": one.given.version,
        "digest": one.given.digest,
        "value": canonical.digest(one.value),
        "comment": canonical.digest(one.given.comment),
        "queue": one.interrupt.queue.slug,
        "thread": str(one.interrupt.thread.uid),
    }


def keep(one: Prepared, actor: Actor, channel: str, submission_key: str | None) -> Decision:
    assert one.entry is not None
    decision = Decision(
        interrupt=one.interrupt,
        outcome=one.given.outcome,
        value=one.value,
        comment=one.given.comment,
        reviewer_id=actor_id(actor),
        reviewer_name=actor_name(actor),
        channel=channel,
        digest=one.given.digest,
        version=one.given.version,
        submission_key=submission_key,
        audit_seq=one.entry.seq,
        decided_at=timezone.now(),
    )
    store.verdicts.keep(decision)
    return decision


def move_cursors(fresh: Sequence[Prepared], threads: dict[int, Thread]) -> list[OutboxMessage]:
    """Inboxes learn of the change by their queue's number; queues in order of id, so that two bulks cannot deadlock."""
    messages: list[OutboxMessage] = []
    for one in sorted(fresh, key=lambda one: one.interrupt.queue_id):
        seq = queues.advance_cursor(one.interrupt.queue_id)
        store.verdicts.number(one.interrupt.pk, seq)
        thread = threads[one.interrupt.thread_id]
        messages += hints.question_changed(thread, str(one.interrupt.pk), one.interrupt.queue_id, seq)
    return messages


def wake(fresh: Sequence[Prepared], threads: dict[int, Thread]) -> list[OutboxMessage]:
    """Threads that waited become ready. A running one looks for answers itself before it pauses; a failed one uses them
    after its retry."""
    messages: list[OutboxMessage] = []
    for pk in sorted({one.interrupt.thread_id for one in fresh}):
        if store.verdicts.wake(pk):
            messages.append(outbox.wake(f"thread {threads[pk].thread_id} of {threads[pk].graph_id}"))
    return messages
