"""The one function that decides. Form, bulk, API, AG-UI, mail link, chat card, admin and the clock all end here."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal, overload
from uuid import UUID

from django.db import OperationalError, connection, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from graphs import outbox, store
from graphs.actions import audit, hints, queues, trust, voting
from graphs.actions.actors import System, actor_id, actor_name
from graphs.actions.errors import (
    AlreadyDecided,
    AnswerRefused,
    InputInvalid,
    NoLongerOpen,
    NotFound,
    PolicyChanged,
    Refused,
    Stale,
    too_long,
)
from graphs.actions.receipts import Receipt, receipt_of, receipt_of_vote
from graphs.engine import answers as matching
from graphs.engine import canonical, failpoints
from graphs.engine.errors import AnswerInvalid, PayloadError
from graphs.engine.statuses import InterruptStatus, Outcome
from graphs.models import AuditEntry, Decision, Interrupt, OutboxMessage, Thread
from graphs.models.moves import ANSWERABLE
from graphs.policies import policy as policies

if TYPE_CHECKING:
    from graphs.actions.actors import Actor, Person
    from graphs.policies.policy import Policy

logger = logging.getLogger(__name__)

COMMENT_LIMIT = 10_000


@dataclass(frozen=True, slots=True)
class Given:
    """One answer as a channel gives it: which question, the version and digest that were seen, and the verdict.

    `policy_version` is that of the queue's policy as it was shown; None where the channel shows none.
    """

    interrupt_id: str
    version: int
    digest: str
    outcome: Outcome
    value: Any = None
    comment: str = ""
    policy_version: int | None = None


@dataclass(frozen=True, slots=True)
class How:
    """By which way an answer came, and what its sender has proven beside it."""

    channel: str
    submission_key: str | None
    proven: bool


@dataclass(slots=True)
class Prepared:
    """An answer that passed permission and schema; not `checked` where its question was closed when it was read."""

    given: Given
    interrupt: Interrupt
    value: Any
    checked: bool
    policy: Policy
    on_behalf_of: str = ""
    receipt: Receipt | None = None
    decided: bool = False


@overload
def decide(
    actor: Actor,
    answers: Sequence[Given],
    *,
    channel: str,
    submission_key: str | None = None,
    atomic: Literal[True] = True,
    proven: bool = False,
) -> list[Receipt]: ...


@overload
def decide(
    actor: Actor,
    answers: Sequence[Given],
    *,
    channel: str,
    submission_key: str | None = None,
    atomic: Literal[False],
    proven: bool = False,
) -> list[Receipt | Refused]: ...


def decide(
    actor: Actor,
    answers: Sequence[Given],
    *,
    channel: str,
    submission_key: str | None = None,
    atomic: bool = True,
    proven: bool = False,
) -> list[Receipt] | list[Receipt | Refused]:
    """Record votes and verdicts and return their receipts in the order of `answers`; they are on disk then (G04, Z03).

    `atomic` records all or none and raises what was refused first; otherwise each answer stands alone and the list
    holds, in its place, the receipt or the refusal. The same `submission_key` of one person returns the first receipt.
    `proven` says that this person has just given their password again, which critical questions may ask for.

    Raises NotFound, NotAllowed, ProofNeeded, AnswerRefused (422), AlreadyDecided with the winner's receipt, Stale,
    AlreadyVoted, PolicyChanged, NoLongerOpen.
    """
    if len({given.interrupt_id for given in answers}) < len(answers):
        raise InputInvalid([("", _("one question is answered twice"))])
    how = How(channel, submission_key, proven)
    if atomic:
        return persist(actor, answers, how)
    return [alone(actor, given, how) for given in answers]


def alone(actor: Actor, given: Given, how: How) -> Receipt | Refused:
    try:
        return persist(actor, [given], how)[0]
    except Refused as refusal:
        return refusal


def persist(actor: Actor, answers: Sequence[Given], how: How) -> list[Receipt]:
    """The whole unit, once more where the database gave it up for another transaction: nothing was done yet (F18)."""
    try:
        return record([prepare(actor, given, how) for given in answers], actor, how)
    except OperationalError as error:
        if connection.in_atomic_block or not store.rolled_back(error):
            raise
        logger.warning("a decision begins again (%s)", type(error.__cause__).__name__)
    return record([prepare(actor, given, how) for given in answers], actor, how)


def prepare(actor: Actor, given: Given, how: How) -> Prepared:
    """Permission, then schema: all that needs no lock happens before the transaction."""
    interrupt = find(actor, given.interrupt_id)
    on_behalf_of = voting.may_decide(actor, interrupt)
    check_shape(actor, interrupt, given)
    # A late answer is told who decided, not what its form lacks.
    checked = interrupt.status in ANSWERABLE and interrupt.version == given.version
    value = validate(interrupt, given) if checked else None
    trust.require(actor, interrupt, value)
    policy = policies.parse(interrupt.queue.policy_spec)
    if checked:
        voting.check_policy(actor, interrupt, given, policy, how.proven)
    return Prepared(given, interrupt, value, checked, policy, on_behalf_of)


def check_shape(actor: Actor, interrupt: Interrupt, given: Given) -> None:
    """What no schema knows of: the verdict's word and the comment's bounds."""
    words = [str(outcome) for outcome in Outcome if isinstance(actor, System) or outcome is not Outcome.EXPIRED]
    if given.outcome not in words:
        told = _("must be one of %(names)s") % {"names": ", ".join(words)}
        raise AnswerRefused(str(interrupt.pk), [("/outcome", told)])
    if len(given.comment) > COMMENT_LIMIT or "\x00" in given.comment:
        raise AnswerRefused(str(interrupt.pk), [("/comment", too_long(COMMENT_LIMIT))])


def find(actor: Actor, interrupt_id: str) -> Interrupt:
    try:
        wanted = UUID(str(interrupt_id))
    except ValueError:
        raise NotFound(_("There is no such question.")) from None
    seen = Interrupt.objects.all() if isinstance(actor, System) else Interrupt.objects.visible_to(actor)
    interrupt = seen.select_related("task", "queue", "thread__conversation").filter(pk=wanted).first()
    if interrupt is None:
        raise NotFound(_("There is no such question."))
    return interrupt


def validate(interrupt: Interrupt, given: Given) -> Any:
    try:
        return matching.validate(store.interrupt_of(interrupt), Outcome(given.outcome), given.value, given.comment)
    except AnswerInvalid as error:
        raise AnswerRefused(str(interrupt.pk), error.problems) from None
    except PayloadError as error:
        raise AnswerRefused(str(interrupt.pk), [(error.path, error.reason)]) from None


def record(prepared: list[Prepared], actor: Actor, how: How) -> list[Receipt]:
    """One transaction. Locks in the order thread, interrupt, audit chain, counter, so that no two can deadlock."""
    with transaction.atomic():
        threads = lock_threads(prepared)
        fresh = [one for one in sorted(prepared, key=lambda one: one.interrupt.pk) if settle(one, actor, how)]
        messages = move_cursors(fresh, threads)
        messages += wake([one for one in fresh if one.decided and not held(one, actor)], threads)
        outbox.put(messages)
        failpoints.reach("decide_before_commit")
    failpoints.reach("decide_after_commit")
    return [one.receipt for one in prepared if one.receipt]


def lock_threads(prepared: Sequence[Prepared]) -> dict[int, Thread]:
    """A runner that suspends looks again under this same lock, so a decision cannot fall between its looks (F22)."""
    return store.verdicts.lock_threads(sorted({one.interrupt.thread_id for one in prepared}))


def settle(one: Prepared, actor: Actor, how: How) -> bool:
    """Record this answer, if the question is still the one that was seen: as a vote, and as the verdict where that is
    reached. True where it was recorded, False where the same submission had been before."""
    assert connection.in_atomic_block
    if isinstance(actor, System) or (one.policy.quorum == 1 and one.policy.rejects == 1):
        return closed(one, actor, how, one.value)
    return voted(one, actor, how)


def voted(one: Prepared, actor: Person, how: How) -> bool:
    """One vote of several: it closes the question where enough of them agree with it."""
    if not (one.checked and store.verdicts.still(*seen(one))):
        return again_or_refused(one, actor, how)
    if already_voted(one, actor, how):
        return False
    standing = voting.cast(
        actor,
        one.interrupt,
        one.given,
        one.value,
        on_behalf_of=one.on_behalf_of,
        channel=how.channel,
        submission_key=how.submission_key,
        policy=one.policy,
    )
    entry = voting.keep(standing, actor, one.interrupt, facts(one), how.channel)
    if standing.verdict is not None:
        return closed(one, actor, how, one.value)
    one.receipt = receipt_of_vote(standing.vote, standing.missing, digest=one.given.digest, audit_digest=entry.digest)
    return True


def already_voted(one: Prepared, actor: Person, how: How) -> bool:
    """Whether this very submission was recorded as a vote; then its receipt is given again."""
    votes = store.verdicts.votes_of(one.interrupt.pk, store.verdicts.round_of(one.interrupt.pk))
    mine = next((vote for vote in votes if vote.voter_id == actor.pk), None)
    if mine is None or not how.submission_key or mine.submission_key != how.submission_key:
        return False
    missing = voting.counted(mine, votes, one.policy).missing
    one.receipt = receipt_of_vote(mine, missing, digest=one.given.digest, replay=True)
    return True


def closed(one: Prepared, actor: Actor, how: How, value: Any) -> bool:
    """Close the question with this verdict; the row count is the truth (F21)."""
    if not (one.checked and store.verdicts.close(*seen(one))):
        return again_or_refused(one, actor, how)
    entry = audit.record(actor, "decide", "interrupt", one.interrupt.pk, facts(one), how.channel)
    decision = keep(one, actor, how, entry)
    trust.keep(actor, one.interrupt, decision, how.channel)
    one.receipt, one.decided = receipt_of(decision, audit_digest=entry.digest), True
    return True


def seen(one: Prepared) -> tuple[UUID, int, str, int]:
    shown = one.given.policy_version
    policy = one.interrupt.queue.policy_version if shown is None else shown
    return one.interrupt.pk, one.given.version, one.given.digest, policy


def again_or_refused(one: Prepared, actor: Actor, how: How) -> bool:
    """False, with the first receipt, where this submission was recorded before; else the refusal is raised."""
    one.receipt = replayed(one, actor, how.submission_key)
    if one.receipt is None:
        raise refusal_of(one)
    return False


def held(one: Prepared, actor: Actor) -> bool:
    """Whether the verdict waits for its hold to pass; the clock wakes the thread then."""
    return one.policy.hold_seconds > 0 and not isinstance(actor, System)


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
    now = Interrupt.objects.select_related("queue").get(pk=one.interrupt.pk)
    decision = latest(now.pk)
    if now.status in (InterruptStatus.CLOSED, InterruptStatus.SUPERSEDED) and decision:
        return AlreadyDecided(receipt_of(decision))
    if now.status == InterruptStatus.SUPERSEDED:
        return NoLongerOpen(now.closed_because or _("The question was asked anew with other contents."), newer(now))
    if now.status == InterruptStatus.WITHDRAWN:
        return NoLongerOpen(now.closed_because or _("The question was withdrawn."))
    if now.queue.policy_version != seen(one)[3]:
        return PolicyChanged(now.queue.title)
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
        "policy": one.interrupt.queue.policy_version,
        **({"on_behalf_of": one.on_behalf_of} if one.on_behalf_of else {}),
        "thread": str(one.interrupt.thread.uid),
    }


def keep(one: Prepared, actor: Actor, how: How, entry: AuditEntry) -> Decision:
    decision = Decision(
        interrupt=one.interrupt,
        round=store.verdicts.round_of(one.interrupt.pk),
        outcome=one.given.outcome,
        value=one.value,
        comment=one.given.comment,
        reviewer_id=actor_id(actor),
        reviewer_name=actor_name(actor),
        on_behalf_of=one.on_behalf_of,
        original=voting.original(one.interrupt, one.value),
        channel=how.channel,
        digest=one.given.digest,
        version=one.given.version,
        policy_version=one.interrupt.queue.policy_version,
        submission_key=how.submission_key,
        audit_seq=entry.seq,
        decided_at=timezone.now(),
    )
    decision.effective_at = decision.decided_at + timedelta(seconds=hold_of(one, actor))
    store.verdicts.keep(decision, hold_of(one, actor))
    return decision


def hold_of(one: Prepared, actor: Actor) -> int:
    """Seconds for which the verdict can be undone; what the clock decides counts at once."""
    return one.policy.hold_seconds if held(one, actor) else 0


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
