"""A graph comes to the same end as a child in its node's journal as nested in frames, whatever cuts it off."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graphs.engine import failpoints
from graphs.engine.asking import interrupt
from graphs.engine.checkpointers.memory import InMemoryCheckpointer
from graphs.engine.context import Context
from graphs.engine.effects import once
from graphs.engine.failpoints import Crash
from graphs.engine.graph import CompiledGraph, Graph
from graphs.engine.outputs import RequestInput
from graphs.engine.statuses import ThreadStatus
from tests.engine.runs import Calls, one, resume, start

CRASHES = ["after_record_effect", "before_open_interrupt", "after_open_interrupt", "before_commit", "after_commit"]


@st.composite
def plans(draw: st.DrawFn) -> list[tuple[str, list[int]]]:
    """Nodes as (kind, numbers of the nodes before it)."""
    kinds = st.sampled_from(["work", "request", "interrupt", "twice"])
    size = draw(st.integers(1, 5))
    return [
        (draw(kinds), sorted(draw(st.sets(st.integers(0, index - 1), min_size=1, max_size=2))) if index else [])
        for index in range(size)
    ]


def body(kind: str, name: str, did: Calls) -> Any:
    def node(node_input: Any) -> Any:
        settled = once("work", lambda: did.update([name]) or name)
        if kind == "request":
            return RequestInput(name, name)
        if kind == "work":
            return [settled, node_input]
        answers = [interrupt(f"{name} {index}", key=str(index)) for index in range(1 + (kind == "twice"))]
        return [settled, node_input, answers]

    return node


def build(plan: list[tuple[str, list[int]]], pause: str, did: Calls) -> CompiledGraph:
    graph = Graph.new("inner", pause=pause)
    for index, (kind, before) in enumerate(plan):
        graph.node(f"n{index}", body(kind, f"n{index}", did), join="all")
        for source in before:
            graph.edge(f"n{source}", f"n{index}")
    graph.node("end", lambda node_input: node_input, join="all")
    for index in set(range(len(plan))) - {source for _, before in plan for source in before}:
        graph.edge(f"n{index}", "end")
    return graph.compile()


async def play(graph: CompiledGraph, picks: list[int], crashes: list[str]) -> Any:
    """Answer one open question at a time, each by what it asks, with crashes on the way."""
    store, left = InMemoryCheckpointer(), list(crashes)

    async def step(call: Any) -> Any:
        if left:
            os.environ["SAYSO_FAILPOINT"] = f"{left.pop()}:raise"
        failpoints.reset()
        try:
            return await call()
        except Crash:
            os.environ.pop("SAYSO_FAILPOINT")
            return await resume(graph, store)
        finally:
            os.environ.pop("SAYSO_FAILPOINT", None)

    result = await step(lambda: start(graph, store))
    for pick in picks * 20:
        if not result.interrupts:
            return result
        question = result.interrupts[pick % len(result.interrupts)]
        said = f"{question.interrupt_id}/{question.question or question.value}"
        result = await step(lambda said=said, id=question.id: resume(graph, store, {id: said.rpartition("/")[2]}))
    return result


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    plan=plans(),
    pause=st.sampled_from(["superstep", "quiescent"]),
    picks=st.lists(st.integers(0, 4), min_size=1, max_size=4),
    crashes=st.lists(st.sampled_from(CRASHES), max_size=4),
)
def test_w30_a_child_graph_and_a_nested_one_come_to_the_same_end(
    plan: list[tuple[str, list[int]]], pause: str, picks: list[int], crashes: list[str]
) -> None:
    nested_did: Calls = Counter()
    child_did: Calls = Counter()
    inner = build(plan, pause, child_did)

    async def parent(ctx: Context, node_input: Any) -> Any:
        return await ctx.run_node(inner, node_input)

    outer = Graph.new("outer").node("sub", build(plan, pause, nested_did)).compile()
    nested = asyncio.run(play(outer, picks, []))
    child = asyncio.run(play(one(parent), picks, crashes))
    assert nested.status is child.status is ThreadStatus.COMPLETED
    assert child.output == nested.output
    assert child_did == nested_did == {f"n{index}": 1 for index in range(len(plan))}
