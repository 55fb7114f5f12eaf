"""What browsers make of a widget that nobody touches: what they send, and whether it is still what was shown in it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from datetime import date

from graphs.web.forms.fields import BARE, Field

FLOAT = re.compile(r"-?([0-9]+(\.[0-9]+)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
MAIL = re.compile(r"[a-zA-Z0-9.!#$%&'*+/=?^_`{|}~-]+@[a-zA-Z0-9-]+(\.[a-zA-Z0-9-]+)*")
WEB = re.compile(r"https?://[a-zA-Z0-9.-]+(:[0-9]{1,4})?(/[!-~]*)?")
CLOCK = re.compile(r"([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9])?")
AREAS = {"textarea", "lines", "json"}
#: Beside a file's own name: its content as base64 and what it is called, and the wish to take it out.
DATA, FILENAME, GONE = "/~data", "/~name", "/~gone"


def plain(text: str) -> str:
    """A text as it was posted, with line ends as they are in JSON."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def sent(field: Field) -> str | None:
    """What a browser sends of a widget with the text that it shows; None where that is nothing, as for a group."""
    if field.widget == "const" or field.widget in BARE:
        return None
    if field.widget in ("radio", "yesno") and not field.text:
        return "" if field.clearable else None
    if field.widget in ("secret", "file"):
        return ""
    if field.widget == "checks":
        return "1"
    # HTML cannot hold this character; its readers put another one there.
    text = field.text.replace("\0", "\ufffd")
    return plain(text) if field.widget in AREAS else _line(field.widget, text.replace("\r", "").replace("\n", ""))


def _line(widget: str, text: str) -> str:
    """What inputs of one line make of a text."""
    if widget in ("email", "url"):
        return text.strip(" \t\f")
    if widget == "number":
        return text if FLOAT.fullmatch(text) and math.isfinite(float(text)) else ""
    if widget == "time":
        return text if CLOCK.fullmatch(text) else ""
    return text if widget != "date" or _is_date(text) else ""


def _is_date(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def accepted(field: Field) -> bool:
    """Whether a browser sends a form at all with this text in this widget; True only where that is certain."""
    pattern = {"email": MAIL, "url": WEB}.get(field.widget)
    return pattern is None or not field.text or pattern.fullmatch(field.text) is not None


def ticks(field: Field, posted: Mapping[str, str]) -> list[str]:
    """The indexes of the choices that were ticked, in their order."""
    return [one.index for one in field.options if posted.get(f"{field.name}/~o{one.index}")]


def untouched(field: Field, posted: Mapping[str, str]) -> bool:
    """Whether a field comes back as it was shown. What is not posted at all was changed by nobody."""
    return not any(_changed(one, posted) for one in field.walk())


def _changed(field: Field, posted: Mapping[str, str]) -> bool:
    given = posted.get(field.name)
    if field.widget == "file":
        return bool(posted.get(field.name + DATA) or posted.get(field.name + GONE))
    if given is None or field.widget == "const" or field.widget in BARE:
        return False
    if field.widget == "checks" and set(ticks(field, posted)) != field.chosen:
        return True
    return plain(given) != (sent(field) or "")


def touched(field: Field, posted: Mapping[str, str]) -> bool:
    """Whether anything at all was filled in of a field."""
    return any(_given(one, posted) for one in field.walk())


def _given(field: Field, posted: Mapping[str, str]) -> bool:
    if field.widget == "const" or field.widget in BARE:
        return False
    if field.widget == "checks":
        return bool(ticks(field, posted))
    if field.widget == "file":
        return bool(posted.get(field.name + DATA))
    return bool(posted.get(field.name, "").strip())


def texts(field: Field) -> Iterator[tuple[str, str]]:
    """All that a browser sends of a form that nobody touched."""
    for one in field.walk():
        if (text := sent(one)) is not None:
            yield one.name, text
        if one.widget == "checks":
            yield from ((f"{one.name}/~o{index}", "1") for index in sorted(one.chosen))
