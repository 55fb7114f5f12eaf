"""A posted form becomes a JSON value. What cannot be read is a problem at its pointer; everything typed is kept."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

from graphs.web.forms.fields import ABSENT, Field
from graphs.web.forms.standing import plain, untouched

WHOLE = re.compile(r"[+-]?[0-9]{1,400}")
DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,4})?")
MOST_NESTED = 64
#: What the engine says of a text that breaks its pattern.
MISMATCH = " does not match "


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with a form, at the pointer of its place."""

    pointer: str
    message: str


def read(field: Field, posted: Mapping[str, str], *, required: bool = True) -> tuple[Any, list[Problem]]:
    """The value of a whole form, and what is wrong with it. Sets `text` on every field to what was typed.

    `required=False` reads what is there and asks for nothing more: a rejection needs no complete form.
    """
    problems: list[Problem] = []
    value = _read(field, posted, problems, required)
    return value, problems


def attach(field: Field, problems: Iterable[Problem]) -> list[tuple[Field | None, Problem]]:
    """Put each problem beside its field, or beside the nearest one above it; returns them in that pairing."""
    by_pointer = {inner.pointer: inner for inner in field.walk()}
    paired: list[tuple[Field | None, Problem]] = []
    for problem in problems:
        pointer, owner = problem.pointer, None
        # `#comment` and its like stand beside the form, in no field of it.
        while owner is None and not pointer.startswith("#"):
            owner = by_pointer.get(pointer)
            if owner is None and not pointer:
                break
            pointer = pointer.rpartition("/")[0]
        if owner is not None and owner.patterned and owner.pointer == problem.pointer and MISMATCH in problem.message:
            # The note beside the field says which form; an example stands in the field only while it is empty.
            example = owner.attrs.get("placeholder", "")
            told = f"This does not have the expected form{', ' if example else ''}{example}."
            problem = Problem(problem.pointer, told)
        if owner is not None:
            owner.problem = owner.problem or problem.message
        paired.append((owner, problem))
    return paired


def _read(field: Field, posted: Mapping[str, str], problems: list[Problem], required: bool) -> Any:
    if field.stands and untouched(field, posted):
        return field.default
    if field.widget == "const":
        return field.default
    if field.widget == "group":
        return _group(field, posted, problems, required)
    field.text = plain(posted.get(field.name, ""))
    try:
        return leaf(field, required)
    except ValueError as error:
        field.problem = str(error)
        problems.append(Problem(field.pointer, str(error)))
        return ABSENT


def _group(field: Field, posted: Mapping[str, str], problems: list[Problem], required: bool) -> Any:
    found: dict[str, Any] = {}
    # An optional group that nobody touched is absent, so its own required fields ask for nothing.
    untouched = bool(field.pointer) and not field.required and not _touched(field, posted)
    for child in field.children:
        value = _read(child, posted, problems, required and not untouched)
        if value is not ABSENT:
            found[child.key] = value
    if untouched:
        return None if field.nullable else ABSENT
    return found


def _touched(field: Field, posted: Mapping[str, str]) -> bool:
    return any(posted.get(inner.name, "").strip() for inner in field.walk() if inner.widget not in ("group", "const"))


def leaf(field: Field, required: bool) -> Any:
    """The value of the text in one widget. Raises ValueError saying what is wrong with it."""
    blank = field.text == "" if field.widget in ("text", "textarea") else not field.text.strip()
    if blank:
        if field.nullable:
            return None
        if field.widget == "lines" and field.required:
            return []
        if field.required and required:
            raise ValueError("Choose one." if field.options else "This is needed.")
        return ABSENT
    if field.options:
        return _option(field)
    reader = {"number": _number, "date": _date, "datetime": _datetime, "lines": _lines, "json": _json}.get(field.widget)
    return reader(field) if reader else field.text


def _option(field: Field) -> Any:
    for option in field.options:
        if option.index == field.text:
            return option.value
    raise ValueError("This is none of the choices.")


def _number(field: Field) -> Any:
    return number(field.text.strip(), whole=field.kind == "whole number")


def number(text: str, *, whole: bool) -> int | float:
    """A number as JSON writes it; a whole one stays an integer, whatever its length."""
    if WHOLE.fullmatch(text):
        return int(text)
    if whole:
        raise ValueError("Enter a whole number.")
    if not DECIMAL.fullmatch(text):
        raise ValueError("Enter a number, such as 12.50.")
    value = float(text)
    if not math.isfinite(value):
        raise ValueError("This number is too large.")
    return value


def _date(field: Field) -> str:
    try:
        return date.fromisoformat(field.text.strip()).isoformat()
    except ValueError:
        raise ValueError("Enter a date as year-month-day, such as 2026-03-01.") from None


def _datetime(field: Field) -> str:
    try:
        moment = datetime.fromisoformat(field.text.strip())
    except ValueError:
        raise ValueError("Enter a date and time, such as 2026-03-01T09:30+01:00.") from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).isoformat()


def _lines(field: Field) -> list[Any]:
    lines = [line for line in field.text.split("\n") if line.strip()]
    if field.item == "string":
        return lines
    return [_scalar(line.strip(), field.item, index) for index, line in enumerate(lines, start=1)]


def _scalar(text: str, kind: str, line: int) -> Any:
    if kind == "boolean":
        if text.lower() in ("true", "false"):
            return text.lower() == "true"
        raise ValueError(f"Line {line}: write true or false.")
    try:
        return number(text, whole=kind == "integer")
    except ValueError as error:
        raise ValueError(f"Line {line}: {error}") from None


def _json(field: Field) -> Any:
    return loads(field.text)


def loads(text: str) -> Any:
    """Strict JSON: no NaN, no Infinity, no key twice, no bottomless nesting; the error says where it broke."""
    depth = deepest = 0
    for char in text:
        depth += (char in "[{") - (char in "]}")
        deepest = max(deepest, depth)
    if deepest > MOST_NESTED * 2:
        raise ValueError("This JSON is nested too deeply.")
    try:
        return json.loads(text, parse_int=_integer, parse_constant=_refuse, object_pairs_hook=_once)
    except json.JSONDecodeError as error:
        # Some of its messages end in a preposition of their own.
        what = error.msg.removesuffix(" at")
        raise ValueError(f"This is not JSON: {what} at line {error.lineno}, column {error.colno}.") from None


def _integer(text: str) -> int:
    # Past the digits that Python reads at all, its refusal would tell people of interpreters.
    if not WHOLE.fullmatch(text):
        raise ValueError("A number in this JSON is too large.")
    return int(text)


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not JSON.")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("This JSON has the same key twice in one object.")
    return found
