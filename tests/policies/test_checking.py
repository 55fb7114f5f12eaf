from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphs.policies.checking import KEYS, problems
from graphs.policies.conditions import OPERATORS
from graphs.policies.deadlines import times
from graphs.policies.policy import parse
from graphs.policies.risk import assess
from tests.policies.test_conditions import FACTS, VALUES
from tests.policies.test_hours import utc

WEEK = {"zone": "Europe/Lisbon", "days": {"mon": [["09:00", "17:00"]]}}


def when(path: Any = "/payload/amount", op: Any = ">", **value: Any) -> list[dict[str, Any]]:
    return [{"path": path, "op": op, **value}]


def rule(**fields: Any) -> dict[str, Any]:
    return {"risk": [{"name": "Large", "level": "high", **fields}]}


@pytest.mark.parametrize(
    ("spec", "pointer"),
    [
        ([], ""),
        ({"quorums": 2}, "/quorums"),
        ({"quorum": 0}, "/quorum"),
        ({"quorum": True}, "/quorum"),
        ({"quorum": "2"}, "/quorum"),
        ({"hold_seconds": 3601}, "/hold_seconds"),
        ({"self_approval": "no"}, "/self_approval"),
        ({"reason": "sometimes"}, "/reason"),
        ({"due_minutes": 1.5}, "/due_minutes"),
        ({"remind_minutes_before": 5}, "/remind_minutes_before"),
        ({"due_minutes": 60, "remind_minutes_before": 60}, "/remind_minutes_before"),
        ({"expire_minutes": 60}, "/expire_outcome"),
        ({"expire_outcome": "rejected"}, "/expire_minutes"),
        ({"expire_minutes": 60, "expire_outcome": "approved"}, "/expire_outcome"),
        ({"expire_minutes": 60, "expire_outcome": "rejected", "due_minutes": 61}, "/due_minutes"),
        ({"escalate_to": "boss"}, "/escalate_minutes"),
        ({"amount_path": "amount"}, "/amount_path"),
        ({"risk": {}}, "/risk"),
        ({"risk": [1]}, "/risk/0"),
        (rule(name=" "), "/risk/0/name"),
        (rule(level="severe"), "/risk/0/level"),
        (rule(colour="red"), "/risk/0/colour"),
        (rule(when=when()), "/risk/0/when/0/value"),
        (rule(when=when(op="=>", value=1)), "/risk/0/when/0/op"),
        (rule(when=when(path="amount", value=1)), "/risk/0/when/0/path"),
        (rule(when=when(path="/amount", value=1)), "/risk/0/when/0/path"),
        (rule(when=when(value=[1])), "/risk/0/when/0/value"),
        (rule(when=when(value=True)), "/risk/0/when/0/value"),
        (rule(when=when(op="in", value="a")), "/risk/0/when/0/value"),
        (rule(when=when(op="matches", value="(")), "/risk/0/when/0/value"),
        (rule(when=when(op="matches", value=r"(a)\1")), "/risk/0/when/0/value"),
        ({"risk": [*rule()["risk"], *rule()["risk"]]}, "/risk/1/name"),
        ({"routes": [{"name": "All"}]}, "/routes/0/when"),
        ({"routes": [{"name": "R", "priority": -1, "when": when(value=1)}]}, "/routes/0/priority"),
        ({"hours": {**WEEK, "zone": "Europe/Atlantis"}}, "/hours/zone"),
        ({"hours": {**WEEK, "zone": "../etc/passwd"}}, "/hours/zone"),
        ({"hours": {**WEEK, "days": {}}}, "/hours/days"),
        ({"hours": {**WEEK, "days": {"monday": [["09:00", "10:00"]]}}}, "/hours/days/monday"),
        ({"hours": {**WEEK, "days": {"mon": [["9:00", "17:00"]]}}}, "/hours/days/mon/0"),
        ({"hours": {**WEEK, "days": {"mon": [["09:00", "09:00"]]}}}, "/hours/days/mon/0"),
        ({"hours": {**WEEK, "days": {"mon": [["09:00", "12:00"], ["11:00", "17:00"]]}}}, "/hours/days/mon/1"),
        ({"hours": {**WEEK, "days": {"mon": [["22:00", "06:00"]], "tue": [["05:00", "09:00"]]}}}, "/hours/days/tue/0"),
        ({"hours": {**WEEK, "days": {"sun": [["22:00", "06:00"]], "mon": [["05:00", "09:00"]]}}}, "/hours/days/mon/0"),
        ({"hours": {**WEEK, "holidays": ["25.12."]}}, "/hours/holidays/0"),
        ({"hours": WEEK, "due_minutes": 480 * 101}, "/due_minutes"),
    ],
)
def test_each_problem_is_told_at_its_place(spec: Any, pointer: str) -> None:
    assert pointer in [place for place, _ in problems(spec)]


def test_what_is_right_has_no_problem() -> None:
    spec = {
        "quorum": 2,
        "rejects": 2,
        "self_approval": False,
        "reason": "reject",
        "step_up": "critical",
        "hold_seconds": 8,
        "trust": True,
        "four_eyes": True,
        "look_minutes": 30,
        "due_minutes": 240,
        "remind_minutes_before": 60,
        "escalate_minutes": 300,
        "escalate_to": "managers",
        "expire_minutes": 600,
        "expire_outcome": "rejected",
        "amount_path": "/amount",
        "hours": {**WEEK, "days": {**WEEK["days"], "sat": [["22:00", "24:00"]]}, "holidays": ["2026-12-25"]},
        **rule(when=[*when(value=5), *when("/payload/to", "exists"), *when("/graph", "in", value=["a", 1, None])]),
        "routes": [{"name": "R", "priority": 5, "when": when("/graph", "matches", value="^re")}],
    }
    assert set(spec) == KEYS
    assert problems(spec) == [] and problems({}) == [] and problems(None) == []


SPECS = st.fixed_dictionaries(
    {},
    optional={
        **{
            key: VALUES | st.integers(0, 500) | st.sampled_from(["never", "reject", "rejected"]) for key in sorted(KEYS)
        },
        "risk": st.lists(
            st.fixed_dictionaries(
                {"name": st.text(min_size=1, max_size=3), "level": st.sampled_from(["low", "high"])},
                optional={
                    "when": st.lists(
                        st.fixed_dictionaries(
                            {"path": st.sampled_from(["/payload/amount", "/payload", "/x"])},
                            optional={"op": st.sampled_from(list(OPERATORS)), "value": VALUES},
                        ),
                        max_size=2,
                    )
                },
            ),
            max_size=2,
        )
        | VALUES,
    },
)


@settings(max_examples=300, deadline=None)
@given(SPECS)
def test_what_has_no_problem_can_be_used(spec: Any) -> None:
    """Whatever is posted is told apart without a fault, and what passes neither the rules nor the times choke on."""
    if problems(spec):
        return
    policy = parse(spec)
    assess(policy, FACTS)
    times(policy, utc("2026-01-01T00:00:00+00:00"))


def test_what_the_slowest_hours_allow_is_reached() -> None:
    christmas = [f"2026-01-{day:02}" for day in range(1, 32)]
    spec = {"hours": {"zone": "UTC", "days": {"thu": [["09:00", "09:01"]]}, "holidays": christmas}, "due_minutes": 100}
    assert problems(spec) == []
    assert times(parse(spec), utc("2026-01-01T00:00:00+00:00")).due_at == utc("2027-12-30T09:01:00+00:00")
