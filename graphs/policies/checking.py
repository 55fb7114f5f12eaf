"""What is wrong with a policy's document before it is saved: each problem with the JSON pointer of its place."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import re2

from graphs.policies.checked_hours import hours_problems, week_minutes
from graphs.policies.conditions import OPERATORS, number
from graphs.policies.levels import Level

Found = Iterator[tuple[str, str]]

MOST_PEOPLE = 100
MOST_HOLD = 3600
#: The longest time of a policy, in minutes: a year.
MOST_MINUTES = 366 * 24 * 60
#: With fewer working minutes a week than a hundredth of a time, nobody would live to see it.
MOST_WEEKS = 100
MOST_RULES = 50
MOST_CONDITIONS = 20
LONGEST_NAME = 80
LONGEST_TEXT = 1000
MOST_VALUES = 200
LEVELS = tuple(level.word for level in Level)
WORDS = {"reason": ("never", "reject", "always"), "step_up": ("never", "critical")}
OUTCOMES = ("rejected", "cancelled")
COUNTS = {"quorum": (1, MOST_PEOPLE), "rejects": (1, MOST_PEOPLE), "hold_seconds": (0, MOST_HOLD)}
SWITCHES = ("self_approval", "trust", "four_eyes")
TIMES = ("look_minutes", "due_minutes", "remind_minutes_before", "escalate_minutes", "expire_minutes")
TEXTS = ("escalate_to", "expire_outcome", "amount_path")
KEYS = {*COUNTS, *SWITCHES, *WORDS, *TIMES, *TEXTS, "risk", "routes", "hours"}
#: Operators that compare with nothing.
ALONE = ("exists", "missing")
ORDERED = (">", ">=", "<", "<=")
#: What the pointers of conditions begin with.
FACTS = ("payload", "graph", "node", "tool", "reason", "requester", "queue")


def problems(spec: Any) -> list[tuple[str, str]]:
    """Everything that is wrong with a policy's document, as (JSON pointer, message); `parse` takes it where this is
    empty. A document without anything is right."""
    if spec is None:
        return []
    if not isinstance(spec, Mapping):
        return [("", "must be an object")]
    found = [(f"/{key}", "is no key of a policy") for key in spec if key not in KEYS]
    found += [*plain(spec), *rules(spec), *hours_problems(spec.get("hours"))]
    # What a time means depends on the hours, so it is asked only of a document that is whole.
    return found or [*together(spec), *reachable(spec)]


def plain(spec: Mapping[str, Any]) -> Found:
    for key, (least, most) in COUNTS.items():
        yield from whole(spec, key, least, most)
    for key in TIMES:
        yield from whole(spec, key, 0 if key == "remind_minutes_before" else 1, MOST_MINUTES)
    for key in SWITCHES:
        if spec.get(key) is not None and not isinstance(spec[key], bool):
            yield f"/{key}", "must be true or false"
    for key, words in WORDS.items():
        if spec.get(key) is not None and spec[key] not in words:
            yield f"/{key}", f"must be one of {', '.join(words)}"
    for key in TEXTS:
        if spec.get(key) is not None and not is_text(spec[key]):
            yield f"/{key}", f"must be text of at most {LONGEST_TEXT} characters"


def whole(spec: Mapping[str, Any], key: str, least: int, most: int) -> Found:
    value = spec.get(key)
    if value is None:
        return
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        yield f"/{key}", f"must be a whole number from {least} to {most:,}"


def is_text(value: Any, most: int = LONGEST_TEXT) -> bool:
    return isinstance(value, str) and len(value) <= most and "\x00" not in value


def together(spec: Mapping[str, Any]) -> Found:
    """What each is fine and both are not: dead zones, times out of order, a promise without its other half."""
    due, before = spec.get("due_minutes"), spec.get("remind_minutes_before")
    if before is not None and due is None:
        yield "/remind_minutes_before", "a reminder needs a time to decide by: fill that in, or leave this empty"
    elif before is not None and before >= due:
        yield (
            "/remind_minutes_before",
            "the reminder would come before the question: choose less than the time to decide",
        )
    expires, outcome = spec.get("expire_minutes"), spec.get("expire_outcome") or ""
    if outcome and outcome not in OUTCOMES:
        yield "/expire_outcome", f"must be one of {', '.join(OUTCOMES)}"
    if expires is not None and not outcome:
        yield "/expire_outcome", "say what counts when the time is up, or leave the time to expire empty"
    if outcome and expires is None:
        yield "/expire_minutes", "say after how long, or leave what then counts empty"
    if spec.get("escalate_to") and spec.get("escalate_minutes") is None:
        yield "/escalate_minutes", "say after how long it goes there, or leave the queue empty"
    if expires is not None:
        yield from too_late(spec, expires)
    pointer = spec.get("amount_path") or ""
    if pointer and not pointer.startswith("/"):
        yield "/amount_path", "must be a JSON pointer into the payload, such as /amount"


def too_late(spec: Mapping[str, Any], expires: int) -> Found:
    """What could never happen, because the question is gone by then."""
    for key in ("look_minutes", "due_minutes", "escalate_minutes"):
        if (spec.get(key) or 0) > expires:
            yield f"/{key}", f"it expires before that, after {expires:,} minutes"


def reachable(spec: Mapping[str, Any]) -> Found:
    """Times that these hours never come to."""
    if not spec.get("hours"):
        return
    week = week_minutes(spec["hours"])
    for key in TIMES:
        if spec.get(key) is not None and spec[key] > week * MOST_WEEKS:
            yield f"/{key}", f"with {week} working minutes a week this would take more than {MOST_WEEKS} weeks"


def rules(spec: Mapping[str, Any]) -> Found:
    yield from listed(spec, "risk", risk_rule)
    yield from listed(spec, "routes", route)


def listed(spec: Mapping[str, Any], key: str, check: Callable[[str, Mapping[str, Any]], Found]) -> Found:
    """A list of named rules: each is an object with a name of its own."""
    given = spec.get(key)
    if given is None:
        return
    if not isinstance(given, list) or len(given) > MOST_RULES:
        yield f"/{key}", f"must be a list of at most {MOST_RULES} rules"
        return
    names: set[str] = set()
    for index, rule in enumerate(given):
        place = f"/{key}/{index}"
        if not isinstance(rule, Mapping):
            yield place, "must be an object"
            continue
        yield from named(place, rule.get("name"), names)
        yield from check(place, rule)
        yield from conditions(place, rule.get("when"))


def named(place: str, name: Any, names: set[str]) -> Found:
    """The name is what reviewers read as the reason, so there is one, and it says which rule it was."""
    if not is_text(name, LONGEST_NAME) or not name.strip():
        yield f"{place}/name", f"needs a name of at most {LONGEST_NAME} characters: reviewers read it as the reason"
    elif name in names:
        yield f"{place}/name", f"another rule is called {name!r} already"
    else:
        names.add(name)


def risk_rule(place: str, rule: Mapping[str, Any]) -> Found:
    yield from unknown(place, rule, ("name", "level", "when"))
    if rule.get("level") not in LEVELS:
        yield f"{place}/level", f"must be one of {', '.join(LEVELS)}"


def route(place: str, rule: Mapping[str, Any]) -> Found:
    yield from unknown(place, rule, ("name", "priority", "when"))
    priority = rule.get("priority", 0)
    if not isinstance(priority, int) or isinstance(priority, bool) or not 0 <= priority <= 1000:
        yield f"{place}/priority", "must be a whole number from 0 to 1,000"
    if not rule.get("when"):
        yield f"{place}/when", "a route without a condition would bring every question here"


def unknown(place: str, rule: Mapping[str, Any], known: Sequence[str]) -> Found:
    yield from ((f"{place}/{key}", "is no key of a rule") for key in rule if key not in known)


def conditions(place: str, when: Any) -> Found:
    if when is None:
        return
    if not isinstance(when, list) or len(when) > MOST_CONDITIONS:
        yield f"{place}/when", f"must be a list of at most {MOST_CONDITIONS} conditions"
        return
    for index, one in enumerate(when):
        at = f"{place}/when/{index}"
        if isinstance(one, Mapping):
            yield from unknown(at, one, ("path", "op", "value"))
            yield from condition(at, one)
        else:
            yield at, "must be an object"


def condition(at: str, one: Mapping[str, Any]) -> Found:
    path, op = one.get("path"), one.get("op")
    if not is_text(path) or not str(path).startswith("/") or str(path).split("/")[1] not in FACTS:
        yield f"{at}/path", f"must be a JSON pointer that begins with one of {', '.join(f'/{one}' for one in FACTS)}"
    if op not in OPERATORS:
        yield f"{at}/op", f"must be one of {', '.join(OPERATORS)}"
    elif op not in ALONE:
        yield from compared(f"{at}/value", str(op), one)


def compared(at: str, op: str, one: Mapping[str, Any]) -> Found:
    """The value that an operator compares with, of a kind that it can ever be true of."""
    value = one.get("value")
    if "value" not in one or value == "":
        yield at, "say what it is compared with"
    elif isinstance(value, Mapping) or (isinstance(value, list) and op != "in"):
        yield at, "must be one text, number, true, false or null"
    elif isinstance(value, str) and not is_text(value):
        yield at, f"must be text of at most {LONGEST_TEXT} characters"
    elif op in ORDERED and not number(value) and not isinstance(value, str):
        yield at, "must be a number or a text, to be greater or less than"
    elif op == "in" and (
        not isinstance(value, list) or not 0 < len(value) <= MOST_VALUES or not all(map(single, value))
    ):
        yield at, f"must be a list of at most {MOST_VALUES} texts and numbers"
    elif op == "matches":
        yield from pattern(at, value)


def single(value: Any) -> bool:
    return value is None or isinstance(value, bool) or number(value) or is_text(value)


def pattern(at: str, value: Any) -> Found:
    try:
        re2.compile(value)
    except (re2.error, TypeError):
        yield at, "is no pattern that RE2 understands"
