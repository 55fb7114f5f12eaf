"""A schema becomes fields; what has no widget of its own becomes a JSON field with the schema beside it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from graphs.web.forms.fields import ABSENT, Field, Option
from graphs.web.reading import escape_token, humanise, indented, leaf, number_text, visible

RADIO_MOST = 5
LONG_LABEL = 60
LONG_TEXT = 200
MAX_DEPTH = 6
MAX_REFS = 16
MOST_FIELDS = 300
#: Keywords that change what an object means beyond its properties; such an object is written as JSON.
BEYOND = {"patternProperties", "dependentSchemas", "dependentRequired", "if", "not", "oneOf", "anyOf", "propertyNames"}
SCALARS = {"string", "number", "integer", "boolean"}
FORMATS = {"email": "email", "uri": "url", "date": "date", "date-time": "datetime", "textarea": "textarea"}


@dataclass(slots=True)
class Root:
    """The schema that local references point into, and how many fields it may still become: references can multiply."""

    schema: Mapping[str, Any]
    left: int = MOST_FIELDS


def build(
    schema: Any, *, name: str = "f", skip: frozenset[str] = frozenset(), options: list[Any] | None = None
) -> Field:
    """The field tree of a schema. `skip` leaves out top-level properties that buttons decide (`approved`).

    `options` are the choices a question offers beside a schema that names none.
    """
    root = Root(schema if isinstance(schema, Mapping) else {})
    field = _field(root.schema, root, "", name, required=True, depth=0)
    if options and not field.options and field.widget in {"json", "text", "textarea", "number"}:
        return _choice(field, [(option_label(item), option_value(item)) for item in options])
    field.children = [child for child in field.children if child.key not in skip]
    return field


def option_value(item: Any) -> Any:
    """An option given as `{"value": …, "label": …}` stands for its value; any other stands for itself."""
    return item["value"] if isinstance(item, Mapping) and "value" in item else item


def option_label(item: Any) -> str:
    if isinstance(item, Mapping) and "value" in item:
        return str(item.get("label") or item.get("title") or leaf(item["value"])[0])
    if item is None or item == "":
        return "Nothing" if item is None else "Empty text"
    return json.dumps(item, ensure_ascii=False) if isinstance(item, dict | list) else leaf(item)[0]


def resolve(schema: Any, root: Mapping[str, Any]) -> Mapping[str, Any]:
    """Follow local references, and merge an `allOf` of one, as Pydantic writes a model inside another."""
    for _ in range(MAX_REFS):
        if not isinstance(schema, Mapping):
            return {}
        if isinstance(schema.get("$ref"), str):
            found = _at(root, schema["$ref"])
            if found is None:
                return schema
            schema = {**found, **{key: value for key, value in schema.items() if key != "$ref"}}
        elif (inner := _only(schema.get("allOf"))) is not None:
            schema = {**inner, **{key: value for key, value in schema.items() if key != "allOf"}}
        else:
            return schema
    return {}


def _only(branches: Any) -> Mapping[str, Any] | None:
    one = branches[0] if isinstance(branches, list) and len(branches) == 1 else None
    return one if isinstance(one, Mapping) else None


def _at(root: Mapping[str, Any], ref: str) -> Mapping[str, Any] | None:
    found: Any = root
    if not ref.startswith("#"):
        return None
    for token in ref[1:].split("/")[1:]:
        step = token.replace("~1", "/").replace("~0", "~")
        if not isinstance(found, Mapping) or step not in found:
            return None
        found = found[step]
    return found if isinstance(found, Mapping) else None


def _without_null(schema: Mapping[str, Any], root: Mapping[str, Any]) -> tuple[Mapping[str, Any], bool]:
    """`X or null`, in each of the ways it is written, as X and True."""
    kinds = schema.get("type")
    if isinstance(kinds, list) and "null" in kinds and len(kinds) == 2:
        return {**schema, "type": next(kind for kind in kinds if kind != "null")}, True
    for word in ("anyOf", "oneOf"):
        branches = schema.get(word)
        if not isinstance(branches, list) or len(branches) != 2:
            continue
        resolved = [resolve(branch, root) for branch in branches]
        others = [branch for branch in resolved if branch.get("type") != "null"]
        if len(others) == 1:
            rest = {key: value for key, value in schema.items() if key != word}
            return {**others[0], **rest}, True
    return schema, False


def _field(schema: Any, root: Root, pointer: str, name: str, *, required: bool, depth: int) -> Field:
    root.left -= 1
    resolved, nullable = _without_null(resolve(schema, root.schema), root.schema)
    key = pointer.rpartition("/")[2].replace("~1", "/").replace("~0", "~")
    field = Field(
        pointer=pointer,
        name=name,
        label=visible(str(resolved.get("title") or humanise(key) or "Answer")),
        widget="json",
        kind="JSON",
        schema=schema,
        required=required,
        nullable=nullable,
        help=visible(str(resolved.get("description") or "")),
        default=resolved.get("default", ABSENT),
    )
    _shape(field, resolved, root, depth)
    if not field.children:
        field.text = shown(field, field.default)
    return field


def _shape(field: Field, schema: Mapping[str, Any], root: Root, depth: int) -> None:
    kind = schema.get("type")
    if "const" in schema:
        field.widget, field.kind, field.default = "const", "fixed", schema["const"]
    elif choices := _choices(schema):
        _choice(field, choices)
    elif kind == "boolean":
        field.widget, field.kind = "yesno", "yes or no"
        field.options = [Option("0", "Yes", True), Option("1", "No", False)]
    elif kind == "string":
        _string(field, schema)
    elif kind in ("integer", "number"):
        _number(field, schema, str(kind))
    elif kind == "object" and isinstance(schema.get("properties"), Mapping) and not BEYOND & set(schema):
        _group(field, schema, root, depth)
    elif kind == "array":
        _array(field, schema, root)


def _choices(schema: Mapping[str, Any]) -> list[tuple[str, Any]]:
    enum = schema.get("enum")
    if isinstance(enum, list) and enum:
        names = schema.get("enumNames")
        labels = names if isinstance(names, list) and len(names) == len(enum) else [None] * len(enum)
        return [(str(name or option_label(value)), value) for name, value in zip(labels, enum, strict=True)]
    titled = schema.get("oneOf", schema.get("anyOf"))
    if isinstance(titled, list) and titled and all(isinstance(item, Mapping) and "const" in item for item in titled):
        return [(str(item.get("title") or option_label(item["const"])), item["const"]) for item in titled]
    return []


def _choice(field: Field, choices: list[tuple[str, Any]]) -> Field:
    labels = [label for label, _ in choices]
    # 1 and "1" read alike; where labels do, the JSON tells them apart.
    told = [label if labels.count(label) == 1 else json.dumps(value) for label, value in choices]
    field.options = [
        Option(str(at), visible(label), value) for at, (label, (_, value)) in enumerate(zip(told, choices, strict=True))
    ]
    wide = any(len(option.label) > LONG_LABEL for option in field.options)
    # A select cuts long labels at a phone's width; radios wrap them (U12).
    field.widget = "radio" if len(field.options) <= RADIO_MOST or wide else "select"
    field.kind = "choice"
    field.text = shown(field, field.default)
    return field


def _string(field: Field, schema: Mapping[str, Any]) -> None:
    field.kind = "text"
    widget = FORMATS.get(str(schema.get("format")), "text")
    most = schema.get("maxLength")
    if widget == "text" and isinstance(most, int) and most > LONG_TEXT:
        widget = "textarea"
    field.widget = widget
    _attr(field, schema, minLength="minlength", maxLength="maxlength")
    parts = []
    examples = schema.get("examples")
    if isinstance(examples, list) and examples and isinstance(examples[0], str):
        field.attrs["placeholder"] = f"e.g. {examples[0]}"
    if isinstance(most, int):
        parts.append(f"at most {most} characters")
    if isinstance(schema.get("minLength"), int) and schema["minLength"] > 1:
        parts.append(f"at least {schema['minLength']}")
    if isinstance(schema.get("pattern"), str):
        field.patterned = True
        # Words of the author's own say it to people; without any the pattern does.
        if not field.help and "placeholder" not in field.attrs:
            parts.append(f"pattern {schema['pattern']}")
    if widget == "datetime":
        parts.append("with its zone, such as 2026-03-01T09:30+01:00; without one it is UTC")
    field.hint = ", ".join(parts)


def _number(field: Field, schema: Mapping[str, Any], kind: str) -> None:
    field.widget, field.kind = "number", "whole number" if kind == "integer" else "number"
    _attr(field, schema, minimum="min", maximum="max")
    step = schema.get("multipleOf")
    free = "1" if kind == "integer" else "any"
    field.attrs["step"] = str(step) if isinstance(step, int | float) and step > 0 else free
    if "min" in field.attrs and field.attrs["step"] not in ("1", "any"):
        # Browsers count steps from the minimum, JSON Schema from zero; the server decides.
        field.attrs["step"] = "any"
    bounds = [
        f"{word} {number_text(schema[key])}"
        for key, word in (
            ("minimum", "at least"),
            ("exclusiveMinimum", "more than"),
            ("maximum", "at most"),
            ("exclusiveMaximum", "less than"),
        )
        if isinstance(schema.get(key), int | float) and not isinstance(schema.get(key), bool)
    ]
    field.hint = ", ".join(bounds)


def _attr(field: Field, schema: Mapping[str, Any], **names: str) -> None:
    for keyword, attribute in names.items():
        value = schema.get(keyword)
        if isinstance(value, int | float) and not isinstance(value, bool):
            field.attrs[attribute] = str(value)


def _group(field: Field, schema: Mapping[str, Any], root: Root, depth: int) -> None:
    if depth >= MAX_DEPTH or root.left < len(schema["properties"]):
        return
    listed = schema.get("required")
    needed = set(listed) if isinstance(listed, list) else set()
    field.widget, field.kind = "group", "group"
    for key, inner in schema["properties"].items():
        place = f"{field.pointer}/{escape_token(key)}"
        name = f"{field.name}/{escape_token(key)}"
        field.children.append(_field(inner, root, place, name, required=key in needed, depth=depth + 1))


def _array(field: Field, schema: Mapping[str, Any], root: Root) -> None:
    items = resolve(schema.get("items"), root.schema)
    if items.get("type") not in SCALARS or "prefixItems" in schema:
        return
    field.widget, field.kind, field.item = "lines", "one a line", str(items["type"])
    field.hint = {"string": "one entry a line", "boolean": "true or false, one a line"}.get(
        field.item, "one number a line"
    )


def shown(field: Field, value: Any) -> str:
    """How a widget shows a value that is there already: a default, or what an author proposed."""
    if value is ABSENT or (value is None and field.nullable):
        return ""
    if field.options:
        return next((option.index for option in field.options if _same(option.value, value)), "")
    if field.widget == "lines" and isinstance(value, list):
        return "\n".join(item if isinstance(item, str) else json.dumps(item) for item in value)
    if field.widget in {"json", "const"}:
        return indented(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return number_text(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def fill(field: Field, value: Any) -> None:
    """Show a value that was given before in a form's widgets. What it leaves out stays empty, whatever the default."""
    if field.widget != "group":
        field.text = shown(field, value)
        return
    for child in field.children:
        fill(child, value.get(child.key, ABSENT) if isinstance(value, Mapping) else ABSENT)


def _same(one: Any, other: Any) -> bool:
    """Equal as JSON: 1 and true are two values, though Python calls them equal."""
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)
