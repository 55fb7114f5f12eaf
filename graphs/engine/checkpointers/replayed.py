"""A store whose threads are rebuilt from their log each time they are loaded: what replay means for an app (W32)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from graphs.engine import superstep
from graphs.engine.graph import CompiledGraph
from graphs.engine.ports import Checkpointer, Snapshot, ThreadRef
from graphs.engine.replaying import rebuilt


def replayed(checkpointer: Checkpointer, graph: CompiledGraph) -> Checkpointer:
    """The same store, except that a loaded thread's cells come from its log and not from its last checkpoint.

    Loading runs no node and no effect, and costs as much as the thread has steps. Raises `CannotReplay`.
    """
    return cast(Checkpointer, _Replayed(checkpointer, graph))


class _Replayed:
    """Everything but loading is the store's own."""

    def __init__(self, checkpointer: Checkpointer, graph: CompiledGraph) -> None:
        self._checkpointer = checkpointer
        self._graph = graph

    def __getattr__(self, name: str) -> Any:
        return getattr(self._checkpointer, name)

    async def load(self, ref: ThreadRef) -> Snapshot | None:
        snapshot = await self._checkpointer.load(ref)
        if snapshot is None or superstep.compatible(self._graph, snapshot.cells):
            return snapshot  # of a thread whose definition changed the loop says so, by the node's name
        return replace(snapshot, cells=await rebuilt(self._graph, self._checkpointer, ref))
