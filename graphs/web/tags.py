"""Template tags of the pages: icons, chips, times and JSON. Nothing here marks a payload as safe; `markdown` cleans."""

from __future__ import annotations

import zlib
from datetime import datetime, timedelta
from typing import Any

from django import template
from django.contrib.auth.models import User
from django.templatetags.static import static
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from graphs.models import Decision, Interrupt
from graphs.web import asking, definitions, words
from graphs.web.markdown import rendered
from graphs.web.people import display_name
from graphs.web.reading import Fact, facts, pretty
from graphs.web.reading import visible as written_out

register = template.Library()

TABLES = {
    "thread": words.THREAD,
    "interrupt": words.INTERRUPT,
    "outcome": words.OUTCOME,
    "node": words.NODE,
    "risk": words.RISK,
    "event": words.EVENT,
}


@register.simple_tag
def icon(name: str, classes: str = "") -> SafeString:
    """One icon of the sprite, for the eye only: a word always stands beside it."""
    sprite = static("vendor/tabler-icons/icons.svg")
    return format_html(
        '<svg class="ico {}" width="18" height="18" aria-hidden="true" focusable="false"><use href="{}#{}"/></svg>',
        classes,
        sprite,
        name,
    )


@register.simple_tag
def avatar(name: str) -> SafeString:
    """A person's round mark, for the eye only. One colour for one shown name, on every page and in every place."""
    shown = name or "Sayso"
    return format_html('<span class="avatar hue-{}" aria-hidden="true">{}</span>', hue(shown), initials(shown))


@register.simple_tag
def chip(kind: str, status: str) -> SafeString:
    """A status as word, icon and colour."""
    look = words.of(TABLES[kind], str(status))
    return format_html('<span class="chip tone-{}">{}{}</span>', look.tone, icon(look.icon), look.word)


@register.simple_tag
def look(kind: str, status: str) -> words.Look:
    """The look itself, where a template builds something else than a chip."""
    return words.of(TABLES[kind], str(status))


def units() -> tuple[tuple[int, str, int, str], ...]:
    """Sizes in seconds with their signs, each with the one below it."""
    day, hour, minute = _("d"), _("h"), _("min")
    return (86400, day, 3600, hour), (3600, hour, 60, minute), (60, minute, 1, "s")


@register.filter
def span(delta: timedelta | float | None) -> str:
    """A length of time in at most two units."""
    if delta is None:
        return ""
    seconds = delta.total_seconds() if isinstance(delta, timedelta) else float(delta)
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = int(seconds)
    for size, unit, below, small in units():
        if whole >= size:
            rest = whole % size // below
            return f"{whole // size} {unit}" + (f" {rest} {small}" if rest else "")
    return f"{whole} s"


#: Seconds that are no time at all to a reader.
SOON = 5


def short_span(seconds: float) -> str:
    for size, unit in ((86400, _("d")), (3600, _("h")), (60, _("min"))):
        if seconds >= size:
            return f"{int(seconds // size)} {unit}"
    return _("now") if seconds < SOON else f"{int(seconds)} s"


@register.filter
def ago(moment: datetime | None) -> str:
    """The age of a moment in one unit; a script keeps it up to date."""
    if moment is None:
        return ""
    seconds = max(0.0, (timezone.now() - moment).total_seconds())
    text = short_span(seconds)
    return text if seconds < SOON else _("%(span)s ago") % {"span": text}


@register.filter
def until(moment: datetime | None) -> str:
    """How long is left until a moment."""
    if moment is None:
        return ""
    seconds = (moment - timezone.now()).total_seconds()
    text = _("in %(span)s") if seconds > 0 else _("by %(span)s")
    return text % {"span": short_span(abs(seconds))}


@register.filter
def seconds_left(moment: datetime) -> float:
    """Seconds until a moment, for a script that counts them down by its own clock."""
    return max(0.0, round((moment - timezone.now()).total_seconds(), 1))


@register.filter
def absolute(moment: datetime | None) -> str:
    """The moment with its zone; a script shows it in the reader's own zone."""
    return "" if moment is None else timezone.localtime(moment).strftime("%-d %b %Y, %H:%M:%S %Z")


@register.filter
def iso(moment: datetime | None) -> str:
    """The moment for machines."""
    return "" if moment is None else moment.isoformat()


@register.filter
def indented(value: Any) -> str:
    """JSON for reading, plain text: the template escapes it."""
    return pretty(value)


@register.filter
def markdown(text: str) -> SafeString:
    """An agent's words as cleaned HTML; whose words they are, and that nobody checked them, the page says around it."""
    return rendered(text)


@register.filter
def visible(text: str) -> str:
    """A name or text of others with the characters written out that nobody could see."""
    return written_out(str(text))


@register.filter
def initials(name: str) -> str:
    """One or two letters for a round mark beside a name."""
    parts = [part for part in name.replace(".", " ").replace("_", " ").split() if part]
    return "".join(part[0] for part in parts[:2]).upper() or "?"


@register.filter
def capped(count: int) -> str:
    """A count as badges show it: nobody reads past 999, and the query behind it stops there (F28)."""
    return "999+" if count > 999 else str(count)


@register.filter
def percent(share: float | None) -> str:
    """A share between 0 and 1 for people: whole, but never 0 % or 100 % of what is not that; empty without one."""
    if share is None:
        return ""
    whole = round(share * 100)
    if 0 < share < 1 and whole in (0, 100):
        return "< 1 %" if whole == 0 else "> 99 %"
    return f"{whole} %"


@register.filter
def blank(text: str) -> SafeString | str:
    """A dash where there is nothing, with a word for those who listen; any other text as it is."""
    empty = _("empty text")
    words_of = {"": _("blank"), "—": _("nothing"), empty: empty}
    if text not in words_of:
        return text
    return format_html('<span aria-hidden="true">—</span><span class="visually-hidden">{}</span>', words_of[text])


@register.filter
def is_past(moment: datetime) -> bool:
    return moment <= timezone.now()


@register.filter
def hue(name: str) -> int:
    """One of six colours for a name, the same each time."""
    return zlib.crc32(str(name).encode("utf-8", "replace")) % 6


@register.filter
def named(user: User) -> str:
    """A person's name as every page writes it."""
    return display_name(user)


@register.filter
def question_title(interrupt: Interrupt) -> str:
    return asking.title_of(interrupt)


@register.filter
def first_facts(interrupt: Interrupt) -> list[Fact]:
    """The first few short facts of a question, to tell it from those beside it."""
    found = facts(asking.shown_value(interrupt))
    return [fact for fact in found if fact.text and not fact.long][:3]


@register.filter
def question_reason(interrupt: Interrupt) -> str:
    return asking.reason_of(interrupt)


@register.filter
def graph_title(graph_id: str) -> str:
    return definitions.title(graph_id)


@register.filter
def json_kind(value: Any) -> str:
    """What a template needs to know of a JSON value to show it as a tree."""
    if isinstance(value, dict):
        return "object" if value else "empty"
    if isinstance(value, list):
        return "list" if value else "empty"
    return "leaf"


@register.filter
def pairs(value: dict[str, Any]) -> list[tuple[str, Any]]:
    """An object's items; a template's `.items` would find a key of that name first."""
    return list(value.items())


@register.filter
def posted(form: dict[str, str], name: str) -> str:
    return form.get(name, "")


@register.filter
def verdict(interrupt: Interrupt) -> Decision | None:
    """The decision that counts, out of the rows that were read with the list."""
    return interrupt.verdict()


@register.filter
def told(value: Any) -> str:
    """An answer's value in one line: what a person reads of it beside the verdict."""
    if value is None:
        return ""
    leaves = facts(value)[:6]
    texts = [", ".join(fact.text.split("\n")) if fact.listed else fact.text for fact in leaves]
    texts = [text or fact.kind_word for fact, text in zip(leaves, texts, strict=True)]
    if not isinstance(value, dict):
        return ", ".join(texts)
    return ", ".join(f"{fact.label}: {text}" for fact, text in zip(leaves, texts, strict=True))
