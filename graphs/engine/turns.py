"""The next turn of a thread that has ended: a commit of its own, before anything of it runs."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from graphs.engine import events, superstep
from graphs.engine.graph import CompiledGraph
from graphs.engine.machine import Machine
from graphs.engine.ports import Commit, Json, Snapshot, TaskRecord
from graphs.engine.state import StateView
from graphs.engine.statuses import ThreadStatus

#: The ends that a next turn may follow; what failed is retried instead.
FOLLOWED = frozenset({ThreadStatus.COMPLETED, ThreadStatus.REJECTED, ThreadStatus.CANCELLED})


def begun(
    graph: CompiledGraph,
    snapshot: Snapshot,
    input: Any,
    *,
    state: Mapping[str, Any],
    context: Mapping[str, Any],
    at: datetime,
) -> Commit:
    """What begins the next turn with `input`; `at` is the time of it (UTC). Raises `PayloadError`."""
    machine = Machine(graph, snapshot.cells)
    log = superstep.turn(machine, input, state=state, context=context, left=_left(machine, snapshot))
    cells = machine.cells
    told = {
        "type": events.GRAPH_START,
        "path": "",
        "visit": 0,
        "seq": snapshot.next_seq,
        "at": at,
        "data": {"input": input},
    }
    return Commit(
        snapshot.step + 1,
        ThreadStatus.RUNNING,
        machine.draft.take(),
        lambda: dict(cells),
        active=tuple(machine.tasks),
        events=(told,),
        log=log,
    )


def _left(machine: Machine, snapshot: Snapshot) -> dict[str, Json]:
    """What tasks that an early end left standing write all the same: bodies that keep a conversation say what was said
    in it (`given_up`). Those of nested graphs end with their frame."""
    written: dict[str, Json] = {}
    for task in sorted(machine.tasks.values(), key=lambda one: one.sort_key):
        record = snapshot.tasks.get(task.key)
        if record is not None and task.frame is machine.root:
            view = machine.view(task.frame)
            written |= kept_by(task.place.node.body, view, task.input, record, snapshot.status)
    return written


def kept_by(body: Any, state: StateView, input: Json, record: TaskRecord, how: str) -> Mapping[str, Json]:
    """What a task that was rejected or cancelled writes all the same, where its body has a `given_up` to say so.

    `how` is the status.
    """
    tell = getattr(body, "given_up", None)
    written: Mapping[str, Json] = {} if tell is None else tell(state, input, record, str(how))
    return written
