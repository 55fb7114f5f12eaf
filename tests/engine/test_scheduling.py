"""Supersteps, joins, routes, state and nested graphs; in which order things happen must never matter."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest

from graphs.engine import superstep
from graphs.engine.context import Context
from graphs.engine.errors import UnknownThread
from graphs.engine.graph import Graph
from graphs.engine.loop import advance
from graphs.engine.outputs import Event
from graphs.engine.ports import SystemClock, ThreadRef, random_id
from graphs.engine.statuses import ThreadStatus
from tests.engine.runs import asks, chain, fan, keeps, one, pending, resume, retry, start, works

Store = Any


async def test_z13_an_answered_branch_runs_as_far_as_it_can(store: Store) -> None:
    calls: Counter[str] = Counter()
    graph = (
        Graph.new("g")
        .node("root", lambda: 0)
        .node("a", asks(calls, "a"))
        .node("a2", works(calls, "a2"))
        .node("a3", works(calls, "a3"))
        .node("b", asks(calls, "b"))
        .node("join", keeps([]))
    )
    for pair in ("root a", "root b", "a a2", "a2 a3", "a3 join", "b join"):
        graph.edge(*pair.split())
    compiled = graph.entry("root").terminal("join").compile()
    await start(compiled, store)
    result = await resume(compiled, store, {"a": 1})
    assert pending(result) == ["b"]
    assert calls == {"a": 2, "a2": 1, "a3": 1, "b": 1}


async def test_z37_a_node_that_returned_nothing_is_finished(store: Store) -> None:
    calls: Counter[str] = Counter()

    def nothing() -> None:
        calls["nothing"] += 1

    graph = chain([("nothing", nothing), ("ask", asks(calls, "ask"))])
    await start(graph, store)
    await resume(graph, store)
    await resume(graph, store, {"ask": 1})
    assert calls == {"nothing": 1, "ask": 2}


async def test_z40_a_nested_pause_outlives_its_process(store: Store, restarted: Any) -> None:
    inner = chain([("first", works(Counter(), "first")), ("ask", asks(Counter(), "ask"))])
    middle = Graph.new("middle").node("deep", inner).entry("deep").terminal("deep").compile()
    graph = Graph.new("outer").node("sub", middle).node("end", keeps([])).edge("sub", "end")
    compiled = graph.entry("sub").terminal("end").compile()
    paused = await start(compiled, store)
    assert paused.interrupts[0].path == "sub/deep/ask"
    assert paused.interrupts[0].graph_path == ("outer", "middle", "chain")
    result = await resume(compiled, restarted(store), {"sub": 1})
    assert result.output == {"ask": 1}


async def test_a_nested_graph_in_a_loop_has_its_own_state_each_time(store: Store) -> None:
    def inner_work(ctx: Context, node_input: int) -> Any:
        ctx.state["n"] = 1
        return [node_input, ctx.state["n"], ctx.visit]

    inner = Graph.new("inner", state={"n": "add"}).node("w", inner_work).entry("w").terminal("w").compile()
    graph = (
        Graph.new("outer")
        .node("sub", inner)
        .node("again", lambda node_input: Event(output=node_input[0] + 1, route=node_input[0] < 3))
        .node("end", keeps([]))
        .edge("sub", "again")
        .edge("again", "sub", when=True)
        .edge("again", "end", when=False)
        .entry("sub")
        .terminal("end")
        .terminal("again")
        .compile()
    )
    result = await start(graph, store, 1)
    assert result.state.node_results["sub/w"] == [3, 1, 3]
    assert result.status is ThreadStatus.COMPLETED
    cells = (await store.load(ThreadRef("outer", "run-1"))).cells
    assert not [name for name in cells if name.startswith(("channel:", "nest:", "task:"))]


async def test_hooks_and_gates_stand_before_and_after_a_nested_graph(store: Store) -> None:
    inner = one(asks(Counter(), "ask"))
    graph = Graph.new("outer").node("sub", inner).entry("sub").terminal("sub")
    compiled = graph.compile(interrupt_before=["sub"], interrupt_after=["sub"])
    reasons = [(await start(compiled, store)).interrupts[0].reason]
    for reply in (True, "yes"):
        reasons.append((await resume(compiled, store, {"sub": reply})).interrupts[0].reason)
    assert reasons == ["interrupt_before", "input_required", "interrupt_after"]
    assert (await resume(compiled, store, {"sub": True})).output == {"ask": "yes"}


async def test_z47_the_cost_of_a_resume_does_not_grow_with_history(store: Store) -> None:
    """What is loaded, stored and written for one answer is the same after 5 and after 300 rounds."""
    graph = (
        Graph.new("loop")
        .node("ask", lambda: Event(output=asks(Counter(), "x")(None, None), route="again"))
        .node("work", lambda: "x" * 50)
        .edge("ask", "work", when="again")
        .edge("work", "ask")
        .entry("ask")
        .terminal("work")
        .compile()
    )
    ref = ThreadRef("loop", "run-1")
    await start(graph, store)
    seen = []
    for round in range(1, 101):
        await resume(graph, store, {"ask": round})
        if round in (5, 100):
            snapshot = await store.load(ref)
            seen.append((len(snapshot.tasks), len(snapshot.cells), len(store.events(ref))))
    (tasks5, cells5, events5), (tasks100, cells100, events100) = seen
    assert (tasks5, cells5) == (tasks100, cells100)
    assert (events100 - events5) % 95 == 0 and (events100 - events5) // 95 <= 6


async def test_z53_an_unmatched_route_is_a_dead_end_and_no_success(store: Store) -> None:
    graph = (
        Graph.new("g")
        .node("pick", lambda: Event(output=1, route="nowhere"))
        .node("a", works(Counter(), "a"))
        .edge("pick", "a", when="a")
        .entry("pick")
        .terminal("a")
        .compile()
    )
    result = await start(graph, store)
    assert result.status is ThreadStatus.FAILED and result.error["type"] == "dead_end"
    assert "nowhere" in result.error["message"]


async def test_z53_a_run_in_which_no_terminal_fired_is_a_dead_end(store: Store) -> None:
    graph = chain([("a", works(Counter(), "a")), ("b", works(Counter(), "b"))])
    never = (
        (Graph.new("g").node("a", lambda: 1).node("b", lambda: 2).edge("a", "b", when=lambda output: False))
        .entry("a")
        .terminal("b")
        .compile()
    )
    assert (await start(graph, store)).status is ThreadStatus.COMPLETED
    result = await start(never, store)
    assert result.status is ThreadStatus.FAILED and result.error["type"] == "dead_end"
    assert (await retry(never, store)).status is ThreadStatus.FAILED


async def test_z58_conditions_see_the_context_the_run_was_started_with(store: Store, restarted: Any) -> None:
    """Also H34."""
    graph = (
        Graph.new("g")
        .node("ask", asks(Counter(), "ask"))
        .node("eu", works(Counter(), "eu"))
        .node("us", works(Counter(), "us"))
        .edge("ask", "eu", when=lambda output, state, context: context["region"] == "eu")
        .edge("ask", "us", default=True)
        .entry("ask")
        .terminal("eu")
        .terminal("us")
        .compile()
    )
    await start(graph, store, context={"region": "eu"})
    assert (await resume(graph, restarted(store), {"ask": 1})).output == "eu done"


async def test_conditions_are_evaluated_once_and_never_again_on_resume(store: Store) -> None:
    asked: Counter[str] = Counter()

    def decides(output: Any) -> bool:
        asked["when"] += 1
        return True

    graph = Graph.new("g").node("a", lambda: 1).node("b", asks(Counter(), "b")).edge("a", "b", when=decides)
    compiled = graph.entry("a").terminal("b").compile()
    await start(compiled, store)
    await resume(compiled, store)
    await resume(compiled, store, {"b": 1})
    assert asked == {"when": 1}


async def test_several_terminals_give_a_dict_and_an_early_one_drops_no_branch(store: Store) -> None:
    graph = (
        Graph.new("g")
        .node("root", lambda: 0)
        .node("early", lambda: "early")
        .node("late", lambda: "late")
        .node("later", lambda: "later")
        .edge("root", "early")
        .edge("root", "late")
        .edge("late", "later")
        .entry("root")
        .terminal("early")
        .terminal("later")
        .compile()
    )
    result = await start(graph, store)
    assert result.output == {"early": "early", "later": "later"}


async def test_joins_that_wait_for_each_other_are_let_go_in_node_order(store: Store) -> None:
    graph = (
        Graph.new("knot")
        .node("root", lambda: 0)
        .node("x", lambda node_input: Event(output="x", route="end" if "y" in str(node_input) else "on"), join="all")
        .node("y", lambda: "y", join="all")
        .node("end", keeps([]))
        .edge("root", "x")
        .edge("root", "y")
        .edge("x", "y", when="on")
        .edge("y", "x")
        .edge("x", "end", when="end")
        .entry("root")
        .terminal("end")
        .compile()
    )
    result = await start(graph, store)
    assert result.status is ThreadStatus.COMPLETED


async def test_both_arrivals_of_a_repeated_source_are_delivered(store: Store) -> None:
    """A source that finishes twice before the join fires: neither output is lost."""
    seen: list[Any] = []
    graph = (
        Graph.new("twice")
        .node("root", lambda: 0)
        .node("loop", lambda ctx: Event(output=ctx.visit, route=["join", "again"] if ctx.visit == 1 else ["join"]))
        .node("again", lambda: 0)
        .node("ask", asks(Counter(), "ask"))
        .node("join", keeps(seen), join="all")
        .edge("root", "loop")
        .edge("root", "ask")
        .edge("loop", "join", when="join")
        .edge("loop", "again", when="again")
        .edge("again", "loop")
        .edge("ask", "join")
        .entry("root")
        .terminal("join")
        .compile()
    )
    await start(graph, store)
    await resume(graph, store, {"ask": 1})
    assert seen == [{"loop": 1, "ask": {"ask": 1}}, {"loop": 2}]


async def test_state_read_by_a_node_is_its_own_copy(store: Store) -> None:
    def spoils(ctx: Context) -> Any:
        ctx.state["log"].append("smuggled")
        return ctx.state["log"]

    graph = chain([("a", lambda: Event(output=1, state={"log": ["kept"]})), ("b", spoils)], state={"log": "append"})
    assert (await start(graph, store)).state.values == {"log": ["kept"]}


async def test_an_unknown_thread_cannot_be_advanced(store: Store) -> None:
    with pytest.raises(UnknownThread):
        await advance(one(lambda: 1), store, ThreadRef("one", "x"), clock=SystemClock(), new_id=random_id)


async def test_a_slice_ends_between_supersteps_and_the_next_goes_on(store: Store, clock: Any) -> None:
    graph = chain([(name, works(Counter(), name)) for name in "abcd"])
    ref = ThreadRef("chain", "sliced")
    await store.create(ref, superstep.begin(graph, 1))
    told: list[Any] = []
    first = await advance(graph, store, ref, clock=clock, new_id=random_id, slice_steps=3, emit=told.append)
    assert (first.steps, first.more, first.status) == (3, True, ThreadStatus.RUNNING)
    assert told[-1]["type"] == "graph.superstep_end"
    last = await advance(graph, store, ref, clock=clock, new_id=random_id, slice_seconds=0.0)
    assert (last.steps, last.more, last.output) == (1, False, "d done")


async def test_answers_that_come_while_siblings_run_are_used_without_another_resume(store: Store) -> None:
    """F22: the decision lands before the step that would have paused."""
    calls: Counter[str] = Counter()
    ref = ThreadRef("fan", "run-1")

    async def answers_for_a() -> str:
        while not store.questions(ref):
            await asyncio.sleep(0.001)
        from graphs.engine.ports import Answer
        from graphs.engine.statuses import Outcome

        await store.answer(ref, [Answer(store.questions(ref)[0].id, Outcome.ANSWERED, "early")])
        return "b"

    result = await asyncio.wait_for(start(fan({"a": asks(calls, "a"), "b": answers_for_a}, keeps([])), store), 20)
    assert result.status is ThreadStatus.COMPLETED
    assert result.output == {"a": {"a": "early"}, "b": "b"}


async def test_fanning_out_over_names_keeps_only_what_is_active(store: Store) -> None:
    graph = fan({"a": asks(Counter(), "a"), "b": works(Counter(), "b")}, keeps([]))
    await start(graph, store)
    await resume(graph, store, {"a": 1})
    cells = (await store.load(ThreadRef("fan", "run-1"))).cells
    kinds = Counter(name.partition(":")[0] for name in cells)
    assert kinds == {"visit": 4, "counters": 1, "out": 1}


@pytest.mark.parametrize("leave", [SystemExit(3), KeyboardInterrupt()], ids=["exit", "interrupt"])
async def test_a_node_that_would_end_the_process_fails_its_task_instead(store: Store, leave: BaseException) -> None:
    def node() -> None:
        raise leave

    result = await start(one(node), store)
    assert result.status is ThreadStatus.FAILED
    assert type(leave).__name__ in result.error["message"]


async def test_an_async_node_that_exits_fails_its_task_instead(store: Store) -> None:
    async def node() -> None:
        raise SystemExit(3)

    result = await start(one(node), store)
    assert result.status is ThreadStatus.FAILED and "SystemExit(3)" in result.error["message"]
