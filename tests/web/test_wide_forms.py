"""Forms of nested, repeated, conditional and secret fields: what is filled in reads back as the same typed value."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from graphs.engine.errors import SchemaError
from graphs.engine.schemas import check, validate
from graphs.web.forms import Problem, attach, build, masked, propose, read
from graphs.web.forms.changing import changes
from graphs.web.forms.fields import MASK
from graphs.web.forms.operating import keepable, operate
from graphs.web.forms.standing import texts
from tests.web.conftest import html_of

ITEM = {
    "type": "object",
    "properties": {"sku": {"type": "string", "title": "Article"}, "qty": {"type": "integer", "minimum": 1}},
    "required": ["sku", "qty"],
}
ORDER = {"type": "object", "properties": {"items": {"type": "array", "title": "Items", "items": ITEM}}}
CARD = {"title": "Card", "type": "object", "properties": {"by": {"const": "card"}, "number": {"type": "string"}}}
CASH = {"title": "Cash", "type": "object", "properties": {"by": {"const": "cash"}, "given": {"type": "number"}}}
PAY = {
    "type": "object",
    "properties": {"pay": {"oneOf": [{**CARD, "required": ["by", "number"]}, {**CASH, "required": ["by", "given"]}]}},
    "required": ["pay"],
}
WHEN = {
    "type": "object",
    "properties": {"country": {"enum": ["NL", "US"]}, "phone": {"type": "string"}, "hours": {"type": "string"}},
    "required": ["country"],
    "if": {"properties": {"country": {"const": "US"}}, "required": ["country"]},
    "then": {"properties": {"state": {"type": "string"}}, "required": ["state"]},
    "else": {"properties": {"province": {"type": "string"}}},
    "dependentRequired": {"phone": ["hours"]},
}


# --- rows


def test_rows_are_read_in_the_order_that_was_posted() -> None:
    posted = {"f/items": "4,0", "f/items/0/sku": "a", "f/items/0/qty": "1", "f/items/4/sku": "b", "f/items/4/qty": "2"}
    form = build(ORDER)
    assert read(form, posted) == ({"items": [{"sku": "b", "qty": 2}, {"sku": "a", "qty": 1}]}, [])
    assert [one.pointer for one in form.children[0].children] == ["/items/0", "/items/1"]
    assert form.children[0].columns == ["Article", "Qty"]


def test_a_problem_in_a_row_stands_at_its_cell_and_says_which_row() -> None:
    form = build(ORDER)
    posted = {"f/items": "7,3", "f/items/7/sku": "a", "f/items/7/qty": "1", "f/items/3/sku": "b", "f/items/3/qty": "0"}
    value, _ = read(form, posted)
    ((owner, _),) = attach(form, [Problem(*one) for one in validate(ORDER, value)])
    assert owner is not None and (owner.name, owner.place) == ("f/items/3/qty", "Items, row 2: Qty")


@pytest.mark.parametrize(
    ("op", "order"),
    [
        ("add:f/items", "0,1,2,3"),
        ("remove:f/items:1", "0,2"),
        ("up:f/items:2", "0,2,1"),
        ("up:f/items:0", "0,1,2"),
        ("down:f/items:0", "1,0,2"),
        ("remove:f/items:9", "0,1,2"),
        ("remove:f/else:1", "0,1,2"),
        ("look", "0,1,2"),
        ("", "0,1,2"),
        ("dance:f/items:0", "0,1,2"),
    ],
)
def test_rows_come_go_and_move_without_a_script(op: str, order: str) -> None:
    posted = {"f/items": "0,1,2", "f/items/1/sku": "middle", "other": "kept", "op": op}
    found = operate(build(ORDER), posted)
    assert (found["f/items"], found["other"]) == (order, "kept")
    assert ("f/items/1/sku" in found) == (op != "remove:f/items:1")


def test_a_new_row_is_never_taken_for_one_that_was_proposed() -> None:
    form = build(ORDER)
    propose(form, {"items": [{"sku": "a", "qty": 1}, {"sku": "b", "qty": 2}]})
    taken = operate(form, {**dict(texts(form)), "op": "remove:f/items:1"})
    assert operate(form, {**taken, "op": "add:f/items"})["f/items"] == "0,2"


def test_rows_are_bounded_whatever_is_posted() -> None:
    nested = {"type": "array", "items": {"type": "array", "items": ITEM}}
    many = ",".join(str(at) for at in range(5000))
    form = build(nested)
    read(form, {"f": many, **{f"f/{at}": many for at in range(200)}}, required=False)
    assert sum(1 for _ in form.walk()) < 2500


def test_a_list_with_a_least_number_begins_with_rows() -> None:
    schema = {"type": "array", "minItems": 2, "maxItems": 3, "items": ITEM}
    form = build(schema)
    assert len(form.children) == 2 and form.hint == "at least 2, at most 3"
    read(form, {"f": "0,1,2"}, required=False)
    assert form.full and "Add a row" not in html_of(form)


# --- shapes, conditions, keys


def test_only_the_chosen_shape_is_read_and_its_problems_are_its_own() -> None:
    posted = {"f/pay": "1", "f/pay/~b0/number": "12", "f/pay/~b1/given": "5.5"}
    assert read(build(PAY), posted) == ({"pay": {"by": "cash", "given": 5.5}}, [])
    form = build(PAY)
    problems = read(form, {"f/pay": "0"})[1]
    assert [(one.pointer, one.message) for one in problems] == [("/pay/number", "This is needed.")]
    assert [option.label for option in form.children[0].options] == ["Card", "Cash"]
    assert [one.message for one in read(build(PAY), {})[1]] == ["Choose one."]
    assert [one.message for one in read(build(PAY), {"f/pay": "9"})[1]] == ["This is none of the choices."]


def test_several_types_are_a_choice_of_kinds() -> None:
    form = build({"type": ["string", "integer", "null"]})
    assert [option.label for option in form.options] == ["Text", "Whole number"]
    assert read(form, {"f": "0", "f/~b0": "1"})[0] == "1"
    assert read(form, {"f": "1", "f/~b1": "1"})[0] == 1
    assert read(form, {"f": ""})[0] is None


def test_fields_appear_while_their_condition_holds() -> None:
    form = build(WHEN)
    value, problems = read(form, {"f/country": "1", "f/phone": "12"})
    assert [one.pointer for one in problems] == ["/hours", "/state"]
    assert {one.key for one in form.children} == {"country", "phone", "hours", "state"}
    form = build(WHEN)
    value, problems = read(form, {"f/country": "0", "f/province": "Utrecht", "f/state": "left over"})
    assert (value, problems) == ({"country": "NL", "province": "Utrecht"}, [])


def test_dependent_schemas_follow_the_value_that_tells_them_apart() -> None:
    schema = {
        "type": "object",
        "properties": {"kind": {"enum": ["a", "b"]}},
        "dependentSchemas": {
            "kind": {
                "oneOf": [
                    {"properties": {"kind": {"const": "a"}, "x": {"type": "integer"}}, "required": ["x"]},
                    {"properties": {"kind": {"const": "b"}, "y": {"type": "integer"}}},
                ]
            }
        },
    }
    assert read(build(schema), {"f/kind": "0", "f/x": "3", "f/y": "4"})[0] == {"kind": "a", "x": 3}
    assert read(build(schema), {"f/kind": "1", "f/x": "3", "f/y": "4"})[0] == {"kind": "b", "y": 4}


def test_keys_and_values() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "integer"}}
    row = {"f/~m": "0,1", "f/~m/0/~k": "x/y", "f/~m/0/~v": "1", "f/~m/1/~k": "x/y", "f/~m/1/~v": "two"}
    form = build(schema)
    _, problems = read(form, row)
    assert [one.message for one in problems] == ["Enter a whole number.", "This name is there twice."]
    assert problems[0].pointer == "/x~1y"
    assert read(build(schema), {**row, "f/~m/1/~k": "z", "f/~m/1/~v": "2"})[0] == {"x/y": 1, "z": 2}


def test_all_of_is_one_form() -> None:
    schema = {
        "allOf": [{"$ref": "#/$defs/A"}, {"properties": {"b": {"type": "integer"}}, "required": ["b"]}],
        "$defs": {"A": {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}},
    }
    assert [(one.key, one.required) for one in build(schema).children] == [("a", True), ("b", True)]


def test_ticks_keep_types_and_order() -> None:
    schema = {"type": "array", "items": {"enum": [1, "1", True]}, "uniqueItems": True}
    value, problems = read(build(schema), {"f": "1", "f/~o2": "1", "f/~o0": "1"})
    assert not problems and [type(one) for one in value] == [int, bool]
    form = build(schema)
    propose(form, ["1", 1])
    assert form.widget == "checks" and read(form, {"f": "1", "f/~o0": "1", "f/~o1": "1", "f/~o2": "1"})[0] == [
        "1",
        1,
        True,
    ]
    assert read(form, {"f": "1"})[0] == []


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"format": "uuid"}, "123e4567-e89b-12d3-a456-426614174000", "123"),
        ({"format": "ipv4"}, "192.0.2.1", "192.0.2.256"),
        ({"format": "ipv6"}, "2001:db8::1", "2001:::1"),
        ({"format": "duration"}, "P1DT2H", "P"),
        ({"format": "hostname"}, "mail.example.org", "-x"),
        ({"format": "time"}, "09:30", "25:00"),
    ],
)
def test_u11_formats_are_checked_in_words(schema: dict[str, Any], good: str, bad: str) -> None:
    assert read(build({"type": "string", **schema}), {"f": good}) == (good, [])
    ((problem),) = read(build({"type": "string", **schema}), {"f": bad})[1]
    assert "This is not a" in problem.message or "the name of a host" in problem.message


@pytest.mark.parametrize(
    ("pattern", "attribute"),
    [("^[A-Z]{3}$", "[A-Z]{3}"), ("[0-9]+", ".*[0-9]+.*"), ("^a|b$", ""), ("(?i)x", ""), (r"\pL", "")],
)
def test_u11_browsers_get_patterns_only_where_they_read_them_alike(pattern: str, attribute: str) -> None:
    assert build({"type": "string", "pattern": pattern}).attrs.get("pattern", "") == attribute


# --- secrets and files

LOGIN = {
    "type": "object",
    "properties": {"user": {"type": "string"}, "password": {"type": "string", "writeOnly": True, "minLength": 9}},
    "required": ["user", "password"],
}


def test_a_secret_is_read_and_never_shown_again() -> None:
    form = build(LOGIN)
    value, _ = read(form, {"f/user": "jo", "f/password": "hunter2"})
    assert value == {"user": "jo", "password": "hunter2"}
    attach(form, [Problem(*one) for one in validate(LOGIN, value)] + [Problem("", f"{value} is wrong")])
    page = html_of(form, changing=True)
    assert "hunter2" not in page and "Type it again" in page and MASK in page
    assert keepable(form, {"f/user": "jo", "f/password": "hunter2", "op": "look"}) == {"f/user": "jo"}
    assert masked(value, LOGIN, LOGIN) == {"user": "jo", "password": MASK}


def test_a_secret_that_was_proposed_stays_unless_another_is_typed() -> None:
    proposed = {"user": "jo", "password": "hunter2-long"}
    form = build(LOGIN)
    propose(form, proposed)
    assert "hunter2" not in html_of(form, changing=True)
    assert read(form, {**dict(texts(form)), "f/user": "al"})[0] == {**proposed, "user": "al"}
    form = build(LOGIN)
    propose(form, {**proposed, "more": 1})
    assert form.widget == "json" and "hunter2" not in form.text
    assert read(form, {"f": form.text.replace("jo", "al")})[0] == {**proposed, "user": "al", "more": 1}


PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"0" * 90).decode()


@pytest.mark.parametrize(
    ("data", "name", "message"),
    [
        (PNG, "a.png", ""),
        (base64.b64encode(b"MZ").decode(), "a.png", "no file of the type image/png"),
        ("!", "a.png", "larger than 2 MB"),
        ("A" * 3_000_000, "a.png", "larger than 2 MB"),
        ("???", "a.png", "did not arrive whole"),
        ("", "", "Choose a file"),
    ],
)
def test_a_file_is_base64_of_the_type_that_is_asked_for(data: str, name: str, message: str) -> None:
    schema = {"type": "string", "contentEncoding": "base64", "contentMediaType": "image/png"}
    form = build(schema)
    value, problems = read(form, {"f/~data": data, "f/~name": name})
    assert message in (problems[0].message if problems else "")
    assert (value == data) == (not message)
    assert ("a.png" in html_of(form)) == (not message)


# --- what was changed


def test_what_was_changed_is_told_with_both_values_and_can_be_reset() -> None:
    form = build({**ORDER, "properties": {**ORDER["properties"], "note": {"type": "string"}}})
    propose(form, {"note": "before", "items": [{"sku": "a", "qty": 1}, {"sku": "b", "qty": 2}]})
    posted = dict(texts(form)) | {"f/note": "after", "f/items": "0", "f/items/0/qty": "5"}
    untouched = build({**ORDER, "properties": {**ORDER["properties"], "note": {"type": "string"}}})
    propose(untouched, {"note": "before", "items": [{"sku": "a", "qty": 1}, {"sku": "b", "qty": 2}]})
    read(form, posted)
    assert [(one.field.place, one.proposed, one.yours) for one in changes(form)] == [
        ("Items", "2 rows", "1 row"),
        ("Items, row 1: Qty", "1", "5"),
        ("Note", "before", "after"),
    ]
    assert operate(untouched, {**posted, "op": "reset"}) == {**dict(texts(untouched)), "op": "reset"}
    assert operate(untouched, {**posted, "op": "reset:f/note"})["f/note"] == "before"


def test_schemas_that_refer_to_themselves_stay_small() -> None:
    tree = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "kids": {"type": "array", "items": {"$ref": "#"}}},
    }
    assert sum(1 for _ in build(tree).walk()) < 10
    value = {"name": "a", "kids": [{"name": "b", "kids": [{"name": "c", "kids": []}]}]}
    form = build(tree)
    propose(form, value)
    assert read(form, {**dict(texts(form)), "f/name": "z"})[0] == {**value, "name": "z"}
    twice = {"allOf": [{"$ref": "#"}, {"$ref": "#"}]}
    assert build(twice).widget == "json"
    json.dumps(masked(value, tree, tree))
    with pytest.raises(SchemaError):
        check({"$ref": "https://example.org"})
