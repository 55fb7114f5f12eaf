"""When a join fires: once it has an arrival and nothing in its frame can bring another."""

from __future__ import annotations

from graphs.engine.machine import Frame
from graphs.engine.ports import Json


def ready(frame: Frame) -> list[str]:
    """The pending AND joins of a frame that fire now, in node order.

    A task that is active, waiting or failed, or a join that is held back itself, may still lead to a join and so holds
    it back. Joins that wait only for each other are let go in node order, so that a loop cannot stand still.
    """
    if not frame.joins:
        return []
    nodes, reach = frame.graph.nodes, frame.graph.reach
    pending = sorted(frame.joins, key=lambda id: nodes[id].order)
    coming = 0
    for task in frame.active.values():
        coming |= reach[task.place.node.id]
    held = _held(pending, coming, frame)
    free = [id for id in pending if id not in held]
    first = [id for id in free if not any(_leads(frame, other, id) for other in free if other != id)]
    return first or _break_tie(frame, free)


def take(frame: Frame, node_id: str) -> tuple[dict[str, Json], dict[str, list[Json]]]:
    """The join's input, one arrival a source in node order, and what stays for a later firing."""
    arrived = frame.joins[node_id]
    order = [id for id in frame.graph.sources[node_id] if id in arrived]
    return {id: arrived[id][0] for id in order}, {id: arrived[id][1:] for id in order}


def _held(pending: list[str], coming: int, frame: Frame) -> set[str]:
    nodes, reach = frame.graph.nodes, frame.graph.reach
    held: set[str] = set()
    while True:
        more = [id for id in pending if id not in held and coming >> nodes[id].order & 1]
        if not more:
            return held
        held.update(more)
        for id in more:
            coming |= reach[id]


def _leads(frame: Frame, source: str, target: str) -> bool:
    return bool(frame.graph.reach[source] >> frame.graph.nodes[target].order & 1)


def _break_tie(frame: Frame, free: list[str]) -> list[str]:
    for id in free:
        if all(_leads(frame, id, other) for other in free if other != id and _leads(frame, other, id)):
            return [id]
    return []
