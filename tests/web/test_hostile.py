"""Texts of others stay texts, in every place they are shown (S05)."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from graphs.actions.decisions import decide
from graphs.models import Comment, Interrupt, Thread
from tests.actions.conftest import Asked
from tests.people import People
from tests.records import question
from tests.web.conftest import SignedIn

pytestmark = pytest.mark.django_db(transaction=True)

VECTORS = [
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg onload=alert(1)>",
    '"><b onmouseover=alert(1)>',
    "' autofocus onfocus=alert(1) x='",
    "<a href=javascript:alert(1)>x</a>",
    "[x](javascript:alert(1))",
    "![x](https://evil.example/pixel.png)",
    "<iframe srcdoc='<script>alert(1)</script>'>",
    "</textarea><script>alert(1)</script>",
    "</title><script>alert(1)</script>",
    "{{ 7|add:7 }}{% debug %}",
    "<!--<script>alert(1)//-->",
    "\u2028\u2029<x onclick=alert(1)>",
]
#: Elements that this product never writes.
FOREIGN = {"iframe", "img", "object", "embed", "x", "base", "style"}
ADDRESSES = ("href", "src", "action", "formaction", "xlink:href")


class Reader(HTMLParser):
    """Reads a page as a browser does, and notes what could run or fetch."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.found += [f"{tag} {name}" for name in given if name.startswith("on") or name in ("style", "srcdoc")]
        self.found += [
            f"{tag} {given[name]}" for name in ADDRESSES if not (given.get(name) or "/").startswith(("/", "#"))
        ]
        if tag in FOREIGN or (tag == "script" and "src" not in given and given.get("type") != "application/json"):
            self.found.append(tag)


@pytest.mark.parametrize("vector", VECTORS)
def test_s05_nothing_that_was_written_runs(vector: str, people: People, signed_in: SignedIn) -> None:
    schema = {
        "type": "object",
        "title": vector,
        "properties": {
            vector: {"type": "string", "title": vector, "description": vector, "default": vector},
            "pick": {"enum": [vector, "b"]},
            "rows": {"type": "array", "description": vector},
            "many": {"type": "string", "maxLength": 900, "default": vector},
        },
    }
    asked = Asked(
        people,
        question(
            key="1", question=vector, value={vector: [vector, {vector: vector}]}, reason=vector, response_schema=schema
        ),
        question(
            key="2", question="x", metadata={"options": [vector, "y"], "act": vector[:20]}, reason={"why": vector}
        ),
        question(key="3", question="y", value=vector, style="request_human_input"),
    )
    Thread.objects.update(title=vector, input={"role": "user", "content": vector}, error={"message": vector})
    Comment.objects.create(thread=asked.pen.thread, author_name=vector[:100], text=vector)
    Interrupt.objects.filter(pk=asked.row(1).pk).update(name=vector[:100])
    people.decider.first_name = vector[:100]
    people.decider.save()
    decide(people.decider, [asked.given(number=2, comment=vector)], channel="form")
    client = signed_in(people.decider)
    uid = asked.pen.thread.uid
    pages = [f"/review/{asked.row(number).pk}" for number in range(3)]
    pages += [f"/threads/{uid}?tab={tab}" for tab in ("conversation", "timeline", "state", "questions", "audit")]
    pages += ["/inbox", "/threads", f"/inbox?item={asked.row().pk}"]
    for address in pages:
        html = client.get(address).content.decode()
        assert Reader(html).found == [], address
    searched = client.get("/inbox", {"q": vector}).content.decode()
    assert Reader(searched).found == [] and "14" not in re.findall(r'value="([^"]*)"', searched)
