"""A queue's policy as a document and as what the functions beside it read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from graphs.policies.conditions import Condition
from graphs.policies.hours import Hours
from graphs.policies.levels import Level


@dataclass(frozen=True, slots=True)
class RiskRule:
    """Raises a question's risk to `level` where all of its conditions hold; `name` is shown as the reason."""

    name: str
    level: Level
    when: tuple[Condition, ...] = ()


@dataclass(frozen=True, slots=True)
class Route:
    """Brings a question that names no queue to this one where all conditions hold; the greatest priority is first."""

    name: str
    priority: int = 0
    when: tuple[Condition, ...] = ()


@dataclass(frozen=True, slots=True)
class Policy:
    """One version of a queue's policy; without a document it asks for nothing beyond one decision.

    `quorum` votes that agree make a verdict, `rejects` noes stop the question. `reason` is "never", "reject" or
    "always"; `step_up` "never" or "critical". `hold_seconds` is how long a decision can be undone. Times are minutes
    within `hours`, None where there is none; `expire_outcome` is "rejected" or "cancelled". `amount_path` is a JSON
    pointer into the payload.
    """

    quorum: int = 1
    rejects: int = 1
    self_approval: bool = True
    reason: str = "never"
    step_up: str = "never"
    hold_seconds: int = 0
    trust: bool = True
    four_eyes: bool = False
    risk: tuple[RiskRule, ...] = ()
    routes: tuple[Route, ...] = ()
    look_minutes: int | None = None
    due_minutes: int | None = None
    remind_minutes_before: int | None = None
    escalate_minutes: int | None = None
    escalate_to: str = ""
    expire_minutes: int | None = None
    expire_outcome: str = ""
    hours: Hours | None = None
    amount_path: str = ""


#: Keys of the document that are taken as they are.
PLAIN = [
    "quorum", "rejects", "self_approval", "reason", "step_up", "hold_seconds", "trust", "four_eyes", "look_minutes",
    "due_minutes", "remind_minutes_before", "escalate_minutes", "escalate_to", "expire_minutes", "expire_outcome",
    "amount_path",
]  # fmt: skip


def parse(spec: Mapping[str, Any] | None) -> Policy:
    """The policy of a document that `problems` found nothing wrong with; the built-in one where there is none."""
    if not spec:
        return Policy()
    plain = {key: spec[key] for key in PLAIN if spec.get(key) is not None}
    return Policy(
        **plain,
        risk=tuple(
            RiskRule(one["name"], Level[str(one["level"]).upper()], conditions(one)) for one in spec.get("risk") or ()
        ),
        routes=tuple(
            Route(one["name"], int(one.get("priority") or 0), conditions(one)) for one in spec.get("routes") or ()
        ),
        hours=Hours.parse(spec["hours"]) if spec.get("hours") else None,
    )


def conditions(rule: Mapping[str, Any]) -> tuple[Condition, ...]:
    return tuple(Condition(one["path"], one["op"], one.get("value")) for one in rule.get("when") or ())
