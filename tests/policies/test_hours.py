"""Business hours against a slow model that looks at every minute, over changes of the clock (U26)."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from functools import cache
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphs.policies.hours import DAYS, Hours, add_working, is_open

OFFICE = {day: [["09:00", "17:00"]] for day in DAYS[:5]}
#: Zones with their changes of the clock in 2026, a zone at UTC+13 and more, and one whose midnight is skipped.
CHANGES = {
    "Europe/Lisbon": [date(2026, 3, 29), date(2026, 10, 25)],
    "America/Los_Angeles": [date(2026, 3, 8), date(2026, 11, 1)],
    "Pacific/Auckland": [date(2026, 4, 5), date(2026, 9, 27)],
    "Australia/Lord_Howe": [date(2026, 4, 5), date(2026, 10, 4)],
    "America/Santiago": [date(2026, 4, 5), date(2026, 9, 6)],
    "Pacific/Tongatapu": [date(2026, 6, 1)],
    "UTC": [date(2026, 6, 1)],
}


def hours(zone: str, days: Any = OFFICE, holidays: Any = ()) -> Hours:
    return Hours.parse({"zone": zone, "days": days, "holidays": list(holidays)})


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


@cache
def first_at(zone: ZoneInfo, day: date, clock: str) -> datetime:
    """The first minute in UTC at which this zone's clock shows a local time, found by looking at each. A time that the
    clock skips is as long after the last one before the gap as it would be without it."""
    wanted = datetime.combine(day, time.min) + timedelta(hours=int(clock[:2]), minutes=int(clock[3:]))
    before = datetime.combine(day, time.min, UTC) - timedelta(hours=16)
    while (shown := (before + timedelta(minutes=1)).astimezone(zone).replace(tzinfo=None)) < wanted:
        before += timedelta(minutes=1)
    if shown == wanted:
        return before + timedelta(minutes=1)
    return before + (wanted - before.astimezone(zone).replace(tzinfo=None))


def works(given_hours: Any, at: datetime) -> bool:
    """Whether one minute is working time: in one of the spans of today's or yesterday's local date, each from the
    first minute at which the clock shows its begin, to the first at which it shows its end."""
    zone = ZoneInfo(given_hours["zone"])
    today = at.astimezone(zone).date()
    for day in (today - timedelta(days=1), today, today + timedelta(days=1)):
        if day.isoformat() in given_hours["holidays"]:
            continue
        for start, end in given_hours["days"].get(DAYS[day.weekday()], ()):
            last = day if end > start else day + timedelta(days=1)
            if first_at(zone, day, start) <= at < first_at(zone, last, end):
                return True
    return False


clocks = st.builds(lambda hour, part: f"{hour:02}:{part:02}", st.integers(0, 23), st.sampled_from([0, 15, 30]))
spans = st.tuples(clocks, clocks).filter(lambda pair: pair[0] != pair[1]).map(list)


@st.composite
def cases(draw: Any) -> tuple[dict[str, Any], datetime, int]:
    zone = draw(st.sampled_from(sorted(CHANGES)))
    change = draw(st.sampled_from(CHANGES[zone]))
    days = {day: [draw(spans)] for day in draw(st.sets(st.sampled_from(DAYS), min_size=1))}
    holidays = draw(
        st.sets(st.sampled_from([(change + timedelta(days=n)).isoformat() for n in range(-1, 3)]), max_size=2)
    )
    start = datetime.combine(change, time.min, UTC) + timedelta(minutes=draw(st.integers(-1500, 1500)))
    return {"zone": zone, "days": days, "holidays": sorted(holidays)}, start, draw(st.integers(1, 900))


@settings(max_examples=60, deadline=None)
@given(cases())
def test_u26_working_minutes_are_those_that_pass_while_the_team_works(
    case: tuple[dict[str, Any], datetime, int],
) -> None:
    spec, start, minutes = case
    found = Hours.parse(spec)
    reached = add_working(start, minutes, found)
    passed, at = 0, start
    window = min(reached, start + timedelta(days=3))
    while at < window:
        open_now = works(spec, at)
        assert is_open(at, found) == open_now
        passed += open_now
        at += timedelta(minutes=7)
    # Every seventh minute was looked at: the count is right to seven minutes for each edge of a span that was passed.
    if window == reached:
        assert abs(passed * 7 - minutes) <= 7 * (2 + 2 * (reached - start).days + 4)
    assert works(spec, reached - timedelta(minutes=1)), "the last of the minutes is working time"


@settings(max_examples=200, deadline=None)
@given(cases(), st.integers(1, 900))
def test_minutes_add_up(case: tuple[dict[str, Any], datetime, int], more: int) -> None:
    spec, start, minutes = case
    found = Hours.parse(spec)
    assert add_working(add_working(start, minutes, found), more, found) == add_working(start, minutes + more, found)
    assert add_working(start, minutes, found) < add_working(start, minutes + 1, found)


def test_without_hours_every_minute_counts() -> None:
    start = utc("2026-03-29T00:30:00+00:00")
    assert add_working(start, 90, None) == start + timedelta(minutes=90)
    assert is_open(start, None)


def test_a_weekend_and_a_holiday_do_not_count() -> None:
    friday = utc("2026-12-18T16:30:00+00:00")
    found = hours("Europe/Lisbon", holidays=["2026-12-21"])
    assert add_working(friday, 60, found) == utc("2026-12-22T09:30:00+00:00")
    assert add_working(friday, 30, found) == utc("2026-12-18T17:00:00+00:00")


@pytest.mark.parametrize(
    ("zone", "start", "minutes", "expected"),
    [
        # The clock skips from 01:00 to 02:00: a span of four hours on the wall is three that pass.
        ("Europe/Lisbon", "2026-03-29T00:00:00+00:00", 180, "2026-03-29T04:00:00+01:00"),
        # It repeats 01:00 to 02:00: five pass.
        ("Europe/Lisbon", "2026-10-24T23:00:00+00:00", 300, "2026-10-25T04:00:00+00:00"),
        ("Pacific/Auckland", "2026-09-27T00:00:00+12:00", 180, "2026-09-27T04:00:00+13:00"),
        ("America/Los_Angeles", "2026-11-01T00:00:00-07:00", 300, "2026-11-01T04:00:00-08:00"),
    ],
)
def test_u26_what_counts_is_what_really_passes(zone: str, start: str, minutes: int, expected: str) -> None:
    night = hours(zone, {day: [["00:00", "04:00"]] for day in DAYS})
    assert add_working(utc(start), minutes, night) == utc(expected)


def test_u26_one_instant_for_readers_everywhere() -> None:
    due = add_working(utc("2026-10-23T16:00:00+01:00"), 120, hours("Europe/Lisbon"))
    shown = {due.astimezone(ZoneInfo(zone)).isoformat() for zone in ("Pacific/Tongatapu", "America/Los_Angeles")}
    assert shown == {"2026-10-26T23:00:00+13:00", "2026-10-26T03:00:00-07:00"}
    assert {datetime.fromisoformat(one) for one in shown} == {due}


def test_hours_past_midnight_belong_to_the_day_they_begin_on() -> None:
    late = hours("UTC", {"fri": [["22:00", "06:00"]]}, holidays=["2026-06-06"])
    assert is_open(utc("2026-06-06T05:59:00+00:00"), late)
    assert not is_open(utc("2026-06-06T06:00:00+00:00"), late)
    assert add_working(utc("2026-06-05T23:00:00+00:00"), 480, late) == utc("2026-06-12T23:00:00+00:00")


def test_a_span_that_a_change_swallows_comes_after_it() -> None:
    swallowed = hours("Europe/Lisbon", {"sun": [["01:15", "01:45"]]})
    assert add_working(utc("2026-03-28T12:00:00+00:00"), 30, swallowed) == utc("2026-03-29T02:45:00+01:00")


def test_a_whole_day_ends_at_24() -> None:
    always = hours("Pacific/Auckland", {day: [["00:00", "24:00"]] for day in DAYS})
    start = utc("2026-04-04T10:00:00+13:00")
    assert add_working(start, 3 * 1440, always) == start + timedelta(days=3)


def test_hours_without_a_minute_never_come_to_one() -> None:
    with pytest.raises(ValueError, match="no working time"):
        add_working(utc("2026-01-01T00:00:00+00:00"), 1, hours("UTC", {"mon": []}))
