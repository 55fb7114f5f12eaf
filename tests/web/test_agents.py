"""Agents in the launcher: told apart from graphs, begun with a message, and found again."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from graphs.actions import threads
from graphs.agents.agent import Agent
from graphs.agents.models import ScriptedModel, ToolCall
from graphs.agents.teams.swarm import Swarm
from graphs.agents.tools import LongRunningFunctionTool, tool
from graphs.engine.graph import CompiledGraph, Graph
from graphs.engine.messages import Message
from graphs.engine.workflow import compiled
from graphs.models import Interrupt, Thread
from graphs.web import agents
from tests.actions import graphs
from tests.people import People
from tests.web.conftest import SignedIn, text_of

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("redis")]


@tool
def find(path: str) -> str:
    """Find a file.

    This is told to the model alone.
    """
    return path


@tool
def delete(path: str) -> str:
    """Delete a file."""
    return f"{path} is gone"


def reply(messages: Sequence[Message]) -> str | ToolCall:
    said = messages[-1].text()
    return ToolCall("delete", {"path": "a.txt"}) if "delete" in said else f"You said **{said}**, “quoted”."


def keeper(**options: Any) -> CompiledGraph:
    given = {"tools": [find, delete], "approve": ["delete"], "description": "Looks after files."} | options
    agent = Agent("keeper", ScriptedModel(reply), queue="finance", **given)
    agent.title = "The keeper"
    return compiled(agent)


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> CompiledGraph:
    graph = keeper()
    graphs.register(monkeypatch, graph, graphs.order())
    return graph


def listed(page: str) -> list[str]:
    """The first words of the conversations on a page, as it lists them."""
    return re.findall(r'<span class="thread-name"><b>([^<]*)</b>', page)


def begin(people: People, *messages: str) -> None:
    for one in messages:
        threads.start(people.requester, "keeper", one)
    graphs.run(len(messages) * 3)


def test_agents_stand_above_graphs(people: People, kept: CompiledGraph, signed_in: SignedIn) -> None:
    page = text_of(signed_in(people.requester).get("/launch"))
    above, _, below = page.partition("Start a graph")
    assert "Talk to an agent The keeper Looks after files. Start a conversation" in above
    assert "order" not in above and "order version" in below and "The keeper" not in below


def test_a_card_tells_of_the_conversations_one_has(people: People, kept: CompiledGraph, signed_in: SignedIn) -> None:
    begin(people, "hello", "please delete a.txt")
    assert "2 conversations, last now 1 waits for a decision" in text_of(signed_in(people.requester).get("/launch"))
    # Whoever may see them, they are the requester's.
    for other in (people.decider, people.operator):
        assert "Start a conversation" in text_of(signed_in(other).get("/launch"))


def test_a_team_is_an_agent_and_a_graph_that_keeps_messages_of_another_form_is_none() -> None:
    a, b = (Agent(name, ScriptedModel(["hi"]), tools=[find]) for name in "ab")
    team = compiled(Swarm([a, b], name="pair"))
    assert agents.is_agent(team) and agents.is_agent(keeper())
    assert agents.profile(team).members == ["a", "b"]
    # To hand over is how a team works, and no tool of it.
    assert [one.name for one in agents.profile(team).tools] == ["find"]
    for schema in (None, {"type": "object"}, {"type": "string", "enum": ["x"]}):
        graph = Graph("chat", state={"messages": "messages"}, input_schema=schema)
        assert not agents.is_agent(graph.node("say", lambda value: value).entry("say").compile())
    assert not agents.is_agent(graphs.order())


def test_a_page_tells_which_tools_ask_a_person(
    people: People, signed_in: SignedIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    def order(item: str) -> None:
        """Order something."""

    graphs.register(monkeypatch, keeper(tools=[find, delete, LongRunningFunctionTool(order)]))
    page = text_of(signed_in(people.requester).get("/launch/keeper"))
    assert "3 tools find Find a file. delete asks a person first Delete a file." in page
    assert "order asks a person first Order something." in page
    assert "told to the model" not in page and "Calls may wait" not in page
    graphs.register(monkeypatch, keeper(approve=[lambda name, arguments: True]))
    page = text_of(signed_in(people.requester).get("/launch/keeper"))
    assert "asks a person first" not in page and "Calls may wait for a person" in page
    graphs.register(monkeypatch, keeper(tools=[], approve=[]))
    page = text_of(signed_in(people.requester).get("/launch/keeper"))
    assert "0 tools" not in page and "None yet" in page and "Search your" not in page


def test_a_message_begins_a_conversation_once(people: People, kept: CompiledGraph, signed_in: SignedIn) -> None:
    browser = signed_in(people.requester)
    fields = {"f": "  hello\r\nthere \n", "key": "c" * 32}
    first, second = (browser.post("/launch/keeper", fields) for _ in range(2))
    thread = Thread.objects.get()
    assert first.status_code == 303 and first["Location"] == second["Location"] == f"/threads/{thread.uid}#say"
    assert thread.input == "hello\nthere" and thread.conversation.requester == people.requester
    graphs.run()
    assert "You said hello" in text_of(browser.get(f"/threads/{thread.uid}"))


@pytest.mark.parametrize("typed", ["", " \r\n ", "\n<b>long</b> " + "x" * 20_000])
def test_what_was_typed_comes_back_with_what_is_wrong(
    typed: str, people: People, kept: CompiledGraph, signed_in: SignedIn
) -> None:
    answer = signed_in(people.requester).post("/launch/keeper", {"f": typed, "key": "d" * 32})
    page = answer.content.decode()
    assert answer.status_code == 422 and not Thread.objects.exists()
    assert "Write between 1 and 20,000 characters" in page and 'aria-invalid="true"' in page
    kept_text = typed.replace("\r\n", "\n").replace("<", "&lt;").replace(">", "&gt;")
    assert f">\n{kept_text}</textarea>" in page and 'value="' + "d" * 32 in page


def test_one_begins_again_with_the_message_of_another_conversation(
    people: People, kept: CompiledGraph, signed_in: SignedIn
) -> None:
    begin(people, "hello <there>")
    uid = Thread.objects.get().uid
    page = signed_in(people.requester).get(f"/launch/keeper?like={uid}").content.decode()
    assert "hello &lt;there&gt;</textarea>" in page and "a conversation of its own" in page
    assert signed_in(people.stranger).get(f"/launch/keeper?like={uid}").status_code == 404


def test_the_list_shows_first_and_last_words_and_what_is_waited_for(
    people: People, kept: CompiledGraph, signed_in: SignedIn
) -> None:
    begin(people, "hello", "please delete a.txt")
    page = signed_in(people.requester).get("/launch/keeper")
    assert listed(page.content.decode()) == ["please delete a.txt", "hello"]
    # Marks of markdown are for a message's own page.
    assert "You said hello, “quoted”." in text_of(page)
    asked = Interrupt.objects.get()
    uid = Thread.objects.get(title__contains="delete").uid
    row = re.search(rf'<a href="/threads/{uid}">.*?</a>', page.content.decode(), re.DOTALL)
    assert row and "keeper wants to call delete" in row[0] and "waiting" in row[0]
    graphs.answer(people.decider, asked.thread)
    graphs.run()
    assert "wants to call" not in text_of(signed_in(people.requester).get("/launch/keeper"))


@pytest.mark.parametrize(
    ("output", "last"),
    [
        ('say "x" \\ ü \n next', 'say "x" \\ ü next'),
        ("\x01" * 2_000, "\ufffd" * 66),
        ("\\" * 2_000, "\\" * 100),
        ("é" * 2_000, "é" * 399),
        ("w" * 70_000, ""),  # kept elsewhere, and not read for a list
        ({"done": True}, ""),
        (None, ""),
    ],
)
def test_last_words_are_cut_where_a_character_is_whole(
    output: Any, last: str, people: People, kept: CompiledGraph, signed_in: SignedIn
) -> None:
    begin(people, "hello")
    thread = Thread.objects.get()
    thread.output = output
    thread.save()
    found = agents.conversations(people.requester, kept, signed_in(people.requester).get("/").wsgi_request.GET)
    assert found.lines[0].last == last


def test_only_ones_own_are_listed(people: People, kept: CompiledGraph, signed_in: SignedIn) -> None:
    begin(people, "hello")
    for other in (people.decider, people.operator, people.stranger):
        page = text_of(signed_in(other).get("/launch/keeper?q=hello"))
        assert "None of your conversations begins like that" in page and "You said" not in page


def test_they_are_searched_by_what_was_said_first(people: People, kept: CompiledGraph, signed_in: SignedIn) -> None:
    browser = signed_in(people.requester)
    begin(people, "one apple", "two pears", 'say "cheese" ' + "and more " * 20 + "at the end")
    for text, found in (
        ("apple", ["one apple"]),
        ("PEARS two", ["two pears"]),
        ("one pears", []),
        ('"cheese"', 1),
        ("the end", 1),
        ("%", []),
        ("\x00_", []),
    ):
        page = browser.get("/launch/keeper", {"q": text}).content.decode()
        assert listed(page) == found if isinstance(found, list) else len(listed(page)) == found, text
    assert 'value="&lt;b&gt;"' in browser.get("/launch/keeper", {"q": "<b>"}).content.decode()


def test_pages_of_them_follow_each_other_without_gaps(people: People, kept: CompiledGraph, signed_in: SignedIn) -> None:
    begin(people, *(f"message {number}" for number in range(45)))
    at = Thread.objects.latest("updated_at").updated_at
    # Many of one moment, as after an import: the cursor has to tell them apart.
    Thread.objects.filter(pk__in=Thread.objects.order_by("pk")[:30]).update(updated_at=at + timedelta(seconds=1))
    browser, seen, address = signed_in(people.requester), [], "/launch/keeper?q=message"
    while address:
        page = browser.get(address).content.decode()
        seen.append(listed(page))
        later = re.search(r'href="([^"]*before=[^"]*)"', page)
        address = later[1].replace("&amp;", "&") if later else ""
    assert [len(one) for one in seen] == [20, 20, 5]
    flat = [title for one in seen for title in one]
    assert sorted(flat) == sorted(f"message {number}" for number in range(45)) and flat[0] == "message 29"


def test_one_that_goes_on_while_it_is_the_last_of_a_page_hides_none(
    people: People, kept: CompiledGraph, signed_in: SignedIn
) -> None:
    begin(people, *(f"message {number}" for number in range(23)))
    browser = signed_in(people.requester)
    page = browser.get("/launch/keeper").content.decode()
    edge = Thread.objects.get(title__endswith=listed(page)[-1])
    Thread.objects.filter(pk=edge.pk).update(updated_at=edge.updated_at + timedelta(hours=1))
    found = re.search(r'href="([^"]*before=[^"]*)"', page)
    assert found and listed(browser.get(found[1]).content.decode())[-3:] == ["message 2", "message 1", "message 0"]


ODD = [
    "x",
    "_",
    "_7",
    "2026-01-01_7",
    f"2026-01-01T00:00:00+00:00_{'9' * 30}",
    "9999-12-31T23:59:59.9999+00:00_7",
    "\x00",
]


@pytest.mark.parametrize("before", ODD)
def test_an_odd_cursor_is_dropped(before: str, people: People, kept: CompiledGraph, signed_in: SignedIn) -> None:
    begin(people, "hello")
    assert listed(signed_in(people.requester).get("/launch/keeper", {"before": before}).content.decode()) == ["hello"]


def test_a_cursor_past_the_last_says_so(people: People, kept: CompiledGraph, signed_in: SignedIn) -> None:
    begin(people, "hello")
    page = text_of(signed_in(people.requester).get("/launch/keeper", {"before": "0001-01-01T00:00:00+00:00_1"}))
    assert "There are no older ones" in page and "Show all" in page


@pytest.mark.parametrize("address", ["/launch", "/launch/keeper", "/launch/keeper?q=a"])
def test_it_takes_no_more_queries_for_more_conversations(
    address: str, people: People, kept: CompiledGraph, signed_in: SignedIn
) -> None:
    browser = signed_in(people.requester)
    counts = []
    for _ in range(2):
        begin(people, *(["please delete a.txt", "a hello"] * 4))
        with CaptureQueriesContext(connection) as captured:
            assert browser.get(address).status_code == 200
        counts.append(len(captured))
    assert counts[0] == counts[1] <= 9
