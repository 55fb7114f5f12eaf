"""Payloads as people read them: facts computed from the arguments, never from prose, and JSON that stays bounded."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from graphs.policies.file_types import size_text
from graphs.web.markdown import UNFIT

#: Past these bounds a table helps nobody; the whole value is a download away (U17).
MAX_ROWS = 200
MAX_CELLS = 50
MAX_TEXT = 100_000
MAX_DEPTH = 12
LONG_LINES = 6
LONG_CHARS = 320
#: Whole floats past this one are no longer exact, and written out they would say that they are.
MOST_EXACT = 2**53
#: How a text begins that is a file in base64 (RFC 2397).
DATA_URL = re.compile(r"data:(?P<kind>[\w.+-]+/[\w.+-]+)?(?:;[\w.+-]+=[\w.+-]+)*;base64,")
#: What a fact may not hide: what no text needs, and marks of direction, which a reviewer of a file's name cannot see.
HIDDEN = re.compile(f"{UNFIT.pattern}|[\u061c\u200e\u200f]")


#: The kinds that code tells apart, in words.
KINDS = {
    "null": gettext_lazy("null"),
    "boolean": gettext_lazy("boolean"),
    "number": gettext_lazy("number"),
    "text": gettext_lazy("text"),
    "file": gettext_lazy("file"),
    "empty": gettext_lazy("empty"),
}


@dataclass(frozen=True, slots=True)
class Fact:
    """One row of the facts table: a leaf, or a list of like objects as a table of its own."""

    label: str
    pointer: str
    kind: str
    text: str = ""
    long: bool = False
    lines: int = 0
    cut: bool = False
    columns: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)
    #: Whether its text is a list, with an item a line.
    listed: bool = False

    @property
    def kind_word(self) -> str:
        """The kind in the reader's language."""
        return str(KINDS.get(self.kind, self.kind))


def humanise(key: str) -> str:
    """`order_id` as a person would write it; what is not such a name stays as it is."""
    words = key.replace("_", " ").replace("-", " ").strip()
    return visible(words[:1].upper() + words[1:] if words else key)


def visible(text: str) -> str:
    """A text of others with the characters written out that would hide, or that turn the direction of others."""
    return HIDDEN.sub(lambda found: f"‹U+{ord(found[0]):04X}›", text.replace("\r\n", "\n"))


def leaf(value: Any) -> tuple[str, str]:
    """A JSON scalar as text, and the name of its type."""
    if value is None:
        return "—", "null"
    if isinstance(value, bool):
        return (_("Yes") if value else _("No")), "boolean"
    if isinstance(value, int | float):
        return number_text(value), "number"
    return visible(str(value)), "text"


def entry(value: Any) -> str:
    """A scalar as one of several: with a line break in it, it would look like two."""
    text = leaf(value)[0]
    return indented(value) if "\n" in text else text


def number_text(value: int | float) -> str:
    """A number as people write it: 120.0 is 120."""
    whole = isinstance(value, float) and value.is_integer() and abs(value) < MOST_EXACT
    return str(int(value)) if whole else json.dumps(value)


def pretty(value: Any) -> str:
    """Indented JSON, bounded; the page says so where it was cut."""
    text = indented(value)
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}\n…"


def indented(value: Any) -> str:
    """JSON that reads back as the value, with the characters escaped that nobody could see."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    return HIDDEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def facts(value: Any, titles: Mapping[str, str] | None = None) -> list[Fact]:
    """Every leaf of a payload under a readable label (U05), at most MAX_ROWS of them. `titles` are the labels that a
    schema gives, by JSON pointer."""
    found: list[Fact] = []
    for fact in _walk(value, [], "", 0, titles or {}):
        if len(found) == MAX_ROWS:
            break
        found.append(fact)
    return found


def _walk(value: Any, labels: list[str], pointer: str, depth: int, titles: Mapping[str, str]) -> Iterator[Fact]:
    label = " · ".join(labels) or _("Value")
    if isinstance(value, dict) and value and depth < MAX_DEPTH:
        for key, item in value.items():
            place = f"{pointer}/{escape_token(key)}"
            yield from _walk(item, [*labels, visible(titles.get(place) or humanise(key))], place, depth + 1, titles)
    elif isinstance(value, list) and value and depth < MAX_DEPTH:
        yield from _list(value, labels, pointer, depth, titles)
    else:
        yield _leaf(value, label, pointer)


def _list(value: list[Any], labels: list[str], pointer: str, depth: int, titles: Mapping[str, str]) -> Iterator[Fact]:
    label = " · ".join(labels) or _("Value")
    if all(not isinstance(item, dict | list) for item in value):
        shown = "\n".join(entry(item) for item in value[:MAX_ROWS])
        kind = _("list of %(count)s") % {"count": len(value)}
        yield replace(_text(label, pointer, kind, shown, cut=len(value) > MAX_ROWS), listed=True)
    elif table := _table(value):
        columns, rows = table
        kind = ngettext("%(count)d row", "%(count)d rows", len(value)) % {"count": len(value)}
        yield Fact(label, pointer, kind, columns=columns, rows=rows, cut=len(value) > len(rows))
    else:
        for index, item in enumerate(value[:MAX_ROWS]):
            number = f"{labels[-1]} {index + 1}" if labels else _("Item %(number)s") % {"number": index + 1}
            yield from _walk(item, [*labels[:-1], number], f"{pointer}/{index}", depth + 1, titles)


def _table(value: list[Any]) -> tuple[list[str], list[list[str]]] | None:
    """Like objects of scalars make a table; anything else does not."""
    if not all(isinstance(item, dict) for item in value):
        return None
    keys = list(dict.fromkeys(key for item in value for key in item))
    flat = all(not isinstance(cell, dict | list) for item in value for cell in item.values())
    if not flat or not keys or len(keys) > 8:
        return None
    rows = [[leaf(item[key])[0] if key in item else "" for key in keys] for item in value[:MAX_CELLS]]
    return [humanise(key) for key in keys], rows


def _leaf(value: Any, label: str, pointer: str) -> Fact:
    if isinstance(value, dict | list):
        if not value:
            return Fact(label, pointer, "empty", _("empty list") if isinstance(value, list) else _("empty object"))
        return _text(label, pointer, "JSON", pretty(value))
    text, kind = leaf(value)
    if kind == "text" and (file := DATA_URL.match(text)):
        size = size_text((len(text) - file.end()) * 3 // 4)
        return Fact(label, pointer, "file", f"{file['kind'] or 'text/plain'}, {size}")
    if text == "":
        return Fact(label, pointer, "empty", _("empty text"))
    return _text(label, pointer, kind, text)


def _text(label: str, pointer: str, kind: str, text: str, cut: bool = False) -> Fact:
    lines = text.count("\n") + 1
    long = lines > LONG_LINES or len(text) > LONG_CHARS
    if len(text) > MAX_TEXT:
        text, cut = text[:MAX_TEXT], True
    return Fact(label, pointer, kind, text, long, lines, cut)


def escape_token(key: str) -> str:
    """One step of a JSON pointer."""
    return key.replace("~", "~0").replace("/", "~1")


def prose(value: Any) -> str:
    """What an agent or node says in words, where its output is words: fenced and marked as untrusted by the page."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict) and isinstance(value.get("content"), str) and "role" in value:
        return str(value["content"])
    return ""
