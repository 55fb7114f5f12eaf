"""A thread's cells, read into what a scheduler needs: frames, their tasks, their joins (see cells.py for the names).

Nested graphs are frames of one machine: their tasks stand beside those of the outer graph, in the same supersteps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from graphs.engine.cells import Draft, channel, read_key, spell
from graphs.engine.graph import CompiledGraph, Place
from graphs.engine.ports import Cells, Json, TaskKey
from graphs.engine.state import StateView


@dataclass(slots=True)
class Active:
    """One task that is not over: `waiting` for these question ids; `last` is its ended nested graph's output."""

    key: TaskKey
    place: Place
    frame: Frame
    input: Json
    waiting: tuple[str, ...] | None = None
    failed: bool = False
    nested: bool = False
    last: list[Json] | None = None

    @property
    def sort_key(self) -> tuple[tuple[int, ...], int]:
        """Node order, then visit."""
        return self.place.rank, self.key.visit


@dataclass(slots=True)
class Frame:
    """One execution of one graph: the outermost (id "") or a nested one, named by its outer task."""

    id: str
    outer: TaskKey | None
    graph: CompiledGraph
    depth: int
    prefix: str
    active: dict[TaskKey, Active] = field(default_factory=dict)
    joins: dict[str, dict[str, list[Json]]] = field(default_factory=dict)
    fresh: dict[str, dict[str, Json]] = field(default_factory=dict)
    outputs: dict[str, Json] = field(default_factory=dict)
    channels: dict[str, None] = field(default_factory=dict)

    @property
    def quiet(self) -> bool:
        """Nothing runs, waits or is on its way here."""
        return not (self.active or self.joins or self.fresh)

    def output(self) -> Json:
        """The only terminal's output, or where several fired, a dict by terminal in node order."""
        if len(self.outputs) == 1:
            return next(iter(self.outputs.values()))
        if self.graph.single_output:
            return next((value for value in self.outputs.values() if value is not None), None)
        return {id: self.outputs[id] for id in self.graph.nodes if id in self.outputs} or None

    def fault(self) -> tuple[str, str] | None:
        """What is wrong with how this graph ended, as code and text: no terminal fired (Z53), or two of a workflow did
        and put something out (W45)."""
        if not self.outputs:
            return "dead_end", "nothing is left to run and no terminal fired"
        put_out = [id for id in self.graph.nodes if self.outputs.get(id) is not None]
        if self.graph.single_output and len(put_out) > 1:
            return "misconfigured", f"{' and '.join(map(repr, put_out))} both put out; only one end of a workflow may"
        return None


Gate = Callable[[Place], bool]


def never(place: Place) -> bool:
    """No hook stands before a nested graph."""
    return False


def always(place: Place) -> bool:
    """Hooks stand around every node."""
    return True


class Machine:
    """The scheduler's state, changed together with the cells it was read from."""

    def __init__(self, graph: CompiledGraph, cells: Cells, gate: Gate = never) -> None:
        self.graph = graph
        self.draft = Draft(cells)
        self.gate = gate
        self.frames: dict[str, Frame] = {"": Frame("", None, graph, 0, "")}
        self.tasks: dict[TaskKey, Active] = {}
        self.visits: dict[str, int] = {}
        self.touched: set[str] = {""}
        self._read(cells)

    @property
    def cells(self) -> Cells:
        """The cells as they stand."""
        return self.draft.cells

    @property
    def root(self) -> Frame:
        """The outermost frame."""
        return self.frames[""]

    def view(self, frame: Frame) -> StateView:
        """The state of one frame as a task of the coming superstep sees it."""
        cells, id = self.cells, frame.id
        return StateView(frame.graph.channels, lambda name: cells.get(channel(id, name)), lambda: list(frame.channels))

    # Reading

    def _read(self, cells: Cells) -> None:
        by_kind: dict[str, list[tuple[str, Json]]] = {}
        for name, value in cells.items():
            kind, _, rest = name.partition(":")
            by_kind.setdefault(kind, []).append((rest, value))
        self.visits = {path: count for path, (count, _) in by_kind.get("visit", ())}
        found: dict[str, Active] = {}
        for rest, value in sorted(by_kind.get("task", ()), key=lambda one: one[0].count("/")):
            found[rest] = self._read_task(read_key(rest), value, f"nest:{rest}" in cells)
        for rest, ids in by_kind.get("wait", ()):
            found[rest].waiting = tuple(ids)
        for rest, _ in by_kind.get("fail", ()):
            found[rest].failed = True
        for rest, last in by_kind.get("last", ()):
            found[rest].last = last
        self._read_frames(by_kind)

    def _read_task(self, key: TaskKey, value: Json, nested: bool) -> Active:
        frame = self.frames[value.get("f", "")]
        task = Active(key, self.graph.places[key.path], frame, value.get("i"), nested=nested)
        self.tasks[key] = frame.active[key] = task
        if nested:
            self._open_frame(task)
        return task

    def _read_frames(self, by_kind: dict[str, list[tuple[str, Json]]]) -> None:
        for rest, values in by_kind.get("join", ()):
            frame, node, source = rest.split("|")
            # A copy: arrivals are appended, and the cell's own list may be the store's record of an earlier step.
            self.frames[frame].joins.setdefault(node, {})[source] = list(values)
        for rest, output in by_kind.get("out", ()):
            frame, _, node = rest.partition("|")
            self.frames[frame].outputs[node] = output
        for rest, _ in by_kind.get("channel", ()):
            frame, _, name = rest.partition("|")
            self.frames[frame].channels[name] = None

    # Changing

    def schedule(self, frame: Frame, node_id: str, value: Json) -> None:
        """Make a new visit of a node ready; a nested graph opens at once, unless something stands before it."""
        path = f"{frame.prefix}{node_id}"
        place = self.graph.places[path]
        visit = self.visits.get(path, 0) + 1
        self.visits[path] = visit
        self.draft.put(f"visit:{path}", [visit, place.signature])
        key = TaskKey(path, visit)
        cell: dict[str, Json] = {} if value is None else {"i": value}
        if frame.id:
            cell["f"] = frame.id
        self.draft.put(f"task:{spell(key)}", cell)
        task = Active(key, place, frame, value)
        self.tasks[key] = frame.active[key] = task
        if place.node.kind == "graph" and not place.gated_before and not self.gate(place):
            self.enter(task)

    def enter(self, task: Active) -> None:
        """Open a nested graph: its entries become ready with the outer task's input."""
        self.settle_waiting(task)
        task.nested = True
        self.draft.put(f"nest:{spell(task.key)}", True)
        frame = self._open_frame(task)
        for entry in frame.graph.entries:
            self.schedule(frame, entry, task.input)

    def _open_frame(self, task: Active) -> Frame:
        id, body = spell(task.key), task.place.node.body
        frame = Frame(id, task.key, body, task.frame.depth + 1, f"{task.key.path}/")
        self.frames[id] = frame
        self.touched.add(id)
        return frame

    def close_frame(self, frame: Frame) -> None:
        """Forget a nested graph that is over, its state included."""
        for node in frame.outputs:
            self.draft.drop(f"out:{frame.id}|{node}")
        for name in frame.channels:
            self.draft.drop(channel(frame.id, name))
        self.draft.drop(f"nest:{frame.id}")
        del self.frames[frame.id]
        self.touched.discard(frame.id)

    def clear(self) -> None:
        """Give up everything that is not over, and what the terminals have put out."""
        for name in [name for name in self.cells if name.startswith(("task:", "wait:", "fail:", "nest:", "last:"))]:
            self.draft.drop(name)
        nested = tuple(f"channel:{id}|" for id in self.frames if id)
        for name in [name for name in self.cells if name.startswith(("join:", "out:", "inherited:", *nested))]:
            self.draft.drop(name)
        self.tasks.clear()
        self.frames = {"": Frame("", None, self.graph, 0, "", channels=self.root.channels)}
        self.touched = {""}

    def settle_waiting(self, task: Active) -> None:
        """Take back the marks of a pause or a failure."""
        if task.waiting is not None:
            task.waiting = None
            self.draft.drop(f"wait:{spell(task.key)}")
        if task.failed:
            task.failed = False
            self.draft.drop(f"fail:{spell(task.key)}")

    def wait(self, task: Active, ids: tuple[str, ...]) -> None:
        """Mark a task as waiting for these questions."""
        if task.waiting != ids:
            self.settle_waiting(task)
            task.waiting = ids
            self.draft.put(f"wait:{spell(task.key)}", list(ids))

    def fail(self, task: Active) -> None:
        """Mark a task as failed."""
        if not task.failed:
            self.settle_waiting(task)
            task.failed = True
            self.draft.put(f"fail:{spell(task.key)}", True)

    def keep_last(self, task: Active, output: Json) -> None:
        """Keep the output of a nested graph whose outer task has something left to run."""
        task.nested, task.last = False, [output]
        self.draft.put(f"last:{spell(task.key)}", [output])

    def remove(self, task: Active) -> None:
        """Take a task that is over out of the cells."""
        self.settle_waiting(task)
        name = spell(task.key)
        self.draft.drop(f"task:{name}")
        self.draft.drop(f"inherited:{name}")
        if task.last is not None:
            self.draft.drop(f"last:{name}")
        del self.tasks[task.key]
        del task.frame.active[task.key]
        self.touched.add(task.frame.id)

    def ordered(self) -> list[Active]:
        """All tasks in node order."""
        return sorted(self.tasks.values(), key=lambda one: one.sort_key)

    def deepest_first(self) -> Iterator[Frame]:
        """The frames that something changed in, inner ones before outer ones; what is touched meanwhile comes too."""
        depth = max((self.frames[id].depth for id in self.touched if id in self.frames), default=-1)
        for level in range(depth, -1, -1):
            yield from [
                self.frames[id] for id in sorted(self.touched) if id in self.frames and self.frames[id].depth == level
            ]
