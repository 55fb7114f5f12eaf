"""Rebuilding a thread from what was logged of its steps: the loop's own code, fed from the log; no node runs.

A step's log (`Commit.log`) holds what cannot be derived; what is absent is empty or false:

kind      step, turn, edit, standing, budget, migrate
done      tasks whose recorded result was applied, spelled `path#visit`
failed    tasks that failed
asked     tasks that wait, each with the ids of the questions it waits for
entered   tasks whose nested graph opened
edited    what a reviewer's edit of the state before such a graph wrote, by task
targets   by task, where its edges led, for a result that was recorded without
renewed   true where the budgets began anew before the step
used      what was counted, where that is more than one superstep
gated     true where hooks stood around nodes, so that nested graphs opened as tasks of their own
input, context, state    of a next turn; of an edit `state` is what was set, `frame` the nested graph's task
map       of a migration: old node paths and the new ones
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from graphs.engine import canonical, counters, superstep
from graphs.engine.cells import read_key, spell
from graphs.engine.errors import CannotReplay
from graphs.engine.graph import CompiledGraph
from graphs.engine.interrupts import Interrupt
from graphs.engine.machine import Active, Machine, always, never
from graphs.engine.ports import Cells, Checkpointer, Delta, Json, StepLog, TaskKey, TaskRecord, TaskResult, ThreadRef
from graphs.engine.statuses import TaskStatus, ThreadStatus
from graphs.engine.superstep import Applied, Ran

Results = Mapping[TaskKey, TaskResult]
#: How many checkpoints are read at once.
PAGE = 200
_ONE_STEP = {"supersteps": 1}


def log_of(
    kind: str,
    ran: Iterable[Ran] = (),
    *,
    used: Mapping[str, Json] | None = None,
    renewed: bool = False,
    gated: bool = False,
    targets: Mapping[str, Json] | None = None,
) -> dict[str, Json]:
    """The log of one step of the loop, without what is empty."""
    passes = sorted(ran, key=lambda one: one.task.sort_key)
    log: dict[str, Json] = {
        "done": [spell(one.task.key) for one in passes if one.result is not None and not _failed(one)],
        "failed": [spell(one.task.key) for one in passes if _failed(one)],
        "asked": {spell(one.task.key): [asked.id for asked in one.waiting] for one in passes if _waits(one)},
        "entered": [spell(one.task.key) for one in passes if one.entered],
        "edited": {spell(one.task.key): [list(write) for write in one.writes] for one in passes if one.writes},
        "targets": dict(targets or {}),
        "renewed": renewed,
        "used": {} if used == _ONE_STEP else dict(used or {}),
        "gated": gated,
    }
    return {"kind": kind, **{name: value for name, value in log.items() if value}}


def late_targets(ran: Iterable[Ran], records: Mapping[TaskKey, TaskRecord]) -> dict[str, Json]:
    """Where results lead that an earlier build recorded without saying so; the store never changes them."""
    found: dict[str, Json] = {}
    for one in ran:
        record = records.get(one.task.key)
        stored = record.result if record is not None else None
        silent = stored is not None and stored.status is TaskStatus.FINISHED and stored.targets is None
        if silent and one.result is not None:
            found[spell(one.task.key)] = list(one.result.targets or ())
    return found


def _failed(one: Ran) -> bool:
    return one.result is not None and one.result.status is TaskStatus.FAILED


def _waits(one: Ran) -> bool:
    return one.result is None and not one.entered


def named_results(log: Iterable[StepLog]) -> list[TaskKey]:
    """The tasks whose results these steps applied."""
    return [read_key(name) for step in log for name in step.log.get("done", ())]


def rebuild(graph: CompiledGraph, start_cells: Cells, log: Iterable[StepLog], results: Results) -> Cells:
    """The cells that `start_cells` and the logged steps after them add up to.

    `results` are those of `named_results(log)`. Pure: nothing runs but the scheduler and the state's reducers. Raises
    `CannotReplay` naming the step.
    """
    thread = Rebuilding(graph, start_cells)
    for step in log:
        thread.apply(step, results)
    return thread.machine.cells


async def rebuilt(graph: CompiledGraph, checkpointer: Checkpointer, ref: ThreadRef) -> Cells:
    """The newest cells of a stored thread, rebuilt from the last checkpoint that its log does not reach past.

    Raises `CannotReplay`, `UnknownThread`.
    """
    base = await base_of(checkpointer, ref)
    thread = Rebuilding(graph, await checkpointer.load_step(ref, base) or {})
    while log := await checkpointer.log(ref, base + 1, PAGE):
        results = await checkpointer.results(ref, named_results(log))
        for step in log:
            thread.apply(step, results)
        base = log[-1].step
    return thread.machine.cells


async def base_of(checkpointer: Checkpointer, ref: ThreadRef) -> int:
    """The last checkpoint that does not follow from the one before by its log: the first one, one that an earlier build
    wrote without a log, or a migration to another definition."""
    base, first = 0, 1
    while log := await checkpointer.log(ref, first, PAGE):
        base = next((one.step for one in reversed(log) if not follows(one)), base)
        first = log[-1].step + 1
    return base


def follows(step: StepLog) -> bool:
    """Whether a step can be rebuilt from the one before."""
    return bool(step.log) and step.log.get("kind") != "migrate"


@dataclass(frozen=True, slots=True)
class Difference:
    """Where a rebuilt thread first differs from the stored one: the step, and the cell, the task, or `status`."""

    step: int
    name: str
    why: str


@dataclass(frozen=True, slots=True)
class Compared:
    """What came of a comparison: it began after checkpoint `first`, and `agreed` checkpoints after that one agree."""

    first: int
    agreed: int
    difference: Difference | None = None


async def compare(graph: CompiledGraph, checkpointer: Checkpointer, ref: ThreadRef) -> Compared:
    """Rebuild a stored thread step by step and compare each checkpoint with the stored one, up to the first difference.

    Reads in pages and writes nothing. Raises `CannotReplay` where the definition has no place for the thread at all,
    `UnknownThread`.
    """
    base = last = await base_of(checkpointer, ref)
    thread = Comparison(graph, await checkpointer.load_step(ref, base) or {})
    while log := await checkpointer.log(ref, last + 1, PAGE):
        results = await checkpointer.results(ref, named_results(log))
        for step in log:
            difference = thread.differs(step, results)
            if difference is not None:
                return Compared(base, last - base, difference)
            last = step.step
    return Compared(base, last - base)


class Comparison:
    """One thread, rebuilt beside what is stored of it. Cells are compared by the digest of their canonical bytes."""

    def __init__(self, graph: CompiledGraph, cells: Cells) -> None:
        self.thread = Rebuilding(graph, cells)
        self.stored = dict(cells)

    def differs(self, step: StepLog, results: Results) -> Difference | None:
        """What is different after this step, if anything is."""
        try:
            applied = self.thread.apply(step, results)
        except CannotReplay as error:
            return Difference(step.step, error.name, str(error))
        rebuilt = self.thread.machine
        for name in sorted(self._touched(step, rebuilt.draft.take())):
            if _digest(name, rebuilt.cells) != _digest(name, self.stored):
                return Difference(step.step, name, _sides(name, rebuilt.cells, self.stored))
        if not _fits(applied.status, step.status):
            return Difference(step.step, "status", f"the log gives {applied.status}, stored is {step.status}")
        return None

    def _touched(self, step: StepLog, rebuilt: Delta) -> set[str]:
        stored = step.delta
        if step.cells is not None:
            self.stored = dict(step.cells)
            return {*step.cells, *self.thread.machine.cells}
        if stored is None:
            return set()
        stored.apply(self.stored)
        # Almost always the two are the same, and no list that a step only added to has to be read as a whole.
        return set() if _delta_digest(stored) == _delta_digest(rebuilt) else {*_names(stored), *_names(rebuilt)}


def _digest(name: str, cells: Cells) -> str:
    return canonical.digest(cells[name]) if name in cells else ""


def _delta_digest(delta: Delta) -> str:
    tails = {name: list(tail) for name, tail in delta.append.items()}
    return canonical.digest([dict(delta.set), tails, sorted(delta.drop)])


def _names(delta: Delta) -> set[str]:
    return {*delta.set, *delta.append, *delta.drop}


def _sides(name: str, rebuilt: Cells, stored: Cells) -> str:
    first, second = (_shown(cells[name]) if name in cells else "nothing" for cells in (rebuilt, stored))
    return f"the log gives {first}, stored is {second}"


def _shown(value: Json) -> str:
    text = canonical.dumps(value).decode()
    return text if len(text) <= 80 else f"{text[:80]}…"


def _fits(rebuilt: ThreadStatus, stored: ThreadStatus) -> bool:
    # A person may have stopped the thread at that step, or answered in the moment in which it paused.
    answered = rebuilt is ThreadStatus.INTERRUPTED and stored is ThreadStatus.RUNNING
    return rebuilt is stored or answered or stored in (ThreadStatus.CANCELLED, ThreadStatus.SUSPENDED)


class Rebuilding:
    """One thread while it is rebuilt, step by step. Raises `CannotReplay` where the definition does not fit it."""

    def __init__(self, graph: CompiledGraph, cells: Cells) -> None:
        if reason := superstep.compatible(graph, cells):
            raise CannotReplay(f"graph {graph.id!r} has changed: {reason}")
        self.graph = graph
        self.machine = Machine(graph, dict(cells))

    def apply(self, step: StepLog, results: Results) -> Applied:
        """Bring the machine over one logged step."""
        log, machine = step.log, self.machine
        if not follows(step):
            raise CannotReplay(f"step {step.step} has no log that a replay can follow", str(log.get("kind", "")))
        machine.gate = always if log.get("gated") else never
        if log.get("renewed"):
            counters.renew(machine.draft)
        try:
            return self._by_kind(step, results)
        except KeyError as error:
            raise self._missing(step, error.args[0]) from None
        except (AttributeError, TypeError, ValueError) as error:
            raise CannotReplay(f"step {step.step} does not fit what came before it: {error!r}") from error

    def _missing(self, step: StepLog, name: object) -> CannotReplay:
        known = {place.node.id for place in self.graph.places.values()} | set(self.graph.places)
        if isinstance(name, str) and name and name not in known:
            told = f"step {step.step} leads to node {name!r}, which graph {self.graph.id!r} does not have"
            return CannotReplay(f"{told}; replay it with the version that it ran on", name)
        return CannotReplay(f"step {step.step} does not fit what came before it: nothing is known of {name!r}")

    def _by_kind(self, step: StepLog, results: Results) -> Applied:
        log, machine, kind = step.log, self.machine, step.log["kind"]
        applied = Applied(step.status)
        if kind == "step":
            applied = superstep.apply(machine, self._ran(step, results))
            counters.add(machine.draft, log.get("used") or _ONE_STEP)
        elif kind == "standing":
            applied = superstep.standing(machine, Applied(ThreadStatus.RUNNING))
        elif kind == "budget":
            counters.end(machine.draft)
        elif kind == "turn":
            given = {name: log.get(name) for name in ("state", "context", "left")}
            superstep.turn(machine, log.get("input"), **given)
        elif kind == "edit":
            superstep.edit(machine, log["state"], log.get("frame", ""))
        else:
            raise CannotReplay(f"step {step.step} is of the kind {kind!r}, which this version does not know", kind)
        return applied

    def _ran(self, step: StepLog, results: Results) -> list[Ran]:
        log = step.log
        done = [Ran(self._task(step, name), self._result(step, name, results)) for name in log.get("done", ())]
        failed = [Ran(self._task(step, name), _failure(name)) for name in log.get("failed", ())]
        asked = [self._asked(step, name, ids) for name, ids in log.get("asked", {}).items()]
        entered = [self._entered(step, name) for name in log.get("entered", ())]
        return [*done, *failed, *asked, *entered]

    def _entered(self, step: StepLog, name: str) -> Ran:
        edited = step.log.get("edited", {}).get(name, ())
        return Ran(self._task(step, name), entered=True, writes=tuple((channel, value) for channel, value in edited))

    def _asked(self, step: StepLog, name: str, ids: Sequence[str]) -> Ran:
        task = self._task(step, name)
        waiting = tuple(Interrupt(id=id) for id in ids)
        known = set(task.waiting or ())
        return Ran(task, waiting=waiting, opened=tuple(one for one in waiting if one.id not in known))

    def _task(self, step: StepLog, name: str) -> Active:
        task = self.machine.tasks.get(read_key(name))
        if task is None:
            raise CannotReplay(f"step {step.step} ran {name!r}, which nothing before it made ready", name)
        return task

    def _result(self, step: StepLog, name: str, results: Results) -> TaskResult:
        result = results.get(read_key(name))
        if result is None or result.status is TaskStatus.FAILED:
            raise CannotReplay(f"step {step.step} applied the result of {name!r}, and there is none", name)
        targets = step.log.get("targets", {}).get(name)
        return result if targets is None else replace(result, targets=tuple(targets))


def _failure(name: str) -> TaskResult:
    return TaskResult(read_key(name), TaskStatus.FAILED)
