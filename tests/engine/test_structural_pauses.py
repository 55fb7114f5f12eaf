"""Pauses around nodes: before, after, edited, rejected; they are questions like all others."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from graphs.engine.context import Context
from graphs.engine.errors import ThreadBusy
from graphs.engine.graph import Graph
from graphs.engine.outputs import Event
from graphs.engine.statuses import ThreadStatus
from tests.engine.runs import asks, resume, start, works

Store = Any


@pytest.mark.parametrize("edits", [None, {}, {"state": {"limit": 9}}])
async def test_z18_a_structural_pause_is_a_question_like_others(store: Store, edits: Any) -> None:
    """Also T15, T17: it stops before the node, and the node sees edited state."""
    calls: Counter[str] = Counter()

    def work(ctx: Context) -> Any:
        calls["work"] += 1
        return ctx.state.get("limit")

    graph = (
        Graph.new("g", state={"limit": "add"})
        .node("first", lambda: Event(output=1, state={"limit": 3}))
        .node("work", work)
        .edge("first", "work")
        .entry("first")
        .terminal("work")
        .compile(interrupt_before=["work"])
    )
    paused = await start(graph, store)
    (asked,) = paused.interrupts
    assert (asked.style, asked.reason, asked.node_id) == ("structural", "interrupt_before", "work")
    assert calls == {}
    result = await resume(graph, store, {"work": edits})
    assert result.output == (9 if edits else 3) and calls == {"work": 1}
    assert result.state.values["limit"] == (9 if edits else 3)


async def test_z39_a_rejected_node_ends_the_run_as_rejected(store: Store) -> None:
    calls: Counter[str] = Counter()
    graph = Graph.new("g").node("work", works(calls, "work")).entry("work").terminal("work")
    compiled = graph.compile(interrupt_before=["work"])
    await start(compiled, store)
    result = await resume(compiled, store, rejected={"work": "not today"})
    assert result.status is ThreadStatus.REJECTED and result.output == "not today"
    assert calls == {}


async def test_t16_after_a_node_its_output_is_stored_and_the_next_has_not_run(store: Store) -> None:
    calls: Counter[str] = Counter()
    graph = Graph.new("g").node("work", works(calls, "work")).node("next", works(calls, "next"))
    compiled = graph.edge("work", "next").entry("work").terminal("next").compile(interrupt_after=["work"])
    paused = await start(compiled, store)
    assert paused.interrupts[0].reason == "interrupt_after"
    assert paused.interrupts[0].value == {"output": "work done"}
    assert calls == {"work": 1}
    assert (await resume(compiled, store, {"work": True})).output == "next done"
    assert calls == {"work": 1, "next": 1}


async def test_t18_before_within_and_after_are_three_pauses_in_that_order(store: Store) -> None:
    calls: Counter[str] = Counter()
    graph = Graph.new("g").node("work", asks(calls, "work")).entry("work").terminal("work")
    compiled = graph.compile(interrupt_before=["work"], interrupt_after=["work"])
    styles = [(await start(compiled, store)).interrupts[0].reason]
    for _ in range(2):
        styles.append((await resume(compiled, store, {"work": True})).interrupts[0].reason)
    assert styles == ["interrupt_before", "input_required", "interrupt_after"]
    assert (await resume(compiled, store, {"work": True})).output == {"work": True}
    assert calls == {"work": 2}


async def test_z19_nobody_moves_past_an_approval_without_answering_it(store: Store) -> None:
    calls: Counter[str] = Counter()
    graph = Graph.new("g").node("work", works(calls, "work")).entry("work").terminal("work")
    compiled = graph.compile(interrupt_before=["work"])
    await start(compiled, store)
    for attempt in (resume(compiled, store), resume(compiled, store, {})):
        assert (await attempt).status is ThreadStatus.INTERRUPTED
    with pytest.raises(ThreadBusy):
        await start(compiled, store, "again")
    assert calls == {}
