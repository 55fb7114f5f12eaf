"""A value laid out over the fields that hold its parts, and a form filled in with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphs.web.forms.conditions import grown
from graphs.web.forms.fields import ABSENT, BARE, NESTS, Field
from graphs.web.forms.several import repoint, set_rows
from graphs.web.forms.showing import as_json, shown
from graphs.web.reading import escape_token

#: Keys with one of these are other keys when a browser has sent them.
UNSENDABLE = frozenset("\r\n\0")
Pairs = list[tuple[Field, Any]]


def fill(field: Field, value: Any, *, whole: bool = True) -> None:
    """Show a value that was given before in a form's widgets. What it leaves out stays empty, whatever the default;
    unless it is not the `whole` of what is shown."""
    if field.widget not in BARE | NESTS:
        field.text = shown(field, value)
        return
    pairs = spread(field, value, strict=False)
    if pairs is None:
        as_json(field, value)
    for one, part in pairs or ():
        if whole or part is not ABSENT:
            fill(one, part, whole=whole)


def spread(field: Field, value: Any, *, strict: bool = True) -> Pairs | None:
    """The fields that a value takes, each with its part; None where they cannot hold it. `strict` lets nothing go."""
    nothing = value is ABSENT or (value is None and field.nullable)
    if field.widget == "group":
        return _object(field, {} if nothing else value, strict)
    if nothing:
        if field.widget in NESTS:
            set_rows(field, []) if field.widget != "branches" else choose(field, "")
        return [(one, ABSENT) for one in field.children]
    if field.widget == "branches":
        return _branch(field, value)
    return _list(field, value) if isinstance(value, list) else None


def _object(field: Field, value: Any, strict: bool) -> Pairs | None:
    if not isinstance(value, Mapping):
        return None
    field.children = grown(field, value)
    entries = next((one for one in field.children if one.widget == "map"), None)
    named = [one for one in field.children if one is not entries]
    keys = {one.key for one in named}
    others = {key: part for key, part in value.items() if key not in keys}
    if strict and (any(UNSENDABLE & set(key) for key in keys) or (others and entries is None)):
        return None
    pairs: Pairs = [(one, value.get(one.key, ABSENT)) for one in named]
    found = [] if entries is None else _entries(entries, others)
    return None if found is None else pairs + found


def _entries(field: Field, others: Mapping[str, Any]) -> Pairs | None:
    set_rows(field, [str(at) for at in range(len(others))])
    if len(field.children) < len(others) or any(not key or UNSENDABLE & set(key) for key in others):
        return None
    pairs: Pairs = []
    for row, (key, part) in zip(field.children, others.items(), strict=True):
        name, held = row.children
        repoint(held, f"{field.pointer}/{escape_token(key)}")
        pairs += [(name, key), (held, part)]
    return pairs


def _list(field: Field, value: list[Any]) -> Pairs | None:
    if field.widget == "rows":
        set_rows(field, [str(at) for at in range(len(value))])
    if len(value) > len(field.children):
        return None
    return [(one, value[at] if at < len(value) else ABSENT) for at, one in enumerate(field.children)]


def _branch(field: Field, value: Any) -> Pairs | None:
    meant = field.meant(field, value) if field.meant else []
    chosen = choose(field, meant[0]) if meant else None
    return None if chosen is None else [(chosen, value)]


def choose(field: Field, index: str) -> Field | None:
    """Make one branch the chosen one, with its fields; an empty index is none."""
    known = next((one for one in field.children if one.row == index), None)
    made = known or (field.make(field, index) if index and field.make else None)
    field.text, field.children = (index, [made]) if made is not None else ("", [])
    if made is not None:
        made.within = field.within
    return made
