"""Policies put in force by hand, and questions whose moments have come, for tests of the clock."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.utils import timezone

from graphs.models import ApprovalQueue, AuditEntry, Interrupt, QueuePolicy
from graphs.policies.checking import problems


def enforce(queue: ApprovalQueue, **spec: Any) -> ApprovalQueue:
    """The next version of this queue's policy, in force at once."""
    assert problems(spec) == []
    version = queue.policy_version + 1
    QueuePolicy.objects.create(queue=queue, version=version, spec=spec)
    ApprovalQueue.objects.filter(pk=queue.pk).update(policy_version=version, policy_spec=spec)
    queue.refresh_from_db()
    return queue


def past(row: Interrupt, **fields: float) -> None:
    """Set moments of a question to so many minutes ago; a negative number is in the future."""
    now = timezone.now()
    moments = {name: now - timedelta(minutes=minutes) for name, minutes in fields.items()}
    Interrupt.objects.filter(pk=row.pk).update(**moments)


def acts(row: Interrupt) -> list[str]:
    """What the audit chain holds of a question, in its order."""
    return list(AuditEntry.objects.about("interrupt", str(row.pk)).values_list("action", flat=True))
