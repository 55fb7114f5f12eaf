from __future__ import annotations

from datetime import timedelta

from graphs.policies.deadlines import Times, shifted, times
from graphs.policies.policy import Policy, parse
from tests.policies.test_hours import utc

OPENED = utc("2026-10-23T16:30:00+01:00")


def test_each_time_counts_from_when_it_was_asked() -> None:
    policy = parse(
        {
            "look_minutes": 15,
            "due_minutes": 120,
            "remind_minutes_before": 30,
            "escalate_minutes": 180,
            "expire_minutes": 240,
            "expire_outcome": "rejected",
        }
    )
    found = times(policy, OPENED)
    passed = {name: (getattr(found, name) - OPENED) / timedelta(minutes=1) for name in Times.__slots__}
    assert passed == {"look_by": 15, "due_at": 120, "remind_at": 90, "escalate_at": 180, "expires_at": 240}


def test_u26_within_hours_they_go_on_after_the_weekend_and_the_change_of_the_clock() -> None:
    hours = {"zone": "Europe/Lisbon", "days": {day: [["09:00", "17:00"]] for day in ("mon", "fri")}}
    found = times(parse({"due_minutes": 60, "remind_minutes_before": 15, "hours": hours}), OPENED)
    assert found.due_at == utc("2026-10-26T09:30:00+00:00")
    assert found.remind_at == utc("2026-10-26T09:15:00+00:00")


def test_without_a_policy_there_is_no_time_and_no_outcome_is_ever_assumed() -> None:
    assert times(Policy(), OPENED) == Times()
    assert times(Policy(expire_minutes=5), OPENED).expires_at is None


def test_a_clock_that_stood_still_goes_on_where_it_was() -> None:
    found = times(parse({"due_minutes": 60}), OPENED)
    assert shifted(found, timedelta(hours=2)) == Times(due_at=OPENED + timedelta(hours=3))
