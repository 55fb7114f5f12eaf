"""Talking on with an agent in the browser: its next turn, and what its composer does while it is busy or waits."""

from __future__ import annotations

import re
import threading
from typing import Any

import pytest
from django.db import connection

from graphs.actions import threads, turns
from graphs.actions.errors import NotAllowed, NotFound, NotPossible
from graphs.agents.agent import Agent
from graphs.agents.models import ScriptedModel, ToolCall
from graphs.agents.tools import tool
from graphs.engine.graph import Graph
from graphs.engine.workflow import compiled
from graphs.models import AuditEntry, Interrupt, Thread, ThreadEvent
from tests.actions import graphs
from tests.people import People
from tests.web.conftest import SignedIn, text_of

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("redis")]


@tool
def delete(path: str) -> str:
    """Delete a file."""
    return f"{path} is gone"


@pytest.fixture
def thread(people: People, monkeypatch: pytest.MonkeyPatch) -> Thread:
    """A conversation whose first turn is over; its next one asks."""
    replies = ["Hello, I look after files.", ToolCall("delete", {"path": "a.txt"}), "It is deleted.", "Bye."]
    agent = Agent("keeper", ScriptedModel(replies), tools=[delete], approve=["delete"])
    graphs.register(monkeypatch, compiled(agent))
    threads.start(people.requester, "keeper", "Who are you?")
    graphs.run()
    return Thread.objects.get()


def sent(browser: Any, thread: Thread, text: str, **more: str) -> Any:
    page = browser.get(f"/threads/{thread.uid}").content.decode()
    found = re.search(r'name="key" value="([0-9a-f]{32})"', page)
    return browser.post(f"/threads/{thread.uid}/say", {"text": text, "key": found[1] if found else "", **more})


def test_a_message_is_the_next_turn_and_the_conversation_shows_both(
    people: People, thread: Thread, signed_in: SignedIn
) -> None:
    browser = signed_in(people.requester)
    assert "Your message" in text_of(browser.get(f"/threads/{thread.uid}"))
    assert sent(browser, thread, "Delete a.txt").status_code == 303
    thread.refresh_from_db()
    assert thread.status == "ready" and ThreadEvent.objects.filter(type="graph.start").count() == 2
    graphs.run()
    page = text_of(browser.get(f"/threads/{thread.uid}"))
    assert "Who are you?" in page and "Hello, I look after files." in page and "Delete a.txt" in page
    assert "requester said" in page and "It waits for a decision." in page and "Your message" not in page
    assert AuditEntry.objects.about("thread", str(thread.uid)).filter(action="say").count() == 1


def test_while_it_waits_nothing_that_is_sent_answers_it(people: People, thread: Thread, signed_in: SignedIn) -> None:
    browser = signed_in(people.requester)
    sent(browser, thread, "Delete a.txt")
    graphs.run()
    answer = browser.post(f"/threads/{thread.uid}/say", {"text": "yes, do it"})
    assert answer.status_code == 409 and "It waits for a decision" in text_of(answer)
    assert "yes, do it" in text_of(answer)
    row = Interrupt.objects.get()
    assert row.status == "open" and not row.decisions.exists()
    browser.post(f"/threads/{thread.uid}/comments", {"text": "yes"})
    assert Interrupt.objects.get().status == "open"


def test_the_same_submission_is_one_turn(people: People, thread: Thread, signed_in: SignedIn) -> None:
    browser = signed_in(people.requester)
    fields = {"text": "Delete a.txt", "key": "0" * 32}
    assert [browser.post(f"/threads/{thread.uid}/say", fields).status_code for _ in range(2)] == [303, 303]
    assert ThreadEvent.objects.filter(type="graph.start").count() == 2


@pytest.mark.parametrize("text", ["", "   ", "x" * 20_001])
def test_a_message_that_is_none_is_refused(people: People, thread: Thread, signed_in: SignedIn, text: str) -> None:
    assert sent(signed_in(people.requester), thread, text).status_code == 422
    thread.refresh_from_db()
    assert thread.status == "completed"


def test_only_the_requester_and_operators_talk_to_it(people: People, thread: Thread, signed_in: SignedIn) -> None:
    for user in (people.stranger, people.decider):
        assert signed_in(user).post(f"/threads/{thread.uid}/say", {"text": "hi"}).status_code == 404
        with pytest.raises((NotFound, NotAllowed)):
            turns.say(user, thread, "hi")
    assert signed_in(people.requester).get(f"/threads/{thread.uid}/say").status_code == 405
    assert sent(signed_in(people.operator), thread, "hi").status_code == 303


def test_a_graph_without_a_conversation_takes_no_message(people: People, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = Graph.new("plain").node("a", lambda: 1).entry("a").terminal("a").compile()
    graphs.register(monkeypatch, graph)
    threads.start(people.requester, "plain", None)
    graphs.run()
    with pytest.raises(NotPossible, match="keeps no conversation"):
        turns.say(people.requester, Thread.objects.get(), "hi")
    with pytest.raises(NotPossible, match="not registered"):
        monkeypatch.setattr("graphs.library.registry.entries", lambda: ())
        turns.say(people.requester, Thread.objects.get(), "hi")


def test_a_cancelled_turn_can_be_talked_on_from(people: People, thread: Thread) -> None:
    turns.say(people.requester, thread, "Delete a.txt")
    graphs.run()
    threads.cancel(people.requester, thread)
    turns.say(people.requester, thread, "Never mind")
    graphs.run()
    thread.refresh_from_db()
    assert thread.status in ("completed", "interrupted") and thread.cancel_at is None


def test_two_presses_of_one_button_are_one_message_and_both_are_thanked(people: People, thread: Thread) -> None:
    both, answers = threading.Barrier(2), []

    def press() -> None:
        try:
            both.wait(30)
            answers.append(turns.say(people.requester, Thread.objects.get(), "Delete a.txt", submission_key="f" * 32))
        finally:
            connection.close()

    presses = [threading.Thread(target=press) for _ in range(2)]
    for one in presses:
        one.start()
    for one in presses:
        one.join(60)
    assert [one.pk for one in answers] == [thread.pk] * 2
    assert ThreadEvent.objects.filter(type="graph.start").count() == 2


def test_a_key_of_another_thread_sends_nothing_and_says_so(people: People, thread: Thread) -> None:
    turns.say(people.requester, thread, "Delete a.txt", submission_key="a" * 32)
    other = threads.start(people.requester, "keeper", "Hello")
    graphs.run()
    with pytest.raises(NotPossible, match="another thread"):
        turns.say(people.requester, other, "Delete b.txt", submission_key="a" * 32)
