"""Does the graph that is installed here still fit the thread that began under an earlier one? (R8)"""

from __future__ import annotations

from graphs import store
from graphs.actions.leases import Held
from graphs.engine.graph import CompiledGraph
from graphs.engine.ports import Cells
from graphs.library import registry


def graph_for(held: Held) -> tuple[CompiledGraph | None, str]:
    """The graph to advance this thread with; or None and the reason why it has to wait, in words for its page."""
    try:
        graph = registry.get(held.ref.graph_id)
    except registry.UnknownGraph as error:
        return None, str(error)
    if graph.fingerprint == held.fingerprint:
        return graph, ""
    gone = missing(graph, held)
    if gone:
        names = ", ".join(sorted(gone))
        return None, f"The graph changed and has no node {names} any more, which this run has been at."
    return graph, ""


def missing(graph: CompiledGraph, held: Held) -> set[str]:
    """Paths of nodes that this thread has been at or is at, and that the graph does not have."""
    thread = store.find(held.ref)
    if thread is None:
        return set()
    cells = store.cells_at(thread, thread.step) or {}
    return paths(cells) - {node["path"] for node in graph.shape()["nodes"]}


def paths(cells: Cells) -> set[str]:
    visited = {name.partition(":")[2] for name in cells if name.startswith("visit:")}
    under_way = {name.partition(":")[2].rpartition("#")[0] for name in cells if name.startswith("task:")}
    return visited | under_way
