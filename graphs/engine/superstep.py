"""Planning a superstep and applying its results: values in, values out; no store, no clock, no code of nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from graphs.engine import canonical, joins, state
from graphs.engine.cells import channel
from graphs.engine.errors import PayloadError
from graphs.engine.graph import CompiledGraph
from graphs.engine.interrupts import Interrupt
from graphs.engine.machine import Active, Frame, Machine
from graphs.engine.ports import Cells, Json, TaskKey, TaskRecord, TaskResult, ThreadStart
from graphs.engine.state import SET, edited, encoded
from graphs.engine.statuses import TaskStatus, ThreadStatus


@dataclass(slots=True)
class Ran:
    """How one pass of one task ended: with a result, waiting for questions, or inside its nested graph (`entered`)."""

    task: Active
    result: TaskResult | None = None
    waiting: tuple[Interrupt, ...] = ()
    opened: tuple[Interrupt, ...] = ()
    entered: bool = False
    #: What a nested graph's outer task writes as it is entered: a reviewer's edit of the state before it (T17).
    writes: tuple[tuple[str, Json], ...] = ()


@dataclass(slots=True)
class Applied:
    """What a superstep came to. `results` are those of its tasks and of nested graphs that ended with it."""

    status: ThreadStatus
    results: list[TaskResult] = field(default_factory=list)
    output: Json = None
    error: dict[str, Json] | None = None


def begin(
    graph: CompiledGraph,
    input: Any,
    *,
    state: Mapping[str, Any] | None = None,
    context: Mapping[str, Any] | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> ThreadStart:
    """What a new thread begins with: its entries ready with `input`.

    `state` seeds channels, `context` is what predicates and nodes may read beside the input. Raises `PayloadError`.
    """
    cells: Cells = {}
    if known := reducers(graph):
        cells["reducers"] = known
    given = canonical.encode(input, "input")
    if context:
        cells["context"] = _context(context)
    machine = Machine(graph, cells)
    _seed(machine, encoded(state or {}))
    _enter_root(machine, given)
    return ThreadStart(
        graph.fingerprint, graph.version, given, cells, canonical.encode(dict(metadata or {}), "metadata")
    )


def turn(
    machine: Machine,
    input: Any,
    *,
    state: Mapping[str, Any] | None = None,
    context: Mapping[str, Any] | None = None,
    left: Mapping[str, Any] | None = None,
) -> dict[str, Json]:
    """Begin the next turn of an ended thread: entries ready with the new input; visits go on, and state but for the
    channels that begin each turn anew.

    What an early end (rejected, cancelled) left standing is given up, but for what it writes as `left`. Returns the log
    of the commit that writes this.
    Raises `PayloadError`.
    """
    log: dict[str, Json] = {"kind": "turn", "input": canonical.encode(input, "input")}
    machine.clear()
    machine.draft.drop("counters")
    for name, rule in machine.graph.channels.items():
        if rule.each_turn and channel("", name) in machine.cells:
            _write(machine, machine.root, f"{SET}{name}", rule.default)
    if context:
        log["context"] = _context(context)
        machine.draft.put("context", log["context"])
    if left:
        log["left"] = encoded(left)
        _seed(machine, log["left"])
    if state:
        log["state"] = encoded(state)
    _seed(machine, log.get("state", {}))
    _enter_root(machine, log["input"])
    return log


def edit(machine: Machine, values: Mapping[str, Any], frame: str = "") -> dict[str, Json]:
    """Set channels of one frame (the outermost graph), whatever their reducers are, as a reviewer does who edits the
    state of a paused thread (T17). Returns the log of the commit that writes this. Raises `PayloadError`."""
    at = machine.frames[frame]
    given = edited(at.graph.channels, values)
    for name, value in given.items():
        _write(machine, at, f"{SET}{name}", value)
    return {"kind": "edit", "state": given, **({"frame": frame} if frame else {})}


def compatible(graph: CompiledGraph, cells: Cells) -> str:
    """Why a thread with these cells cannot go on under `graph`, naming the node; empty where it can (R8, Z20)."""
    for name, value in cells.items():
        if name.startswith("visit:"):
            path = name[6:]
            place = graph.places.get(path)
            if place is None:
                return f"node {path!r} is gone; this thread has run it or waits in it"
            if place.signature != value[1]:
                return f"node {path!r} has other inputs, or is of another kind, than when this thread reached it"
    now = reducers(graph)
    for name, reducer in cells.get("reducers", {}).items():
        if now.get(name) != reducer:
            return f"state channel {name.removeprefix('|')!r} is no longer reduced by {reducer!r}"
    return ""


def plan(machine: Machine, records: Mapping[TaskKey, TaskRecord], retrying: bool = False) -> list[Active]:
    """The tasks to run now, in node order: the ready ones, waiting ones with a newly decided question, and when
    `retrying` the failed ones."""
    return sorted(
        (task for task in machine.tasks.values() if _runs(task, records, retrying)), key=lambda one: one.sort_key
    )


def newly_decided(task: Active, records: Mapping[TaskKey, TaskRecord]) -> bool:
    """Whether a question that the task waits for has been decided since it last ran."""
    record = records.get(task.key)
    if task.waiting is None or record is None:
        return False
    waits = set(task.waiting)
    return any(one.id in waits and one.decision is not None for one in record.interrupts)


def apply(machine: Machine, ran: Iterable[Ran]) -> Applied:
    """Bring the machine from before a superstep to after it. The order in which the passes came in does not matter."""
    ordered = sorted(ran, key=lambda one: one.task.sort_key)
    applied = Applied(ThreadStatus.RUNNING)
    for one in ordered:
        _apply_one(machine, one, applied)
    _settle(machine, applied)
    _conclude(machine, ordered, applied)
    return applied


def standing(machine: Machine, applied: Applied) -> Applied:
    """The status of a machine in which nothing is ready to run."""
    _conclude(machine, [], applied)
    return applied


def _runs(task: Active, records: Mapping[TaskKey, TaskRecord], retrying: bool) -> bool:
    if task.nested:
        return False
    if task.failed:
        return retrying
    return task.waiting is None or newly_decided(task, records)


def reducers(graph: CompiledGraph) -> dict[str, str]:
    """The reducers of all state channels, of nested graphs too: what a thread's cells are pinned to."""
    found = {f"|{name}": one.reducer for name, one in graph.channels.items()}
    for path, place in graph.places.items():
        if place.node.kind == "graph":
            found.update({f"{path}|{name}": one.reducer for name, one in place.node.body.channels.items()})
    return found


def _context(given: Mapping[str, Any]) -> Json:
    if not isinstance(given, Mapping):
        raise PayloadError(f"a mapping that nodes read beside their input, not {given!r:.100}", "context")
    return canonical.encode(dict(given), "context")


def _seed(machine: Machine, values: Mapping[str, Json]) -> None:
    for name, value in values.items():
        _write(machine, machine.root, name, value)


def _enter_root(machine: Machine, given: Json) -> None:
    for entry in machine.graph.entries:
        machine.schedule(machine.root, entry, given)


def _apply_one(machine: Machine, one: Ran, applied: Applied) -> None:
    task, result = one.task, one.result
    if one.entered:
        for name, value in one.writes:
            _write(machine, task.frame, name, value)
        machine.enter(task)
    elif result is None:
        machine.wait(task, tuple(question.id for question in one.waiting))
    elif result.status is TaskStatus.FAILED:
        applied.results.append(result)
        machine.fail(task)
    elif (fault := _write_fault(machine, task.frame, result)) is not None:
        # Its Ran says so too: what the log and a replay see of this step is how the task really ended.
        one.result = replace(result, status=TaskStatus.FAILED, error=fault)
        applied.results.append(one.result)
        machine.fail(task)
    else:
        applied.results.append(result)
        _finish(machine, task, result)


def _write_fault(machine: Machine, frame: Frame, result: TaskResult) -> dict[str, Json] | None:
    """Why a reducer refuses what this task writes beside what others wrote in the same superstep: then the task has
    failed, and none of its writes are made."""
    values: Cells = {}
    for name, value in result.writes:
        plain = name.removeprefix(state.SET)
        rule = state.rule(frame.graph.channels, plain)
        if name.startswith(state.SET) or rule.reducer == "last":
            values[plain] = value
            continue
        current = values.get(plain, machine.cells.get(channel(frame.id, plain), rule.default))
        if rule.appends and (current is None or isinstance(current, list)):
            continue
        try:
            values[plain] = state.reduce(rule, current, value)
        except Exception as error:  # noqa: BLE001 - a reducer is code of the graph's author
            text = f"its write to channel {plain!r} does not fit what is there ({rule.reducer}): {error}"
            return {"type": type(error).__name__, "message": text, "traceback": ""}
    return None


def _finish(machine: Machine, task: Active, result: TaskResult) -> None:
    frame, node_id = task.frame, task.place.node.id
    for name, value in result.writes:
        _write(machine, frame, name, value)
    machine.remove(task)
    if result.status is not TaskStatus.FINISHED:
        return
    if node_id in frame.graph.terminals and not (frame.graph.last_word and result.targets):
        frame.outputs.pop(node_id, None)
        frame.outputs[node_id] = result.output
        machine.draft.put(f"out:{frame.id}|{node_id}", result.output)
    for target in result.targets or ():
        _arrive(machine, frame, target, node_id, result.output)


def _write(machine: Machine, frame: Frame, name: str, value: Json) -> None:
    plain = name.removeprefix(state.SET)
    declared = state.rule(frame.graph.channels, plain)
    rule = state.LAST if name.startswith(state.SET) else declared
    cell = channel(frame.id, plain)
    default = declared.default
    current = machine.cells.get(cell, default)
    frame.channels[plain] = None
    if rule.appends and rule.function is None and cell in machine.cells:
        machine.draft.extend(cell, state.tail(value))
    else:
        machine.draft.put(cell, state.reduce(rule, current, value))


def _arrive(machine: Machine, frame: Frame, target: str, source: str, output: Json) -> None:
    node = frame.graph.nodes[target]
    if len(frame.graph.sources[target]) < 2:
        machine.schedule(frame, target, output)
    elif node.join == "any":
        frame.fresh.setdefault(target, {})[source] = output
    else:
        arrived = frame.joins.setdefault(target, {}).setdefault(source, [])
        arrived.append(output)
        machine.draft.put(f"join:{frame.id}|{target}|{source}", list(arrived))
    machine.touched.add(frame.id)


def _settle(machine: Machine, applied: Applied) -> None:
    # Inner frames first: one that ends brings its output to the frame around it within the same superstep.
    for frame in machine.deepest_first():
        for node_id in sorted(frame.fresh, key=lambda id: frame.graph.nodes[id].order):
            arrived = frame.fresh.pop(node_id)
            machine.schedule(frame, node_id, {id: arrived[id] for id in frame.graph.sources[node_id] if id in arrived})
        for node_id in joins.ready(frame):
            _fire(machine, frame, node_id)
        if frame.outer is not None and frame.quiet:
            _end_frame(machine, frame, applied)
    machine.touched = {frame.id for frame in machine.frames.values() if frame.joins}


def _fire(machine: Machine, frame: Frame, node_id: str) -> None:
    value, rest = joins.take(frame, node_id)
    left = {source: outputs for source, outputs in rest.items() if outputs}
    for source in rest:
        cell = f"join:{frame.id}|{node_id}|{source}"
        if source in left:
            machine.draft.put(cell, list(left[source]))
        else:
            machine.draft.drop(cell)
    if left:
        frame.joins[node_id] = left
    else:
        del frame.joins[node_id]
    alone = len(value) == 1 and frame.graph.nodes[node_id].join == "merge"
    machine.schedule(frame, node_id, next(iter(value.values())) if alone else value)


def _end_frame(machine: Machine, frame: Frame, applied: Applied) -> None:
    assert frame.outer is not None
    outer, output, fault = machine.tasks[frame.outer], frame.output(), frame.fault()
    machine.close_frame(frame)
    edges = outer.frame.graph.outgoing[outer.place.node.id]
    if fault is not None:
        kind, text = fault
        error = {"type": kind, "message": f"nested graph {frame.graph.id!r}: {text}", "traceback": ""}
        outer.nested = False
        machine.fail(outer)
        applied.results.append(TaskResult(outer.key, TaskStatus.FAILED, error=error))
    elif outer.place.gated_after or machine.gate(outer.place) or any(one.conditional for one in edges):
        machine.keep_last(outer, output)
    else:
        targets = tuple(dict.fromkeys(one.target for one in edges))
        result = TaskResult(outer.key, TaskStatus.FINISHED, output, targets=targets)
        applied.results.append(result)
        _finish(machine, outer, result)


def _conclude(machine: Machine, ran: list[Ran], applied: Applied) -> None:
    ended = {one.status for one in applied.results}
    if TaskStatus.REJECTED in ended or TaskStatus.CANCELLED in ended:
        applied.status = ThreadStatus.REJECTED if TaskStatus.REJECTED in ended else ThreadStatus.CANCELLED
        applied.output = next(
            one.output for one in applied.results if one.status in (TaskStatus.REJECTED, TaskStatus.CANCELLED)
        )
    elif failed := [task for task in machine.tasks.values() if task.failed]:
        failed.sort(key=lambda one: one.sort_key)
        applied.status, applied.error = ThreadStatus.FAILED, _error_of(failed, applied)
    elif machine.root.quiet:
        _end(machine, applied)
    else:
        applied.status = _paused_or_running(machine, ran)


def _error_of(failed: list[Active], applied: Applied) -> dict[str, Json] | None:
    errors = {one.key: one.error for one in applied.results if one.error is not None}
    for task in failed:
        if task.key in errors:
            return {**dict(errors[task.key] or {}), "path": task.key.path}
    return {"type": "failed", "message": f"failed in {failed[0].key.path}", "path": failed[0].key.path}


def _end(machine: Machine, applied: Applied) -> None:
    fault = machine.root.fault()
    if fault is None:
        applied.status, applied.output = ThreadStatus.COMPLETED, machine.root.output()
        return
    applied.status = ThreadStatus.FAILED
    applied.error = {"type": fault[0], "message": fault[1], "path": ""}


def _paused_or_running(machine: Machine, ran: list[Ran]) -> ThreadStatus:
    if not any(task.waiting is None and not task.nested for task in machine.tasks.values()):
        return ThreadStatus.INTERRUPTED
    if machine.graph.pause == "superstep" and any(one.opened for one in ran):
        return ThreadStatus.INTERRUPTED
    return ThreadStatus.RUNNING
