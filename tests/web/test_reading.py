from __future__ import annotations

import json

import pytest

from graphs.web import asking
from graphs.web.forms import build
from graphs.web.reading import MAX_ROWS, MAX_TEXT, facts, pretty, visible
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


TURNED = "\u202egpj.exe\u2066\u200e\u200f\x07"


def test_s04_characters_that_hide_or_turn_what_is_around_them_are_written_out() -> None:
    assert visible(TURNED) == "‹U+202E›gpj.exe‹U+2066›‹U+200E›‹U+200F›‹U+0007›"
    assert visible("a\r\nb\tc") == "a\nb\tc" and visible("سلام") == "سلام"
    value = {TURNED: TURNED, "names": [TURNED], "rows": [{"a": TURNED}], "deep": {"x": [[TURNED]]}}
    assert "\u202e" not in repr(facts(value)).encode().decode() and visible(pretty(value)) == pretty(value)
    assert not any(char in str(facts(value)) for char in TURNED if not char.isascii())
    assert json.loads(pretty(value)) == value


def test_s04_titles_labels_and_choices_hide_nothing_while_values_stay_exact() -> None:
    from graphs.models import Interrupt

    form = build(
        {"properties": {TURNED: {"default": TURNED, "type": "string"}, "b": {"enum": [TURNED], "title": TURNED}}}
        | {"type": "object"}
    )
    first, second = form.children
    assert first.text == TURNED
    for shown in (first.label, second.label, second.options[0].label, asking.title_of(Interrupt(message=TURNED))):
        assert visible(shown) == shown
    call = Interrupt(style="tool", kind="tool_approval", message="Go", metadata={"arguments": {TURNED: TURNED}})
    assert visible(asking.title_of(call)) == asking.title_of(call)
    assert visible(asking.object_of(Interrupt(style="tool", name="\u202ex"))) == asking.object_of(
        Interrupt(style="tool", name="\u202ex")
    )


def test_u05_an_entry_with_a_line_break_does_not_look_like_two() -> None:
    (two,) = facts(["a\nb", "c"])
    assert two.text == '"a\\nb"\nc'


def test_s04_buttons_are_named_by_the_author_and_nothing_is_guessed() -> None:
    from graphs.models import Interrupt

    assert asking.object_of(Interrupt(metadata={"act": "refund"})) == "refund"
    assert asking.object_of(Interrupt(style="tool", name="send_mail")) == "send_mail"
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
