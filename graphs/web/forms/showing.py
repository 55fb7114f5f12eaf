"""How widgets show a value that is there already; secrets and files show none of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from graphs.web.forms.choosing import index_of, indexes_of
from graphs.web.forms.fields import ABSENT, MASK, Field
from graphs.web.forms.resolving import branches_of, resolve
from graphs.web.reading import indented, number_text

MASK_DEPTH = 12
MOST_SHORN = 200
#: Words of a schema that hold values.
TELLING = ("default", "const", "enum", "examples")


def shown(field: Field, value: Any) -> str:
    """How a widget shows a value that is there already: a default, or what an author proposed."""
    if field.widget in ("secret", "file") or value is ABSENT or (value is None and field.nullable):
        return ""
    if field.widget == "checks":
        return indexes_of(field, value)
    if field.options:
        return index_of(field, value)
    if field.widget == "lines" and isinstance(value, list):
        return "\n".join(item if isinstance(item, str) else json.dumps(item) for item in value)
    if field.widget in {"json", "const"}:
        return indented(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return number_text(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def as_json(field: Field, value: Any) -> None:
    """Show a value as JSON, which holds every one; the secrets in it are masked."""
    known = masked(value, field.schema, field.schema)
    field.widget, field.kind, field.hint = "json", "JSON", ""
    field.children, field.base, field.rules, field.options = [], [], [], []
    field.attrs, field.default, field.make = {}, value, None
    field.text = shown(field, known) if value is not None else "null"


def is_secret(schema: Mapping[str, Any]) -> bool:
    return schema.get("writeOnly") is True or schema.get("format") == "password"


def masked(value: Any, schema: Any, root: Any, depth: int = 0) -> Any:
    """A value with MASK for each of its secrets (`writeOnly`, or of the format `password`)."""
    if depth > MASK_DEPTH or not isinstance(schema, Mapping) or not isinstance(root, Mapping):
        return value
    rule = resolve(schema, root)
    if is_secret(rule) and value not in (None, ABSENT):
        return MASK
    for branch in branches_of(rule, root) if ("oneOf" in rule or "anyOf" in rule) else ():
        value = _members(value, branch, root, depth)
    return _members(value, rule, root, depth)


def _members(value: Any, rule: Mapping[str, Any], root: Any, depth: int) -> Any:
    if is_secret(rule) and isinstance(value, str):
        return MASK
    if isinstance(value, list):
        first = rule["prefixItems"] if isinstance(rule.get("prefixItems"), list) else []
        rules = [*first, *[rule.get("items")] * (len(value) - len(first))]
        return [masked(one, known, root, depth + 1) for one, known in zip(value, rules, strict=False)]
    if not isinstance(value, Mapping):
        return value
    return {key: masked(one, _property(rule, key), root, depth + 1) for key, one in value.items()}


def _property(rule: Mapping[str, Any], key: str) -> Any:
    found = [
        part["properties"][key]
        for part in _parts(rule)
        if isinstance(part.get("properties"), Mapping) and key in part["properties"]
    ]
    return {"allOf": found} if len(found) > 1 else found[0] if found else rule.get("additionalProperties")


def _parts(rule: Any, depth: int = 0) -> list[Mapping[str, Any]]:
    """A schema and the parts of it that hold under conditions: a secret in one of them is a secret."""
    if not isinstance(rule, Mapping) or depth > 3:
        return []
    dependent = rule.get("dependentSchemas")
    inner = [rule.get("then"), rule.get("else"), *(rule["allOf"] if isinstance(rule.get("allOf"), list) else [])]
    inner += dependent.values() if isinstance(dependent, Mapping) else []
    return [rule, *(part for one in inner for part in _parts(one, depth + 1))]


def shorn(schema: Any, depth: int = 0) -> Any:
    """A schema without the values that it names for its secrets: a default would tell one."""
    if depth > MOST_SHORN:
        return None
    if isinstance(schema, list):
        return [shorn(one, depth + 1) for one in schema]
    if not isinstance(schema, Mapping):
        return schema
    kept = {key: one for key, one in schema.items() if not (is_secret(schema) and key in TELLING)}
    return {key: shorn(one, depth + 1) for key, one in kept.items()}


def unmasked(value: Any, before: Any) -> Any:
    """What was typed over masked JSON, with each secret that was left alone put back."""
    if value == MASK and before is not ABSENT:
        return before
    if isinstance(value, dict) and isinstance(before, Mapping):
        return {key: unmasked(one, before.get(key, ABSENT)) for key, one in value.items()}
    if isinstance(value, list) and isinstance(before, list):
        return [unmasked(one, old) for one, old in zip(value, [*before, *[ABSENT] * len(value)], strict=False)]
    return value
