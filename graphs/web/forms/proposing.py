"""A form filled in with a value that somebody proposed: sent back untouched it is that value, to the last character."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from graphs.web.forms.fields import ABSENT, Field
from graphs.web.forms.mapping import shown
from graphs.web.forms.reading import leaf
from graphs.web.forms.standing import accepted, plain, sent

#: Keys with one of these are other keys when a browser has sent them.
UNSENDABLE = frozenset("\r\n\0")
#: The widgets that a text is offered in where its own would not bring it back, in this order; the last one is JSON.
WIDER = ("text", "textarea")


def propose(field: Field, value: Any) -> None:
    """Show a value, ABSENT for none, in widgets that hold all of it; it stands as long as nobody touches them."""
    field.stands, field.default = True, value
    if field.widget == "group":
        _group(field, value)
        return
    field.text = shown(field, value)
    # A browser would refuse to send bounds and blanks that it does not like; what was proposed can always be approved.
    field.required = field.required and bool(field.text)
    field.attrs = {name: one for name, one in field.attrs.items() if name not in ("min", "max", "step")}
    if field.widget == "number":
        field.attrs["step"] = "any"
    if not _faithful(field):
        _widen(field)


def _group(field: Field, value: Any) -> None:
    members = value if isinstance(value, Mapping) else {}
    known = {child.key for child in field.children}
    fits = isinstance(value, Mapping) or value is ABSENT or (value is None and field.nullable)
    if not fits or not known.issuperset(members) or any(UNSENDABLE & set(key) for key in known):
        as_json(field)
        return
    for child in field.children:
        propose(child, members.get(child.key, ABSENT))


def as_json(field: Field) -> None:
    """Show the default as JSON, which holds every value."""
    field.widget, field.kind, field.hint = "json", "JSON", ""
    field.children, field.options, field.attrs = [], [], {}
    field.text = shown(field, field.default) if field.default is not None else "null"


def _widen(field: Field) -> None:
    if isinstance(field.default, str) and not field.options:
        field.attrs = {}
        for widget in WIDER:
            field.widget = widget
            if _faithful(field):
                return
    as_json(field)


def _faithful(field: Field) -> bool:
    """Whether a browser sends the text of a widget so that it reads as the value that is shown."""
    if field.default is ABSENT or field.widget == "const":
        return True
    text = sent(field)
    if text is None or not accepted(field):
        return False
    try:
        found = leaf(replace(field, text=plain(text), required=False), False)
    except ValueError:
        return False
    if found is ABSENT:
        # Nothing but an empty text or list is left of these when they are blank.
        return bool(field.default == ("" if field.widget in ("text", "textarea") else []))
    return alike(found, field.default)


def alike(one: Any, other: Any) -> bool:
    """Equal as JSON, where 2 and 2.0 are one number but 1 and true are two values."""
    if type(one) in (int, float) and type(other) in (int, float):
        return bool(one == other)
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
