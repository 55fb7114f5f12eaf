"""Approving a gated call without touching its form runs exactly what the agent proposed (E11, Z54)."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from typing import Any

import pytest
from django.template.loader import render_to_string
from hypothesis import given, settings
from hypothesis import strategies as st

from graphs.agents.approvals import gate_schema
from graphs.engine.trust import GATE
from graphs.models import Interrupt
from graphs.permissions import Ruling
from graphs.policies.policy import Policy
from graphs.web import asking
from graphs.web.guards import Guard
from graphs.web.submission import Submission


class Browser(HTMLParser):
    """What a browser sends of a form that nobody touched, by the rules of HTML for each kind of input."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.sent: dict[str, str] = {}
        self.area = self.choice = ""

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "input":
            self.input(given)
        elif tag == "textarea":
            self.area = given["name"]
            self.sent[self.area] = ""
        elif tag == "select":
            self.choice = given["name"]
        elif tag == "option" and (self.choice not in self.sent or "selected" in given):
            self.sent[self.choice] = given["value"]

    def input(self, given: dict[str, str]) -> None:
        if given["type"] == "radio" and "checked" not in given:
            return
        assert "required" not in given or given["value"], f"a browser would not send {given}"
        value = re.sub("[\r\n]", "", given["value"].replace("\0", "\ufffd"))
        if given["type"] in ("email", "url"):
            value = value.strip()
        if given["type"] == "number" and not re.fullmatch(r"-?[0-9]*\.?[0-9]+([eE][+-]?[0-9]+)?", value):
            value = ""
        if given["type"] == "date" and not re.fullmatch(r"\d{4}-\d\d-\d\d", value):
            value = ""
        self.sent[given["name"]] = value

    def handle_data(self, data: str) -> None:
        if self.area:
            self.sent[self.area] += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea":
            text = self.sent[self.area].replace("\0", "\ufffd").removeprefix("\n")
            self.sent[self.area] = re.sub("\r\n|\r|\n", "\r\n", text)
            self.area = ""


def gate(schema: dict[str, Any], arguments: dict[str, Any]) -> Interrupt:
    metadata = {"agent": "keeper", "tool": "do", "arguments": arguments}
    answer = gate_schema({"type": "object", **schema})
    return Interrupt(kind=GATE, style="tool", name="do", metadata=metadata, response_schema=answer, status="open")


def approved(interrupt: Interrupt, **typed: str) -> Submission:
    form = asking.card(interrupt).form
    browser = Browser()
    if form is not None:
        html = render_to_string("forms/_field.html", {"field": form, "root": True, "card": asking.card(interrupt)})
        # A parser of HTML makes these the same before anybody looks at them; the library's does not.
        browser.feed(re.sub("\r\n?", "\n", html))
    plain = Guard(interrupt, Ruling(True, "allowed", ""), Policy(), [], 1, None, [], False)
    return Submission.read(plain, browser.sent | typed | {"act": "approve"})


TEXT, OPTIONAL = {"type": "string"}, {"anyOf": [{"type": "string"}, {"type": "null"}]}
NAMES = {"type": "array", "items": TEXT}
ITEM = {"type": "object", "properties": {"n": {"type": "integer"}, "note": OPTIONAL}, "required": ["n"]}
RULES: dict[str, Any] = {
    "text": TEXT,
    "optional": OPTIONAL,
    "area": {"type": "string", "maxLength": 2000},
    "mail": {"type": "string", "format": "email", "default": ""},
    "web": {"type": "string", "format": "uri"},
    "day": {"type": "string", "format": "date"},
    "moment": {"type": "string", "format": "date-time"},
    "whole": {"type": "integer", "minimum": 3, "multipleOf": 5},
    "number": {"type": "number"},
    "yes": {"type": "boolean"},
    "maybe": {"anyOf": [{"type": "boolean"}, {"type": "null"}]},
    "one": {"enum": ["a", 1, "1", None]},
    "many": {"enum": list("abcdefgh")},
    "fixed": {"const": 5},
    "names": NAMES,
    "whole_numbers": {"type": "array", "items": {"type": "integer"}},
    "some_names": {"anyOf": [NAMES, {"type": "null"}]},
    "item": {"$ref": "#/$defs/Item"},
    "some_item": {"anyOf": [{"$ref": "#/$defs/Item"}, {"type": "null"}]},
    "anything": {},
}
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]))
    | st.sampled_from(["", " ", "a\nb", "a\r\nb", "\n", "null", "2026-01-01T00:00:00Z", "2026-01-01", "a@b.c", "1"])
)
MEMBERS = st.text(max_size=5)
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(MEMBERS, inner), max_leaves=5)
KEYS = st.sampled_from([*RULES, "unknown", "a\nb", "a/b~c"])


@settings(deadline=None, max_examples=300)
@given(arguments=st.dictionaries(KEYS, VALUES, max_size=4), required=st.sets(st.sampled_from(list(RULES))))
def test_e11_an_untouched_form_approves_what_was_proposed(arguments: dict[str, Any], required: set[str]) -> None:
    schema = {"properties": RULES, "required": sorted(required), "$defs": {"Item": ITEM}}
    found = approved(gate(schema, arguments))
    assert found.problems == [] and found.value == {"approved": True}


@settings(deadline=None, max_examples=150)
@given(arguments=st.dictionaries(KEYS, VALUES, max_size=4))
def test_e11_what_is_left_alone_beside_an_edit_stays_as_it_was_proposed(arguments: dict[str, Any]) -> None:
    schema = {"properties": {**RULES, "edited": TEXT}, "$defs": {"Item": ITEM}}
    proposed = {**arguments, "edited": "before"}
    if any("\n" in name for name in arguments):
        return
    found = approved(gate(schema, proposed), **{"f/arguments/edited": "after"})
    assert json.dumps(found.value["arguments"], sort_keys=True) == json.dumps(
        {**proposed, "edited": "after"}, sort_keys=True
    )


@pytest.mark.parametrize(
    ("name", "value", "widget"),
    [
        ("text", "a\nb", "textarea"),
        ("text", "a\r\nb", "json"),
        ("text", "", "text"),
        ("optional", "", "json"),
        ("optional", "a", "text"),
        ("names", ["x\ny"], "json"),
        ("names", ["x", "y"], "lines"),
        ("some_names", [], "json"),
        ("moment", "2026-01-01T00:00:00Z", "text"),
        ("mail", "not mail", "text"),
        ("many", "z", "json"),
        ("item", {"n": 1, "more": 2}, "json"),
        ("item", {"n": 1}, "group"),
        ("unknown", [1], "json"),
    ],
)
def test_e11_an_argument_is_offered_in_a_widget_that_holds_it(name: str, value: Any, widget: str) -> None:
    form = asking.card(gate({"properties": RULES, "$defs": {"Item": ITEM}}, {name: value})).form
    assert form is not None
    found = {one.key: one for one in form.children[0].children}
    assert found[name].widget == widget


def test_e11_arguments_that_are_no_object_are_no_approval() -> None:
    found = approved(gate({}, {"a": 1}), **{"f/arguments": "[1]"})
    assert found.value == {"approved": True, "arguments": [1]}
