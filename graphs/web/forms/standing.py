"""What browsers make of a widget that nobody touches: what they send, and whether it is still what was shown in it."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import date

from graphs.web.forms.fields import Field

FLOAT = re.compile(r"-?([0-9]+(\.[0-9]+)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
MAIL = re.compile(r"[a-zA-Z0-9.!#$%&'*+/=?^_`{|}~-]+@[a-zA-Z0-9-]+(\.[a-zA-Z0-9-]+)*")
WEB = re.compile(r"https?://[a-zA-Z0-9.-]+(:[0-9]{1,4})?(/[!-~]*)?")
AREAS = {"textarea", "lines", "json"}


def plain(text: str) -> str:
    """A text as it was posted, with line ends as they are in JSON."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def sent(field: Field) -> str | None:
    """What a browser sends of a widget with the text that it shows; None where that is nothing, as for a group."""
    if field.widget in ("const", "group"):
        return None
    if field.widget in ("radio", "yesno") and not field.text:
        return "" if field.clearable else None
    # HTML cannot hold this character; its readers put another one there.
    text = field.text.replace("\0", "\ufffd")
    return plain(text) if field.widget in AREAS else _line(field.widget, text.replace("\r", "").replace("\n", ""))


def _line(widget: str, text: str) -> str:
    """What inputs of one line make of a text."""
    if widget in ("email", "url"):
        return text.strip(" \t\f")
    if widget == "number":
        return text if FLOAT.fullmatch(text) and math.isfinite(float(text)) else ""
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


def untouched(field: Field, posted: Mapping[str, str]) -> bool:
    """Whether a field comes back as it was shown. What is not posted at all was changed by nobody."""
    for one in field.walk():
        given = posted.get(one.name)
        if given is not None and one.widget not in ("const", "group") and plain(given) != (sent(one) or ""):
            return False
    return True
