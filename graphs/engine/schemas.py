"""Response schemas: local JSON Schema 2020-12, checked when asked and enforced in full on answers (Z06, Z33)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime, time
from functools import lru_cache
from itertools import islice
from typing import Any
from uuid import UUID

from graphs.engine import canonical
from graphs.engine.errors import PayloadError, SchemaError
from graphs.engine.ports import Json

MAX_BYTES = 64 * 1024
MAX_DEPTH = 16
#: Nobody mends more at once; a megabyte of wrong items would otherwise keep its request busy for half a minute.
MAX_PROBLEMS = 100
Schema = Mapping[str, Any] | bool
_DATA_KEYWORDS = frozenset({"const", "default", "enum", "examples"})


def of(shape: Any) -> Schema | None:
    """The JSON Schema of a schema, a Pydantic model or a Python type; None stays None. Raises `SchemaError`."""
    if shape is None or isinstance(shape, bool):
        return shape
    schema = dict(shape) if isinstance(shape, Mapping) else _schema_of_type(shape)
    try:
        encoded: dict[str, Any] = canonical.encode(schema, "response_schema")
    except PayloadError as error:
        raise SchemaError(str(error)) from error
    check(encoded)
    return encoded


def check(schema: Schema) -> None:
    """Refuse what is not a valid, local, bounded schema with `SchemaError`."""
    if not isinstance(schema, bool):
        _validator(canonical.dumps(schema))


def validate(schema: Schema, value: Json) -> list[tuple[str, str]]:
    """How `value` breaks `schema`, as (JSON pointer, message) in the order of the pointers; MAX_PROBLEMS at most."""
    if isinstance(schema, bool):
        return [] if schema else [("", "no answer is allowed here")]
    try:
        found = list(islice(_validator(canonical.dumps(schema)).iter_errors(value), MAX_PROBLEMS))
    except RecursionError:
        return [("", "the schema refers to itself without end")]
    return sorted((pointer(error.absolute_path), _message(error)) for error in found)


def fill(schema: Schema | None, value: Json, root: Schema | None = None, depth: int = 0) -> Json:
    """`value` with the declared defaults of missing properties put in, however deep they lie."""
    if not isinstance(schema, Mapping) or depth > MAX_DEPTH:
        return value
    root = schema if root is None else root
    if isinstance(schema.get("$ref"), str):
        schema = {**_resolve(root, schema["$ref"]), **{k: v for k, v in schema.items() if k != "$ref"}}
    if isinstance(value, dict):
        return _fill_object(schema, dict(value), root, depth)
    if isinstance(value, list) and "items" in schema:
        return [fill(schema["items"], item, root, depth + 1) for item in value]
    return value


#: How far references are followed for the properties of a schema; each may branch, so the bound is small.
_FOLLOWED = 4


def properties(schema: Schema | None, root: Schema | None = None, depth: int = 0) -> dict[str, Any]:
    """The properties that a schema declares of an object: its own, and those of the parts it refers to or combines."""
    if not isinstance(schema, Mapping) or depth > _FOLLOWED:
        return {}
    root = schema if root is None else root
    parts = [part for name in ("allOf", "anyOf", "oneOf") for part in schema.get(name, ())]
    if isinstance(schema.get("$ref"), str) and schema["$ref"] not in ("", "#"):
        parts.append(_resolve(root, schema["$ref"]))
    found: dict[str, Any] = {}
    for part in parts:
        found.update(properties(part, root, depth + 1))
    return {**found, **schema.get("properties", {})}


def takes_text(rule: Any) -> bool:
    """Whether a property takes any text, and not only one of some words."""
    if not isinstance(rule, Mapping) or "enum" in rule or "const" in rule:
        return False
    kinds = rule.get("type", ())
    return kinds == "string" or "string" in kinds or any(takes_text(part) for part in rule.get("anyOf", ()))


def pointer(parts: Any) -> str:
    """A path of keys and indexes as a JSON pointer."""
    return "".join(f"/{str(part).replace('~', '~0').replace('/', '~1')}" for part in parts)


def _message(error: Any) -> str:
    # The whole value can be a megabyte; the page that shows this message shows the value beside it.
    text = str(error.message)
    return text if len(text) <= 500 else f"{text[:240]} … {text[-240:]}"


def _fill_object(schema: Mapping[str, Any], value: dict[str, Any], root: Schema, depth: int) -> dict[str, Any]:
    for name, rule in schema.get("properties", {}).items():
        if name not in value and isinstance(rule, Mapping) and "default" in rule:
            value[name] = canonical.copy(rule["default"])
        if name in value:
            value[name] = fill(rule, value[name], root, depth + 1)
    for part in schema.get("allOf", []):
        value = fill(part, value, root, depth + 1)
    return value


def _schema_of_type(shape: Any) -> dict[str, Any]:
    # Pydantic costs tens of milliseconds to import, and graphs that ask with plain schemas never need it.
    from pydantic import TypeAdapter
    from pydantic.errors import PydanticSchemaGenerationError, PydanticUserError

    try:
        return TypeAdapter(shape).json_schema()
    except (PydanticSchemaGenerationError, PydanticUserError, TypeError, AttributeError) as error:
        raise SchemaError(f"{shape!r} has no JSON Schema: {error}") from error


@lru_cache(maxsize=512)
def _validator(data: bytes) -> Any:
    from jsonschema.exceptions import SchemaError as Invalid
    from jsonschema.validators import Draft202012Validator

    if len(data) > MAX_BYTES:
        raise SchemaError(f"the schema has {len(data):,} bytes, more than the {MAX_BYTES:,} allowed")
    schema = canonical.loads(data)
    for where, keyword, value in _keywords(schema, "", 0):
        _check_keyword(schema, where, keyword, value)
    try:
        Draft202012Validator.check_schema(schema)
    except (Invalid, re.error) as error:
        path = pointer(getattr(error, "absolute_path", ()))
        raise SchemaError(f"not a valid JSON Schema at {path or '/'}: {getattr(error, 'message', error)}") from error
    return _dialect()(schema, registry=_registry(), format_checker=_formats())


def _keywords(schema: Any, where: str, depth: int) -> Iterator[tuple[str, str, Any]]:
    if depth > MAX_DEPTH * 2:  # each level of a schema is two of JSON: the keyword and the name below it
        raise SchemaError(f"the schema is deeper than {MAX_DEPTH} levels at {where}")
    if isinstance(schema, list):
        for index, item in enumerate(schema):
            yield from _keywords(item, f"{where}/{index}", depth + 1)
    if not isinstance(schema, dict):
        return
    for keyword, value in schema.items():
        yield where, keyword, value
        if keyword not in _DATA_KEYWORDS or (
            isinstance(value, dict) and "type" in value and where.endswith("properties")
        ):
            yield from _keywords(value, f"{where}/{keyword}", depth + 1)


def _check_keyword(root: Any, where: str, keyword: str, value: Any) -> None:
    at = f"{where}/{keyword}"
    if keyword in ("$dynamicRef", "$recursiveRef") and isinstance(value, str):
        raise SchemaError(f"{keyword} is not allowed (at {at})")
    if keyword == "$ref" and isinstance(value, str):
        if not value.startswith("#"):
            raise SchemaError(f"$ref {value!r} reaches outside the schema (at {at})")
        _resolve(root, value)
    if keyword == "pattern" and isinstance(value, str):
        _regex(value, at)
    if keyword == "patternProperties" and isinstance(value, dict):
        for pattern in value:
            _regex(pattern, at)
    if keyword == "unevaluatedProperties" and b'"patternProperties"' in canonical.dumps(root):
        raise SchemaError(f"unevaluatedProperties beside patternProperties is not supported (at {at})")


def _resolve(root: Any, reference: str) -> Any:
    found = root
    for part in reference[1:].split("/")[1:]:
        part = part.replace("~1", "/").replace("~0", "~")
        try:
            found = found[int(part)] if isinstance(found, list) else found[part]
        except (KeyError, IndexError, ValueError, TypeError):
            raise SchemaError(f"$ref {reference!r} names nothing in the schema") from None
    if reference not in ("#", "") and not reference.startswith("#/"):
        raise SchemaError(f"$ref {reference!r} must be a JSON pointer such as #/$defs/name")
    return found


@lru_cache(maxsize=1024)
def _regex(pattern: str, where: str = "") -> Any:
    # re2 runs in time linear in the text, so no answer can hold a reviewer's request for ever.
    import re2

    try:
        return re2.compile(pattern)
    except re2.error as error:
        raise SchemaError(f"pattern {pattern!r} cannot be used: {error} (at {where})") from None


@lru_cache(maxsize=1)
def _dialect() -> Any:
    from jsonschema.validators import Draft202012Validator, extend

    rules = {
        "pattern": _pattern,
        "patternProperties": _pattern_properties,
        "additionalProperties": _additional_properties,
    }
    return extend(Draft202012Validator, rules)  # type: ignore[no-untyped-call]


def _pattern(validator: Any, pattern: str, value: Any, schema: Any) -> Iterator[Any]:
    from jsonschema.exceptions import ValidationError

    if validator.is_type(value, "string") and not _regex(pattern).search(value):
        yield ValidationError(f"{value!r} does not match {pattern!r}")


def _pattern_properties(validator: Any, rules: Mapping[str, Any], value: Any, schema: Any) -> Iterator[Any]:
    if not validator.is_type(value, "object"):
        return
    for pattern, rule in rules.items():
        for name, item in value.items():
            if _regex(pattern).search(name):
                yield from validator.descend(item, rule, path=name, schema_path=pattern)


def _additional_properties(validator: Any, rule: Any, value: Any, schema: Any) -> Iterator[Any]:
    from jsonschema.exceptions import ValidationError

    if not validator.is_type(value, "object"):
        return
    patterns = [_regex(pattern) for pattern in schema.get("patternProperties", {})]
    known = schema.get("properties", {})
    extra = [name for name in value if name not in known and not any(pattern.search(name) for pattern in patterns)]
    for name in extra:
        if rule is False:
            yield ValidationError(f"{name!r} is not an expected property", path=[name])
        else:
            yield from validator.descend(value[name], rule, path=name)


@lru_cache(maxsize=1)
def _registry() -> Any:
    from referencing import Registry

    # Empty and without a way to fetch: a reference that leaves the schema finds nothing.
    return Registry()


@lru_cache(maxsize=1)
def _formats() -> Any:
    from jsonschema import FormatChecker

    checker = FormatChecker(formats=())
    tests: dict[str, Callable[[str], Any]] = {
        "date": date.fromisoformat,
        "date-time": datetime.fromisoformat,
        "time": time.fromisoformat,
        "uuid": UUID,
        "email": _email,
        "uri": _uri,
    }
    for name, test in tests.items():
        checker.checks(name, raises=ValueError)(_on_text(test))
    return checker


def _on_text(test: Callable[[str], Any]) -> Callable[[object], bool]:
    def passes(value: object) -> bool:
        if isinstance(value, str):
            test(value)
        return True

    return passes


def _email(value: str) -> None:
    name, at, host = value.rpartition("@")
    if not (name and at and host) or any(char.isspace() for char in value):
        raise ValueError(value)


def _uri(value: str) -> None:
    scheme, colon, rest = value.partition(":")
    if not (colon and rest and scheme.isascii() and scheme[:1].isalpha()) or any(char.isspace() for char in value):
        raise ValueError(value)
