"""The agents that ship answer over several turns, and stop before what a person must agree to."""

from __future__ import annotations

from typing import Any

from graphs.engine.workflow import compiled
from graphs.library import support


def fresh(agent: Any) -> Any:
    """The same agent in a conversation of its own."""
    return agent.with_tools([])


def test_support_looks_up_answers_on_and_asks_before_a_large_refund() -> None:
    agent = fresh(support.root_agent)
    assert "Which order" in str(agent("Hello"))
    assert "Floor lamp" in str(agent("It is a-4721"))
    asked = agent("I want my money back")
    assert asked.stop_reason == "interrupt"
    (question,) = asked.interrupts
    done = agent([{"interruptResponse": {"interruptId": question.id, "response": {"approved": True}}}])
    assert "180.00 was paid back" in str(done)


def test_support_pays_a_small_refund_at_once_and_tells_a_refusal() -> None:
    agent = fresh(support.root_agent)
    assert "19.90 was paid back" in str(agent("Refund A-4698"))
    (question,) = agent("Refund A-4721, please").interrupts
    refused = {"approved": False, "reason": "Too late"}
    said = agent([{"interruptResponse": {"interruptId": question.id, "response": refused}}])
    assert "Too late" in str(said) and "paid back" not in str(said)
    assert "cannot find" in str(agent("And Z-1?"))


def test_support_pays_nothing_back_twice() -> None:
    agent = fresh(support.root_agent)
    assert "paid back" in str(agent("Refund A-4698"))
    assert "0.00 is left to pay back" in str(agent("Refund A-4698 again, please"))
    assert agent.state.get() == {"repaid A-4698": 19.9}


def test_the_registered_agent_is_described() -> None:
    graph = compiled(support.root_agent)
    assert (graph.id, graph.title, graph.description) == (
        "support",
        "Talk to customer support",
        support.root_agent.description,
    )
