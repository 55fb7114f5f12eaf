"""Moving a thread to another definition of its graph by renaming nodes: cells in, cells out (F26, Z20, Z44).

A mapping names old node paths and their new ones; what lies below a renamed nested graph moves with it. An empty new
path gives up a node that is gone and that this thread is done with. A replay finds the mapping in the checkpoint's log,
`{"kind": "migrate", "map": {...}}`, and calls `migrated` again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from graphs.engine import canonical
from graphs.engine.cells import read_key, spell
from graphs.engine.errors import CannotMigrate
from graphs.engine.graph import CompiledGraph, Place
from graphs.engine.ports import Cells, Delta, Json, TaskKey
from graphs.engine.superstep import reducers

Names: TypeAlias = Mapping[str, str]
Rename: TypeAlias = Callable[[str, Names], str]


def migrated(graph: CompiledGraph, cells: Cells, names: Names) -> Cells:
    """The cells as `graph` reads them. Raises `CannotMigrate` where something of the thread has no place there."""
    moved: Cells = {}
    for name, value in cells.items():
        kind, _, rest = name.partition(":")
        rename = RENAMES.get(kind)
        if kind == "visit" and moved_path(rest, names) == "":
            continue
        target = f"{kind}:{rename(rest, names)}" if rename and rest else name
        if target in moved:
            raise CannotMigrate(f"two nodes of this thread would both become {target.partition(':')[2]!r}")
        moved[target] = _value(kind, value, names)
    _check(graph, moved, {new: old for old, new in names.items() if new})
    return _pinned(graph, moved)


def moved_path(path: str, names: Names) -> str:
    """A node's new path: its own, or that of the nearest renamed graph around it with the rest of its path."""
    steps = path.split("/")
    for count in range(len(steps), 0, -1):
        known = names.get("/".join(steps[:count]))
        if known is not None:
            return "/".join([known, *steps[count:]]) if known else ""
    return path


def moved_key(key: TaskKey, names: Names) -> TaskKey:
    """A task's new name."""
    return TaskKey(moved_path(key.path, names), key.visit)


def difference(before: Cells, after: Cells) -> Delta:
    """What a checkpoint writes to bring the one state to the other."""
    changed = {name: value for name, value in after.items() if name not in before or before[name] != value}
    return Delta(changed, {}, tuple(sorted(before.keys() - after.keys())))


def _task(rest: str, names: Names) -> str:
    return _spelled(rest, names) if rest else rest


def _spelled(text: str, names: Names) -> str:
    key = read_key(text)
    new = moved_key(key, names)
    if not new.path:
        raise CannotMigrate(f"node {key.path!r} is still under way in this thread; map it to a node of the new graph")
    return spell(new)


def _framed(rest: str, names: Names) -> str:
    """`<frame>|<node>…`: node ids are those of the frame's graph."""
    frame, *nodes = rest.split("|")
    prefix = f"{read_key(frame).path}/" if frame else ""
    renamed = []
    for node in nodes:
        new = moved_path(f"{prefix}{node}", names)
        if not new:
            raise CannotMigrate(
                f"what node {prefix + node!r} put out is still needed; map it to a node of the new graph"
            )
        renamed.append(new.rpartition("/")[2])
    return "|".join([_task(frame, names), *renamed])


def _channel(rest: str, names: Names) -> str:
    frame, _, name = rest.partition("|")
    return f"{_task(frame, names)}|{name}"


RENAMES: Mapping[str, Rename] = {
    **dict.fromkeys(("task", "wait", "fail", "nest", "last", "inherited"), _task),
    **dict.fromkeys(("join", "out"), _framed),
    "channel": _channel,
    "visit": moved_path,
}


def _value(kind: str, value: Json, names: Names) -> Json:
    if kind == "task" and value.get("f"):
        return {**value, "f": _spelled(value["f"], names)}
    return value


def _check(graph: CompiledGraph, cells: Cells, old_names: Names) -> None:
    for name in cells:
        kind, _, rest = name.partition(":")
        if kind == "visit":
            _placed(graph, rest)
        elif kind == "task":
            _fits(graph, cells, read_key(rest), old_names)
        elif kind == "nest" and _placed(graph, read_key(rest).path).node.kind != "graph":
            raise CannotMigrate(
                f"node {read_key(rest).path!r} is no nested graph any more, and this thread is inside it"
            )
        elif kind in ("join", "out"):
            _routed(graph, kind, rest)
    _check_channels(graph, cells)


def _placed(graph: CompiledGraph, path: str) -> Place:
    place = graph.places.get(path)
    if place is None:
        raise CannotMigrate(f"node {path!r} is not in version {graph.version!r}; map it: {path}=<new path>")
    return place


def _fits(graph: CompiledGraph, cells: Cells, key: TaskKey, old_names: Names) -> None:
    """A task under way keeps its input, so its node must be reached and run as it was, but for the renaming."""
    place = _placed(graph, key.path)
    known = cells.get(f"visit:{key.path}")
    if known is not None and known[1] not in (place.signature, _signature_before(place, old_names)):
        raise CannotMigrate(
            f"node {key.path!r} has other inputs, or is of another kind, than when this thread reached it"
        )


def _signature_before(place: Place, old_names: Names) -> str:
    """The node's signature as it was while its sources had their old names."""
    node, prefix = place.node, place.path[: -len(place.node.id)]
    sources = [old_names.get(f"{prefix}{id}", id).rpartition("/")[2] for id in place.graph.sources[node.id]]
    return canonical.digest([node.kind, node.join, node.crash, node.rerun_on_resume, sources])[:8]


def _routed(graph: CompiledGraph, kind: str, rest: str) -> None:
    frame, node, *source = rest.split("|")
    prefix = f"{read_key(frame).path}/" if frame else ""
    place = _placed(graph, f"{prefix}{node}")
    if kind == "out" and node not in place.graph.terminals:
        raise CannotMigrate(f"node {place.path!r} is no terminal any more, and this thread has its output already")
    if kind == "join" and source[0] not in place.graph.sources[node]:
        raise CannotMigrate(f"node {place.path!r} no longer waits for {source[0]!r}, which has arrived there already")


def _check_channels(graph: CompiledGraph, cells: Cells) -> None:
    now = reducers(graph)
    for name, reducer in cells.get("reducers", {}).items():
        if now.get(name, reducer) != reducer:
            raise CannotMigrate(f"state channel {name.removeprefix('|')!r} is no longer reduced by {reducer!r}")


def _pinned(graph: CompiledGraph, cells: Cells) -> Cells:
    """The same, pinned to the definition that they were checked against."""
    for name, value in list(cells.items()):
        if name.startswith("visit:"):
            cells[name] = [value[0], graph.places[name.removeprefix("visit:")].signature]
    cells.pop("reducers", None)
    return {**cells, **({"reducers": now} if (now := reducers(graph)) else {})}
