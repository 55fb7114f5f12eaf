"""A form filled in with a value that somebody proposed: sent back untouched it is that value, to the last character."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from graphs.web.forms.fields import ABSENT, BARE, NESTS, Field
from graphs.web.forms.filling import spread
from graphs.web.forms.reading import leaf
from graphs.web.forms.showing import as_json, shown
from graphs.web.forms.standing import accepted, plain, sent

#: The widgets that a text is offered in where its own would not bring it back, in this order; the last one is JSON.
WIDER = ("text", "textarea")


def propose(field: Field, value: Any) -> None:
    """Show a value, ABSENT for none, in widgets that hold all of it; it stands as long as nobody touches them."""
    field.stands, field.default = True, value
    if field.widget in BARE | NESTS:
        _parts(field, value)
        return
    field.text = shown(field, value)
    # A browser would refuse to send bounds and blanks that it does not like; what was proposed can always be approved.
    field.required = field.required and bool(field.text)
    field.attrs = {name: one for name, one in field.attrs.items() if name not in ("min", "max", "step", "pattern")}
    if field.widget in ("number", "time"):
        field.attrs["step"] = "any" if field.widget == "number" else "1"
    if not _faithful(field):
        _widen(field)


def _parts(field: Field, value: Any) -> None:
    pairs = spread(field, value)
    if pairs is None:
        as_json(field, value)
        return
    for one in field.children:
        # Rows and entries answer with what is in them, not with what they once held.
        one.stands = one.widget == "map"
    for one, part in pairs:
        propose(one, part)


def _widen(field: Field) -> None:
    if isinstance(field.default, str) and not field.options:
        field.attrs = {}
        for widget in WIDER:
            field.widget = widget
            if _faithful(field):
                return
    as_json(field, field.default)


def _faithful(field: Field) -> bool:
    """Whether a browser sends the text of a widget so that it reads as the value that is shown."""
    if field.default is ABSENT or field.widget in ("const", "secret"):
        return True
    if field.widget == "file":
        return isinstance(field.default, str) or (field.default is None and field.nullable)
    text = sent(field)
    if text is None or not accepted(field):
        return False
    try:
        # Ticks travel under names of their own, as the indexes that the text has.
        text = field.text if field.widget == "checks" else plain(text)
        found = leaf(replace(field, text=text, required=False), False)
    except ValueError:
        return False
    if found is ABSENT:
        # Nothing but an empty text or list is left of these when they are blank.
        return bool(field.default == ("" if field.widget in ("text", "textarea") else []))
    return alike(found, field.default)


def alike(one: Any, other: Any) -> bool:
    """Equal as JSON, where 2 and 2.0 are one number at any depth, but 1 and true are two values."""
    if type(one) in (int, float) and type(other) in (int, float):
        return bool(one == other)
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(alike(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(alike, one, other))
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
