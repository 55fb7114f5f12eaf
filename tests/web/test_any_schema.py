"""Any schema and any value: no form breaks, and what is typed or proposed reads back as itself."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graphs.web.forms import alike, build, fill, propose, read
from graphs.web.forms.standing import texts
from tests.web.conftest import html_of

LEAVES = st.sampled_from(
    [
        ({"type": "string"}, st.text("abc xyz", min_size=1).filter(str.strip)),
        ({"type": "string", "maxLength": 900}, st.text("ab\nc", min_size=1)),
        ({"type": "integer"}, st.integers(-(10**9), 10**9)),
        ({"type": "number", "minimum": -5}, st.floats(-5, 1e6)),
        ({"type": "boolean"}, st.booleans()),
        ({"enum": [1, "1", None, True, [2]]}, st.sampled_from([1, "1", None, True, [2]])),
        ({"type": ["integer", "null"]}, st.integers(0, 9) | st.none()),
        ({"type": "string", "format": "date"}, st.dates().map(str)),
        ({"type": "string", "format": "time"}, st.sampled_from(["09:30", "23:59:01"])),
        ({"const": {"fixed": 1}}, st.just({"fixed": 1})),
        ({"type": ["string", "boolean"]}, st.booleans() | st.sampled_from(["a", "true"])),
        ({"type": "array", "items": {"type": "integer"}}, st.lists(st.integers(0, 99), min_size=1)),
        (
            {"type": "array", "items": {"enum": list("abc")}},
            st.lists(st.sampled_from("abc"), unique=True, min_size=1).map(sorted),
        ),
    ]
)
NAMES = ["a", "b c", "d/e", "~f", "g:h"]


def _objects(pair: Any) -> Any:
    parts = st.lists(pair, min_size=1, max_size=3)
    return parts.map(
        lambda found: (
            {
                "type": "object",
                "properties": {NAMES[at]: one[0] for at, one in enumerate(found)},
                "required": NAMES[: len(found)],
            },
            st.fixed_dictionaries({NAMES[at]: one[1] for at, one in enumerate(found)}),
        )
    )


def _lists(pair: Any) -> Any:
    return _objects(pair).map(
        lambda one: ({"type": "array", "items": one[0]}, st.lists(one[1], min_size=1, max_size=3))
    )


def _tuples(pair: Any) -> Any:
    return st.lists(pair, min_size=1, max_size=3).map(
        lambda found: (
            {"type": "array", "prefixItems": [one[0] for one in found], "minItems": len(found), "maxItems": len(found)},
            st.tuples(*(one[1] for one in found)).map(list),
        )
    )


def _shapes(pair: Any) -> Any:
    def tagged(one: Any, tag: str) -> tuple[Any, Any]:
        schema = {"type": "object", "properties": {"tag": {"const": tag}, "v": one[0]}, "required": ["tag", "v"]}
        return schema, one[1].map(lambda value: {"tag": tag, "v": value})

    def both(found: list[Any]) -> tuple[Any, Any]:
        made = [tagged(one, f"t{at}") for at, one in enumerate(found)]
        return {"oneOf": [one[0] for one in made]}, st.one_of(*(one[1] for one in made))

    return st.lists(pair, min_size=2, max_size=3).map(both)


def _maps(pair: Any) -> Any:
    keys = st.sampled_from(["k", "l/m", "n o"])
    return pair.map(
        lambda one: (
            {"type": "object", "additionalProperties": one[0]},
            st.dictionaries(keys, one[1], min_size=1, max_size=2),
        )
    )


PAIRS = st.recursive(
    LEAVES, lambda pair: _objects(pair) | _lists(pair) | _tuples(pair) | _shapes(pair) | _maps(pair), max_leaves=5
)


@settings(deadline=None, max_examples=250, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_u11_a_valid_value_typed_into_its_form_reads_back_as_itself(data: st.DataObject) -> None:
    inner, values = data.draw(PAIRS)
    schema = {"type": "object", "properties": {"it": inner}, "required": ["it"]}
    value = {"it": data.draw(values)}
    shown = build(schema)
    fill(shown, value)
    found, problems = read(build(schema), dict(texts(shown)))
    assert problems == [] and alike(found["it"], value["it"]), (schema, value, dict(texts(shown)))
    html_of(shown)


@settings(deadline=None, max_examples=150, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_e11_whatever_was_proposed_comes_back_untouched(data: st.DataObject) -> None:
    inner, values = data.draw(PAIRS)
    schema = {"type": "object", "properties": {"it": inner, "other": {"type": "string"}}}
    proposed = {"it": data.draw(values), "other": "x"}
    form = build(schema)
    propose(form, proposed)
    found, problems = read(form, {**dict(texts(form)), "f/other": "y"})
    assert problems == [] and alike(found, {**proposed, "other": "y"})


JUNK = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=4)
    | st.sampled_from(["object", "array", "#", "#/$defs/a"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
WORDS = [
    "type",
    "properties",
    "items",
    "prefixItems",
    "required",
    "enum",
    "const",
    "oneOf",
    "anyOf",
    "allOf",
    "if",
    "then",
    "else",
    "not",
    "$ref",
    "$defs",
    "default",
    "format",
    "pattern",
    "minItems",
    "maxItems",
    "minLength",
    "maxLength",
    "minimum",
    "multipleOf",
    "title",
    "description",
    "examples",
    "dependentSchemas",
    "dependentRequired",
    "patternProperties",
    "additionalProperties",
    "writeOnly",
    "readOnly",
    "contentEncoding",
    "uniqueItems",
    "enumNames",
]


def _odd(inner: Any) -> Any:
    named = st.dictionaries(st.sampled_from(["a", "b", "/~"]), inner, max_size=3)
    return st.dictionaries(st.sampled_from(WORDS), inner | st.lists(inner, max_size=3) | named | JUNK, max_size=5)


@settings(deadline=None, max_examples=400, suppress_health_check=list(HealthCheck))
@given(schema=st.recursive(JUNK, _odd, max_leaves=12), value=JUNK)
def test_no_schema_breaks_a_form(schema: Any, value: Any) -> None:
    form = build({"properties": {"it": schema}, "type": "object", "$defs": {"a": schema}})
    posted = {name: "0" for one in form.walk() for name in (one.name, f"{one.name}/~o0")}
    read(form, posted)
    html_of(form)
    proposed = build({"properties": {"it": schema}, "type": "object", "$defs": {"a": schema}})
    propose(proposed, {"it": value})
    assert alike(read(proposed, dict(texts(proposed)))[0], {"it": value})
