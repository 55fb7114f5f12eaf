"""What a person gets back for a decision or a vote: proof of what was recorded, and its place in the audit chain."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from graphs.models import AuditEntry, Decision, Vote


@dataclass(frozen=True, slots=True)
class Receipt:
    """One recorded decision.

    `interrupt_id` is the question's UUID as text, `outcome` one of `Outcome`, `value` the recorded JSON,
    `decided_at` an aware UTC time, `version` and `digest` those of the question as it was decided, `audit_seq` and
    `audit_digest` its link of the audit chain. `replay` is True where this submission had been recorded before.
    `missing` counts the votes that are still needed: above 0 it is a vote's receipt, and the question stays open.
    `held_until` is when the run goes on with it, where a hold lets it be undone until then.
    """

    interrupt_id: str
    outcome: str
    value: Any
    comment: str
    reviewer_name: str
    channel: str
    decided_at: datetime
    version: int
    digest: str
    audit_seq: int
    audit_digest: str
    replay: bool = False
    missing: int = 0
    held_until: datetime | None = None
    on_behalf_of: str = ""


def receipt_of(decision: Decision, *, audit_digest: str | None = None, replay: bool = False) -> Receipt:
    """The receipt of a stored decision; reads the audit entry's digest where it is not given."""
    if audit_digest is None:
        entry = AuditEntry.objects.filter(pk=decision.audit_seq).only("digest").first()
        audit_digest = entry.digest if entry else ""
    return Receipt(
        interrupt_id=str(decision.interrupt_id),
        outcome=decision.outcome,
        value=decision.value,
        comment=decision.comment,
        reviewer_name=decision.reviewer_name,
        channel=decision.channel,
        decided_at=decision.decided_at,
        version=decision.version,
        digest=decision.digest,
        audit_seq=decision.audit_seq,
        audit_digest=audit_digest,
        replay=replay,
        held_until=decision.held_until,
        on_behalf_of=decision.on_behalf_of,
    )


def receipt_of_vote(vote: Vote, missing: int, *, digest: str, audit_digest: str = "", replay: bool = False) -> Receipt:
    """The receipt of a vote that made no verdict yet."""
    return Receipt(
        interrupt_id=str(vote.interrupt_id),
        outcome=vote.outcome,
        value=vote.value,
        comment=vote.comment,
        reviewer_name=vote.voter_name,
        channel=vote.channel,
        decided_at=vote.voted_at,
        version=vote.version,
        digest=digest,
        audit_seq=vote.audit_seq,
        audit_digest=audit_digest,
        replay=replay,
        missing=missing,
        on_behalf_of=vote.on_behalf_of,
    )
