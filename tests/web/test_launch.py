from __future__ import annotations

import re
from typing import Any

import pytest

from graphs.engine.graph import CompiledGraph, Graph
from graphs.library import registry
from graphs.models import ApprovalQueue, Thread
from tests.actions import graphs
from tests.people import People
from tests.web.conftest import SignedIn, text_of

pytestmark = pytest.mark.django_db(transaction=True)

ORDER = {"f/order": "A-77", "f/amount": "12.50", "f/currency": "1", "f/customer": "jo@example.org", "key": "c" * 32}


def test_every_registered_graph_has_a_card_and_a_form(people: People, signed_in: SignedIn) -> None:
    client = signed_in(people.stranger)
    page = text_of(client.get("/launch"))
    for entry in registry.entries():
        assert entry.graph is not None and entry.graph.title in page
        assert client.get(f"/launch/{entry.graph_id}").status_code == 200


def test_a_module_that_fails_to_import_is_listed_with_its_error(
    people: People, signed_in: SignedIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = registry.Entry("acme", "acme.graphs", None, "ModuleNotFoundError: No module named 'acme'")
    known = registry.entries()
    monkeypatch.setattr(registry, "entries", lambda: (*known, broken))
    page = text_of(signed_in(people.stranger).get("/launch"))
    assert "No module named 'acme'" in page and "Refund an order" in page


def test_starting_leads_to_the_thread_once(people: People, signed_in: SignedIn) -> None:
    client = signed_in(people.requester)
    first, second = (client.post("/launch/refund", ORDER) for _ in range(2))
    thread = Thread.objects.get()
    assert first["Location"] == second["Location"] == f"/threads/{thread.uid}"
    assert thread.input["amount"] == 12.5 and thread.input["currency"] == "GBP" and thread.input["order"] == "A-77"
    assert thread.conversation.requester == people.requester


@pytest.mark.parametrize(
    ("field", "typed"), [("f/amount", "-5"), ("f/amount", "much"), ("f/order", ""), ("f/order", "x" * 41)]
)
def test_bad_input_comes_back_whole(field: str, typed: str, people: People, signed_in: SignedIn) -> None:
    answer = signed_in(people.requester).post("/launch/refund", ORDER | {field: typed})
    assert answer.status_code == 422 and not Thread.objects.exists()
    page = answer.content.decode()
    assert "to mend" in page and 'aria-invalid="true"' in page and f'value="{typed}"' in page
    assert 'value="jo@example.org"' in page


def test_the_form_names_the_queue_that_is_really_asked(people: People, signed_in: SignedIn) -> None:
    client = signed_in(people.requester)
    usual, _ = ApprovalQueue.objects.get_or_create(is_default=True, defaults={"slug": "inbox", "title": "Inbox"})
    for page in (text_of(client.get("/launch/refund")), text_of(client.get("/launch"))):
        assert "there is no queue payments" in page and f"asks {usual.title}" in page
    ApprovalQueue.objects.create(slug="payments", title="The paying people")
    for page in (text_of(client.get("/launch/refund")), text_of(client.get("/launch"))):
        assert "no queue payments" not in page and "asks The paying people" in page


def test_unknown_graphs_are_not_there(people: People, signed_in: SignedIn) -> None:
    for name in ("nonsense", "..", "%00", "refund%2F..%2Fx"):
        assert signed_in(people.requester).get(f"/launch/{name}").status_code == 404


def note(schema: Any = None) -> CompiledGraph:
    return Graph.new("note", input_schema=schema).node("keep", lambda value: value).entry("keep").compile()


def test_only_the_current_version_is_offered(
    people: People, signed_in: SignedIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    versions = [Graph.new("note", version=one).node("keep", lambda: 1).entry("keep").compile() for one in ("1", "2")]
    graphs.register(monkeypatch, *versions)
    answer = signed_in(people.stranger).get("/launch")
    assert answer.content.decode().count('href="/launch/note"') == 1
    assert "version 2, the current one beside 1" in text_of(answer)


@pytest.mark.parametrize("schema", [None, {"type": "string"}, {"type": "array", "items": {"type": "integer"}}])
def test_input_is_called_input(
    schema: Any, people: People, signed_in: SignedIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    graphs.register(monkeypatch, note(schema))
    page = signed_in(people.requester).get("/launch/note").content.decode()
    assert re.search(r"<label for=\"f\">Input\b", page) and not re.search(r"<(label|legend)[^>]*>Answer\b", page)


def test_without_a_schema_a_text_is_sent_as_text_or_explained(
    people: People, signed_in: SignedIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    graphs.register(monkeypatch, note())
    client = signed_in(people.requester)
    refused = client.post("/launch/note", {"f": "hello there", "as": "json", "key": "d" * 32})
    assert refused.status_code == 422 and "hello there</textarea>" in refused.content.decode()
    assert 'put it in quotes: "hello"' in text_of(refused) and not Thread.objects.exists()
    assert client.post("/launch/note", {"f": "hello there", "as": "text", "key": "d" * 32}).status_code == 303
    thread = Thread.objects.get()
    assert thread.input == "hello there"
    again = client.get(f"/launch/note?like={thread.uid}").content.decode()
    assert "hello there</textarea>" in again and 'value="text" checked' in again
    for typed, value in (('{"a": 1}', {"a": 1}), ("", None), ('"x"', "x")):
        client.post("/launch/note", {"f": typed})
        assert Thread.objects.latest("pk").input == value
