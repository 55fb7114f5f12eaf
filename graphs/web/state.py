"""A thread's state as its last checkpoint left it, for reading."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from graphs.engine.ports import Cells, Delta
from graphs.models import Checkpoint, Thread
from graphs.models.fields import read_blob
from graphs.web.reading import pretty


@dataclass(frozen=True, slots=True)
class Shown:
    """Channels first, which are what authors write to; the machinery's own cells below them."""

    step: int
    channels: list[tuple[str, str]]
    rest: list[tuple[str, str]]


def read(thread: Thread) -> Shown:
    """The cells of the last full checkpoint with the deltas since: a bounded tail, however long the history."""
    step, cells = tail(thread, thread.full_step)
    named = sorted(cells.items())
    # A channel of the outermost graph is named `|name`, one of a nested graph by its task before the bar.
    channels = [
        (name.removeprefix("channel:").removeprefix("|"), pretty(value))
        for name, value in named
        if name.startswith("channel:")
    ]
    rest = [(name, pretty(value)) for name, value in named if not name.startswith("channel:")]
    return Shown(step, channels, rest)


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
