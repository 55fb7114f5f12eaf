"""What of a form is another than it was proposed: each field with both, in words."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from graphs.web.forms.fields import BARE, MASK, Field, size_text

MOST_TEXT = 300


@dataclass(frozen=True, slots=True)
class Change:
    """One field: as it was proposed, and as it is now."""

    field: Field
    proposed: str
    yours: str


def changes(field: Field) -> list[Change]:
    """The changed fields of a form that was read, in their order."""
    return [Change(one, said(one, one.began), yours(one)) for one in field.walk() if _changed(one)]


def _changed(field: Field) -> bool:
    if field.widget == "const" or field.widget in BARE:
        return False
    if field.widget in ("secret", "file"):
        return bool(field.hidden)
    if field.widget == "checks":
        return set(field.began.split(",")) != set(field.text.split(","))
    return field.began != field.text


def yours(field: Field) -> str:
    """What is in a field now; of a secret only that there is one."""
    if field.widget == "file":
        return ", ".join([field.filename or _("a file"), size_text(field.hidden)])
    return MASK if field.widget == "secret" else said(field, field.text)


def said(field: Field, text: str) -> str:
    """A widget's text as people read it."""
    if field.widget in ("rows", "map"):
        count = len([row for row in text.split(",") if row])
        return ngettext("%(count)d row", "%(count)d rows", count) % {"count": count} + _order(field, text)
    if field.widget == "secret":
        return MASK if field.stands and field.default else "—"
    if field.options:
        chosen = text.split(",") if field.widget == "checks" else [text]
        return ", ".join(option.label for option in field.options if option.index in chosen) or "—"
    return (text if len(text) <= MOST_TEXT else f"{text[:MOST_TEXT]}…") or "—"


def _order(field: Field, text: str) -> str:
    moved = text == field.text and text != field.began and set(text.split(",")) == set(field.began.split(","))
    return ", " + _("in another order") if moved else ""
