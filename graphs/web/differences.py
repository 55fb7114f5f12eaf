"""What differs: an answer from what was proposed, what ran from both, and a question from the one it replaced."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from graphs.models import Decision, Interrupt, JournalEntry
from graphs.policies import edits as policies
from graphs.policies.conditions import MISSING, at
from graphs.web import asking, calls
from graphs.web.forms import masked
from graphs.web.forms.fields import MASK
from graphs.web.reading import humanise, indented, leaf

#: Rows of a table, and characters of a cell; the whole values stand beside it.
MOST_ROWS, MOST_CELL = 100, 600


@dataclass(frozen=True, slots=True)
class Row:
    """One place in words; `ran` is empty where nothing has run yet, `astray` where something else ran than decided."""

    label: str
    before: str
    after: str
    ran: str = ""
    astray: bool = False


@dataclass(frozen=True, slots=True)
class Differences:
    """A table, with who made it and when where it is of a decision."""

    rows: list[Row]
    decision: Decision | None = None
    has_run: bool = False


def of_decision(interrupt: Interrupt, decision: Decision | None) -> Differences | None:
    """Proposed, decided and executed, for each place that the decision changed; None where it changed nothing."""
    if decision is None or decision.original is None:
        return None
    ran = executed(interrupt)
    rows = [row(one, ran) for one in changed(interrupt, decision)[:MOST_ROWS]]
    return Differences(rows, decision, ran is not MISSING) if rows else None


def of_revision(interrupt: Interrupt, questions: Sequence[Interrupt]) -> Differences | None:
    """What this question asks otherwise than the one that it replaced; None for a first one."""
    place = (interrupt.task_id, interrupt.key, interrupt.ordinal, interrupt.revision - 1)
    old = next((one for one in questions if (one.task_id, one.key, one.ordinal, one.revision) == place), None)
    if old is None:
        return None
    found = policies.differences(asking.shown_value(old), asking.shown_value(interrupt))
    rows = [Row(label(one.pointer), said(one.before), said(one.after)) for one in islice(found, MOST_ROWS)]
    return Differences(rows)


def latest(found: Sequence[Decision]) -> Differences | None:
    """What the last reviewer changed who changed anything, of decisions with the newest first."""
    changing = next((one for one in found if one.original is not None), None)
    return of_decision(changing.interrupt, changing) if changing else None


def row(change: Mapping[str, Any], ran: Any) -> Row:
    place, after = change["pointer"], change.get("after", MISSING)
    run = MISSING if ran is MISSING else at(ran, place)
    shown = "" if ran is MISSING else said(run)
    return Row(label(place), said(change.get("before", MISSING)), said(after), shown, bool(shown) and run != after)


def label(pointer: str) -> str:
    """`/lines/1/count` as people read it: Lines · 2 · Count."""
    steps = [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]
    return " · ".join(str(int(step) + 1) if step.isdecimal() and step.isascii() else humanise(step) for step in steps)


def said(value: Any) -> str:
    if value is MISSING:
        return "—"
    text = indented(value) if isinstance(value, dict | list) else leaf(value)[0]
    return text if len(text) <= MOST_CELL else f"{text[:MOST_CELL]}…"


def changed(interrupt: Interrupt, decision: Decision) -> list[dict[str, Any]]:
    """Each place with what was proposed and what was answered; that a secret changed is said, and no more."""
    schema, gate = interrupt.response_schema, calls.is_gate(interrupt)
    before = masked(decision.original, of_arguments(schema) if gate else schema, schema)
    after = answered(interrupt, decision.value)
    after = after.get(calls.ARGUMENTS) if gate and isinstance(after, Mapping) else after
    told = []
    for edit in policies.edits(decision.original, decision.value, call=gate):
        sides = (("before", edit.before, before), ("after", edit.after, after))
        values = {name: hidden(known, edit.pointer) for name, raw, known in sides if raw is not MISSING}
        told.append({"pointer": edit.pointer, **values})
    return told


def executed(interrupt: Interrupt) -> Any:
    """The arguments that a call ran with, as the journal has them; MISSING before it ran, and where it is no call."""
    place, gate, _ = interrupt.key.rpartition("/approve")
    if not (calls.is_gate(interrupt) and gate):
        return MISSING
    rows = JournalEntry.objects.filter(task=interrupt.task_id, key=f"{place}/call")
    result = rows.values_list("value", flat=True).first()
    if not isinstance(result, Mapping) or not isinstance(result.get(calls.ARGUMENTS), Mapping):
        return MISSING
    return covered(result[calls.ARGUMENTS], [interrupt], interrupt.task_id, place)


def covered(arguments: Any, questions: Sequence[Interrupt], task: int, place: str) -> Any:
    """The arguments of a call without its secrets, as far as the question that gated it knows of any."""
    gate = next((one for one in questions if one.task_id == task and one.key == f"{place}/approve"), None)
    if gate is None:
        return arguments
    return masked(arguments, of_arguments(gate.response_schema), gate.response_schema)


def answered(interrupt: Interrupt, value: Any) -> Any:
    """An answer without its secrets."""
    return masked(value, interrupt.response_schema, interrupt.response_schema)


def of_arguments(schema: Any) -> Any:
    """The part of a gate's schema that its call's arguments have."""
    known = schema.get("properties") if isinstance(schema, Mapping) else None
    return known.get(calls.ARGUMENTS) if isinstance(known, Mapping) else None


def hidden(known: Any, pointer: str) -> Any:
    """The masked value of a place; within a secret there is none of its own."""
    found = at(known, pointer)
    return MASK if found is MISSING else found
