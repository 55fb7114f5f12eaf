from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from graphs.engine.schemas import validate
from graphs.web.forms import Field, Problem, attach, build, read
from graphs.web.forms.reading import loads


def named(schema: Any, **more: Any) -> dict[str, Field]:
    return {field.key: field for field in build(schema, **more).walk()}


def value_of(schema: Any, posted: dict[str, str], **more: Any) -> Any:
    value, problems = read(build(schema, **more), posted)
    assert not problems
    return value


def problems_of(schema: Any, posted: dict[str, str]) -> dict[str, str]:
    return {problem.pointer: problem.message for problem in read(build(schema), posted)[1]}


def of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


@pytest.mark.parametrize(
    ("schema", "widget"),
    [
        ({"type": "string"}, "text"),
        ({"type": "string", "maxLength": 201}, "textarea"),
        ({"type": "string", "maxLength": 200}, "text"),
        ({"type": "string", "format": "textarea"}, "textarea"),
        ({"type": "string", "format": "email"}, "email"),
        ({"type": "string", "format": "uri"}, "url"),
        ({"type": "string", "format": "date"}, "date"),
        ({"type": "string", "format": "date-time"}, "datetime"),
        ({"type": "integer"}, "number"),
        ({"type": "number"}, "number"),
        ({"type": "boolean"}, "yesno"),
        ({"enum": [1, 2, 3, 4, 5]}, "radio"),
        ({"enum": list(range(6))}, "select"),
        ({"enum": ["x" * 61, *"abcdef"]}, "radio"),
        ({"oneOf": [{"const": "a", "title": "Ah"}, {"const": "b"}]}, "radio"),
        ({"const": 5}, "const"),
        ({"type": ["string", "null"]}, "text"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "number"),
        ({"type": "object", "properties": {"x": {}}}, "group"),
        ({"type": "array", "items": {"type": "string"}}, "lines"),
        ({"type": "array", "items": {"type": "object"}}, "json"),
        ({"type": "array"}, "json"),
        ({"type": "object"}, "json"),
        ({"oneOf": [{"type": "string"}, {"type": "object"}]}, "branches"),
        ({"type": "object", "properties": {"x": {}}, "if": {}}, "group"),
        ({"type": "array", "items": {"type": "object", "properties": {"x": {}}}}, "rows"),
        ({"type": "array", "items": {"enum": ["a", "b"]}}, "checks"),
        ({"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}]}, "tuple"),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, "map"),
        ({"type": "string", "format": "time"}, "time"),
        ({"type": "string", "format": "password"}, "secret"),
        ({"type": "string", "writeOnly": True}, "secret"),
        ({"type": "string", "contentEncoding": "base64"}, "file"),
        ({"enum": list(range(31))}, "radio"),
        ({"type": "string", "readOnly": True, "default": "x"}, "const"),
        ({"$ref": "https://example.org/x"}, "json"),
        ({"$ref": "#/$defs/missing"}, "json"),
        ({}, "json"),
        (True, "json"),
        (None, "json"),
    ],
)
def test_u11_each_schema_has_its_widget_and_the_rest_a_json_field(schema: Any, widget: str) -> None:
    assert named(of(it=schema))["it"].widget == widget


def test_z32_types_are_kept() -> None:
    schema = of(code={"type": "string"}, count={"type": "integer"}, price={"type": "number"}, sure={"type": "boolean"})
    posted = {"f/code": "12345", "f/count": "007", "f/price": "12.50", "f/sure": "1"}
    value = value_of(schema, posted)
    assert value == {"code": "12345", "count": 7, "price": 12.5, "sure": False}
    assert [type(one) for one in value.values()] == [str, int, float, bool]


def test_u28_a_choice_answers_with_the_value_its_author_wrote() -> None:
    form = build({}, options=[1, "1", True, {"value": {"deep": [1]}, "label": "Deep"}, None])
    assert [option.label for option in form.options] == ["1", '"1"', "Yes", "Deep", "Nothing"]
    values = [read(form, {"f": str(index)})[0] for index in range(5)]
    assert values == [1, "1", True, {"deep": [1]}, None]
    assert [type(value) for value in values] == [int, str, bool, dict, type(None)]


def test_an_enum_of_the_schema_wins_over_offered_options() -> None:
    assert [option.value for option in build({"enum": ["a"]}, options=["b"]).options] == ["a"]


@pytest.mark.parametrize("count", [1, 4, 12, 60])
def test_u12_every_option_can_be_chosen(count: int) -> None:
    labels = [f"{index} {'long ' * 40}"[:200] for index in range(count)]
    form = build(of(it={"enum": labels}))
    assert [read(form, {"f/it": str(index)})[0]["it"] for index in range(count)] == labels
    assert form.children[0].widget == "radio"


@pytest.mark.parametrize(
    ("schema", "typed", "message"),
    [
        ({"type": "integer"}, "1.5", "whole number"),
        ({"type": "integer"}, "ten", "whole number"),
        ({"type": "integer"}, "٣", "whole number"),
        ({"type": "number"}, "NaN", "number"),
        ({"type": "number"}, "Infinity", "number"),
        ({"type": "number"}, "1e999", "too large"),
        ({"type": "number"}, "1_000", "number"),
        ({"type": "string", "format": "date"}, "2026-02-30", "date"),
        ({"type": "string", "format": "date-time"}, "yesterday", "date and time"),
        ({"enum": ["a"]}, "7", "none of the choices"),
        ({"type": "boolean"}, "yes", "none of the choices"),
        ({"type": "array", "items": {"type": "integer"}}, "1\ntwo", "Line 2"),
        ({"type": "object"}, "{", "not JSON"),
        ({"type": "object"}, '{"a": NaN}', "not JSON"),
        ({"type": "object"}, '{"a": 1, "a": 2}', "same key twice"),
        ({"type": "object"}, "[" * 500 + "]" * 500, "nested too deeply"),
        ({"type": "object"}, "9" * 5000, ""),
    ],
)
def test_what_cannot_be_read_is_a_problem_at_its_place(schema: Any, typed: str, message: str) -> None:
    form = build(of(it=schema))
    _, problems = read(form, {"f/it": typed})
    assert [problem.pointer for problem in problems] == ["/it"]
    assert message.lower() in problems[0].message.lower()
    assert (form.children[0].text, form.children[0].problem) == (typed, problems[0].message)


def test_required_and_optional_blanks() -> None:
    schema = {**of(a={"type": "string"}, b={"type": "integer"}, c={"type": ["integer", "null"]}), "required": ["a"]}
    assert problems_of(schema, {}) == {"/a": "This is needed."}
    assert value_of(schema, {"f/a": "x"}) == {"a": "x", "c": None}
    assert read(build(schema), {}, required=False) == ({"c": None}, [])


def test_an_untouched_optional_group_asks_for_nothing() -> None:
    inner = {**of(street={"type": "string"}, zip={"type": "string"}), "required": ["street"]}
    assert value_of(of(address=inner), {}) == {}
    assert problems_of(of(address=inner), {"f/address/zip": "1"}) == {"/address/street": "This is needed."}
    assert value_of(of(address=inner), {"f/address/street": "Long Lane"}) == {"address": {"street": "Long Lane"}}


def test_defaults_are_shown_and_line_ends_are_plain() -> None:
    fields = named(
        of(
            n={"type": "integer", "default": 0},
            s={"enum": ["a", "b"], "default": "b"},
            t={"type": "array", "items": {"type": "string"}, "default": ["x", "y"]},
            f={"type": "boolean", "default": False},
        )
    )
    assert {key: fields[key].text for key in "nstf"} == {"n": "0", "s": "1", "t": "x\ny", "f": "1"}
    assert value_of(of(s={"type": "string"}), {"f/s": "a\r\nb\rc"}) == {"s": "a\nb\nc"}


def test_names_of_properties_are_no_instructions() -> None:
    schema = of(**{"__proto__": {"type": "string"}, "a/b~c": {"type": "string"}, "": {"type": "string"}})
    posted = {"f/__proto__": "p", "f/a~1b~0c": "q", "f/": "r"}
    assert value_of(schema, posted) == {"__proto__": "p", "a/b~c": "q", "": "r"}
    ids = [field.id for field in build(schema).walk()]
    assert len(set(ids)) == len(ids) and all(
        set(one) <= set("abcdefghijklmnopqrstuvwxyzABCDEF0123456789-") for one in ids
    )


def test_fields_that_were_not_asked_for_are_ignored() -> None:
    assert value_of(of(a={"type": "string"}), {"f/a": "x", "f/b": "y", "g": "z"}) == {"a": "x"}


def test_pydantic_models_become_groups() -> None:
    class Address(BaseModel):
        street: str
        number: int | None = None

    class Order(BaseModel):
        to: Address
        tags: list[str] = []

    form = build(Order.model_json_schema())
    assert [field.widget for field in form.walk()] == ["group", "group", "text", "number", "lines"]
    value, problems = read(form, {"f/to/street": "Long Lane", "f/tags": "a\n\nb"})
    assert not problems and Order.model_validate(value).tags == ["a", "b"]


def test_references_that_multiply_stay_bounded() -> None:
    levels = {f"L{n}": of(**{f"p{k}": {"$ref": f"#/$defs/L{n + 1}"} for k in range(10)}) for n in range(9)}
    levels["L9"] = {"type": "string"}
    assert sum(1 for _ in build({"$ref": "#/$defs/L0", "$defs": levels}).walk()) <= 400
    itself = {"$ref": "#/$defs/X", "$defs": {"X": of(next={"$ref": "#/$defs/X"})}}
    assert sum(1 for _ in build(itself).walk()) <= 20
    assert build({"$ref": "#"}).widget == "json"


def test_problems_find_the_nearest_field() -> None:
    form = build(of(a=of(b={"type": "string"})))
    pairs = attach(form, [Problem("/a/b/c", "one"), Problem("/x", "two"), Problem("#comment", "three")])
    assert [field.pointer if field else None for field, _ in pairs] == ["/a/b", "", None]


def test_strict_json_keeps_what_is_json() -> None:
    assert loads('{"a": [1, 2.5, null, "NaN"]}') == {"a": [1, 2.5, None, "NaN"]}
    assert loads(str(2**60)) == 2**60


@pytest.mark.parametrize(
    ("more", "hint", "message"),
    [
        ({}, "pattern ^\\d+$", "This does not have the expected form."),
        ({"description": "Digits only"}, "", "This does not have the expected form."),
        ({"examples": ["42"]}, "", "This does not have the expected form, e.g. 42."),
    ],
)
def test_a_broken_pattern_is_told_in_words_and_the_pattern_at_most_once(
    more: dict[str, Any], hint: str, message: str
) -> None:
    schema = of(code={"type": "string", "pattern": "^\\d+$", **more})
    form = build(schema)
    ((field, told),) = attach(form, [Problem(*one) for one in validate(schema, {"code": "x"})])
    assert field is not None and (field.hint, told.message, field.problem) == (hint, message, message)


def test_no_answer_is_offered_where_it_means_something() -> None:
    null = {"type": "null"}
    fields = named(
        of(
            free={"enum": ["a", "b"]},
            preset={"enum": ["a", "b"], "default": "a"},
            nullable={"anyOf": [{"enum": ["a", "b"]}, null], "default": None},
        )
    )
    assert [fields[key].clearable for key in ("free", "preset", "nullable")] == [True, False, True]
