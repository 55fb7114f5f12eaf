"""Short ways to build and run graphs in tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from graphs.engine.asking import request_human_input
from graphs.engine.context import ExecutableInput
from graphs.engine.graph import CompiledGraph, Graph
from graphs.engine.interrupts import GraphResume
from graphs.engine.results import GraphRunResult
from graphs.engine.runner import Runner

Calls = Counter[str]


def start(graph: CompiledGraph, store: Any, input: Any = "go", **options: Any) -> Any:
    return Runner.arun_graph(graph, input, hooks=[store, *options.pop("hooks", ())], thread_id="run-1", **options)


def resume(
    graph: CompiledGraph, store: Any, replies: dict[str, Any] | None = None, rejected: Any = None, **options: Any
) -> Any:
    answers = GraphResume(replies or {}, rejected or {})
    return Runner.arun_graph_from_checkpoint(graph, checkpointer=store, thread_id="run-1", resume=answers, **options)


def retry(graph: CompiledGraph, store: Any, **options: Any) -> Any:
    return Runner.aretry_graph(graph, checkpointer=store, thread_id="run-1", **options)


def asks(calls: Calls, name: str, question: str = "", **details: Any) -> Callable[..., Any]:
    """A node that asks and returns what it got."""

    def node(inp: ExecutableInput, ctx: Any) -> Any:
        calls[name] += 1
        return {name: request_human_input(inp, question or f"{name}?", **details)}

    return node


def works(calls: Calls, name: str, output: Any = None) -> Callable[..., Any]:
    """A node that is done at once."""

    def node(inp: ExecutableInput) -> Any:
        calls[name] += 1
        return f"{name} done" if output is None else output

    return node


def keeps(seen: list[Any], calls: Calls | None = None, name: str = "join") -> Callable[..., Any]:
    """A node that notes its input."""

    def node(inp: ExecutableInput) -> Any:
        if calls is not None:
            calls[name] += 1
        seen.append(inp.input)
        return inp.input

    return node


def one(
    node: Callable[..., Any], *, id: str = "ask", compile: dict[str, Any] | None = None, **options: Any
) -> CompiledGraph:
    """A graph of a single node."""
    graph_options = {name: options.pop(name) for name in ("state", "budgets", "queue", "pause") if name in options}
    return Graph.new("one", **graph_options).node(id, node, **options).entry(id).terminal(id).compile(**compile or {})


def fan(
    branches: dict[str, Any], join: Callable[..., Any], *, pause: str = "superstep", kind: str = "all"
) -> CompiledGraph:
    """root → the branches → join."""
    graph = Graph.new("fan", pause=pause).node("root", branches.pop("root", lambda: "root")).entry("root")
    for name, body in branches.items():
        graph.node(name, body).edge("root", name)
    graph.node("join", join, join=kind).terminal("join")
    for name in branches:
        graph.edge(name, "join")
    return graph.compile()


def chain(bodies: Sequence[tuple[str, Any]], **options: Any) -> CompiledGraph:
    """Nodes one after the other."""
    graph = Graph.new("chain", **options)
    for name, body in bodies:
        graph.node(name, body)
    for (source, _), (target, _) in pairwise(bodies):
        graph.edge(source, target)
    return graph.entry(bodies[0][0]).terminal(bodies[-1][0]).compile()


async def drain(streamed: Any) -> list[dict[str, Any]]:
    return [dict(event) async for event in streamed.stream_events()]


def kinds(events: Sequence[dict[str, Any]]) -> list[str]:
    return [event["type"] for event in events]


def pending(result: GraphRunResult) -> list[str]:
    assert result.state is not None
    return list(result.state.pending_interrupts)
