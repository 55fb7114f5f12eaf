"""Children that a node runs itself: settled in its journal, asking through it (W30, E22)."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from graphs.agents.agent import Agent
from graphs.agents.models import ScriptedModel, ToolCall
from graphs.engine.asking import ask, interrupt, request_human_input
from graphs.engine.context import Context, ExecutableInput
from graphs.engine.effects import once
from graphs.engine.functions import FunctionNode
from graphs.engine.graph import Graph
from graphs.engine.outputs import Event, RequestInput
from graphs.engine.workflow import START, Workflow
from tests.engine.offspring import counted, requests
from tests.engine.runs import Calls, one, resume, start, works

Store = Any


@pytest.mark.parametrize("rerun", [False, True])
async def test_w30_e22_a_childs_question_is_its_nodes_and_its_answer_the_childs_output(
    store: Store, restarted: Any, rerun: bool
) -> None:
    calls: Calls = Counter()

    async def parent(ctx: Context, node_input: str) -> Any:
        calls["parent"] += 1
        first = await ctx.run_node(counted(calls, "first"), node_input)
        answer = await ctx.run_node(requests(calls, "gate"), first)
        return [first, answer, await ctx.run_node(counted(calls, "last"), answer)]

    graph = one(parent, id="parent", rerun_on_resume=rerun)
    paused = await start(graph, store)
    (question,) = paused.interrupts
    assert (question.interrupt_id, question.message) == ("gate", "gate of first of go?")
    assert question.path == "parent" and question.graph_path == ("one", "parent", "gate")
    assert question.metadata == {"child": "gate"} and paused.output is None
    done = await resume(graph, restarted(store), {"gate": "fine"})
    assert done.output == ["first of go", "fine", "last of fine"]
    assert calls == {"parent": 2, "first": 1, "gate": 1, "last": 1}


async def test_w30_a_child_that_runs_again_sees_its_own_answers_and_nobody_elses(store: Store) -> None:
    seen: list[dict[str, Any]] = []

    async def form(ctx: Context) -> Any:
        seen.append(dict(ctx.resume_inputs))
        for id in ("name", "mail"):
            if id not in ctx.resume_inputs:
                yield RequestInput(id, f"{id}?")
                return
        yield Event(output=dict(ctx.resume_inputs))

    async def parent(ctx: Context) -> Any:
        assert ctx.resume_inputs == {}
        return await ctx.run_node(FunctionNode(form, rerun_on_resume=True))

    graph = one(parent)
    await start(graph, store)
    await resume(graph, store, {"name": "Ana"})
    assert (await resume(graph, store, {"mail": "a@x"})).output == {"name": "Ana", "mail": "a@x"}
    assert seen == [{}, {"name": "Ana"}, {"name": "Ana", "mail": "a@x"}]


async def test_w30_every_way_to_ask_works_in_a_child(store: Store) -> None:
    def asks(ctx: Context, inp: ExecutableInput) -> Any:
        return [interrupt("i?"), request_human_input(inp, "h?"), ask("a?").value, once("o", lambda: "once")]

    async def parent(ctx: Context) -> Any:
        return await ctx.run_node(asks)

    graph = one(parent)
    await start(graph, store)
    for value in (1, 2, 3):
        result = await resume(graph, store, {"asks": value})
    assert result.output == [1, 2, 3, "once"]


async def test_w30_children_side_by_side_ask_together_and_are_left_alone_while_others_are_answered(
    store: Store,
) -> None:
    calls: Calls = Counter()

    async def parent(ctx: Context) -> Any:
        calls["parent"] += 1
        kinds = {"a": requests, "b": requests, "c": counted}
        branches = [ctx.run_node(make(calls, name), 0, name=name) for name, make in kinds.items()]
        return await asyncio.gather(*branches)

    graph = one(parent)
    first = await start(graph, store)
    assert [question.interrupt_id for question in first.interrupts] == ["a", "b"]
    partly = await resume(graph, store, {"b": 2})
    assert [question.id for question in partly.interrupts] == [first.interrupts[0].id]
    assert (await resume(graph, store, {"a": 1})).output == [1, 2, "c of 0"]
    assert calls == {"parent": 3, "a": 1, "b": 1, "c": 1}


async def test_z51_a_childs_question_is_open_before_its_slow_sibling_is_done_and_the_sibling_is_settled(
    store: Store,
) -> None:
    calls: Calls = Counter()
    opened = asyncio.Event()
    write = store.open_interrupt

    async def notes(ref: Any, question: Any) -> Any:
        stored = await write(ref, question)
        opened.set()
        return stored

    store.open_interrupt = notes

    async def slow() -> str:
        calls["slow"] += 1
        await opened.wait()
        return "slow"

    async def branch(ctx: Context) -> list[str]:
        return [await ctx.run_node(slow), await ctx.run_node(counted(calls, "then"), 1)]

    async def parent(ctx: Context) -> Any:
        return await asyncio.gather(branch(ctx), ctx.run_node(requests(calls, "gate")))

    graph = one(parent)
    assert (await start(graph, store)).paused
    assert (await resume(graph, store, {"gate": 1})).output == [["slow", "then of 1"], 1]
    assert calls == {"slow": 1, "then": 1, "gate": 1}


async def test_two_children_of_one_name_at_once_need_names(store: Store) -> None:
    async def parent(ctx: Context) -> Any:
        await asyncio.gather(*[ctx.run_node(works(Counter(), "w"), index) for index in range(2)])

    result = await start(one(parent), store)
    assert result.error["type"] == "ambiguous_question" and "name=" in result.error["message"]


async def test_children_of_one_name_after_each_other_are_counted(store: Store) -> None:
    calls: Calls = Counter()

    async def parent(ctx: Context) -> Any:
        return [await ctx.run_node(requests(calls, "round"), index) for index in range(3)]

    graph = one(parent)
    await start(graph, store)
    for index in range(3):
        result = await resume(graph, store, {"ask": index})
    assert result.output == [0, 1, 2] and calls == {"round": 3}


def inner_flow(calls: Calls) -> Workflow:
    def review(node_input: Any) -> Any:
        calls["review"] += 1
        return RequestInput("review", f"{node_input}?")

    def side(node_input: Any) -> str:
        calls["side"] += 1
        return "side"

    def merge(node_input: dict[str, Any], ctx: Context) -> Any:
        calls["merge"] += 1
        ctx.state["seen"] = True
        return node_input

    return Workflow("flow", [(START, counted(calls, "begin"), (review, side), merge)])


async def test_w30_a_workflow_as_a_child_runs_node_by_node_in_its_nodes_journal(store: Store, restarted: Any) -> None:
    calls: Calls = Counter()
    flow = inner_flow(calls)

    async def parent(ctx: Context, node_input: str) -> Any:
        found = await ctx.run_node(flow, node_input)
        return [found, "seen" in ctx.state]

    graph = one(parent, id="parent")
    paused = await start(graph, store)
    (question,) = paused.interrupts
    assert question.graph_path == ("one", "parent", "flow") and question.metadata == {"child": "flow/review"}
    assert calls == {"begin": 1, "review": 1, "side": 1}
    done = await resume(graph, restarted(store), {"review": "ok"})
    assert done.output == [{"review": "ok", "side": "side"}, False]
    assert calls == {"begin": 1, "review": 1, "side": 1, "merge": 1}


async def test_w30_graphs_within_graphs_and_children_within_children(store: Store) -> None:
    calls: Calls = Counter()

    async def grandchild(ctx: Context, node_input: Any) -> Any:
        calls["grandchild"] += 1
        return [await ctx.run_node(requests(calls, "deep"), node_input), once_key(ctx)]

    def once_key(ctx: Context) -> str:
        return ctx.idempotency_key

    nested = Graph.new("nested").node("grandchild", grandchild).compile()
    outer = Graph.new("outer").node("sub", nested).node("end", lambda node_input: node_input).edge("sub", "end")

    async def parent(ctx: Context) -> Any:
        return await ctx.run_node(outer.compile(), 5)

    graph = one(parent)
    (question,) = (await start(graph, store)).interrupts
    assert question.metadata == {"child": "outer/sub/grandchild/deep"}
    value, key = (await resume(graph, store, {"deep": 1})).output
    assert value == 1 and key.startswith("one/run-1/ask/1/run_node:outer.0/")
    assert calls == {"grandchild": 2, "deep": 1}


async def test_w30_an_agent_as_a_child_repeats_no_model_call(store: Store) -> None:
    calls: Calls = Counter()

    def delete(path: str) -> str:
        calls["delete"] += 1
        return f"deleted {path}"

    models = [ScriptedModel([ToolCall("delete", {"path": path}), f"{path} is gone"]) for path in "ab"]
    agents = [Agent(f"agent_{index}", model, tools=[delete], approve=["delete"]) for index, model in enumerate(models)]

    async def parent(ctx: Context) -> Any:
        return await asyncio.gather(*[ctx.run_node(agent, "clean up") for agent in agents])

    graph = one(parent)
    paused = await start(graph, store)
    assert [question.metadata["child"] for question in paused.interrupts] == ["agent_0", "agent_1"]
    for question in paused.interrupts:
        result = await resume(graph, store, {question.id: {"approved": True}})
    assert result.output == ["a is gone", "b is gone"]
    assert calls == {"delete": 2} and [len(model.seen) for model in models] == [2, 2]


async def test_a_childs_state_is_its_nodes_and_applies_once(store: Store) -> None:
    calls: Calls = Counter()

    def writes(ctx: Context) -> Iterator[Any]:
        calls["writes"] += 1
        yield Event(output=ctx.state.get("log"), state={"log": "child"})

    async def parent(ctx: Context) -> Any:
        ctx.state["log"] = "parent"
        before = await ctx.run_node(writes)
        answer = await ctx.run_node(requests(calls, "gate"))
        return [before, ctx.state["log"], answer]

    graph = one(parent, state={"log": "append"})
    await start(graph, store)
    result = await resume(graph, store, {"gate": 1})
    assert result.output == [["parent"], ["parent", "child"], 1]
    assert result.state.values == {"log": ["parent", "child"]} and calls["writes"] == 1
