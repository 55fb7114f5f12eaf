"""What an answer changed of what was proposed: each place with both values, by JSON pointer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from graphs.policies.conditions import MISSING

#: Places past this many are no longer told apart.
MOST = 1000


@dataclass(frozen=True, slots=True)
class Edit:
    """One place; MISSING stands on the side where there was nothing."""

    pointer: str
    before: Any
    after: Any


def edits(original: Any, value: Any, *, call: bool = False) -> list[Edit]:
    """The places in which `value` differs from what a decision kept as its `original`; none where it kept nothing.

    Of a `call` the arguments are compared; of any other answer the keys that were proposed, since the rest was asked.
    """
    if not isinstance(original, Mapping) or not isinstance(value, Mapping):
        return []
    given = value.get("arguments") if call else {key: value[key] for key in original if key in value}
    return list(islice(differences(original, given), MOST)) if isinstance(given, Mapping) else []


def differences(before: Any, after: Any, pointer: str = "") -> Iterator[Edit]:
    """Every leaf that is another; lists of another length are one difference."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in dict.fromkeys([*before, *after]):
            place = f"{pointer}/{key.replace('~', '~0').replace('/', '~1')}"
            yield from differences(before.get(key, MISSING), after.get(key, MISSING), place)
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, (old, new) in enumerate(zip(before, after, strict=True)):
            yield from differences(old, new, f"{pointer}/{index}")
    elif not same(before, after):
        yield Edit(pointer, before, after)


def same(before: Any, after: Any) -> bool:
    """Equal as JSON: to Python true is 1."""
    return isinstance(before, bool) == isinstance(after, bool) and bool(before == after)
