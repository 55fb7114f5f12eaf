"""What an address of the audit asks for, as fields of its form and as a filter of its rows."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING

from django.db.models import Q
from django.http import QueryDict
from django.utils import timezone
from django.utils.translation import gettext as _

if TYPE_CHECKING:
    from graphs.models.records import AuditEntryQuerySet

LONGEST = 150


@dataclass(frozen=True, slots=True)
class Wanted:
    """The fields as they were typed; `problems` are those that mean nothing, which no row is filtered by."""

    actor: str = ""
    action: str = ""
    object: str = ""
    queue: str = ""
    channel: str = ""
    since: str = ""
    until: str = ""
    problems: dict[str, str] = field(default_factory=dict)

    def given(self) -> dict[str, str]:
        """What was asked for, without what was left empty."""
        names = [one.name for one in fields(self) if one.name != "problems"]
        return {name: getattr(self, name) for name in names if getattr(self, name)}

    def query(self) -> str:
        """The same as an address has it."""
        kept = QueryDict(mutable=True)
        kept.update(self.given())
        return kept.urlencode()


def parse(query: QueryDict) -> Wanted:
    """Read an address or a form."""
    names = [one.name for one in fields(Wanted) if one.name != "problems"]
    found = {name: " ".join(query.get(name, "").replace("\x00", "").split())[:LONGEST] for name in names}
    problems = {
        name: _("This is no day. Write it as 2026-12-31.")
        for name in ("since", "until")
        if found[name] and day(found[name]) is None
    }
    return Wanted(**found, problems=problems)


def day(text: str) -> date | None:
    try:
        found = date.fromisoformat(text)
    except ValueError:
        return None
    # The ends of the calendar overflow in other zones.
    return found if 1 < found.year < 9999 else None


def narrowed(rows: AuditEntryQuerySet, wanted: Wanted) -> AuditEntryQuerySet:
    """The entries that match all of it; days are those of the site's zone, the last one included."""
    if wanted.queue:
        rows = rows.of_queue(wanted.queue)
    if wanted.actor:
        rows = rows.filter(actor_name__icontains=wanted.actor)
    if wanted.action:
        rows = rows.filter(action=wanted.action)
    if wanted.object:
        rows = rows.filter(Q(object_type=wanted.object) | Q(object_id__startswith=wanted.object))
    if wanted.channel:
        rows = rows.filter(channel=wanted.channel)
    if since := day(wanted.since):
        rows = rows.filter(at__gte=beginning(since))
    if until := day(wanted.until):
        rows = rows.filter(at__lt=beginning(until + timedelta(days=1)))
    return rows


def beginning(of: date) -> datetime:
    return datetime.combine(of, time.min, timezone.get_current_timezone()).astimezone(UTC)
