"""The one JSON of the engine (F23, Z21, Z48)."""

from __future__ import annotations

import enum
import uuid
from collections import OrderedDict
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from graphs.engine import canonical
from graphs.engine.errors import PayloadError


class Colour(enum.StrEnum):
    RED = "red"


@dataclass
class Point:
    x: int
    tags: list[str]


class Model(BaseModel):
    at: date
    price: Decimal


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00")),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("ab~/é", max_size=4), inner, max_size=4),
    max_leaves=20,
)


@given(JSON)
def test_json_comes_back_as_it_is_and_is_a_copy(value: Any) -> None:
    encoded = canonical.encode(value)
    assert repr(encoded) == repr(value)
    assert encoded is not value or not isinstance(value, (dict, list))
    assert repr(canonical.loads(canonical.dumps(encoded))) == repr(canonical.loads(canonical.dumps(value)))


@pytest.mark.parametrize(
    ("value", "encoded"),
    [
        (Colour.RED, "red"),
        (Point(1, ["a"]), {"x": 1, "tags": ["a"]}),
        (Model(at=date(2026, 1, 2), price=Decimal("1.10")), {"at": "2026-01-02", "price": "1.10"}),
        (datetime(2026, 1, 2, tzinfo=UTC), "2026-01-02T00:00:00+00:00"),
        (uuid.UUID(int=5), "00000000-0000-0000-0000-000000000005"),
        (OrderedDict(b=1, a=2), {"b": 1, "a": 2}),
        ({"deep": [Point(1, [])]}, {"deep": [{"x": 1, "tags": []}]}),
    ],
)
def test_declared_encodings(value: Any, encoded: Any) -> None:
    assert canonical.encode(value) == encoded


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ((1, 2), ""),
        ({"a": (1,)}, "/a"),
        ([{1}], "/0"),
        ([b"x"], "/0"),
        ({"a": float("nan")}, "/a"),
        ([float("-inf")], "/0"),
        ({"a": {"b": "x\0"}}, "/a/b"),
        (["\ud800"], "/0"),
        ([2**64], "/0"),
        ([-(2**63) - 1], "/0"),
        ({"a/b~c": object()}, "/a~1b~0c"),
        ({1: 2}, ""),
        ({"k" * 257: 1}, ""),
        ({"n": "x" * 17_000_000}, ""),
    ],
)
def test_everything_else_is_refused_with_its_path(value: Any, path: str) -> None:
    with pytest.raises(PayloadError) as caught:
        canonical.encode(value)
    assert caught.value.path == path


def test_depth_is_bounded() -> None:
    def nest(levels: int) -> Any:
        value: Any = 1
        for _ in range(levels):
            value = [value]
        return value

    assert canonical.encode(nest(64)) == nest(64)
    with pytest.raises(PayloadError, match="deeper"):
        canonical.encode(nest(66))
    with pytest.raises(PayloadError, match="deeper"):
        canonical.encode(nest(5_000))


def test_the_digest_is_over_sorted_keys() -> None:
    assert canonical.digest({"b": 1, "a": [1.0]}) == canonical.digest({"a": [1.0], "b": 1})
    assert canonical.digest(1) != canonical.digest(1.0)


def test_a_backslash_u0000_that_is_no_nul_is_text() -> None:
    assert canonical.encode({"t": "\\u0000"}) == {"t": "\\u0000"}
