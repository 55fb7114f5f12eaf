"""What a run tells: the stream, as it happens, and the stored timeline, with each commit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from graphs.engine import events
from graphs.engine.graph import CompiledGraph
from graphs.engine.machine import Active
from graphs.engine.ports import Clock, Emit, Json, Snapshot, TaskKey, TaskResult
from graphs.engine.statuses import TaskStatus, ThreadStatus
from graphs.engine.superstep import Applied, Ran

_GOES_ON = frozenset({ThreadStatus.RUNNING, ThreadStatus.INTERRUPTED})


class Teller:
    """One thread's voice while it runs. A streamed event's `seq` orders the stream, a stored one's the thread."""

    def __init__(self, graph: CompiledGraph, snapshot: Snapshot, clock: Clock, emit: Emit | None) -> None:
        self._graph_path = (graph.id,)
        self._snapshot = snapshot
        self._clock = clock
        self._emit = emit
        self._told = self._seq = snapshot.next_seq
        self._rows: list[dict[str, Any]] = []

    def tell(self, type_: str, **details: Any) -> None:
        """Tell the stream, where somebody listens."""
        if self._emit is None:
            return
        told = {
            "type": type_,
            "graph_path": self._graph_path,
            "thread_id": self._snapshot.ref.thread_id,
            "seq": self._told,
        }
        self._told += 1
        self._emit({**told, **details})

    def tell_result(self, task: Active, result: TaskResult) -> None:
        """Tell the stream how a task ended."""
        where = {"node_id": task.place.node.id, "path": task.key.path, "visit": task.key.visit}
        if result.status is TaskStatus.FAILED:
            self.tell(events.NODE_ERROR, **where, attempt=result.attempt, error=result.error)
        else:
            ended = {"output": result.output, "status": result.status, "seconds": result.seconds}
            self.tell(events.NODE_END, **where, attempt=result.attempt, **ended)

    def note(self, applied: Applied, ran: Sequence[Ran], step: int) -> None:
        """Put the rows of one superstep on the timeline, in node order."""
        if self._snapshot.next_seq == self._seq == 1:
            self._row(events.GRAPH_START, data={"input": self._snapshot.input})
        for result in applied.results:
            self._row(*_of_result(result, step))
        for one in sorted(ran, key=lambda one: one.task.sort_key):
            for question in one.opened:
                self._row(events.NODE_INTERRUPT, one.task.key, {"interrupt": question.id})
        self._row(events.SUPERSTEP_END, data={"step": step})
        if applied.status not in _GOES_ON:
            self._row(events.GRAPH_END, data={"status": str(applied.status)})

    def take(self) -> tuple[Mapping[str, Any], ...]:
        """The rows for the coming commit."""
        rows, self._rows = tuple(self._rows), []
        return rows

    def _row(self, type_: str, task: TaskKey | None = None, data: Mapping[str, Json] | None = None) -> None:
        path, visit = ("", 0) if task is None else task
        at = self._clock.now()
        self._rows.append(
            {"type": type_, "path": path, "visit": visit, "seq": self._seq, "at": at, "data": dict(data or {})}
        )
        self._seq += 1


def _of_result(result: TaskResult, step: int) -> tuple[str, TaskKey, dict[str, Json]]:
    if result.error is not None:
        told = {"type": result.error["type"], "message": result.error["message"], "attempt": result.attempt}
        return events.NODE_ERROR, result.key, told
    return events.NODE_END, result.key, {"seconds": result.seconds, "attempt": result.attempt, "step": step}
