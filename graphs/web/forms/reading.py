"""The text of one widget becomes a JSON value, or a sentence about what is wrong with it."""

from __future__ import annotations

import json
import math
import re
from datetime import UTC, date, datetime
from typing import Any

from django.utils.translation import gettext as _

from graphs.web.forms.fields import ABSENT, Field, Option
from graphs.web.forms.files import content
from graphs.web.forms.formats import checked
from graphs.web.forms.showing import unmasked

WHOLE = re.compile(r"[+-]?[0-9]{1,400}")
DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,4})?")
MOST_NESTED = 64


def leaf(field: Field, required: bool) -> Any:
    """The value of the text in one widget. Raises ValueError saying what is wrong with it."""
    if field.widget == "file":
        return content(field, required)
    blank = field.text == "" if field.widget in ("text", "textarea") else not field.text.strip()
    if blank:
        if field.nullable:
            return None
        if field.widget in ("lines", "checks") and field.required:
            return []
        if field.required and required:
            raise ValueError(_("Choose one.") if field.options else _("This is needed."))
        return ABSENT
    if field.widget == "checks":
        return [option.value for option in _ticked(field)]
    if field.options:
        return _option(field)
    reader = {"number": _number, "date": _date, "datetime": _datetime, "lines": _lines, "json": _json}.get(field.widget)
    return reader(field) if reader else checked(field.text, field.item)


def _ticked(field: Field) -> list[Option]:
    known = {option.index: option for option in field.options}
    if any(index not in known for index in field.chosen):
        raise ValueError(_("One of these is none of the choices."))
    return [known[index] for index in dict.fromkeys(field.text.split(",")) if index]


def _option(field: Field) -> Any:
    for option in field.options:
        if option.index == field.text:
            return option.value
    raise ValueError(_("This is none of the choices."))


def _number(field: Field) -> Any:
    return number(field.text.strip(), whole=field.kind == "whole number")


def number(text: str, *, whole: bool) -> int | float:
    """A number as JSON writes it; a whole one stays an integer, whatever its length."""
    if WHOLE.fullmatch(text):
        return int(text)
    if whole:
        raise ValueError(_("Enter a whole number."))
    if not DECIMAL.fullmatch(text):
        raise ValueError(_("Enter a number, such as 12.50."))
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(_("This number is too large."))
    return value


def _date(field: Field) -> str:
    try:
        return date.fromisoformat(field.text.strip()).isoformat()
    except ValueError:
        raise ValueError(_("Enter a date as year-month-day, such as 2026-03-01.")) from None


def _datetime(field: Field) -> str:
    try:
        moment = datetime.fromisoformat(field.text.strip())
    except ValueError:
        raise ValueError(_("Enter a date and time, such as 2026-03-01T09:30+01:00.")) from None
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
        raise ValueError(_("Line %(line)s: write true or false.") % {"line": line})
    try:
        return number(text, whole=kind == "integer")
    except ValueError as error:
        raise ValueError(_("Line %(line)s: %(error)s") % {"line": line, "error": error}) from None


def _json(field: Field) -> Any:
    return unmasked(loads(field.text), field.default)


def loads(text: str) -> Any:
    """Strict JSON: no NaN, no Infinity, no key twice, no bottomless nesting; the error says where it broke."""
    depth = deepest = 0
    for char in text:
        depth += (char in "[{") - (char in "]}")
        deepest = max(deepest, depth)
    if deepest > MOST_NESTED * 2:
        raise ValueError(_("This JSON is nested too deeply."))
    try:
        return json.loads(text, parse_int=_integer, parse_constant=_refuse, object_pairs_hook=_once)
    except json.JSONDecodeError as error:
        # Some of its messages end in a preposition of their own.
        what = error.msg.removesuffix(" at")
        raise ValueError(
            _("This is not JSON: %(what)s at line %(line)s, column %(column)s.")
            % {"what": what, "line": error.lineno, "column": error.colno}
        ) from None


def _integer(text: str) -> int:
    # Past the digits that Python reads at all, its refusal would tell people of interpreters.
    if not WHOLE.fullmatch(text):
        raise ValueError(_("A number in this JSON is too large."))
    return int(text)


def _refuse(name: str) -> Any:
    raise ValueError(_("%(name)s is not JSON.") % {"name": name})


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError(_("This JSON has the same key twice in one object."))
    return found
