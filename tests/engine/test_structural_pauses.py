"""Pauses around nodes: before, after, edited, rejected; they are questions like all others."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from graphs.engine.context import Context
from graphs.engine.errors import AnswerMismatch, DefinitionError, PayloadError, ThreadBusy, UnknownThread
from graphs.engine.graph import CompiledGraph, Graph
from graphs.engine.invocation.responses import pending_interrupt
from graphs.engine.outputs import Event
from graphs.engine.ports import TaskKey, ThreadRef
from graphs.engine.replaying import compare
from graphs.engine.state import Channel
from graphs.engine.statuses import TaskStatus, ThreadStatus
from tests.engine.runs import asks, resume, start, works

Store = Any
CONFIG = {"thread_id": "run-1"}


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


def stepped(calls: Counter[str], store: Store, **pauses: Any) -> CompiledGraph:
    """plan → work, both noting what the state says; `pauses` are compile's."""

    def plan(ctx: Context) -> Any:
        calls["plan"] += 1
        return Event(output="planned", state={"limit": 3, "notes": ["planned"]})

    def work(ctx: Context) -> Any:
        calls["work"] += 1
        return [ctx.state["limit"], ctx.state["notes"]]

    graph = Graph.new("steps", state={"limit": "add", "notes": "append"}).node("plan", plan).node("work", work)
    return graph.edge("plan", "work").entry("plan").terminal("work").compile(checkpointer=store, **pauses)


async def assert_replays(graph: CompiledGraph, store: Store) -> None:
    """The thread's log tells of each edit, so that a replay comes to the same cells."""
    compared = await compare(graph, store, ThreadRef(graph.id, "run-1"))
    assert compared.difference is None and compared.first == 0 and compared.agreed > 0


async def test_t15_it_stops_before_the_node_and_continuing_runs_it_once(store: Store) -> None:
    calls: Counter[str] = Counter()
    graph = stepped(calls, store, interrupt_before=["work"])
    result = await graph.ainvoke({"messages": ["go"]}, CONFIG, "full")
    assert result["state"]["execution_meta"]["interrupt_reason"] == "interrupt_before"
    asked = pending_interrupt(result["state"])
    assert asked is not None and (asked.style, asked.node_id) == ("structural", "work")
    assert calls == {"plan": 1}
    result = await graph.ainvoke({"resume": None}, CONFIG)
    assert result["meta"]["output"] == [3, ["planned"]] and calls == {"plan": 1, "work": 1}


async def test_t16_after_a_node_the_next_one_runs_only_when_continued(store: Store) -> None:
    calls: Counter[str] = Counter()
    graph = stepped(calls, store, interrupt_after=["plan"])
    result = await graph.ainvoke({"messages": ["go"]}, CONFIG, "full")
    assert result["state"]["execution_meta"]["interrupt_reason"] == "interrupt_after"
    assert result["meta"]["interrupts"][0]["value"] == {"output": "planned"} and calls == {"plan": 1}
    result = await graph.ainvoke({"resume": True}, CONFIG)
    assert result["meta"]["output"] == [3, ["planned"]] and calls == {"plan": 1, "work": 1}


@pytest.mark.parametrize("pauses", [{"interrupt_before": ["work"]}, {"interrupt_after": ["plan"]}])
async def test_t17_state_edited_while_paused_is_what_the_node_sees(store: Store, pauses: Any) -> None:
    graph = stepped(Counter(), store, **pauses)
    await graph.ainvoke({"messages": ["go"]}, CONFIG)
    with pytest.raises(PayloadError):
        await graph.aupdate_state(CONFIG, {"limit": {1, 2}})
    edited = await graph.aupdate_state(CONFIG, {"limit": 9, "notes": ["by hand"]})
    # After a node its own writes are not applied yet; they come on top of what was edited meanwhile.
    before = "interrupt_before" in pauses
    assert edited["limit"] == 9 and edited["notes"] == ["by hand"]
    still = await graph.ainvoke(None, CONFIG)
    assert still["meta"]["status"] == "interrupted"
    result = await graph.ainvoke({"resume": True}, CONFIG)
    assert result["meta"]["output"] == ([9, ["by hand"]] if before else [12, ["by hand", "planned"]])
    await assert_replays(graph, store)


async def test_t17_an_edit_beside_the_answer_sets_channels_whole(store: Store) -> None:
    graph = stepped(Counter(), store, interrupt_after=["plan"])
    await graph.ainvoke({"messages": ["go"]}, CONFIG)
    result = await graph.ainvoke({"resume": {"state": {"limit": 9, "notes": []}}}, CONFIG, "full")
    assert result["meta"]["output"] == [9, []] and result["state"]["limit"] == 9


async def test_t17_messages_are_edited_as_messages(store: Store) -> None:
    graph = stepped(Counter(), store, interrupt_before=["work"])
    await graph.ainvoke({"messages": ["go"]}, CONFIG)
    await graph.aupdate_state(CONFIG, {"messages": ["stop"]})
    result = await graph.ainvoke({"resume": True}, CONFIG, "partial")
    assert [one.text() for one in result["context"]] == ["stop"]


async def test_t17_only_a_thread_paused_around_a_node_is_edited(store: Store) -> None:
    calls: Counter[str] = Counter()
    graph = Graph.new("plain").node("ask", asks(calls, "ask")).entry("ask").terminal("ask").compile(checkpointer=store)
    with pytest.raises(UnknownThread):
        await graph.aupdate_state(CONFIG, {"limit": 1})
    await graph.ainvoke({"messages": ["go"]}, CONFIG)
    with pytest.raises(ThreadBusy, match="not paused before or after a node"):
        await graph.aupdate_state(CONFIG, {"limit": 1})
    await graph.ainvoke({"resume": 1}, CONFIG)
    with pytest.raises(ThreadBusy):
        await graph.aupdate_state(CONFIG, {"limit": 1})


async def test_t17_edits_of_a_nested_graph_reach_its_node(store: Store) -> None:
    def work(ctx: Context) -> Any:
        return ctx.state.get("limit")

    inner = Graph.new("inner").node("start", lambda: Event(output=1, state={"limit": 3})).node("work", work)
    inner.edge("start", "work").entry("start").terminal("work")
    outer = Graph.new("outer").node("sub", inner.compile(interrupt_before=["work"])).entry("sub").terminal("sub")
    graph = outer.compile(checkpointer=store)
    result = await graph.ainvoke({"messages": ["go"]}, CONFIG)
    assert result["meta"]["interrupts"][0]["path"] == "sub/work"
    assert await graph.aupdate_state(CONFIG, {"limit": 7}) == {"limit": 7}
    assert (await graph.ainvoke({"resume": True}, CONFIG))["meta"]["output"] == 7
    await assert_replays(graph, store)


async def test_t17_an_edit_before_a_nested_graph_is_kept(store: Store) -> None:
    inner = Graph.new("inner").node("work", lambda: "inner done").entry("work").terminal("work").compile()
    graph = Graph.new("outer").node("sub", inner).node("last", lambda ctx: ctx.state["limit"]).edge("sub", "last")
    compiled = graph.entry("sub").terminal("last").compile(store, interrupt_before=["sub"], interrupt_after=["sub"])
    await compiled.ainvoke({"messages": ["go"]}, CONFIG)
    result = await compiled.ainvoke({"resume": {"state": {"limit": 5}}}, CONFIG)
    assert result["meta"]["interrupts"][0]["reason"] == "interrupt_after"
    assert (await compiled.ainvoke({"resume": True}, CONFIG))["meta"]["output"] == 5
    await assert_replays(compiled, store)


async def test_t18_three_pauses_in_order_under_a_nested_graph(store: Store) -> None:
    calls: Counter[str] = Counter()
    inner = Graph.new("inner").node("work", asks(calls, "work")).entry("work").terminal("work")
    body = inner.compile(interrupt_before=["work"], interrupt_after=["work"])
    graph = Graph.new("outer").node("sub", body).entry("sub").terminal("sub").compile(checkpointer=store)
    result = await graph.ainvoke({"messages": ["go"]}, CONFIG)
    reasons = []
    while result["meta"]["interrupts"]:
        (asked,) = result["meta"]["interrupts"]
        reasons.append((asked["path"], asked["reason"]))
        result = await graph.ainvoke({"resume": True}, CONFIG)
    names = ["interrupt_before", "input_required", "interrupt_after"]
    assert reasons == [("sub/work", name) for name in names]
    assert result["meta"]["output"] == {"work": True} and calls == {"work": 2}


@pytest.mark.parametrize("place", ["interrupt_before", "interrupt_after"])
def test_t19_an_unknown_name_is_refused_when_compiled(place: str) -> None:
    graph = Graph.new("g").node("work", lambda: 1).entry("work").terminal("work")
    with pytest.raises(DefinitionError, match=rf"{place} names the unknown node 'wrok'"):
        graph.compile(**{place: ["wrok"]})


async def test_t30_each_visit_of_a_loop_pauses_before_and_after(store: Store) -> None:
    calls: Counter[str] = Counter()

    def work(ctx: Context) -> Any:
        calls["work"] += 1
        round = ctx.state.get("round", 0) + 1
        return Event(output=round, state={"round": round}, route="again" if round < 3 else "enough")

    graph = Graph.new("loop").node("work", work).node("end", lambda node_input: node_input)
    graph.edge("work", "work", when="again").edge("work", "end", when="enough").entry("work").terminal("end")
    compiled = graph.compile(store, interrupt_before=["work"], interrupt_after=["work"])
    result = await compiled.ainvoke({"messages": ["go"]}, CONFIG)
    seen = []
    while result["meta"]["interrupts"]:
        (asked,) = result["meta"]["interrupts"]
        seen.append((asked["visit"], asked["reason"], asked["id"]))
        result = await compiled.ainvoke({"resume": None}, CONFIG)
    assert [one[:2] for one in seen] == [
        (visit, f"interrupt_{where}") for visit in (1, 2, 3) for where in ("before", "after")
    ]
    assert len({id for _, _, id in seen}) == 6
    assert result["meta"]["output"] == 3 and calls == {"work": 3}


async def test_w43_a_rejected_node_never_ran_and_is_told_from_one_that_gave_an_output(store: Store) -> None:
    calls: Counter[str] = Counter()
    graph = stepped(calls, store, interrupt_before=["work"])
    await graph.ainvoke({"messages": ["go"]}, CONFIG)
    result = await resume(graph, store, rejected={"work": "too dear"})
    assert result.status is ThreadStatus.REJECTED and result.output == "too dear"
    assert calls == {"plan": 1}
    work = TaskKey("work", 1)
    stored = await store.results(ThreadRef("steps", "run-1"), [work])
    assert stored[work].status is TaskStatus.REJECTED


async def test_t17_where_two_graphs_are_paused_the_question_names_the_one_to_edit(store: Store) -> None:
    def body(name: str) -> CompiledGraph:
        graph = Graph.new(name).node("work", lambda ctx: ctx.state.get("limit", 0)).entry("work").terminal("work")
        return graph.compile(interrupt_before=["work"])

    graph = Graph.new("outer").node("root", lambda: None).entry("root")
    for name in ("left", "right"):
        graph.node(name, body(name)).edge("root", name).terminal(name)
    compiled = graph.compile(checkpointer=store)
    left, right = (await compiled.ainvoke({"messages": ["go"]}, CONFIG))["meta"]["interrupts"]
    with pytest.raises(AnswerMismatch) as refused:
        await compiled.aupdate_state(CONFIG, {"limit": 5})
    assert set(refused.value.open_ids) == {left["id"], right["id"]}
    await compiled.aupdate_state({**CONFIG, "interrupt_id": right["id"]}, {"limit": 5})
    result = await compiled.ainvoke({"resume": {left["id"]: True, right["id"]: True}}, CONFIG)
    assert result["meta"]["output"] == {"left": 0, "right": 5}
    await assert_replays(compiled, store)


@pytest.mark.parametrize(("name", "value", "why"), [("log", "text", "a list"), ("sum", "three", "a number")])
async def test_t17_an_edit_that_the_next_write_could_not_go_on_from_is_refused(
    store: Store, name: str, value: Any, why: str
) -> None:
    graph = (
        Graph.new("steps", state={"log": "append", "sum": Channel("add", 0)})
        .node("a", lambda: Event(output=1, state={"log": "a", "sum": 1}))
        .entry("a")
        .terminal("a")
        .compile(checkpointer=store, interrupt_before=["a"])
    )
    await graph.ainvoke({"messages": ["go"]}, CONFIG)
    with pytest.raises(PayloadError, match=f"{why}.*at /state/{name}"):
        await graph.aupdate_state(CONFIG, {name: value})
    assert (await graph.ainvoke({"resume": True}, CONFIG))["meta"]["status"] == "completed"
