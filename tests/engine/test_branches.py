"""Family G: joins, cycles and nested graphs."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from graphs.engine.asking import request_human_input
from graphs.engine.context import Context, ExecutableInput
from graphs.engine.errors import AnswerMismatch
from graphs.engine.graph import Graph
from graphs.engine.outputs import Event
from graphs.engine.results import GraphRunStatus
from tests.engine.runs import asks, fan, keeps, one, pending, resume, start, works

Store = Any


@pytest.mark.parametrize(("join", "arrives"), [("all", {"a": {"a": 1}}), ("merge", {"a": 1})])
async def test_g23_a_false_predicate_does_not_hold_a_join_back(store: Store, join: str, arrives: Any) -> None:
    seen: list[Any] = []
    graph = (
        Graph.new("partly")
        .node("root", lambda: "root")
        .node("a", asks(Counter(), "a"))
        .node("b", lambda: "b")
        .node("join", keeps(seen), join=join)
        .edge("root", "a")
        .edge("root", "b")
        .edge("a", "join")
        .edge("b", "join", when=lambda output: False)
        .entry("root")
        .terminal("join")
        .compile()
    )
    await start(graph, store)
    assert seen == []
    result = await resume(graph, store, {"a": 1})
    assert result.status == GraphRunStatus.COMPLETED
    assert seen == [arrives]


async def test_g24_an_or_join_fires_with_any_arrival(store: Store) -> None:
    seen: list[Any] = []
    graph = fan({"a": asks(Counter(), "a"), "b": asks(Counter(), "b")}, keeps(seen), kind="any")
    await start(graph, store)
    await resume(graph, store, {"b": 2})
    assert seen == [{"b": {"b": 2}}]
    result = await resume(graph, store, {"a": 1})
    assert result.status == GraphRunStatus.COMPLETED
    assert seen == [{"b": {"b": 2}}, {"a": {"a": 1}}]


async def test_g25_a_cycle_asks_anew_on_each_visit(store: Store) -> None:
    def review(inp: ExecutableInput, ctx: Context) -> Event:
        answer = request_human_input(inp, "Good enough?")
        return Event(output=answer, route="done" if answer == "yes" else "again")

    graph = (
        Graph.new("cycle")
        .node("review", review)
        .node("revise", lambda node_input: node_input)
        .node("publish", keeps([]))
        .edge("review", "revise", when="again")
        .edge("revise", "review")
        .edge("review", "publish", when="done")
        .entry("review")
        .terminal("publish")
        .compile()
    )
    asked = [(await start(graph, store)).interrupts[0]]
    for reply in ("no", "no again"):
        asked.append((await resume(graph, store, {"review": reply})).interrupts[0])
    result = await resume(graph, store, {"review": "yes"})
    assert result.status == GraphRunStatus.COMPLETED
    assert [one.visit for one in asked] == [1, 2, 3]
    assert len({one.id for one in asked}) == 3


def nested(calls: Counter[str], seen: list[Any]) -> Any:
    inner = fan({"x": asks(calls, "x"), "y": asks(calls, "y"), "z": works(calls, "z")}, keeps([], calls, "inner"))
    outer = Graph.new("outer").node("before", works(calls, "before")).node("sub", inner).node("after", keeps(seen))
    return outer.edge("before", "sub").edge("sub", "after").entry("before").terminal("after").compile()


async def test_g26_a_nested_question_stands_on_the_outer_node_and_names_the_inner_one(store: Store) -> None:
    inner = one(asks(Counter(), "ask"))
    graph = Graph.new("outer").node("sub", inner).entry("sub").terminal("sub").compile()
    result = await start(graph, store)
    assert pending(result) == ["sub"]
    asked = result.state.pending_interrupts["sub"]
    assert (asked.node_id, asked.path, asked.graph_path) == ("ask", "sub/ask", ("outer", "one"))
    result = await resume(graph, store, {"sub": "yes"})
    assert result.output == {"ask": "yes"}


async def test_g27_nested_answers_reach_their_nodes_and_siblings_rest(store: Store) -> None:
    calls: Counter[str] = Counter()
    seen: list[Any] = []
    graph = nested(calls, seen)
    first = await start(graph, store)
    assert [one.path for one in first.interrupts] == ["sub/x", "sub/y"]
    with pytest.raises(AnswerMismatch):
        await resume(graph, store, {"sub": 0})
    partly = await resume(graph, store, {"sub/y": 2})
    assert [one.path for one in partly.interrupts] == ["sub/x"]
    result = await resume(graph, store, {"sub": 1})
    assert result.status == GraphRunStatus.COMPLETED
    assert seen == [{"x": {"x": 1}, "y": {"y": 2}, "z": "z done"}]
    assert calls == {"before": 1, "x": 2, "y": 2, "z": 1, "inner": 1}
