"""Values out of a list: as one choice, as ticks, and as branches of which one is chosen."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from graphs.web.forms.fields import ABSENT, SELECT_MOST, Field, Option
from graphs.web.reading import humanise, leaf, visible

RADIO_MOST = 5
LONG_LABEL = 60
KINDS = {
    "string": gettext_lazy("Text"),
    "number": gettext_lazy("Number"),
    "integer": gettext_lazy("Whole number"),
    "boolean": gettext_lazy("Yes or no"),
    "object": gettext_lazy("Several fields"),
    "array": gettext_lazy("List"),
    "null": gettext_lazy("Nothing"),
}


def choices(schema: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """The values that a schema allows, with their labels; none where it names none."""
    enum = schema.get("enum")
    if isinstance(enum, list) and enum:
        names = schema.get("enumNames")
        labels = names if isinstance(names, list) and len(names) == len(enum) else [None] * len(enum)
        return [(str(name or option_label(value)), value) for name, value in zip(labels, enum, strict=True)]
    titled = schema.get("oneOf", schema.get("anyOf"))
    if isinstance(titled, list) and titled and all(isinstance(item, Mapping) and "const" in item for item in titled):
        return [(str(item.get("title") or option_label(item["const"])), item["const"]) for item in titled]
    return []


def option_value(item: Any) -> Any:
    """An option given as `{"value": …, "label": …}` stands for its value; any other stands for itself."""
    return item["value"] if isinstance(item, Mapping) and "value" in item else item


def option_label(item: Any) -> str:
    if isinstance(item, Mapping) and "value" in item:
        return str(item.get("label") or item.get("title") or leaf(item["value"])[0])
    if item is None or item == "":
        return _("Nothing") if item is None else _("Empty text")
    return json.dumps(item, ensure_ascii=False) if isinstance(item, dict | list) else leaf(item)[0]


def options_of(choices: list[tuple[str, Any]]) -> list[Option]:
    labels = [label for label, _ in choices]
    # 1 and "1" read alike; where labels do, the JSON tells them apart.
    told = [label if labels.count(label) == 1 else json.dumps(value) for label, value in choices]
    return [
        Option(str(at), visible(label), value) for at, (label, (_, value)) in enumerate(zip(told, choices, strict=True))
    ]


def choice(field: Field, choices: list[tuple[str, Any]]) -> Field:
    """Make it a choice. A select cuts long labels at a phone's width and cannot be searched; radios can (U12)."""
    field.options = options_of(choices)
    wide = any(len(option.label) > LONG_LABEL for option in field.options)
    radios = len(field.options) <= RADIO_MOST or wide or len(field.options) > SELECT_MOST
    field.widget, field.kind = "radio" if radios else "select", "choice"
    field.text = index_of(field, field.default)
    return field


def index_of(field: Field, value: Any) -> str:
    """The index of the option that is a value; empty for none."""
    if value is ABSENT or (value is None and field.nullable):
        return ""
    return next((option.index for option in field.options if same(option.value, value)), "")


def indexes_of(field: Field, value: Any) -> str:
    """The ticks that stand for a list, in the list's order."""
    return ",".join(index_of(field, one) for one in value) if isinstance(value, list) else ""


def same(one: Any, other: Any) -> bool:
    """Equal as JSON: 1 and true are two values, though Python calls them equal."""
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def branch_labels(branches: list[Mapping[str, Any]]) -> list[str]:
    """What each branch is called: its title, else the property that tells it apart, else its kind."""
    told = [_title(branch) for branch in branches]
    return [label if told.count(label) == 1 else f"{label} ({at})" for at, label in enumerate(told, start=1)]


def _title(branch: Mapping[str, Any]) -> str:
    if isinstance(branch.get("title"), str) and branch["title"].strip():
        return visible(branch["title"])
    if "const" in branch:
        return option_label(branch["const"])
    known = branch.get("properties")
    for key, rule in known.items() if isinstance(known, Mapping) else ():
        if isinstance(rule, Mapping) and "const" in rule:
            fixed = rule["const"]
            return humanise(fixed) if isinstance(fixed, str) else f"{humanise(key)}: {option_label(fixed)}"
    needed = branch.get("required")
    if isinstance(needed, list) and needed:
        return ", ".join(humanise(str(key)) for key in needed[:3])
    return str(KINDS.get(str(branch.get("type")), _("Another value")))
