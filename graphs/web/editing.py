"""The state of a paused thread as a form, and what of it a person has changed (T17)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from graphs.engine.cells import channel
from graphs.engine.state import Channel, misfit
from graphs.library import registry
from graphs.models import Interrupt, Thread
from graphs.models.moves import ANSWERABLE
from graphs.web import state
from graphs.web.forms import Field, Problem, alike, build
from graphs.web.reading import escape_token, humanise

#: A larger value is for programs; the page shows it on the thread's State tab and leaves it as it is.
MOST_EDITED = 64 * 1024
TYPES: Mapping[type, Mapping[str, str]] = {
    bool: {"type": "boolean"},
    int: {"type": "number"},
    float: {"type": "number"},
    str: {"type": "string", "format": "textarea"},
}


@dataclass(frozen=True, slots=True)
class Edited:
    """The channels that a person may edit, as they were at checkpoint `step`: what was on the page, not what is now."""

    step: int
    channels: Mapping[str, Any]
    declared: Mapping[str, Channel]

    def form(self) -> Field | None:
        """One field a channel, of the kind that its value is; None where there is no state."""
        if not self.channels:
            return None
        given = self.channels.items()
        properties = {name: {"title": humanise(name), "default": value, **kind(value)} for name, value in given}
        needed = [name for name, value in given if not isinstance(value, str)]
        return build({"type": "object", "properties": properties, "required": needed})

    def misfits(self, value: Any) -> list[Problem]:
        """What of an answer's edits the channels could not be written on with, beside the field of each."""
        edits = value.get("state", {}) if isinstance(value, Mapping) else {}
        found = [(name, misfit(self.declared, name, edited)) for name, edited in edits.items()]
        return [Problem(f"/{escape_token(name)}", f"{why[:1].upper()}{why[1:]}.") for name, why in found if why]


def state_of(interrupt: Interrupt, step: int | None = None) -> Edited | None:
    """The state that a structural pause goes on with, by the checkpoint that was shown or the newest; None for other
    questions and for one that is closed."""
    if interrupt.style != "structural" or interrupt.status not in ANSWERABLE:
        return None
    newest = interrupt.thread.step
    step = newest if step is None or step > newest else step
    known = declared(interrupt.thread, interrupt.task.path)
    return Edited(step, channels(interrupt, step, known), known)


def channels(interrupt: Interrupt, step: int, known: Mapping[str, Channel]) -> dict[str, Any]:
    """The state channels that the pause's node reads and writes, as checkpoint `step` left them: those of the graph it
    lies in, declared ones also where nothing was written to them yet."""
    cells = state.at(interrupt.thread, step)
    task = cells.get(f"task:{interrupt.task.path}#{interrupt.task.visit}") or {}
    prefix = channel(task.get("f", ""), "")
    found = {name: one.default for name, one in known.items()}
    found |= {name.removeprefix(prefix): value for name, value in cells.items() if name.startswith(prefix)}
    return {name: value for name, value in sorted(found.items()) if editable(value)}


def editable(value: Any) -> bool:
    return len(json.dumps(value)) <= MOST_EDITED


def declared(thread: Thread, path: str) -> Mapping[str, Channel]:
    try:
        place = registry.pinned(thread.graph_id, thread.fingerprint).places.get(path)
    except registry.UnknownGraph:
        return {}
    return {} if place is None else place.graph.channels


def kind(value: Any) -> Mapping[str, str]:
    return TYPES.get(type(value), {})


def changed(fields: Field | None, value: Mapping[str, Any]) -> dict[str, Any] | None:
    """The answer that carries the edits: only channels whose value is another one; None where nothing was changed."""
    edits: dict[str, Any] = {}
    for field in fields.children if fields else []:
        # A text that was emptied is not in the value: to a form that is no answer, to a state it is one.
        given = value.get(field.key, "" if isinstance(field.default, str) else field.default)
        if not same(given, field.default):
            edits[field.key] = given
    return {"state": edits} if edits else None


def same(one: Any, other: Any) -> bool:
    """Equal as JSON, and as a form brings it back: with the line ends of browsers."""
    if isinstance(one, str) and isinstance(other, str):
        return one == other.replace("\r\n", "\n").replace("\r", "\n")
    return alike(one, other)
