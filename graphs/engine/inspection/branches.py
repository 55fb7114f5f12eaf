"""Which branches of a graph run side by side, and where nothing brings them together again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from graphs.engine.graph import CompiledGraph, Edge


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong at a node: `rule` is `unjoined-branches` or `unreachable`."""

    rule: str
    node: str
    message: str


def problems(graph: CompiledGraph) -> list[Problem]:
    """Ends that nothing joins and nodes that lead to no end, of this graph alone; each node at most once a rule."""
    found = {(one.rule, one.node): one for one in [*_lost(graph), *_twice(graph)]}
    return list(found.values())


def _lost(graph: CompiledGraph) -> Iterator[Problem]:
    ends = set(graph.terminals)
    for id in graph.nodes:
        if not graph.outgoing[id] and id not in ends:
            yield Problem("unjoined-branches", id, f"nothing follows {id!r} and it is no terminal: its output is lost")
        elif id not in ends and not _after(graph, id) & (ends | _sinks(graph)):
            yield Problem("unreachable", id, f"no terminal can be reached from {id!r}: a thread goes round for ever")


def _twice(graph: CompiledGraph) -> Iterator[Problem]:
    for targets in _together(graph):
        for left, right in combinations(targets, 2):
            yield from _unjoined(graph, left, right)


def _unjoined(graph: CompiledGraph, left: str, right: str) -> Iterator[Problem]:
    on_left, on_right = _after(graph, left) | {left}, _after(graph, right) | {right}
    for id in (one for one in graph.nodes if one in on_left & on_right and graph.nodes[one].join == "any"):
        sources = set(graph.sources[id])
        if sources & (on_left - on_right) and sources & (on_right - on_left):
            text = f"{left!r} and {right!r} run side by side and {id!r} takes any of them: it runs once for each"
            yield Problem("unjoined-branches", id, text)
    ends = [
        sorted(set(graph.terminals) & side, key=list(graph.nodes).index)
        for side in (on_left - on_right, on_right - on_left)
    ]
    if all(ends):
        text = (
            f"{left!r} and {right!r} run side by side and end apart, in {ends[0][0]!r} and {ends[1][0]!r}: the graph"
            " puts out both"
        )
        yield Problem("unjoined-branches", ends[1][0], text)


def _together(graph: CompiledGraph) -> Iterator[Sequence[str]]:
    """Nodes that start at the same time whatever the nodes say: the entries, and what follows a node on one way."""
    yield graph.entries
    for id in graph.nodes:
        always = [one.target for one in graph.outgoing[id] if not one.conditional]
        routes: dict[tuple[Any, ...], list[str]] = {}
        for one in graph.outgoing[id]:
            if one.conditional and not callable(one.when):
                routes.setdefault(_route(one), []).append(one.target)
        yield list(dict.fromkeys(always))
        for targets in routes.values():
            yield list(dict.fromkeys([*always, *targets]))


def _route(edge: Edge) -> tuple[Any, ...]:
    return ("default",) if edge.default else (type(edge.when), edge.when)


def _after(graph: CompiledGraph, id: str) -> set[str]:
    mask = graph.reach[id]
    return {other for other, node in graph.nodes.items() if mask >> node.order & 1}


def _sinks(graph: CompiledGraph) -> set[str]:
    return {id for id in graph.nodes if not graph.outgoing[id]}
