"""The arguments of a gated tool call as a form: as the agent proposed them, and what a reviewer changed (E11)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from graphs.engine import trust
from graphs.models import Interrupt
from graphs.web.forms import Field, alike, build, propose
from graphs.web.reading import humanise

ARGUMENTS = "arguments"


def is_gate(interrupt: Interrupt) -> bool:
    """Whether a question is about letting a tool call run."""
    return interrupt.kind == trust.GATE


def proposed(interrupt: Interrupt) -> Mapping[str, Any]:
    """The arguments as the agent gave them."""
    found = interrupt.metadata.get(ARGUMENTS) if isinstance(interrupt.metadata, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def form(interrupt: Interrupt) -> Field | None:
    """The fields of the arguments, filled in as proposed; None for a tool that takes none."""
    schema = interrupt.response_schema
    known = schema.get("properties", {}).get(ARGUMENTS) if isinstance(schema, Mapping) else None
    given = proposed(interrupt)
    if not isinstance(known, Mapping) or not (given or known.get("properties")):
        return None
    fields = build({"type": "object", "properties": {ARGUMENTS: described(known, given)}})
    for group in fields.children:
        propose(group, dict(given))
    return fields


def take(fields: Field, posted: Mapping[str, str]) -> None:
    """Ask for the arguments where they were sent: emptied ones are an edit, and not the call as it was proposed."""
    for group in fields.children:
        group.required = any(one.name in posted for one in group.walk())


def described(schema: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The schema that the form is made of: every argument has a title, also one that the tool's own schema lacks."""
    plain = {name: value for name, value in schema.items() if name not in ("description", "title")}
    if not isinstance(schema.get("properties"), Mapping):
        return {**plain, "title": _("Arguments")}
    known = {name: rule for name, rule in schema["properties"].items() if isinstance(rule, Mapping)}
    fields = known | {name: {} for name in given if name not in known}
    return {**plain, "title": _("Arguments"), "properties": {name: titled(name, one) for name, one in fields.items()}}


def titled(name: str, rule: Mapping[str, Any]) -> dict[str, Any]:
    return {**rule, "title": rule.get("title") or humanise(name)}


def edited(interrupt: Interrupt, value: Any) -> Any:
    """The arguments to run with, where the form changed any; None where it is the call that was proposed."""
    given = value.get(ARGUMENTS) if isinstance(value, Mapping) else None
    if not isinstance(given, Mapping):
        return given
    before = proposed(interrupt)
    # A text that was emptied is not in a form's value; to the tool it is an empty text, and not another default.
    emptied = {name: "" for name, one in before.items() if isinstance(one, str) and name not in given}
    after = {**emptied, **given}
    return None if set(after) == set(before) and all(alike(after[name], before[name]) for name in before) else after
