"""Which buttons each way of asking has."""

from __future__ import annotations

from typing import Any

import pytest

from graphs.models import Interrupt
from graphs.web import asking

VERDICT = {"type": "object", "properties": {"approved": {"type": "boolean"}, "note": {"type": "string"}}}
BARE_VERDICT = {"type": "object", "properties": {"approved": {"type": "boolean"}}, "required": ["approved"]}
FORM = {"type": "object", "properties": {"amount": {"type": "number"}}}
TEXT = {"type": "string"}


@pytest.mark.parametrize(
    ("style", "schema", "acts"),
    [
        ("ask", None, ["approve", "reject", "answer"]),
        ("ask", FORM, ["approve", "reject"]),
        ("ask", TEXT, ["answer", "reject"]),
        ("ask", VERDICT, ["approve", "reject"]),
        ("request_human_input", None, ["approve", "reject", "answer"]),
        ("request_human_input", TEXT, ["answer", "reject"]),
        ("interrupt", FORM, ["answer", "reject"]),
        ("interrupt", VERDICT, ["approve", "reject"]),
        ("request_input", None, ["answer"]),
        ("request_input", FORM, ["answer"]),
        ("request_input", VERDICT, ["approve", "reject"]),
        ("hook", None, ["approve", "reject", "answer"]),
        ("tool", None, ["approve", "reject", "answer"]),
        ("structural", None, ["approve", "reject"]),
        ("effect", {"type": "object", "properties": {"happened": {"type": "boolean"}, "result": {}}}, ["answer"]),
    ],
)
def test_only_what_can_be_delivered_is_offered(style: str, schema: Any, acts: list[str]) -> None:
    card = asking.card(Interrupt(style=style, response_schema=schema))
    assert [act.name for act in card.acts] == acts


def test_the_verdict_is_pressed_not_filled_in() -> None:
    assert asking.card(Interrupt(style="interrupt", response_schema=BARE_VERDICT)).form is None
    form = asking.card(Interrupt(style="interrupt", response_schema=VERDICT)).form
    assert form is not None and [field.key for field in form.children] == ["note"]


def test_u28_options_of_value_and_metadata_are_choices() -> None:
    for fields in ({"payload": {"options": [1, 2]}}, {"metadata": {"options": [1, 2]}}):
        form = asking.card(Interrupt(style="request_human_input", **fields)).form
        assert form is not None and [option.value for option in form.options] == [1, 2]


@pytest.mark.parametrize(
    ("more", "states"),
    [({}, ""), ({"title": "Approved"}, ""), ({"title": "Grant it"}, "Grant it"), ({"description": "True"}, "True")],
)
def test_the_verdicts_own_name_is_told(more: dict[str, str], states: str) -> None:
    schema = {"type": "object", "properties": {"approved": {"type": "boolean", **more}}}
    assert asking.card(Interrupt(style="ask", response_schema=schema)).states == states
