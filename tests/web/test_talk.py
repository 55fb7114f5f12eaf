"""What a conversation and a card make of tool calls, answers that were thrown away, lists, and effects of one key."""

from __future__ import annotations

from typing import Any

import pytest

from graphs.actions import forks, threads
from graphs.agents.agent import LlmAgent
from graphs.agents.models import ScriptedModel, ToolCall
from graphs.agents.tools import tool
from graphs.engine.asking import ask, interrupt
from graphs.engine.context import Context
from graphs.engine.graph import Graph
from graphs.engine.statuses import Outcome, ThreadStatus
from graphs.models import Interrupt, Thread
from graphs.web import asking, tags
from tests.actions import graphs
from tests.people import People
from tests.web.conftest import SignedIn, text_of

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("redis")]


def begin(people: People, monkeypatch: pytest.MonkeyPatch, graph: Graph, given: Any = None) -> Thread:
    graphs.register(monkeypatch, graph.compile())
    threads.start(people.requester, graph.id, given)
    graphs.run()
    return Thread.objects.get()


def test_an_answer_that_was_thrown_away_is_told_with_the_question_that_replaced_it(
    people: People, signed_in: SignedIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    prices = iter((10, 20, 20, 20))

    def agree(value: Any) -> Any:
        return ask("Pay it?", payload={"price": next(prices)}, queue="finance").outcome

    thread = begin(people, monkeypatch, Graph.new("fickle").node("agree", agree).entry("agree").terminal("agree"))
    graphs.answer(people.decider, thread)
    graphs.run()
    old, new = Interrupt.objects.order_by("revision")
    client = signed_in(people.decider)
    page = client.get(f"/review/{old.pk}")
    assert "This answer was not used" in text_of(page) and "the node asked something else instead" in text_of(page)
    assert f'<a href="/review/{new.pk}">Open the newer question</a>' in page.content.decode()
    talk = client.get(f"/threads/{thread.uid}")
    assert "The answer of decider was not used: the node asked something else instead." in text_of(talk)
    assert f'/review/{new.pk}" data-pane-link>Pay it?' in talk.content.decode()
    assert "was not used" in text_of(client.get(f"/review/{new.pk}"))


def clerk(monkeypatch: pytest.MonkeyPatch, people: People) -> Thread:
    @tool
    def refund(order: str, amount: int) -> dict[str, Any]:
        """Pay back."""
        said = interrupt({"order": order, "amount": amount}, message="Refund it?")
        return {"paid": amount, "said": said}

    model = ScriptedModel([ToolCall("refund", {"order": "A-9", "amount": 70}), "Done."])
    agent = LlmAgent("clerk", model, tools=[refund])
    return begin(
        people,
        monkeypatch,
        Graph.new("desk", queue="finance").node("clerk", agent).entry("clerk").terminal("clerk"),
        "Help",
    )


def test_tool_calls_read_as_calls(people: People, signed_in: SignedIn, monkeypatch: pytest.MonkeyPatch) -> None:
    thread = clerk(monkeypatch, people)
    row = Interrupt.objects.get()
    card = signed_in(people.operator).get(f"/review/{row.pk}")
    labels = [fact.label for fact in card.context["facts"]]
    assert labels.count("Order") == 1 and not [label for label in labels if label.startswith("Arguments")]
    graphs.answer(people.decider, thread, outcome=Outcome.ANSWERED, value="fine")
    graphs.run()
    assert Thread.objects.get().status == ThreadStatus.COMPLETED
    page = text_of(signed_in(people.operator).get(f"/threads/{thread.uid}"))
    assert "refund Order A-9, Amount 70 done Called with Order A-9 Amount 70 Gave Paid 70 Said fine" in page
    assert "tool:0.0" not in page and "toolUse" not in page and "values" not in page
    assert "decider answered Refund it?" in page and "fine" in page


def test_messages_that_a_node_gives_read_as_calls_and_results(
    people: People, signed_in: SignedIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    use = {"toolUse": {"toolUseId": "u1", "name": "weather", "input": {"city": "Riga"}}}
    gave = {"toolResult": {"toolUseId": "u1", "status": "success", "content": [{"text": "Rain"}]}}
    failed = {"toolResult": {"toolUseId": "u2", "status": "error", "content": [{"text": "No such city"}]}}
    told = [
        {"role": "assistant", "content": [{"text": "I look."}, use]},
        {"role": "user", "content": [gave, failed]},
    ]
    thread = begin(people, monkeypatch, Graph.new("sky").node("look", lambda: told).entry("look").terminal("look"))
    page = text_of(signed_in(people.requester).get(f"/threads/{thread.uid}"))
    assert "weather called with City Riga" in page and "weather gave Rain" in page and "I look." in page
    assert "A tool failed No such city" in page


def test_a_list_reads_as_its_values(people: People, signed_in: SignedIn, monkeypatch: pytest.MonkeyPatch) -> None:
    def find() -> Any:
        return {"orders": [{"id": "A-1", "sum": 3}]}

    thread = begin(people, monkeypatch, Graph.new("list").node("find", find).entry("find").terminal("find"))
    page = text_of(signed_in(people.requester).get(f"/threads/{thread.uid}"))
    assert "Orders Id Sum A-1 3" in page and "1 rows" not in page


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        ("yes", "yes"),
        (False, "No"),
        ([1, 2], "1, 2"),
        ({"limit": 5, "tags": ["a", "b"]}, "Limit: 5, Tags: a, b"),
        ([{"a": 1}, {"a": 2}], "2 rows"),
    ],
)
def test_an_answer_is_told_in_one_line(value: Any, text: str) -> None:
    assert tags.told(value) == text


def test_effects_of_one_key_are_told_apart_when_a_fork_asks(people: People, monkeypatch: pytest.MonkeyPatch) -> None:
    def pay(value: Any, ctx: Context) -> Any:
        return [ctx.once("charge", lambda: 1), ctx.once("charge", lambda: 2)]

    def close(value: Any, ctx: Context) -> Any:
        return ctx.once("charge", lambda: 3)

    graph = Graph.new("shop", queue="finance").node("pay", pay).node("close", close)
    thread = begin(people, monkeypatch, graph.edge("pay", "close").entry("pay").terminal("close"))
    child = forks.fork(people.operator, thread, 0, {}, submission_key="f" * 32)
    seen = []
    for _ in range(3):
        graphs.run()
        row = Interrupt.objects.waiting().get(thread=child)
        seen.append(asking.title_of(row).partition(" took")[0])
        graphs.answer(people.decider, child, outcome=Outcome.ANSWERED, value={"do": "take"})
    assert seen == ["“charge” of pay", "“charge” of pay number 2", "“charge” of close"]


def test_an_effect_inside_a_tool_is_told_by_the_tools_name() -> None:
    row = Interrupt(
        style="effect",
        node_id="clerk",
        message="“tool:0.0/call” of clerk was cut off while it ran. Did it happen?",
        payload={"effect": "tool:0.0/call"},
        metadata={"agent": "clerk", "tool": "refund", "arguments": {}},
    )
    assert asking.title_of(row) == "“refund” of clerk was cut off while it ran. Did it happen?"
    row.payload = {"effect": "tool:0.0/charge"}
    row.message = "“tool:0.0/charge” took place in the thread that this one was forked from."
    assert asking.title_of(row).startswith("“charge in refund” of clerk took place")
