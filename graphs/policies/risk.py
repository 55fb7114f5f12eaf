"""The risk of a question, from the rules of its queue over what it says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from graphs.policies.conditions import all_hold, at
from graphs.policies.levels import Level
from graphs.policies.policy import Policy

__all__ = ["Assessed", "Level", "amount", "assess"]


@dataclass(frozen=True, slots=True)
class Assessed:
    """The highest level of the rules that fired, and the names of all that did."""

    level: Level
    rules: tuple[str, ...] = ()


def assess(policy: Policy, facts: Mapping[str, Any]) -> Assessed:
    """The risk of a question whose facts these are; low where no rule fires."""
    fired = [rule for rule in policy.risk if all_hold(rule.when, facts)]
    level = max((rule.level for rule in fired), default=Level.LOW)
    return Assessed(level, tuple(rule.name for rule in fired))


def amount(policy: Policy, payload: Any) -> float | None:
    """What the queue's list sorts by as value; None where the payload has no number there."""
    found = at(payload, policy.amount_path) if policy.amount_path else None
    number = isinstance(found, int | float) and not isinstance(found, bool) and abs(found) < 1e300
    return float(found) if number else None  # type: ignore[arg-type]
