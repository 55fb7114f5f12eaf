"""What is wrong with the business hours of a policy's document."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import date
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

from graphs.policies.hours import DAYS, minute

MOST_SPANS = 6
MOST_HOLIDAYS = 366
DAY = 24 * 60
CLOCK = re.compile(r"(?:[01][0-9]|2[0-3]):[0-5][0-9]|24:00")
Found = Iterator[tuple[str, str]]


def hours_problems(hours: Any) -> Found:
    """What is wrong with a policy's `hours`, as (JSON pointer, message)."""
    if hours is None:
        return
    if not isinstance(hours, Mapping):
        yield "/hours", "must be an object"
        return
    yield from ((f"/hours/{key}", "is no key of hours") for key in hours if key not in ("zone", "days", "holidays"))
    if not is_zone(hours.get("zone")):
        yield "/hours/zone", "must be the name of a time zone, such as Europe/Lisbon"
    yield from holiday_problems(hours.get("holidays"))
    yield from day_problems(hours.get("days"))


def is_zone(name: Any) -> bool:
    if not isinstance(name, str) or not name or len(name) > 60:
        return False
    try:
        ZoneInfo(name)
    except (ValueError, OSError, LookupError):
        return False
    return True


def day_problems(days: Any) -> Found:
    if not isinstance(days, Mapping) or not any(days.values()):
        yield "/hours/days", "needs at least one day with a time: nothing would ever be due otherwise"
        return
    found = [*((f"/hours/days/{key}", "is no day; the days are mon to sun") for key in days if key not in DAYS)]
    for day, spans in days.items():
        found += span_problems(f"/hours/days/{day}", spans)
    yield from found or overlaps(days)


def span_problems(place: str, spans: Any) -> Found:
    if not isinstance(spans, list) or len(spans) > MOST_SPANS:
        yield place, f"must be a list of at most {MOST_SPANS} times from and to"
        return
    for index, span in enumerate(spans):
        pair = isinstance(span, list) and len(span) == 2 and all(is_clock(one) for one in span)
        if not pair:
            yield f"{place}/{index}", "must be two times of day such as 09:00 and 17:00"
        elif span[0] == "24:00":
            yield f"{place}/{index}", "cannot begin at 24:00: that is 00:00 of the next day"
        elif span[0] == span[1]:
            yield f"{place}/{index}", "begins when it ends; a whole day is 00:00 to 24:00"


def is_clock(text: Any) -> bool:
    return isinstance(text, str) and CLOCK.fullmatch(text) is not None


def overlaps(days: Mapping[str, Any]) -> Found:
    """Spans that share a minute of the week, those past midnight and past the week's end too."""
    taken = sorted(spread(days))
    around = [*taken, *((start + 7 * DAY, end + 7 * DAY, place) for start, end, place in taken[:1])]
    for (_, end, _), (start, _, place) in pairwise(around):
        if start < end:
            yield place, "overlaps with the time before it"


def spread(days: Mapping[str, Any]) -> Iterator[tuple[int, int, str]]:
    """Each span as minutes since the week began, with its place."""
    for number, day in enumerate(DAYS):
        for index, (start, end) in enumerate(days.get(day) or ()):
            begins, ends = number * DAY + minute(start), number * DAY + minute(end)
            yield begins, ends if ends > begins else ends + DAY, f"/hours/days/{day}/{index}"


def week_minutes(hours: Mapping[str, Any]) -> int:
    """Working minutes in a week without holidays or a change of the clock."""
    return sum(end - start for start, end, _ in spread(hours["days"]))


def holiday_problems(holidays: Any) -> Found:
    if holidays is None:
        return
    if not isinstance(holidays, list) or len(holidays) > MOST_HOLIDAYS:
        yield "/hours/holidays", f"must be a list of at most {MOST_HOLIDAYS} dates"
        return
    for index, one in enumerate(holidays):
        if not is_date(one):
            yield f"/hours/holidays/{index}", "must be a date such as 2026-12-25"


def is_date(text: Any) -> bool:
    try:
        return isinstance(text, str) and len(text) == 10 and bool(date.fromisoformat(text))
    except ValueError:
        return False
