from __future__ import annotations

import json

import pytest

from graphs.web import asking
from graphs.web.forms import build
from graphs.web.reading import MAX_ROWS, MAX_TEXT, facts, pretty
from graphs.web.tags import blank


def test_u05_every_leaf_of_nested_arguments_can_be_read() -> None:
    value = {
        "customer": {"id": 7, "address": {"city": "Utrecht"}},
        "items": [{"sku": "a", "qty": 1}, {"sku": "b"}],
        "mixed": [{"a": {"b": [True, None]}}, "text"],
        "tags": ["x", "y"],
        "empty": {},
    }
    shown = facts(value)
    by_label = {fact.label: fact for fact in shown}
    assert by_label["Customer · Address · City"].text == "Utrecht"
    assert by_label["Items"].rows == [["a", "1"], ["b", ""]]
    assert by_label["Mixed 1 · A · B"].text == "Yes\n—"
    assert by_label["Mixed 2"].text == "text"
    assert by_label["Tags"].text == "x\ny"
    assert by_label["Empty"].text == "empty object"
    assert "[object Object]" not in repr(shown)


@pytest.mark.parametrize("value", ["text", 5, 0, False, None, [1, 2], [], {}, ""])
def test_u03_any_value_makes_a_card(value: object) -> None:
    (fact,) = facts(value)
    assert fact.label == "Value" and fact.text


def test_u16_long_values_are_marked_and_kept_whole() -> None:
    (fact,) = facts({"body": "word " * 1600})
    assert fact.long and len(fact.text) == 8000 and not fact.cut


def test_u17_tables_and_texts_stay_bounded() -> None:
    assert len(facts({str(index): index for index in range(5000)})) == MAX_ROWS
    assert len(facts({"a": "x" * 5_000_000})[0].text) == MAX_TEXT
    assert len(pretty(["y" * 5_000_000])) <= MAX_TEXT + 2
    deep: object = "end"
    for _ in range(60):
        deep = {"a": deep}
    assert json.loads(facts(deep)[0].text)


def test_s04_buttons_are_named_by_the_author_and_nothing_is_guessed() -> None:
    from graphs.models import Interrupt

    assert asking.object_of(Interrupt(metadata={"act": "refund"})) == " refund"
    assert asking.object_of(Interrupt(style="tool", name="send_mail")) == " send_mail"
    assert asking.object_of(Interrupt(message="Refund everything")) == ""
    assert asking.object_of(Interrupt(metadata={"act": "x" * 31})) == ""


@pytest.mark.parametrize(
    ("value", "text"),
    [(120.0, "120"), (1249.5, "1249.5"), (-0.0, "0"), (7, "7"), (1e300, "1e+300"), (2**60, "1152921504606846976")],
)
def test_whole_numbers_are_written_whole(value: float, text: str) -> None:
    assert facts({"amount": value})[0].text == text == build({"type": "number", "default": value}).text


def test_labels_are_the_schemas_where_there_is_one() -> None:
    value = {"order": "A-1", "to": {"zip": "1"}, "other": 2}
    shown = facts(value, {"/order": "Order number", "/to": "Recipient", "/to/zip": "Postal code"})
    assert [fact.label for fact in shown] == ["Order number", "Recipient · Postal code", "Other"]


def test_nothing_is_a_dash_with_a_word() -> None:
    for text, word in (("—", "nothing"), ("", "blank"), ("empty text", "empty text")):
        assert blank(text) == f'<span aria-hidden="true">—</span><span class="visually-hidden">{word}</span>'
    assert blank("empty list") == "empty list" and blank("<b>") == "<b>"
