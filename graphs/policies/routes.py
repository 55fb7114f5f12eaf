"""Which queue a question goes to that names none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from graphs.policies.conditions import all_hold
from graphs.policies.policy import Policy


def pick(queues: Iterable[tuple[str, Policy]], facts: Mapping[str, Any]) -> str | None:
    """The slug of the queue whose fitting route has the greatest priority, the first by slug of several; else None."""
    fitting = [
        (-route.priority, slug) for slug, policy in queues for route in policy.routes if all_hold(route.when, facts)
    ]
    return min(fitting)[1] if fitting else None
