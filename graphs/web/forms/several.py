"""Fields that hold others: objects, lists, tuples, keys with values, and one of several shapes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from django.utils.translation import gettext as _

from graphs.web.forms.choosing import LONG_LABEL, branch_labels
from graphs.web.forms.conditions import Unmappable, grown, rules_of
from graphs.web.forms.fields import ABSENT, Field, Option
from graphs.web.forms.resolving import Root
from graphs.web.reading import escape_token, visible

MAX_DEPTH = 6
MOST_ROWS, MOST_CELLS, MOST_COLUMNS = 200, 600, 8
FIRST_ROWS = 5
#: Widgets that fit into the cell of a table.
NARROW = {"text", "number", "email", "url", "date", "time", "datetime", "yesno", "select", "radio", "secret", "const"}


class Build(Protocol):
    """`mapping.build_field`, which these fields call for what they hold."""

    def __call__(
        self, schema: Any, root: Root, pointer: str, name: str, *, required: bool, depth: int, asked: bool = True
    ) -> Field: ...


def counted(schema: Mapping[str, Any]) -> str:
    """How many items a list may have, in words."""
    least, most = _count(schema.get("minItems")), _count(schema.get("maxItems"))
    parts = [
        _("at least %(number)s") % {"number": least} if least else "",
        _("at most %(number)s") % {"number": most} if most else "",
    ]
    return ", ".join(filter(None, [*parts, _("none twice") if schema.get("uniqueItems") is True else ""]))


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


# --- objects


def group(field: Field, schema: Mapping[str, Any], root: Root, depth: int, build: Build) -> None:
    """An object: its properties, those that come under conditions, and rows for the keys that nobody named."""
    known = schema.get("properties")
    properties = known if isinstance(known, Mapping) else {}
    if depth >= MAX_DEPTH or root.left < len(properties):
        return
    try:
        rules, others = rules_of(schema, root), _others(schema)
    except Unmappable:
        return
    if not isinstance(known, Mapping) and not rules and others is None:
        return
    listed = schema.get("required")
    needed = {one for one in listed if isinstance(one, str)} if isinstance(listed, list) else set()
    field.widget, field.kind, field.rules = "group", "group", rules
    skip = root.skip if not field.pointer else frozenset()

    def member(owner: Field, key: str, schema: Any, required: bool) -> Field:
        place = escape_token(key)
        at, name = f"{owner.pointer}/{place}", f"{owner.name}/{place}"
        return build(schema, root, at, name, required=required, depth=depth + 1, asked=owner.demanded)

    def grow(owner: Field, key: str, holding: tuple[int, ...]) -> Field | None:
        parts = [owner.rules[at].properties[key] for at in holding if key in owner.rules[at].properties]
        parts = [*([properties[key]] if key in properties else []), *parts]
        if key in skip or not parts or any(part is False for part in parts):
            return None
        required = key in needed or any(key in owner.rules[at].required for at in holding)
        with root.afresh():
            return member(owner, key, {"allOf": parts} if len(parts) > 1 else parts[0], required)

    field.grow = grow
    kept = {str(key): rule for key, rule in properties.items() if rule is not False and key not in skip}
    field.base = [member(field, key, rule, key in needed) for key, rule in kept.items()]
    if others is not None:
        field.base.append(_map(field, others, root, depth, build))
    defaults = {one.key: one.default for one in field.base if one.default is not ABSENT}
    field.children = grown(field, defaults)


def _others(schema: Mapping[str, Any]) -> Any:
    """The schema of values under keys that are not listed; {} where there are several, None where nothing is said."""
    patterns, rest = schema.get("patternProperties"), schema.get("additionalProperties")
    rules = [one for one in patterns.values() if one is not False] if isinstance(patterns, Mapping) else []
    rules += [rest] if isinstance(rest, Mapping) and rest else []
    if not rules:
        return None
    return rules[0] if all(one == rules[0] for one in rules) and isinstance(rules[0], Mapping) else {}


def _map(owner: Field, schema: Any, root: Root, depth: int, build: Build) -> Field:
    label = _("More entries") if owner.base else _("Entries")
    field = Field(owner.pointer, f"{owner.name}/~m", label, "map", "names and values", schema, asked=owner.asked)
    patterns = owner.schema.get("patternProperties") if isinstance(owner.schema, Mapping) else None
    named = ", ".join(patterns) if isinstance(patterns, Mapping) else ""
    field.hint = _("names match %(patterns)s") % {"patterns": visible(named)} if named else ""
    field.most = MOST_ROWS

    def entry(owner: Field, row: str) -> Field | None:
        if not root.take():
            return None
        name, at = f"{owner.name}/{row}", f"{owner.pointer}/~{row}"
        key = Field(f"{at}k", f"{name}/~k", _("Name"), "text", "text", {}, required=True, item="key")
        with root.afresh():
            value = build(schema, root, f"{at}v", f"{name}/~v", required=True, depth=depth + 1)
        value.label = _("Value") if value.label in (_("Answer"), f"~{row}v") or "title" not in schema else value.label
        return Field(f"{at}e", name, _("Entry"), "entry", "entry", {}, required=True, row=row, children=[key, value])

    field.make = entry
    return field


# --- lists


def rows(field: Field, schema: Mapping[str, Any], root: Root, depth: int, build: Build) -> None:
    """A list with a row for each item: a table where the items are flat objects."""
    items = schema.get("items")
    if depth >= MAX_DEPTH or not isinstance(items, Mapping):
        return
    sample = build(items, root, f"{field.pointer}/0", f"{field.name}/new", required=True, depth=depth + 1)
    if sample.widget == "json":
        return
    size = sum(1 for _ in sample.walk())
    field.widget, field.kind, field.hint = "rows", "rows", counted(schema)
    field.least = _count(schema.get("minItems"))
    field.most = min(_count(schema.get("maxItems")) or MOST_ROWS, MOST_ROWS, max(1, MOST_CELLS // size))
    field.columns = _columns(sample)

    def row(owner: Field, row: str) -> Field | None:
        if not root.take():
            return None
        with root.afresh():
            made = build(items, root, f"{owner.pointer}/0", f"{owner.name}/{row}", required=True, depth=depth + 1)
        made.row = row
        for one in made.children if owner.columns else ():
            # Radios want more room than a cell has.
            one.widget = "select" if one.widget in ("radio", "yesno") else one.widget
        return made

    field.make = row
    # Not inside of a list: the outer row is there to see how one is.
    first = min(field.least, FIRST_ROWS) if field.demanded else 0
    set_rows(field, [str(at) for at in range(first)])


def _columns(sample: Field) -> list[str]:
    if sample.widget != "group" or sample.rules or not 0 < len(sample.children) <= MOST_COLUMNS:
        return []
    flat = all(one.widget in NARROW for one in sample.children)
    short = all(len(option.label) <= LONG_LABEL for one in sample.children for option in one.options)
    return [one.label for one in sample.children] if flat and short else []


def set_rows(field: Field, ids: list[str]) -> None:
    """Give it these rows, in this order; those that it has already stay as they are."""
    known = {one.row: one for one in field.children}
    made = [known.get(row) or (field.make(field, row) if field.make else None) for row in ids[: field.most]]
    field.children = [one for one in made if one is not None]
    field.text = ",".join(one.row for one in field.children)
    for at, one in enumerate(field.children):
        place_row(field, one, at)


def place_row(field: Field, row: Field, at: int) -> None:
    """Where a row stands says where its value goes; its name stays."""
    if field.widget == "rows":
        repoint(row, f"{field.pointer}/{at}")
    if field.widget == "rows":
        row.label = _("Row %(number)s") % {"number": at + 1} if field.columns else f"{field.label} {at + 1}"
        within = _("%(place)s, row %(number)s")
    else:
        row.label, within = _("Entry %(number)s") % {"number": at + 1}, _("%(place)s, entry %(number)s")
    within %= {"place": field.place, "number": at + 1}
    for one in row.walk():
        one.within = within if one is not row else field.within


def repoint(field: Field, pointer: str) -> None:
    """Move a field and all below it to another place of the answer."""
    before = len(field.pointer)
    for one in [*field.walk(), *(inner for inner in field.base if inner not in field.children)]:
        one.pointer = pointer + one.pointer[before:]


def tuple_(field: Field, schema: Mapping[str, Any], root: Root, depth: int, build: Build) -> None:
    """A list of which each place has a schema of its own."""
    first, most = schema["prefixItems"], schema.get("maxItems")
    open_ended = isinstance(schema.get("items"), Mapping) and not (isinstance(most, int) and most <= len(first))
    if not isinstance(first, list) or depth >= MAX_DEPTH or root.left < len(first) or open_ended:
        return
    field.widget, field.kind = "tuple", "several in a row"
    least = _count(schema.get("minItems"))
    for at, rule in enumerate(first):
        where = f"{field.pointer}/{at}", f"{field.name}/{at}"
        one = build(rule, root, *where, required=at < least, depth=depth + 1, asked=field.demanded)
        one.label = one.label if isinstance(rule, Mapping) and "title" in rule else f"{field.label} {at + 1}"
        field.children.append(one)


# --- one of several shapes


def branches(field: Field, found: list[Mapping[str, Any]], root: Root, depth: int, build: Build) -> None:
    """A choice of shapes; only the fields of the chosen one are there."""
    if depth >= MAX_DEPTH:
        return
    field.widget, field.kind = "branches", "one of several"
    labels = branch_labels(found)
    field.options = [Option(str(at), label, found[at]) for at, label in enumerate(labels)]

    def branch(owner: Field, index: str) -> Field | None:
        if not root.take():
            return None
        with root.afresh():
            name = f"{owner.name}/~b{index}"
            made = build(
                found[int(index)], root, owner.pointer, name, required=True, depth=depth + 1, asked=owner.demanded
            )
        made.label, made.row, made.help = labels[int(index)], index, made.help if made.help != owner.help else ""
        return made

    def judge(owner: Field, value: Any) -> list[tuple[str, str]]:
        # Of the answer itself a button adds the verdict later.
        return [] if root.skip and not owner.pointer else root.problems(found[int(owner.text)], value)

    def meant(owner: Field, value: Any) -> list[str]:
        return [option.index for option in owner.options if root.fits(option.value, value)]

    field.make, field.judge, field.meant = branch, judge, meant
