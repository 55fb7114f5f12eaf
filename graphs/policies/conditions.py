"""One condition of a rule over a question's facts, and where in them a JSON pointer leads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import re2

#: Patterns look at no more of a text than this; RE2 is linear in it.
MOST_MATCHED = 64 * 1024


class Missing:
    """Nothing is where a pointer leads; null is something."""


MISSING = Missing()


@dataclass(frozen=True, slots=True)
class Condition:
    """`value` at the JSON pointer `path` of the facts; `op` is one of `OPERATORS`."""

    path: str
    op: str
    value: Any = None


def at(document: Any, pointer: str) -> Any:
    """What a JSON pointer leads to; MISSING where it leads nowhere."""
    found = document
    for token in pointer.split("/")[1:]:
        step = token.replace("~1", "/").replace("~0", "~")
        if isinstance(found, Mapping) and step in found:
            found = found[step]
        elif isinstance(found, list) and step.isascii() and step.isdigit() and int(step) < len(found):
            found = found[int(step)]
        else:
            return MISSING
    return found


def number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def same(found: Any, value: Any) -> bool:
    """Equal and of one kind: 1 is neither true nor "1"."""
    return (
        bool(found == value) and (number(found) == number(value)) and isinstance(found, bool) == isinstance(value, bool)
    )


def ordered(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    """Numbers with numbers and texts with texts; anything else is not in any order."""

    def check(found: Any, value: Any) -> bool:
        alike = (number(found) and number(value)) or (isinstance(found, str) and isinstance(value, str))
        return alike and compare(found, value)

    return check


def contains(found: Any, value: Any) -> bool:
    if isinstance(found, str):
        return isinstance(value, str) and value.casefold() in found.casefold()
    if isinstance(found, list):
        return any(same(one, value) for one in found)
    return isinstance(found, Mapping) and isinstance(value, str) and value in found


def matches(found: Any, value: Any) -> bool:
    return isinstance(found, str) and isinstance(value, str) and re2.search(value, found[:MOST_MATCHED]) is not None


OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": same,
    "!=": lambda found, value: not same(found, value),
    ">": ordered(lambda a, b: bool(a > b)),
    ">=": ordered(lambda a, b: bool(a >= b)),
    "<": ordered(lambda a, b: bool(a < b)),
    "<=": ordered(lambda a, b: bool(a <= b)),
    "in": lambda found, value: isinstance(value, list) and any(same(found, one) for one in value),
    "contains": contains,
    "matches": matches,
    "exists": lambda found, value: True,
    "missing": lambda found, value: False,
}
#: What holds where nothing is there.
OF_NOTHING = ("missing", "!=")


def holds(condition: Condition, facts: Mapping[str, Any]) -> bool:
    """Whether a condition is true of the facts; of what is missing only `missing` and `!=` are."""
    found = at(facts, condition.path)
    if found is MISSING:
        return condition.op in OF_NOTHING
    return OPERATORS[condition.op](found, condition.value)


def all_hold(conditions: Iterable[Condition], facts: Mapping[str, Any]) -> bool:
    """Whether every condition is true; a rule without any always fires."""
    return all(holds(one, facts) for one in conditions)
