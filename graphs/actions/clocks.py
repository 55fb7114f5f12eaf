"""A question's own clock: it stands still while information is asked for, and goes on where it was."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from graphs.models import Interrupt
from graphs.models.clock import Now

MOVING = ("look_by", "due_at", "remind_at", "escalate_at")


def stopped() -> dict[str, Any]:
    """The columns of a question whose clock stands still from now on: nothing reminds, escalates or expires it."""
    return {"paused_at": Now()}


def going_on(row: Interrupt, at: datetime | None = None) -> dict[str, Any]:
    """The columns of one whose clock goes on: its policy's times are later by as long as it stood still. A deadline
    that its author named is a moment in the world, and does not move."""
    if row.paused_at is None:
        return {}
    stood = max(timedelta(0), (at or timezone.now()) - row.paused_at)
    moving = MOVING if row.expiry_outcome == "expired" else (*MOVING, "expires_at")
    times = {name: value + stood for name in moving if (value := getattr(row, name)) is not None}
    return {**times, "paused_at": None, "paused_seconds": (row.paused_seconds or 0) + stood.total_seconds()}
