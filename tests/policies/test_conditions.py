from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphs.policies.conditions import MISSING, OPERATORS, Condition, all_hold, at, holds
from graphs.policies.levels import Level
from graphs.policies.policy import Policy, RiskRule, Route, parse
from graphs.policies.risk import amount, assess
from graphs.policies.routes import pick

FACTS: dict[str, Any] = {
    "payload": {
        "amount": 180,
        "code": "180",
        "tags": ["new", 7, True],
        "to": "Kim@Example.ORG",
        "none": None,
        "a/b": 1,
    },
    "graph": "refund",
    "requester": "cleo",
}


def check(path: str, op: str, value: Any = None) -> bool:
    return holds(Condition(path, op, value), FACTS)


@pytest.mark.parametrize(
    ("path", "op", "value", "expected"),
    [
        ("/payload/amount", "=", 180, True),
        ("/payload/amount", "=", 180.0, True),
        ("/payload/amount", "=", "180", False),
        ("/payload/code", ">", 100, False),
        ("/payload/amount", ">", "100", False),
        ("/payload/amount", ">", 100, True),
        ("/payload/amount", ">=", 180, True),
        ("/payload/amount", "<", 180, False),
        ("/payload/code", "<=", "180", True),
        ("/payload/tags/2", "=", 1, False),
        ("/payload/tags/2", ">", 0, False),
        ("/payload/tags/1", "=", 7, True),
        ("/payload/tags", "contains", "new", True),
        ("/payload/tags", "contains", 1, False),
        ("/payload/to", "contains", "EXAMPLE", True),
        ("/payload", "contains", "amount", True),
        ("/payload/to", "matches", r"@example\.org$", False),
        ("/payload/to", "matches", r"(?i)@example\.org$", True),
        ("/payload/amount", "matches", "180", False),
        ("/graph", "in", ["refund", "release"], True),
        ("/payload/amount", "in", ["180"], False),
        ("/payload/none", "exists", None, True),
        ("/payload/none", "missing", None, False),
        ("/payload/none", "=", None, True),
        ("/payload/a~1b", "=", 1, True),
        ("/payload/absent", "missing", None, True),
        ("/payload/absent", "exists", None, False),
        ("/payload/absent", "!=", 5, True),
        ("/payload/absent", "=", None, False),
        ("/payload/amount", "!=", "180", True),
        ("/payload/tags/9", "exists", None, False),
        ("/payload/tags/-1", "exists", None, False),
        ("/payload/amount/deeper", "exists", None, False),
    ],
)
def test_conditions_compare_like_with_like(path: str, op: str, value: Any, expected: bool) -> None:
    assert check(path, op, value) is expected


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@given(VALUES, st.sampled_from([op for op in OPERATORS if op != "matches"]), VALUES)
def test_no_condition_ever_raises(found: Any, op: str, value: Any) -> None:
    assert holds(Condition("/payload", op, value), {"payload": found}) in (True, False)


@given(VALUES, VALUES)
def test_equal_and_unequal_are_opposites(found: Any, value: Any) -> None:
    facts = {"payload": found}
    assert holds(Condition("/payload", "=", value), facts) != holds(Condition("/payload", "!=", value), facts)


def test_a_hostile_pattern_takes_linear_time() -> None:
    facts = {"payload": "a" * 1_000_000 + "!"}
    assert not holds(Condition("/payload", "matches", r"^(a+)+!$"), facts), "only a text's beginning is looked at"
    assert at(facts, "/nowhere") is MISSING


def test_the_highest_level_of_all_rules_that_fire_counts_and_each_is_named() -> None:
    policy = Policy(
        risk=(
            RiskRule("Over 100", Level.MEDIUM, (Condition("/payload/amount", ">", 100),)),
            RiskRule("Over 150", Level.CRITICAL, (Condition("/payload/amount", ">", 150),)),
            RiskRule("Over 1000", Level.HIGH, (Condition("/payload/amount", ">", 1000),)),
        )
    )
    found = assess(policy, FACTS)
    assert (found.level, found.level.word, found.rules) == (Level.CRITICAL, "critical", ("Over 100", "Over 150"))
    assert assess(Policy(), FACTS).level is Level.LOW
    assert all_hold((), FACTS)


def test_the_value_is_a_number_or_nothing() -> None:
    policy = Policy(amount_path="/amount")
    assert amount(policy, FACTS["payload"]) == 180
    assert amount(policy, {"amount": "180"}) is None
    assert amount(policy, {"amount": True}) is None
    assert amount(policy, [1]) is None
    assert amount(Policy(), FACTS["payload"]) is None


def test_routes_go_by_priority_and_then_by_name() -> None:
    def to(priority: int, graph: str = "refund") -> Policy:
        return Policy(routes=(Route("r", priority, (Condition("/graph", "=", graph),)),))

    assert pick([("b", to(1)), ("a", to(1)), ("c", to(0))], FACTS) == "a"
    assert pick([("b", to(1)), ("c", to(5))], FACTS) == "c"
    assert pick([("b", to(9, "release"))], FACTS) is None


def test_a_document_becomes_a_policy() -> None:
    policy = parse(
        {
            "quorum": 2,
            "self_approval": False,
            "risk": [{"name": "Large", "level": "high", "when": [{"path": "/payload/amount", "op": ">", "value": 5}]}],
            "routes": [{"name": "Refunds", "when": [{"path": "/graph", "op": "=", "value": "refund"}]}],
            "hours": {"zone": "Europe/Lisbon", "days": {"mon": [["09:00", "17:00"]]}, "holidays": ["2026-12-25"]},
            "look_minutes": None,
        }
    )
    assert (policy.quorum, policy.rejects, policy.self_approval, policy.look_minutes) == (2, 1, False, None)
    assert policy.risk[0].level is Level.HIGH and policy.routes[0].priority == 0
    assert policy.hours is not None and policy.hours.days == {"mon": ((540, 1020),)}
    assert parse(None) == parse({}) == Policy()
