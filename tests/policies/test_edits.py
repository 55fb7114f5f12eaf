from __future__ import annotations

from typing import Any

import pytest

from graphs.policies.conditions import MISSING
from graphs.policies.edits import Edit, edits


@pytest.mark.parametrize(
    ("original", "value", "found"),
    [
        (None, {"a": 1}, []),
        ({"a": 1}, {"a": 2, "asked": "new"}, [Edit("/a", 1, 2)]),
        ({"a": {"b": [1, 2]}}, {"a": {"b": [1, 3]}}, [Edit("/a/b/1", 2, 3)]),
        ({"a": [1]}, {"a": [1, 2]}, [Edit("/a", [1], [1, 2])]),
        ({"a": 1, "b": 120.0}, {"a": True, "b": 120}, [Edit("/a", 1, True)]),
        ({"a": {"x/y": 1}}, {"a": {"z~": None}}, [Edit("/a/x~1y", 1, MISSING), Edit("/a/z~0", MISSING, None)]),
    ],
)
def test_only_what_was_proposed_and_is_another_is_an_edit(original: Any, value: Any, found: list[Edit]) -> None:
    assert edits(original, value) == found


def test_of_a_call_the_arguments_are_compared() -> None:
    given = {"approved": True, "arguments": {"path": "b", "days": 5}}
    assert edits({"path": "a", "days": 5}, given, call=True) == [Edit("/path", "a", "b")]
    assert edits({"path": "a"}, {"approved": True}, call=True) == []
