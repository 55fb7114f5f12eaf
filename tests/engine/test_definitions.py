"""Defining graphs: what compile refuses, what a definition looks like, and what a change means for paused threads."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from pydantic import BaseModel

from graphs.engine.context import Context, ExecutableInput
from graphs.engine.errors import DefinitionChanged, DefinitionError
from graphs.engine.graph import Graph
from graphs.engine.policies import NodeRetryPolicy
from graphs.engine.ports import ThreadRef
from graphs.engine.runner import Runner
from graphs.engine.state import StateView
from graphs.engine.statuses import ThreadStatus
from tests.engine.runs import asks, chain, one, resume, start, works

Store = Any


def simple() -> Graph:
    return Graph.new("g").node("a", lambda: 1).node("b", lambda: 2).edge("a", "b").entry("a").terminal("b")


def nothing() -> None:
    """A node that does nothing."""


@pytest.mark.parametrize(
    ("build", "names"),
    [
        (lambda: Graph.new("g").compile(), "no nodes"),
        (lambda: simple().edge("b", "nowhere").compile(), "edge b → nowhere.*'nowhere'"),
        (lambda: simple().entry("nobody").compile(), "entry.*'nobody'"),
        (lambda: simple().terminal("nobody").compile(), "terminal.*'nobody'"),
        (lambda: simple().node("a", nothing), "'a' is defined twice"),
        (lambda: simple().node("island", nothing).compile(), "'island'.*cannot be reached"),
        (lambda: simple().node("x/y", nothing), "'x/y'"),
        (lambda: simple().node("x", 5), "'x'.*no function"),
        (lambda: simple().node("x", nothing, join="most"), "'x'.*join"),
        (lambda: simple().node("x", nothing, crash="never"), "'x'.*crash"),
        (lambda: simple().node("x", simple(), timeout=1), "'x' is a graph"),
        (lambda: simple().node("x", simple(), retry=NodeRetryPolicy()), "'x' is a graph"),
        (lambda: simple().edge("a", "b", when="x", default=True), "edge a → b"),
        (lambda: simple().edge("a", "b", when=[1]), "edge a → b"),
        (lambda: Graph.new("g", pause="never").node("a", nothing).entry("a").compile(), "pause"),
        (lambda: Graph.new("g", state={"x": "no.such:thing"}).node("a", nothing).entry("a").compile(), "'x'.*no.such"),
        (lambda: Graph.new("g", state={"x": lambda a, b: a}).node("a", nothing).entry("a").compile(), "'x'"),
        (lambda: NodeRetryPolicy(max_attempts=0), "max_attempts"),
    ],
)
def test_compile_refuses_and_names_what_is_wrong(build: Any, names: str) -> None:
    with pytest.raises(DefinitionError, match=names):
        build()


@pytest.mark.parametrize("where", ["interrupt_before", "interrupt_after"])
def test_t19_unknown_names_of_structural_pauses_are_refused(where: str) -> None:
    with pytest.raises(DefinitionError, match=f"{where}.*'nobody'"):
        simple().compile(**{where: ["nobody"]})


def test_a_graph_without_a_named_entry_starts_where_nothing_leads_and_ends_where_nothing_follows() -> None:
    graph = Graph.new("g").node("a", nothing).node("b", nothing).edge("a", "b").compile()
    assert (graph.entries, graph.terminals) == (("a",), ("b",))
    with pytest.raises(DefinitionError, match="no entry"):
        Graph.new("g").node("a", nothing).node("b", nothing).edge("a", "b").edge("b", "a").compile()


def test_a_shape_lists_nodes_and_edges_nested_ones_by_path() -> None:
    inner = one(nothing, id="work")
    graph = Graph.new("g").node("pick", nothing, label="Pick one").node("sub", inner).edge("pick", "sub", when="yes")
    shape = graph.node("end", nothing).edge("pick", "end", default=True).entry("pick").terminal("sub").compile().shape()
    assert [(node["path"], node["kind"], node["parent"]) for node in shape["nodes"]] == [
        ("pick", "node", None),
        ("sub", "graph", None),
        ("sub/work", "node", "sub"),
        ("end", "node", None),
    ]
    assert shape["nodes"][0]["label"] == "Pick one" and shape["nodes"][0]["entry"]
    assert shape["edges"] == [
        {"source": "pick", "target": "sub", "label": "yes", "conditional": True},
        {"source": "pick", "target": "end", "label": "otherwise", "conditional": True},
    ]


def test_the_fingerprint_changes_with_the_structure_and_not_with_the_words() -> None:
    base = simple().compile().fingerprint
    assert simple().compile().fingerprint == base
    relabelled = Graph.new("g", title="Other", description="Words").node("a", nothing, label="A").node("b", nothing)
    assert relabelled.edge("a", "b", label="x").entry("a").terminal("b").compile().fingerprint == base
    assert simple().edge("a", "b", when="x").compile().fingerprint != base
    assert simple().compile(interrupt_before=["b"]).fingerprint != base
    assert Graph.new("g", state={"x": "add"}).node("a", nothing).entry("a").compile().fingerprint != base


KEPT = {"x": "last"}


def review_graph(*, name: str = "ask", extra: bool = False, rewired: bool = False, state: Any = None) -> Any:
    graph = Graph.new("g", state=state).node("first", lambda: 1).node(name, asks(Counter(), "ask"))
    graph.node("last", works(Counter(), "last")).edge("first", name).edge(name, "last")
    if extra:
        graph.node("extra", works(Counter(), "extra")).edge("last", "extra").terminal("extra")
    if rewired:
        graph.node("between", lambda: 2).edge("first", "between").edge("between", name)
    return graph.entry("first").terminal("last").compile()


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"name": "renamed"}, "'ask' is gone"),
        ({"rewired": True}, "'ask' has other inputs"),
        ({"state": {"x": "add"}}, "'x' is no longer reduced by 'last'"),
    ],
)
async def test_z20_a_graph_that_changed_under_a_question_is_refused_before_anything_runs(
    store: Store, changed: Any, says: str
) -> None:
    """Also Z44: the message names the node, the question stays open, the old version can finish it."""
    paused = await start(review_graph(state=KEPT), store)
    before = await store.load(ThreadRef("g", "run-1"))
    with pytest.raises(DefinitionChanged, match=says):
        await resume(review_graph(**{"state": KEPT, **changed}), store)
    after = await store.load(ThreadRef("g", "run-1"))
    assert (after.step, after.cells) == (before.step, before.cells)
    assert (await resume(review_graph(state=KEPT), store)).interrupts == paused.interrupts
    assert (await resume(review_graph(state=KEPT), store, {"ask": 1})).status is ThreadStatus.COMPLETED


async def test_z44_a_change_that_touches_nothing_that_ran_is_compatible(store: Store) -> None:
    await start(review_graph(), store)
    assert (await resume(review_graph(extra=True), store, {"ask": 1})).output == {
        "last": "last done",
        "extra": "extra done",
    }


class Request(BaseModel):
    days: int
    why: str = "rest"


class Callable_:
    async def __call__(self, node_input: int) -> int:
        return node_input + 1


def by_envelope(inp: ExecutableInput, ctx: Any) -> Any:
    return [inp.input, inp.value, inp.metadata, type(ctx).__name__]


def by_context(ctx: Context) -> Any:
    return [ctx.input, ctx.thread_id, ctx.node_id, ctx.visit, ctx.attempt, ctx.resume_inputs]


def by_model(request: Request) -> Any:
    return [request.days, request.why]


def by_state(request: dict[str, Any], state: StateView) -> Any:
    return [request, dict(state)]


def by_names(days: int, limit: int, unknown: str = "default") -> Any:
    return [days, limit, unknown]


def by_one_and_state(request: dict[str, Any], limit: int = 0) -> Any:
    return [request, limit]


@pytest.mark.parametrize(
    ("node", "gives"),
    [
        (by_envelope, [{"days": 2}, {"days": 2}, {}, "Context"]),
        (by_context, [{"days": 2}, "run-1", "ask", 1, 1, {}]),
        (by_model, [2, "rest"]),
        (by_state, [{"days": 2}, {"limit": 9}]),
        (by_names, [2, 9, "default"]),
        (by_one_and_state, [{"days": 2}, 9]),
    ],
)
async def test_parameters_bind_by_annotation_then_by_name(store: Store, node: Any, gives: Any) -> None:
    result = await start(one(node), store, {"days": 2}, state={"limit": 9})
    assert result.error is None and result.output == gives


async def test_an_object_with_call_is_a_node(store: Store) -> None:
    assert (await start(one(Callable_()), store, 1)).output == 2


async def test_an_input_that_does_not_fit_names_node_and_parameter(store: Store) -> None:
    result = await start(one(by_model), store, {"days": "many"})
    assert result.error["type"] == "input_mismatch"
    assert "'ask'" in result.error["message"] and "'request'" in result.error["message"]


async def test_a_run_without_a_graph_says_so() -> None:
    with pytest.raises(DefinitionError, match="no graph"):
        await Runner.configure().arun(1)


async def test_a_long_chain_compiles_and_runs(store: Store) -> None:
    graph = chain([(f"n{number}", lambda: 1) for number in range(200)])
    assert (await start(graph, store)).status is ThreadStatus.COMPLETED


def test_nested_ids_that_no_store_could_keep_are_refused() -> None:
    graph = Graph.new("inner").node("n" * 200, lambda: 1).entry("n" * 200).terminal("n" * 200).compile()
    middle = Graph.new("middle").node("m" * 199, graph).entry("m" * 199).terminal("m" * 199).compile()
    with pytest.raises(DefinitionError, match="400 characters"):
        Graph.new("outer").node("o", middle).entry("o").terminal("o").compile()
