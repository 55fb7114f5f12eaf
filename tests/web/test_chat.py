"""An agent's conversation as a page: its parts, its cards, what is being written, and a long one read from its end."""

from __future__ import annotations

import re
from typing import Any

import pytest

from graphs.actions import threads, turns
from graphs.agents.agent import Agent
from graphs.agents.models import ModelReply, ScriptedModel, ToolCall
from graphs.agents.teams.swarm import Swarm
from graphs.agents.tools import tool
from graphs.engine.statuses import Outcome
from graphs.engine.workflow import compiled
from graphs.models import Comment, Interrupt, JournalEntry, Lease, StreamedText, Thread
from graphs.web import entries, talk
from tests.actions import graphs
from tests.people import People
from tests.records import statements
from tests.web.conftest import SignedIn, text_of

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("redis")]


@tool
def look_up(order: str) -> dict[str, Any]:
    """Look an order up."""
    return {"order": order, "lines": [{"item": "Lamp", "price": 5}]}


@tool
def cancel(order: str) -> str:
    """Cancel an order."""
    return f"{order} is cancelled"


@tool
def fail(order: str) -> str:
    """Fail."""
    raise ValueError("the shop is closed")


def begin(people: People, monkeypatch: pytest.MonkeyPatch, app: Any, text: str = "Hello") -> Thread:
    graph = compiled(app)
    graphs.register(monkeypatch, graph)
    threads.start(people.requester, graph.id, text)
    graphs.run()
    return Thread.objects.get()


def clerk(*replies: Any, **options: Any) -> Agent:
    return Agent("clerk", ScriptedModel(list(replies)), tools=[look_up, cancel, fail], queue="finance", **options)


def cards(thread: Thread) -> list[tuple[str, str]]:
    return [(card.name, card.state.word) for entry in talk.read(thread).before for card in entry.cards]


CALLS = (
    ToolCall("look_up", {"order": "A-1"}),
    ToolCall("fail", {"order": "A-1"}),
    ToolCall("cancel", {"order": "A-1"}),
)


def test_calls_are_cards_that_say_how_they_stand(
    people: People, monkeypatch: pytest.MonkeyPatch, signed_in: SignedIn
) -> None:
    agent = clerk(ModelReply("I **cancel** it.", CALLS), "It is done.", approve=["cancel"])
    thread = begin(people, monkeypatch, agent)
    assert cards(thread) == [("look_up", "done"), ("fail", "failed"), ("cancel", "waits for a decision")]
    page = signed_in(people.requester).get(f"/threads/{thread.uid}")
    assert "<strong>cancel</strong>" in page.content.decode() and "What it says, unchecked" in text_of(page)
    assert "Failed ValueError: the shop is closed" in text_of(page)
    assert f'href="/review/{Interrupt.objects.get().pk}" data-pane-link>Open the question' in page.content.decode()
    graphs.answer(people.decider, thread, comment="Go on")
    graphs.run()
    thread.refresh_from_db()
    assert cards(thread)[-1] == ("cancel", "done")
    page = signed_in(people.requester).get(f"/threads/{thread.uid}")
    assert re.search(
        r"decider approved clerk wants to call cancel: Order A-1 .*Go on Recorded as no\. \d+", text_of(page)
    )
    assert text_of(page).count("It is done.") == 1


def test_a_call_that_a_person_refused_says_so(people: People, monkeypatch: pytest.MonkeyPatch) -> None:
    thread = begin(people, monkeypatch, clerk(ToolCall("cancel", {"order": "A-1"}), "Well.", approve=["cancel"]))
    graphs.answer(people.decider, thread, outcome=Outcome.REJECTED, comment="Keep it")
    graphs.run()
    (card,) = [card for entry in talk.read(thread).before for card in entry.cards]
    assert card.state.word in ("not allowed", "failed") and "Keep it" in card.text


def test_arguments_that_a_person_changed_stand_beside_those_that_were_proposed(
    people: People, monkeypatch: pytest.MonkeyPatch, signed_in: SignedIn
) -> None:
    thread = begin(people, monkeypatch, clerk(ToolCall("cancel", {"order": "A-1"}), "Well.", approve=["cancel"]))
    changed = {"approved": True, "arguments": {"order": "A-2"}}
    graphs.answer(people.decider, thread, outcome=Outcome.APPROVED, value=changed)
    graphs.run()
    page = text_of(signed_in(people.requester).get(f"/threads/{thread.uid}"))
    assert "Called with Order A-1 Ran with, after a change Order A-2 Gave A-2 is cancelled" in page
    assert "approved with other arguments" in page


def test_a_handover_and_the_words_of_each_member_are_told(people: People, monkeypatch: pytest.MonkeyPatch) -> None:
    handover = ToolCall("handoff_to_agent", {"agent_name": "editor", "message": "Please check"})
    writer = Agent("writer", ScriptedModel([ModelReply("I wrote it.", (handover,)), "Over to you."]))
    editor = Agent("editor", ScriptedModel(["It reads well."]))
    thread = begin(people, monkeypatch, Swarm([writer, editor]), "Write")
    found = talk.read(thread).before
    assert [card.hands_to for entry in found for card in entry.cards] == ["editor"]
    assert [entry.prose for entry in found if entry.prose][:3] == ["I wrote it.", "Over to you.", "It reads well."]


def nested() -> Agent:
    calls = (ToolCall("cancel", {"order": "A-1"}), ToolCall("look_up", {"order": "A-1"}))
    inner = Agent("inner", ScriptedModel([calls, "I did."]), tools=[cancel, look_up], approve=["cancel"])
    return Agent(
        "outer", ScriptedModel([ToolCall("inner", {"input": "hey"}), "All done."]), tools=[inner], queue="finance"
    )


@pytest.mark.parametrize(("outcome", "state"), [(Outcome.APPROVED, "done"), (Outcome.REJECTED, "not allowed")])
def test_an_agent_inside_a_tool_of_another_speaks_for_itself(
    outcome: Outcome, state: str, people: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    thread = begin(people, monkeypatch, nested())
    waits = "waits for a decision"
    assert cards(thread) == [("inner", waits), ("cancel", waits), ("look_up", "done")]
    graphs.answer(people.decider, thread, outcome=outcome, comment="Because")
    graphs.run()
    thread.refresh_from_db()
    found = talk.read(thread).before
    assert cards(thread) == [("inner", "done"), ("cancel", state), ("look_up", "done")]
    assert [(entry.who, entry.note) for entry in found if entry.prose] == [("inner", "for outer"), ("outer", "")]
    assert not [entry.who for entry in found if entry.kind == "tool"]


def test_what_waited_when_a_thread_was_cancelled_is_not_said_to_be_run(
    people: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    replies = ToolCall("cancel", {"order": "A-1"}), "What else?"
    thread = begin(people, monkeypatch, clerk(*replies, approve=["cancel"]))
    threads.cancel(people.requester, thread)
    thread.refresh_from_db()
    assert cards(thread) == [("cancel", "not run")]
    turns.say(people.requester, thread, "Never mind")
    graphs.run()
    thread.refresh_from_db()
    assert thread.status == "completed" and cards(thread) == [("cancel", "not run")]


def test_words_under_way_are_shown_to_those_who_see_the_thread(
    people: People, monkeypatch: pytest.MonkeyPatch, signed_in: SignedIn
) -> None:
    thread = begin(people, monkeypatch, clerk("Done."))
    Thread.objects.update(status="running")
    token = Lease.objects.get().token
    StreamedText.objects.create(thread=thread, path="clerk", visit=2, token=token, text="I am <b>writing</b> *now*")
    for address in (f"/threads/{thread.uid}", f"/threads/{thread.uid}/words"):
        page = signed_in(people.requester).get(address)
        assert "clerk is writing" in text_of(page) and "<em>now</em>" in page.content.decode()
        assert "<b>writing</b>" not in page.content.decode()
        assert signed_in(people.stranger).get(address).status_code == 404
    Thread.objects.update(status="completed")
    assert "is writing" not in text_of(signed_in(people.requester).get(f"/threads/{thread.uid}/words"))


def test_while_it_is_at_work_a_message_can_be_written_and_not_sent(
    people: People, monkeypatch: pytest.MonkeyPatch, signed_in: SignedIn
) -> None:
    thread = begin(people, monkeypatch, clerk("Done."))
    Thread.objects.update(status="running")
    page = signed_in(people.requester).get(f"/threads/{thread.uid}").content.decode()
    assert re.search(r'<button class="btn btn-go" disabled aria-describedby="say-why">.*?Send', page, re.S)
    assert signed_in(people.requester).post(f"/threads/{thread.uid}/say", {"text": "x"}).status_code == 409


def remarked(thread: Thread, count: int) -> None:
    for index in range(count):
        Comment.objects.create(thread=thread, author_name="mia", text=f"remark {index:04}")


def remarks(found: talk.Talk) -> list[str]:
    return [entry.text for entry in found.before if entry.kind == "comment"]


def test_a_long_conversation_is_read_page_by_page_and_nothing_is_left_out(
    people: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    thread = begin(people, monkeypatch, clerk("Done."))
    remarked(thread, 250)
    found = talk.read(thread)
    seen, pages = remarks(found), 1
    assert found.older and not [entry for entry in found.before if entry.kind == "input"]
    while found.older:
        place = entries.parsed(str(found.first))
        assert place == found.first
        found = talk.read(thread, before=place)
        seen, pages = remarks(found) + seen, pages + 1
    assert seen == [f"remark {index:04}" for index in range(250)] and pages == 3
    assert found.before[0].kind == "input" and found.before[0].text == "Hello"


def test_rows_of_one_moment_are_neither_lost_nor_told_twice(people: People, monkeypatch: pytest.MonkeyPatch) -> None:
    thread = begin(people, monkeypatch, clerk("Done."))
    remarked(thread, 250)
    Comment.objects.update(created_at=thread.ended_at)
    JournalEntry.objects.update(at=thread.ended_at)
    found, seen = talk.read(thread), []
    while True:
        seen = remarks(found) + seen
        if not found.older:
            break
        found = talk.read(thread, before=found.first)
    assert seen == [f"remark {index:04}" for index in range(250)]


def test_an_open_page_keeps_its_beginning_however_much_comes(people: People, monkeypatch: pytest.MonkeyPatch) -> None:
    thread = begin(people, monkeypatch, clerk("Done."))
    remarked(thread, 150)
    first = talk.read(thread).first
    remarked(thread, 120)
    again = talk.read(thread, since=first)
    assert len(remarks(again)) == 220 and again.first == first
    remarked(thread, 700)
    anew = talk.read(thread, since=first)
    assert len(remarks(anew)) == 100 and anew.first > first and anew.older
    assert talk.read(thread, since=entries.START).first != entries.START


def test_the_page_asks_as_little_however_long_it_is(
    people: People, monkeypatch: pytest.MonkeyPatch, signed_in: SignedIn
) -> None:
    replies = [one for _ in range(30) for one in (ModelReply("I look.", CALLS[:1]), "Done.")]
    thread = begin(people, monkeypatch, clerk(*replies))
    client, counts = signed_in(people.requester), []
    for more in (1, 25):
        for _ in range(more):
            turns.say(people.requester, Thread.objects.get(), "And?")
            graphs.run()
        with statements() as sent:
            client.get(f"/threads/{thread.uid}")
        counts.append(len(sent))
    assert counts[0] == counts[1] <= 21
    page = client.get(f"/threads/{thread.uid}").content.decode()
    assert "Show earlier messages" in page
    found = re.search(r'href="([^"]+)" data-older', page)
    assert found is not None
    older = client.get(found[1].replace("&amp;", "&"))
    assert "Back to the newest messages" in text_of(older) and "requester asked for this" in text_of(older)


@pytest.mark.parametrize(
    "place",
    [
        *("x", "~", "2026-01-01T00:00:00+00:00~9~1", "2026-13-01~0~1", "1" * 300, "٣~٣~٣", "2026-01-01T00:00:00~0~1"),
        *("0001-01-01T00:00:00+14:00~0~0", "9999-12-31T23:59:59-14:00~0~0"),
    ],
)
def test_an_address_that_names_no_place_shows_the_end(
    place: str, people: People, monkeypatch: pytest.MonkeyPatch, signed_in: SignedIn
) -> None:
    thread = begin(people, monkeypatch, clerk("Done."))
    for name in ("before", "since"):
        page = signed_in(people.requester).get(f"/threads/{thread.uid}", {name: place})
        assert page.status_code == 200 and "Your message" in text_of(page)


def test_a_question_decided_long_ago_is_shown_with_what_was_said_before_it(
    people: People, monkeypatch: pytest.MonkeyPatch, signed_in: SignedIn
) -> None:
    thread = begin(people, monkeypatch, clerk(ToolCall("cancel", {"order": "A-1"}), "Well.", approve=["cancel"]))
    graphs.answer(people.decider, thread)
    graphs.run()
    remarked(thread, 800)
    page = text_of(signed_in(people.requester).get(f"/review/{Interrupt.objects.get().pk}"))
    assert "requester asked for this" in page and "remark 0799" in page and "Much has followed since" in page
