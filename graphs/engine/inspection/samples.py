"""The simplest value that a schema takes, for rehearsals: what a person in a hurry would fill in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from graphs.engine import canonical, schemas
from graphs.engine.ports import Json
from graphs.engine.schemas import Schema

_TEXTS = {
    "date": "2000-01-01",
    "date-time": "2000-01-01T00:00:00+00:00",
    "time": "00:00:00",
    "uuid": "00000000-0000-0000-0000-000000000000",
    "email": "someone@example.org",
    "uri": "https://example.org",
}
#: Texts to try where a pattern is asked for: it cannot be solved, only met by luck.
_GUESSES = ("yes", "a", "A", "0", "1", "A-1", "0.0.0", "2000-01-01", "00:00", "AB12", "a@b.org")
_DEEPEST = 12


class NoSample(ValueError):
    """No simple value fits the schema; the message says what to give instead."""


def simplest(schema: Schema | None) -> Json:
    """A valid value: True where anything goes. Raises `NoSample` where none of the simple ones fits."""
    if schema is None or isinstance(schema, bool):
        return True
    for value in _values(schema, schema, 0):
        if not schemas.validate(schema, filled := schemas.fill(schema, value)):
            return filled
    raise NoSample("no simple value fits its schema; give an answer for it")


def _values(rule: Any, root: Mapping[str, Any], depth: int) -> Iterator[Json]:
    """Candidates, the likeliest first."""
    if not isinstance(rule, Mapping) or depth > _DEEPEST:
        yield True
        return
    if isinstance(rule.get("$ref"), str):
        yield from _values(_named(root, rule["$ref"]), root, depth + 1)
        return
    if "const" in rule or "enum" in rule:
        yield from [rule["const"]] if "const" in rule else rule["enum"]
        return
    if "default" in rule:
        yield canonical.copy(rule["default"])
    for keyword in ("oneOf", "anyOf"):
        for part in rule.get(keyword, ()):
            rest = {name: value for name, value in rule.items() if name != keyword}
            yield from _values(_both(rest, part, root), root, depth + 1)
    if parts := rule.get("allOf"):
        whole: Mapping[str, Any] = {name: value for name, value in rule.items() if name != "allOf"}
        for part in parts:
            whole = _both(whole, part, root)
        yield from _values(whole, root, depth + 1)
        return
    for kind in _kinds(rule):
        yield from _of_kind(kind, rule, root, depth)


def _named(root: Mapping[str, Any], reference: str) -> Any:
    found: Any = root
    for part in reference[1:].split("/")[1:]:
        part = part.replace("~1", "/").replace("~0", "~")
        found = found[int(part)] if isinstance(found, list) else found[part]
    return found


def _both(one: Mapping[str, Any], other: Any, root: Mapping[str, Any]) -> Mapping[str, Any]:
    """Two rules in one, as far as simple values need it."""
    if isinstance(other, Mapping) and isinstance(other.get("$ref"), str):
        other = _named(root, other["$ref"])
    if not isinstance(other, Mapping):
        return one
    merged = {**one, **other}
    if "properties" in one and "properties" in other:
        merged["properties"] = {**one["properties"], **other["properties"]}
    if "required" in one and "required" in other:
        merged["required"] = list(dict.fromkeys([*one["required"], *other["required"]]))
    return merged


def _kinds(rule: Mapping[str, Any]) -> list[str]:
    given = rule.get("type")
    if given is not None:
        return [given] if isinstance(given, str) else list(given)
    if "properties" in rule or "required" in rule:
        return ["object"]
    if "items" in rule or "minItems" in rule:
        return ["array"]
    if {"minLength", "maxLength", "pattern", "format"} & set(rule):
        return ["string"]
    return ["integer"] if {"minimum", "maximum", "multipleOf"} & set(rule) else ["boolean", "string", "integer"]


def _of_kind(kind: str, rule: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> Iterator[Json]:
    if kind == "object":
        yield from _objects(rule, root, depth)
    elif kind == "array":
        item = next(_values(rule.get("items", True), root, depth + 1), True)
        yield [canonical.copy(item) for _ in range(int(rule.get("minItems", 0)))]
    elif kind == "string":
        yield from _texts(rule)
    elif kind in ("integer", "number"):
        yield from _numbers(rule)
    elif kind == "boolean":
        yield True
        yield False
    else:
        yield None


def _objects(rule: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> Iterator[Json]:
    properties: Mapping[str, Any] = rule.get("properties", {})
    wanted = [name for name in properties if name == "approved" or name in rule.get("required", ())]
    wanted += [name for name in rule.get("required", ()) if name not in properties]
    found = {}
    for name in wanted:
        part = properties.get(name, True)
        fitting = (one for one in _values(part, root, depth + 1) if not _breaks(part, one, root))
        found[name] = next(fitting, None)
    yield found
    yield {name: next(_values(part, root, depth + 1), None) for name, part in properties.items()}


def _breaks(part: Any, value: Json, root: Mapping[str, Any]) -> bool:
    if not isinstance(part, Mapping):
        return False
    defined = {name: root[name] for name in ("$defs", "definitions") if name in root}
    return bool(schemas.validate({**defined, **part}, value))


def _texts(rule: Mapping[str, Any]) -> Iterator[str]:
    if rule.get("format") in _TEXTS:
        yield _TEXTS[rule["format"]]
    least, most = int(rule.get("minLength", 0)), rule.get("maxLength")
    yield "yes".ljust(least, ".")[:most]
    for guess in [*rule.get("examples", ()), *_GUESSES] if "pattern" in rule else ():
        if isinstance(guess, str):
            yield guess.ljust(least, guess[-1:])[:most]


def _numbers(rule: Mapping[str, Any]) -> Iterator[Json]:
    step = rule.get("multipleOf", 1)
    bounds = [rule[name] for name in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum") if name in rule]
    if rule.get("minimum", 0) <= 1 <= rule.get("maximum", 1):
        yield 1
    for bound in bounds:
        yield bound
        yield from (bound + step, bound - step, (bound // step + 1) * step)
    yield step
    if len(bounds) == 2:
        yield (bounds[0] + bounds[1]) / 2
