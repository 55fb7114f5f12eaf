"""What stands at the left of the inbox: its views, the queues and the saved views, each with the length of its list."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import orjson
from django.core.exceptions import EmptyResultSet
from django.db import connection
from django.db.models import F
from django.http import QueryDict
from django.urls import reverse
from django.utils.translation import gettext as _

from graphs.actions import preferences
from graphs.models import ApprovalQueue, Preference, SavedView
from graphs.web import listing

if TYPE_CHECKING:
    from django.contrib.auth.models import User

    from graphs.models.interrupts import InterruptQuerySet

ICONS = {
    "mine": "user",
    "open": "inbox",
    "unassigned": "circle-dashed",
    "watching": "eye",
    "snoozed": "moon",
    "overdue": "hourglass",
    "asked": "message-circle",
    "decided": "check",
    "closed": "archive",
}
#: More saved views than these are neither shown nor counted.
MOST_SAVED = 40
SAVED = {"number": F("id"), "name": F("title"), "address": F("query"), "holder": F("owner_id")}
TEAM = {"team": F("queue__slug"), "team_title": F("queue__title"), "holder_name": F("owner__username")}


@dataclass(frozen=True, slots=True)
class View:
    """One line of the rail."""

    name: str
    icon: str
    query: str
    active: bool
    count: int | None = None
    note: str = ""


@dataclass(slots=True)
class Saved:
    """A saved view as the rail shows it."""

    pk: int
    name: str
    wanted: listing.Filter
    own: bool
    team: str = ""
    team_title: str = ""
    holder_name: str = ""
    #: Its address as it was saved, with whatever this release does not understand.
    address: str = ""
    count: int = 0


@dataclass(slots=True)
class Kept:
    """What one person has kept for the inbox, and the lengths of the views that every inbox has."""

    counts: dict[str, int] = field(default_factory=dict)
    saved: list[Saved] = field(default_factory=list)
    choices: dict[str, Any] = field(default_factory=dict)


def kept(user: User) -> Kept:
    """All of it in one statement, and one more for the lengths of saved views where there are any (A15)."""
    lists = {view: listing.visible(user, view) for view in listing.COUNTED}
    choices = Preference.objects.filter(user=user.pk).values("choices")[:1].query.sql_with_params()
    row = scalars([*(length(rows) for rows in lists.values()), choices, saved_sql(user)])
    chosen, saved = (orjson.loads(text) if isinstance(text, str) else text for text in row[len(lists) :])
    found = Kept(dict(zip(lists, row, strict=False)), [read(user, one) for one in saved or []])
    found.choices = preferences.filled(chosen or {})
    if found.saved:
        lengths = scalars([length(rows_of(user, one.wanted)) for one in found.saved])
        for one, count in zip(found.saved, lengths, strict=True):
            one.count = count
    return found


def rows_of(user: User, wanted: listing.Filter) -> InterruptQuerySet:
    """The rows of a list, all of them, whatever order it is in."""
    return listing.narrow(listing.visible(user, wanted.view, wanted.queue), wanted, user)


def length(rows: InterruptQuerySet) -> tuple[str, Sequence[Any]]:
    """The length of a list up to MOST_COUNTED, from the list's own queryset (U07)."""
    try:
        sql, params = rows.order_by().values("pk")[: listing.MOST_COUNTED].query.sql_with_params()
    except EmptyResultSet:
        return "SELECT 0", ()
    return f"SELECT COUNT(*) FROM ({sql}) AS counted", params  # noqa: S608 - the ORM wrote it


def saved_sql(user: User) -> tuple[str, Sequence[Any]]:
    """The saved views that this person may see at this moment, as one JSON list."""
    rows = SavedView.objects.visible_to(user).values(**SAVED, **TEAM)[:MOST_SAVED]
    sql, params = rows.query.sql_with_params()
    if connection.vendor == "postgresql":
        return f"SELECT json_agg(row_to_json(kept)) FROM ({sql}) AS kept", params  # noqa: S608 - the ORM wrote it
    names = ", ".join(f"'{name}', {name}" for name in (*SAVED, *TEAM))
    return f"SELECT json_group_array(json_object({names})) FROM ({sql}) AS kept", params  # noqa: S608 - the same


def scalars(parts: Sequence[tuple[str, Sequence[Any]]]) -> tuple[Any, ...]:
    """The one value of each statement, all in one."""
    values = [value for _, params in parts for value in params]
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {', '.join(f'({sql})' for sql, _ in parts)}", values)
        return tuple(cursor.fetchone())


def read(user: User, row: Mapping[str, Any]) -> Saved:
    return Saved(
        pk=row["number"],
        name=row["name"],
        wanted=listing.parse(QueryDict(row["address"])),
        own=row["holder"] == user.pk,
        team=row["team"] or "",
        team_title=row["team_title"] or "",
        holder_name=row["holder_name"],
        address=row["address"],
    )


def views(
    wanted: listing.Filter, queues: Iterable[ApprovalQueue], counts: Mapping[str, int], saved: int | None
) -> list[View]:
    """The views that every inbox has. None is the active one where a saved view is."""
    counts = {"open": listing.open_count(queues), **counts}
    return [
        View(
            str(label),
            ICONS[name],
            wanted.query(view=name, queue="", q="", saved=""),
            saved is None and wanted.view == name and not wanted.queue,
            counts.get(name),
        )
        for name, label in listing.VIEWS.items()
    ]


def queue_views(wanted: listing.Filter, queues: Iterable[ApprovalQueue], saved: int | None) -> list[View]:
    return [
        View(
            queue.title,
            "users" if queue.decides else "eye",  # type: ignore[attr-defined]
            wanted.query(view="open", queue=queue.slug, q="", saved=""),
            saved is None and wanted.view == "open" and wanted.queue == queue.slug,
            queue.waiting,  # type: ignore[attr-defined]
            "" if queue.decides else _("to read only"),  # type: ignore[attr-defined]
        )
        for queue in queues
    ]


def saved_views(found: Iterable[Saved], active: int | None) -> list[View]:
    return [
        View(one.name, "users" if one.team else "filter", link(one), one.pk == active, one.count, one.team_title)
        for one in found
    ]


def link(one: Saved) -> str:
    """Its filter, with its number beside it: what was saved and what is asked for can be told apart."""
    return beside(one.wanted.query(), one.pk)


def address(query: str, pk: int) -> str:
    """Where a saved view is opened."""
    return f"{reverse('inbox')}?{beside(query, pk)}"


def beside(query: str, pk: int) -> str:
    return "&".join(part for part in (query, f"saved={pk}") if part)
