"""A thread's state as a checkpoint left it, and what that one changed, for reading."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from graphs.engine.ports import Cells, Delta
from graphs.models import Checkpoint, Thread
from graphs.models.fields import read_blob
from graphs.web.forms.fields import ABSENT
from graphs.web.reading import pretty

MOST_CHANGES = 200
MOST_BRIEF = 200


@dataclass(frozen=True, slots=True)
class Shown:
    """Channels first, which are what authors write to; the machinery's own cells below them."""

    step: int
    channels: list[tuple[str, str]]
    rest: list[tuple[str, str]]
    changes: list[Change]
    newest: bool


@dataclass(frozen=True, slots=True)
class Change:
    """One place of the channels that a checkpoint changed; `before` or `after` is empty where there was none."""

    place: str
    word: str
    before: str
    after: str


def read(thread: Thread, step: int | None = None) -> Shown:
    """The cells as one checkpoint left them, the newest where none is named: of a bounded tail, however long the
    history."""
    step = thread.step if step is None else min(step, thread.step)
    cells = at(thread, step)
    named = sorted(cells.items())
    rest = [(name, pretty(value)) for name, value in named if not name.startswith("channel:")]
    now = channels(cells)
    changes = list(differences(channels(at(thread, step - 1)) if step else {}, now))[:MOST_CHANGES]
    return Shown(step, [(name, pretty(value)) for name, value in now.items()], rest, changes, step == thread.step)


def channels(cells: Cells) -> dict[str, Any]:
    """By name: one of the outermost graph is a cell `|name`, one of a nested graph has its task before the bar."""
    named = sorted((name, value) for name, value in cells.items() if name.startswith("channel:"))
    return {name.removeprefix("channel:").removeprefix("|"): value for name, value in named}


def differences(before: Any, after: Any, place: str = "") -> Iterator[Change]:
    """What is added, removed or changed, by its place: down to the leaves of objects, and what a list grew by."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted({*before, *after}):
            inner = f"{place} / {key}" if place else key
            yield from differences(before.get(key, ABSENT), after.get(key, ABSENT), inner)
    elif isinstance(before, list) and isinstance(after, list) and before and after[: len(before)] == before:
        for number, value in enumerate(after[len(before) :], len(before) + 1):
            yield Change(f"{place} / {number}", _("added"), "", brief(value))
    elif before is ABSENT or after is ABSENT or json.dumps(before) != json.dumps(after):
        word = _("added") if before is ABSENT else _("removed") if after is ABSENT else _("changed")
        yield Change(place, word, brief(before), brief(after))


def brief(value: Any) -> str:
    """A value within a line of changes; the whole of it stands below them."""
    text = "" if value is ABSENT else json.dumps(value, ensure_ascii=False)
    if len(text) <= MOST_BRIEF:
        return text
    return _("%(text)s… (%(count)d characters)") % {"text": text[:MOST_BRIEF], "count": len(text)}


def at(thread: Thread, step: int) -> Cells:
    """The cells as checkpoint `step` left them, or the newest one before it."""
    past = Checkpoint.objects.filter(thread=thread, step__lte=step, full=True).order_by("-step")
    return tail(thread, past.values_list("step", flat=True).first() or 0, step)[1]


def tail(thread: Thread, first: int, last: int | None = None) -> tuple[int, Cells]:
    """The last step of these checkpoints and the cells they add up to; the first of them holds all cells."""
    rows = Checkpoint.objects.filter(thread=thread, step__gte=first).order_by("step")
    cells: Cells = {}
    step = 0
    for row in rows if last is None else rows.filter(step__lte=last):
        step = row.step
        apply(cells, row)
    return step, cells


def apply(cells: Cells, row: Checkpoint) -> None:
    """Bring the cells on by one checkpoint; a whole one and a delta are written alike, large values by their digest."""
    data: dict[str, Any] = row.data or {}
    if row.full:
        cells.clear()
    Delta(
        {**data.get("set", {}), **large(data.get("blobs", {}))},
        {**data.get("append", {}), **large(data.get("tails", {}))},
        tuple(data.get("drop", ())),
    ).apply(cells)


def large(digests: dict[str, str]) -> dict[str, Any]:
    return {name: read_blob(digest, "default") for name, digest in digests.items()}
