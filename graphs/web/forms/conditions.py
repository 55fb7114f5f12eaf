"""Properties that an object has only under conditions: `if`, `dependentSchemas` and `dependentRequired` as rules."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from graphs.web.forms.fields import Field, Rule
from graphs.web.forms.resolving import Root, resolve
from graphs.web.reading import humanise

Test = Callable[[Mapping[str, Any]], bool]
MAX_NESTED = 4
MOST_RULES = 60


class Unmappable(Exception):
    """An object whose conditions have no form."""


def rules_of(schema: Mapping[str, Any], root: Root) -> list[Rule]:
    """The rules of an object. Raises Unmappable where there are too many to show."""
    rules: list[Rule] = []
    _collect(schema, root, _always, rules, 0)
    return rules


def _always(_: Mapping[str, Any]) -> bool:
    return True


def _collect(schema: Mapping[str, Any], root: Root, test: Test, rules: list[Rule], depth: int) -> None:
    if depth > MAX_NESTED or len(rules) > MOST_RULES:
        raise Unmappable
    parts = schema.get("allOf")
    for piece in [schema, *(parts if isinstance(parts, list) else [])]:
        if isinstance(piece, Mapping):
            _if(piece, root, test, rules, depth)
    for key, part in _items(schema.get("dependentSchemas")):
        _add(part, root, _both(test, _has(key)), rules, depth, humanise(key))
    for key, needed in _items(schema.get("dependentRequired")):
        if isinstance(needed, list):
            names = frozenset(one for one in needed if isinstance(one, str))
            rules.append(Rule(_both(test, _has(key)), {}, names, humanise(key)))


def _items(found: Any) -> Iterable[tuple[str, Any]]:
    return found.items() if isinstance(found, Mapping) else ()


def _if(piece: Mapping[str, Any], root: Root, test: Test, rules: list[Rule], depth: int) -> None:
    if "if" not in piece:
        return

    def holds(value: Mapping[str, Any]) -> bool:
        return root.fits(piece["if"], dict(value))

    because = ", ".join(humanise(key) for key in _named(piece["if"]))
    _add(piece.get("then"), root, _both(test, holds), rules, depth, because)
    _add(piece.get("else"), root, _both(test, lambda value: not holds(value)), rules, depth, because)


def _named(condition: Any) -> list[str]:
    known = condition.get("properties") if isinstance(condition, Mapping) else None
    return [str(key) for key in known][:2] if isinstance(known, Mapping) else []


def _add(part: Any, root: Root, test: Test, rules: list[Rule], depth: int, because: str) -> None:
    rule = resolve(part, root.schema)
    known, needed = rule.get("properties"), rule.get("required")
    properties = known if isinstance(known, Mapping) else {}
    required = frozenset(one for one in needed if isinstance(one, str)) if isinstance(needed, list) else frozenset()
    if properties or required:
        rules.append(Rule(test, properties, required, because))
    if rule:
        _collect(rule, root, test, rules, depth + 1)
    for branch in [one for word in ("oneOf", "anyOf") for one in rule.get(word) or [] if isinstance(one, Mapping)]:
        _add(branch, root, _both(test, _told_apart(branch, root)), rules, depth + 1, because)


def _told_apart(branch: Mapping[str, Any], root: Root) -> Test:
    """Whether a branch is the one that is meant, by the properties of which it names the values."""
    known = resolve(branch, root.schema).get("properties")
    fixed = {
        key: rule
        for key, rule in (known.items() if isinstance(known, Mapping) else ())
        if isinstance(rule, Mapping) and {"const", "enum"} & set(rule)
    }
    if not fixed:
        raise Unmappable
    return lambda value: root.fits({"properties": fixed, "required": list(fixed)}, dict(value))


def _both(one: Test, other: Test) -> Test:
    return lambda value: one(value) and other(value)


def _has(key: str) -> Test:
    return lambda value: key in value


def grown(field: Field, value: Mapping[str, Any]) -> list[Field]:
    """The fields that an object has with this value in it; one of them is the same object as long as it has the same
    rules."""
    if not field.rules or field.grow is None:
        return field.base
    holding = [at for at, rule in enumerate(field.rules) if rule.test(value)]
    base = {one.key: one for one in field.base if one.widget != "map"}
    extra = [one for one in field.base if one.widget == "map"]
    keys = dict.fromkeys([*base, *(key for at in holding for key in field.rules[at].properties)])
    found = [_variant(field, key, base.get(key), holding) for key in keys]
    return [one for one in found if one is not None] + extra


def _variant(field: Field, key: str, base: Field | None, holding: list[int]) -> Field | None:
    rules = tuple(at for at in holding if key in field.rules[at].properties or key in field.rules[at].required)
    if not rules or field.grow is None:
        return base
    if (key, rules) not in field.pool:
        field.pool[key, rules] = field.grow(field, key, rules)
    return field.pool[key, rules]
