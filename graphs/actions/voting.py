"""Votes and quorums: what a queue's policy asks of an answer, and when enough of them agree (S01)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.db import connection
from django.utils import timezone
from django.utils.translation import gettext as _

from graphs import permissions, store
from graphs.actions import audit
from graphs.actions.actors import System, actor_name, person_id
from graphs.actions.errors import AlreadyVoted, AnswerRefused, NotAllowed, ProofNeeded
from graphs.engine import canonical
from graphs.engine.statuses import Outcome
from graphs.engine.trust import GATE
from graphs.models import Interrupt, Vote
from graphs.policies import policy as policies
from graphs.policies import quorum, reasons
from graphs.policies.risk import Level

if TYPE_CHECKING:
    from graphs.actions.actors import Actor, Person
    from graphs.actions.decisions import Given

NOES = (Outcome.REJECTED, Outcome.CANCELLED)
MOST_NAMED = 5


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a question stands after a vote: the vote, those of its round, and the verdict they make, if any."""

    vote: Vote
    votes: list[Vote]
    verdict: Vote | None
    missing: int


def may_decide(actor: Actor, interrupt: Interrupt) -> str:
    """Whose right this person uses, empty for their own; the refusal says who may decide instead."""
    if isinstance(actor, System):
        return ""
    ruling = permissions.ruling(actor, "decide", interrupt)
    if ruling:
        return ruling.on_behalf_of
    raise NotAllowed(f"{ruling.reason} {who_may(interrupt)}".strip())


def who_may(interrupt: Interrupt) -> str:
    """The people who may decide a question, in a sentence for whoever may not."""
    names = [actor_name(one) for one in permissions.deciders(interrupt)]
    if not names:
        return _("Nobody can at the moment: ask an administrator of the queue.")
    named, more = ", ".join(names[:MOST_NAMED]), len(names) - MOST_NAMED
    if more > 0:
        return _("These may: %(names)s and %(count)s more.") % {"names": named, "count": more}
    return _("These may: %(names)s.") % {"names": named}


def check_policy(actor: Actor, interrupt: Interrupt, given: Given, policy: policies.Policy, proven: bool) -> None:
    """What the queue's policy asks beside the right to decide: a reason, the password again, no trust.

    Raises AnswerRefused at `/comment`, ProofNeeded, NotAllowed.
    """
    if isinstance(actor, System):
        return
    if not given.comment.strip() and reason_needed(interrupt, policy, given.outcome in NOES):
        raise AnswerRefused(
            str(interrupt.pk), [("/comment", _("%(title)s asks for a reason here.") % {"title": interrupt.queue.title})]
        )
    if not policy.trust and isinstance(given.value, Mapping) and given.value.get("trust"):
        raise NotAllowed(
            _("The policy of %(title)s lets nobody skip a question by trust.") % {"title": interrupt.queue.title}
        )
    if policy.step_up == "critical" and interrupt.risk >= Level.CRITICAL and not proven:
        raise ProofNeeded(_("This question is critical: enter your password again to decide it."))


def reason_needed(interrupt: Interrupt, policy: policies.Policy, no: bool) -> bool:
    """Whether a decision needs words: by the policy, and whatever it says where the risk is high."""
    return reasons.needed(policy, interrupt.risk, no)


def cast(actor: Person, interrupt: Interrupt, given: Given, value: Any, **how: Any) -> Standing:
    """Record one vote within the decision's transaction and count its round. Raises AlreadyVoted."""
    assert connection.in_atomic_block
    round_ = store.verdicts.round_of(interrupt.pk)
    earlier = store.verdicts.votes_of(interrupt.pk, round_)
    if any(one.voter_id == actor.pk for one in earlier):
        raise AlreadyVoted(_("You have voted on this question already; it waits for somebody else."))
    vote = Vote(
        interrupt=interrupt,
        round=round_,
        voter_id=person_id(actor),
        voter_name=actor_name(actor),
        on_behalf_of=how["on_behalf_of"],
        outcome=given.outcome,
        value=value,
        value_digest=canonical.digest(value),
        comment=given.comment,
        channel=how["channel"],
        version=given.version,
        submission_key=how["submission_key"],
        voted_at=timezone.now(),
    )
    return counted(vote, [*earlier, vote], how["policy"])


def counted(vote: Vote, votes: list[Vote], policy: policies.Policy) -> Standing:
    found = quorum.tally(policy, [quorum.Ballot(one.voter_id, one.outcome, one.value_digest) for one in votes])
    if found.verdict is None:
        return Standing(vote, votes, None, found.needed)
    # What agrees is the same to the byte, so the newest of those votes speaks for them all.
    agreed = [
        one for one in votes if (one.outcome, one.value_digest) == (found.verdict.outcome, found.verdict.value_digest)
    ]
    return Standing(vote, votes, agreed[-1], 0)


def keep(standing: Standing, actor: Person, interrupt: Interrupt, facts: Mapping[str, Any], channel: str) -> Any:
    """Write a vote that made no verdict with its audit entry, and return the entry."""
    entry = audit.record(actor, "vote", "interrupt", interrupt.pk, facts, channel)
    standing.vote.audit_seq = entry.seq
    store.verdicts.keep_vote(standing.vote)
    return entry


def original(interrupt: Interrupt, value: Any) -> Any:
    """What was proposed, as far as an answer changed it, for the decision's diff; None where it changed nothing."""
    if not isinstance(value, Mapping):
        return None
    if interrupt.kind == GATE:
        edited = value.get("arguments")
        return (interrupt.metadata or {}).get("arguments") if isinstance(edited, Mapping) else None
    proposed = interrupt.payload if isinstance(interrupt.payload, Mapping) else {}
    changed = {key: proposed[key] for key in value if key in proposed and proposed[key] != value[key]}
    return changed or None
