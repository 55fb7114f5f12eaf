"""A policy's document in words, and what two of its versions differ in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphs.policies.checking import KEYS
from graphs.policies.policy import Policy, parse

#: What a document that does not name a key means by it.
ABSENT = Policy()
REASONS = {"never": "only where the risk is high", "reject": "for a no, and where the risk is high", "always": "always"}


def worded(spec: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    """What a policy asks for, as (about what, in words), in the order in which people read it."""
    policy = parse(spec)
    told = [
        ("Yes", people(policy.quorum, "that agree")),
        ("No", people(policy.rejects, "against it")),
        ("One's own requests", "the requester may decide" if policy.self_approval else "somebody else has to decide"),
        ("A reason", REASONS[policy.reason]),
        ("The password again", "never" if policy.step_up == "never" else "where the risk is critical"),
        ("A decision can be undone for", seconds(policy.hold_seconds)),
        ("Do not ask again", "allowed" if policy.trust else "not allowed"),
    ]
    return told + timed(policy) + ruled(policy)


def timed(policy: Policy) -> list[tuple[str, str]]:
    """Only the times that there are."""
    ends = f"counts as {policy.expire_outcome} after"
    target = f", to {policy.escalate_to}" if policy.escalate_to else ""
    times = [
        ("First look", "within", policy.look_minutes, ""),
        ("Decided", "within", policy.due_minutes, ""),
        ("Reminder, before it is due", "by", policy.remind_minutes_before, ""),
        ("Escalated", "after", policy.escalate_minutes, target),
        ("Expiry", ends, policy.expire_minutes, ""),
    ]
    told = [(name, f"{word} {minutes(count)}{more}") for name, word, count, more in times if count is not None]
    return [*told, ("Times run", f"in working hours of {policy.hours.zone}")] if policy.hours else told


def ruled(policy: Policy) -> list[tuple[str, str]]:
    risks = [(f"Risk {one.level.word}", one.name) for one in policy.risk]
    routes = [("Brought here", f"{one.name} (priority {one.priority})") for one in policy.routes]
    return risks + routes


def people(count: int, what: str) -> str:
    return f"1 person {what}".replace("that agree", "who agrees") if count == 1 else f"{count} people {what}"


def seconds(count: int) -> str:
    return f"{count} seconds" if count else "no time"


def minutes(count: int) -> str:
    """A length of time that a policy names, in the greatest unit that it is a whole number of."""
    for size, word in ((1440, "day"), (60, "hour")):
        if count and count % size == 0:
            return f"{count // size} {word}{'' if count == size else 's'}"
    return f"{count} minute{'' if count == 1 else 's'}"


def differences(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> list[tuple[str, Any, Any]]:
    """The keys that two documents mean different things by, as (key, before, after); an absent one has its usual
    meaning, so spelling that out is no difference."""
    pairs = [(key, meant(before, key), meant(after, key)) for key in sorted(KEYS)]
    return [(key, old, new) for key, old, new in pairs if old != new]


def meant(spec: Mapping[str, Any] | None, key: str) -> Any:
    value = (spec or {}).get(key)
    usual = getattr(ABSENT, key)
    return value if value is not None else ([] if usual == () else usual)
