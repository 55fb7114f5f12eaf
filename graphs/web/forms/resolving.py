"""A schema as one piece: references followed, `allOf` merged, null set apart. All of it bounded."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from django.utils.translation import gettext as _

from graphs.engine.errors import PayloadError, SchemaError
from graphs.engine.schemas import validate

Schema = Mapping[str, Any]
#: References and parts that are followed for one field. Parts that name themselves twice would double for ever.
MAX_STEPS = 64
MOST_FIELDS = 300
#: Rows that one posted form may make, in all its tables.
MOST_MADE = 400
CONDITION = frozenset({"if", "then", "else"})
TIGHTER: Mapping[str, Callable[[Any, Any], Any]] = dict.fromkeys(
    ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"), max
) | dict.fromkeys(("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"), min)


@dataclass(slots=True)
class Root:
    """The schema that local references point into, and how many fields it may still become: references can multiply.

    `skip` are properties of the answer itself that buttons decide.
    """

    schema: Schema
    left: int = MOST_FIELDS
    made: int = MOST_MADE
    skip: frozenset[str] = frozenset()
    moved: Any = field(default=None)

    @contextmanager
    def afresh(self) -> Iterator[None]:
        """With room for the fields of one more row or branch, whatever the form has already."""
        before, self.left = self.left, MOST_FIELDS
        try:
            yield
        finally:
            self.left = before

    def take(self) -> bool:
        """Whether there is room for one more row, branch or the like in this form."""
        self.made -= 1
        return self.made >= 0

    def problems(self, part: Any, value: Any) -> list[tuple[str, str]]:
        """How a value breaks a part of the schema; what the engine cannot check breaks nothing here."""
        if isinstance(part, bool):
            return [] if part else [("", _("This is not allowed here."))]
        try:
            return validate(self._alone(part), value)
        except (SchemaError, PayloadError, RecursionError, TypeError, ValueError):
            return []

    def fits(self, part: Any, value: Any) -> bool:
        return not self.problems(part, value)

    def _alone(self, part: Schema) -> Schema:
        """A part that can be checked by itself: what its references name comes along, one level deeper."""
        moved = relocated(part)
        if moved == part:
            return part
        if self.moved is None:
            self.moved = relocated(self.schema)
        return {**moved, "$defs": {"root": self.moved}}


def relocated(schema: Any) -> Any:
    """A schema with its references pointing into `$defs/root`."""
    if isinstance(schema, list):
        return [relocated(one) for one in schema]
    if not isinstance(schema, Mapping):
        return schema
    return {
        key: f"#/$defs/root{one[1:].removesuffix('/')}"
        if key == "$ref" and isinstance(one, str) and one.startswith("#")
        else relocated(one)
        for key, one in schema.items()
    }


def resolve(schema: Any, root: Schema, steps: list[int] | None = None) -> Schema:
    """Follow local references and merge `allOf`; conditions among its parts stay there, for the object's rules."""
    steps = [MAX_STEPS] if steps is None else steps
    while isinstance(schema, Mapping):
        steps[0] -= 1
        if steps[0] < 0:
            return {}
        if isinstance(schema.get("$ref"), str):
            found = _at(root, schema["$ref"])
            if found is None:
                return schema
            schema = merge(found, _without(schema, "$ref"))
        elif any(not _is_condition(part) for part in _parts(schema)):
            schema = _merged(schema, root, steps)
        else:
            return schema
    return {}


def _merged(schema: Schema, root: Schema, steps: list[int]) -> Schema:
    found: Schema = {}
    for part in _parts(schema):
        found = merge(found, {"allOf": [part]} if _is_condition(part) else resolve(part, root, steps))
    return merge(found, _without(schema, "allOf"))


def _parts(schema: Schema) -> list[Schema]:
    parts = schema.get("allOf")
    return [part for part in parts if isinstance(part, Mapping)] if isinstance(parts, list) else []


def _is_condition(part: Schema) -> bool:
    return "if" in part and set(part) <= CONDITION | {"$comment"}


def _without(schema: Schema, *words: str) -> Schema:
    return {key: value for key, value in schema.items() if key not in words}


def merge(one: Schema, other: Schema) -> Schema:
    """Both at once: the words of the second count, bounds are the tighter ones, properties are those of both."""
    found: dict[str, Any] = {**one, **other}
    for word in ("properties", "patternProperties", "dependentSchemas"):
        if isinstance(one.get(word), Mapping) and isinstance(other.get(word), Mapping):
            found[word] = _united(one[word], other[word])
    if isinstance(one.get("required"), list) and isinstance(other.get("required"), list):
        found["required"] = [*one["required"], *(key for key in other["required"] if key not in one["required"])]
    for word, tighter in TIGHTER.items():
        if _is_number(one.get(word)) and _is_number(other.get(word)):
            found[word] = tighter(one[word], other[word])
    if isinstance(one.get("enum"), list) and isinstance(other.get("enum"), list):
        found["enum"] = [value for value in one["enum"] if value in other["enum"]] or other["enum"]
    parts = [*_parts(one), *_parts(other)]
    if "if" in one and "if" in other:
        parts.append({key: value for key, value in one.items() if key in CONDITION})
        found = {key: value for key, value in found.items() if key not in CONDITION or key in other}
    return {**found, "allOf": parts} if parts else found


def _united(one: Schema, other: Schema) -> Schema:
    both = {key: {"allOf": [one[key], other[key]]} for key in one if key in other and one[key] != other[key]}
    return {**one, **other, **both}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _at(root: Schema, ref: str) -> Schema | None:
    found: Any = root
    if not ref.startswith("#"):
        return None
    for token in ref[1:].split("/")[1:]:
        step = token.replace("~1", "/").replace("~0", "~")
        if isinstance(found, list) and step.isascii() and step.isdigit() and int(step[:6]) < len(found):
            found = found[int(step[:6])]
        elif isinstance(found, Mapping) and step in found:
            found = found[step]
        else:
            return None
    return found if isinstance(found, Mapping) else None


def without_null(schema: Schema, root: Schema) -> tuple[Schema, bool]:
    """`X or null`, in each of the ways it is written, as X and True."""
    kinds = schema.get("type")
    if isinstance(kinds, list) and "null" in kinds and len(kinds) > 1:
        others = [kind for kind in kinds if kind != "null"]
        return {**schema, "type": others[0] if len(others) == 1 else others}, True
    for word in ("anyOf", "oneOf"):
        branches = schema.get(word)
        if not isinstance(branches, list) or len(branches) < 2:
            continue
        kept = [branch for branch in branches if not is_null(resolve(branch, root))]
        if len(kept) == 1 and len(branches) == 2:
            return merge(resolve(kept[0], root), _without(schema, word)), True
        if 0 < len(kept) < len(branches):
            return {**schema, word: kept}, True
    return schema, False


def is_null(schema: Schema) -> bool:
    return schema.get("type") == "null" or ("const" in schema and schema["const"] is None)


def branches_of(schema: Schema, root: Schema) -> list[Schema]:
    """The shapes that a value may have, each merged with what all share; fewer than two are no choice."""
    kinds = schema.get("type")
    if isinstance(kinds, list) and len(kinds) > 1 and all(isinstance(kind, str) for kind in kinds):
        return [{**schema, "type": kind} for kind in kinds]
    for word in ("oneOf", "anyOf"):
        found = schema.get(word)
        if isinstance(found, list) and found and all(isinstance(one, Mapping) for one in found):
            if only_required(found):
                continue
            rest = _without(schema, word, "title", "description", "default", "$defs")
            return [merge(rest, resolve(one, root)) for one in found]
    return []


def only_required(branches: list[Any]) -> bool:
    """Whether branches say no more than which properties have to be there: the fields are the same in all of them."""
    return all(isinstance(one, Mapping) and set(one) <= {"required", "title", "description"} for one in branches)
