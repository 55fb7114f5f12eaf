"""Business hours: minutes that count only while a team works, across changes of the clock."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
#: Beyond so many days without one working minute nothing is ever due by these hours.
FARTHEST_DAYS = 3660


@dataclass(frozen=True, slots=True)
class Hours:
    """A team's week in its own zone. `days` maps mon…sun to spans of local minutes since midnight, sorted and apart;
    one whose end is not after its start goes on past midnight. No span begins on a holiday."""

    zone: str
    days: Mapping[str, tuple[tuple[int, int], ...]]
    holidays: frozenset[date] = field(default_factory=frozenset)

    @classmethod
    def parse(cls, spec: Mapping[str, Any]) -> Hours:
        """Hours of a policy's document: zone, days with pairs of "HH:MM", holidays as dates."""
        days = {day: tuple((minute(a), minute(b)) for a, b in spans) for day, spans in (spec.get("days") or {}).items()}
        return cls(spec["zone"], days, frozenset(date.fromisoformat(one) for one in spec.get("holidays") or ()))

    def spans(self, day: date) -> Iterator[tuple[datetime, datetime]]:
        """The working spans that begin on a local day, in UTC, so that their length is what really passes."""
        if day in self.holidays:
            return
        zone = ZoneInfo(self.zone)
        for start, end in self.days.get(DAYS[day.weekday()], ()):
            begins = moment(day, start, zone)
            ends = moment(day if end > start else day + timedelta(days=1), end, zone)
            if ends > begins:
                yield begins, ends


def minute(text: str) -> int:
    """ "HH:MM" as minutes since midnight; "24:00" is the day's end."""
    hour, _, rest = text.partition(":")
    return int(hour) * 60 + int(rest)


def moment(day: date, minutes: int, zone: ZoneInfo) -> datetime:
    """A local time in UTC. One that the clock skips is the moment after the gap's length, one that it repeats is the
    first of the two (PEP 495, fold 0)."""
    day, minutes = day + timedelta(days=minutes // 1440), minutes % 1440
    local = datetime.combine(day, time(minutes // 60, minutes % 60), zone)
    return local.astimezone(UTC)


def add_working(start: datetime, minutes: int, hours: Hours | None) -> datetime:
    """The moment, in UTC, when so many working minutes have passed since `start`; all minutes count without hours.

    Raises ValueError where the hours never come to so many.
    """
    start = start.astimezone(UTC)
    if hours is None:
        return start + timedelta(minutes=minutes)
    left = timedelta(minutes=minutes)
    # A span of the day before may still go on past midnight.
    day = start.astimezone(ZoneInfo(hours.zone)).date() - timedelta(days=1)
    reached = start
    for offset in range(FARTHEST_DAYS):
        for begins, ends in hours.spans(day + timedelta(days=offset)):
            begins = max(begins, reached)
            if ends <= begins:
                continue
            if left <= ends - begins:
                return begins + left
            left, reached = left - (ends - begins), ends
    raise ValueError("these hours have no working time")


def is_open(at: datetime, hours: Hours | None) -> bool:
    """Whether the team works at this moment."""
    if hours is None:
        return True
    day = at.astimezone(ZoneInfo(hours.zone)).date()
    days = (day - timedelta(days=1), day)
    return any(begins <= at < ends for one in days for begins, ends in hours.spans(one))
