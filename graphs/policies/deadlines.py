"""A question's times from its queue's policy."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from graphs.policies.hours import add_working
from graphs.policies.policy import Policy


@dataclass(frozen=True, slots=True)
class Times:
    """Aware moments in UTC; None where the policy sets none."""

    look_by: datetime | None = None
    due_at: datetime | None = None
    remind_at: datetime | None = None
    escalate_at: datetime | None = None
    expires_at: datetime | None = None


def times(policy: Policy, opened_at: datetime) -> Times:
    """What a policy says of a question that opened then. A reminder comes so long before it is due, at once if late."""

    def after(minutes: int | None) -> datetime | None:
        return None if minutes is None else add_working(opened_at, minutes, policy.hours)

    before = policy.remind_minutes_before
    reminds = before is not None and policy.due_minutes is not None
    return Times(
        look_by=after(policy.look_minutes),
        due_at=after(policy.due_minutes),
        remind_at=after(max(0, policy.due_minutes - before)) if reminds else None,  # type: ignore[operator]
        escalate_at=after(policy.escalate_minutes),
        expires_at=after(policy.expire_minutes) if policy.expire_outcome else None,
    )


def shifted(found: Times, by: timedelta) -> Times:
    """The same after the clock has stood still for `by`, while information was asked for."""
    moved = {name: at + by for name in found.__slots__ if (at := getattr(found, name)) is not None}
    return replace(found, **moved)
