"""Where a finished node leads: its edges, evaluated once, in its task, with the state it left."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphs.engine import canonical
from graphs.engine.errors import DeadEnd
from graphs.engine.graph import CompiledGraph, Edge
from graphs.engine.ports import Json
from graphs.engine.state import StateView


def targets(
    graph: CompiledGraph,
    node_id: str,
    output: Json,
    route: Json,
    has_route: bool,
    state: StateView,
    context: Mapping[str, Any],
) -> tuple[str, ...]:
    """The nodes that this output leads to, in edge order. Raises `DeadEnd` for a route without an edge (Z53)."""
    edges = graph.outgoing[node_id]
    if not any(one.conditional for one in edges):
        return tuple(dict.fromkeys(one.target for one in edges))
    routes = _routes(output, route, has_route)
    taken = [
        one
        for one in edges
        if not one.conditional or (one.when is not None and _holds(one, routes, output, state, context))
    ]
    if not any(one.conditional for one in taken):
        taken += [one for one in edges if one.default]
    if not any(one.conditional for one in taken):
        _refuse_dead_end(node_id, edges, routes, has_route, bool(taken))
    return tuple(dict.fromkeys(one.target for one in edges if one in taken))


def _routes(output: Json, route: Json, has_route: bool) -> list[Json]:
    # A node without an Event may still say where to go: its plain output is its route.
    chosen = route if has_route else output
    return chosen if isinstance(chosen, list) else [chosen]


def _holds(edge: Edge, routes: list[Json], output: Json, state: StateView, context: Mapping[str, Any]) -> bool:
    if not callable(edge.when):
        # True == 1 in Python; to the author of a route they are two answers.
        return any(type(one) is type(edge.when) and one == edge.when for one in routes)
    given = (canonical.copy(output), state, context)
    try:
        return bool(edge.when(*given[: edge.arity]))
    except Exception as error:
        error.add_note(f"raised by the predicate of edge {edge.source} → {edge.target}")
        raise


def _refuse_dead_end(node_id: str, edges: tuple[Edge, ...], routes: list[Json], has_route: bool, others: bool) -> None:
    only_routes = all(one.when is not None and not callable(one.when) for one in edges)
    if not has_route and not (only_routes and not others):
        return
    known = ", ".join(repr(one.when) for one in edges if one.when is not None and not callable(one.when))
    there = f"; there are routes {known}" if known else ""
    # What is no route by itself was not meant as one: the author forgot to say where it goes.
    meant = (
        ""
        if has_route or all(isinstance(one, (str, int)) for one in routes)
        else "; return Event(route=…) to choose one"
    )
    told = f"no edge matches route {routes!r:.200} and there is no default edge"
    raise DeadEnd(f"node {node_id!r}: {told}{there}{meant}")
