"""The engine's state as cells: flat names with JSON values, so that a superstep writes only what it changed.

task:<path>#<visit>    {"i": input, "f": frame}     a task that is not over; no marker beside it means ready
wait:<path>#<visit>    [interrupt ids]              it waits for these questions
fail:<path>#<visit>    true                         it failed, and runs again after a retry
nest:<path>#<visit>    true                         it holds a nested graph that runs
last:<path>#<visit>    [output]                     its nested graph is over, and what follows has not run yet
inherited:<path>#<visit>       [entries]            its effects in the thread that this one was forked from
join:<frame>|<node>|<source>   [outputs]            arrivals that wait for the others
out:<frame>|<node>     output                       a terminal has fired
visit:<path>           [count, signature]
channel:<frame>|<name> value                        a frame is the task of its nested graph; empty for the outermost
counters, context, reducers
"""

from __future__ import annotations

from collections.abc import Sequence

from graphs.engine.ports import Cells, Delta, Json, TaskKey


def spell(key: TaskKey) -> str:
    """A task's name inside a cell's name."""
    return f"{key.path}#{key.visit}"


def read_key(text: str) -> TaskKey:
    """The task of such a name."""
    path, _, visit = text.rpartition("#")
    return TaskKey(path, int(visit))


def channel(frame: str, name: str) -> str:
    """The cell of a state channel."""
    return f"channel:{frame}|{name}"


class Draft:
    """Cells being changed: every change is made in place and kept as the delta of the coming commit."""

    def __init__(self, cells: Cells) -> None:
        self.cells = cells
        self._set: dict[str, Json] = {}
        self._append: dict[str, list[Json]] = {}
        self._drop: set[str] = set()
        self._born: set[str] = set()

    def put(self, name: str, value: Json) -> None:
        """Set one cell whole."""
        if name not in self.cells and name not in self._drop:
            self._born.add(name)
        self._drop.discard(name)
        self._append.pop(name, None)
        self._set[name] = self.cells[name] = value

    def extend(self, name: str, tail: Sequence[Json]) -> None:
        """Add to the end of a list; what the store is told does not grow with the list."""
        if name in self._set or not isinstance(self.cells.get(name), list):
            self.put(name, [*(self.cells.get(name) or []), *tail])
            return
        self.cells[name] = [*self.cells[name], *tail]
        self._append.setdefault(name, []).extend(tail)

    def drop(self, name: str) -> None:
        """Remove one cell, where it is there."""
        if name not in self.cells:
            return
        del self.cells[name]
        self._set.pop(name, None)
        self._append.pop(name, None)
        if name in self._born:
            self._born.discard(name)
        else:
            self._drop.add(name)

    def take(self) -> Delta:
        """The delta so far; the next one begins empty."""
        delta = Delta(self._set, self._append, tuple(sorted(self._drop)))
        self._set, self._append, self._drop, self._born = {}, {}, set(), set()
        return delta
