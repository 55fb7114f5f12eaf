"""Finds graphs: the ones that ship, and those of the modules that `SAYSO_GRAPHS` names."""

from __future__ import annotations

import importlib
import pkgutil
import re
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from types import ModuleType

from django.conf import settings

from graphs.engine.conversation.apps import App
from graphs.engine.errors import DefinitionError, SaysoError
from graphs.engine.graph import CompiledGraph, Graph, NodeBody
from graphs.engine.workflow import Workflow, compiled

#: What a module may export to name the one graph it offers; the first of these wins over whatever else it holds.
PREFERRED = ("app", "root_agent")


class UnknownGraph(SaysoError):
    """No registered graph has this id; the launcher lists those that exist and the modules that failed to import."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One registered graph, or one module that could not be used: then `graph` is None and `error` says why.

    `current` is False for an older version, which no new thread starts on; it is kept for those that wait on it (R8).
    """

    graph_id: str
    module: str
    graph: CompiledGraph | None
    error: str = ""
    current: bool = True


_lock = threading.Lock()
_entries: tuple[Entry, ...] | None = None


def entries() -> tuple[Entry, ...]:
    """Every registered graph in a stable order, shipped ones first; read once a process."""
    global _entries
    with _lock:
        if _entries is None:
            _entries = tuple(_mark_older(list(_mark_twins(found for name in _modules() for found in _read(name)))))
        return _entries


def get(graph_id: str) -> CompiledGraph:
    """The current version of this graph. Raises `UnknownGraph`, with the import error where that is the reason."""
    for entry in entries():
        if entry.graph_id == graph_id and entry.graph is not None and entry.current:
            return entry.graph
    why = missing(graph_id)
    raise UnknownGraph(f"No graph is registered as {graph_id!r}." + (f" Not usable: {why}" if why else ""))


def pinned(graph_id: str, fingerprint: str) -> CompiledGraph:
    """The version that a thread began on where it is still registered, else the current one (R8, Z20).

    Raises `UnknownGraph`.
    """
    for entry in entries():
        if entry.graph_id == graph_id and entry.graph is not None and entry.graph.fingerprint == fingerprint:
            return entry.graph
    return get(graph_id)


@dataclass(frozen=True, slots=True)
class Hidden:
    """A graph that is not registered because its module exports another one as `by`: `app` or `root_agent`."""

    graph_id: str
    module: str
    by: str


def hidden() -> tuple[Hidden, ...]:
    """The graphs that an `app` or `root_agent` beside them hides; they may be parts of it, or were forgotten."""
    known = {entry.graph_id for entry in entries() if entry.graph is not None}
    found = [one for name in _modules() if name in sys.modules for one in _hidden(sys.modules[name])]
    return tuple(one for one in found if one.graph_id not in known)


def missing(graph_id: str) -> str:
    """Why no graph of this id is registered, as far as that can be told: hidden by another, or not importable."""
    said = [
        f"{one.module} has it, but exports only its {one.by}; move it to a module of its own, or rename {one.by}"
        for one in hidden()
        if one.graph_id == graph_id
    ]
    return "; ".join([*said, *(f"{entry.module}: {entry.error}" for entry in entries() if entry.error)])


def reload() -> None:
    """Forget what was read, so that the next look reads the modules named by the settings of now."""
    global _entries
    with _lock:
        _entries = None


def _modules() -> list[str]:
    shipped = sorted(info.name for info in pkgutil.iter_modules(_package().__path__) if info.name != "registry")
    return [f"graphs.library.{name}" for name in shipped] + list(settings.SAYSO_GRAPHS)


def _package() -> ModuleType:
    return importlib.import_module("graphs.library")


def _read(name: str) -> list[Entry]:
    # A user's module may fail in any way at import, `sys.exit` included; one bad file must not take the others along.
    try:
        module = importlib.import_module(name)
        found = [Entry(graph.id, name, graph) for graph in _graphs(module)]
    except (Exception, SystemExit) as error:  # noqa: BLE001
        return [Entry(name, name, None, f"{type(error).__name__}: {error}")]
    return found or [
        Entry(name, name, None, "It exports no graph; end it with `app = Graph.new(…)….compile()` or `root_agent = …`.")
    ]


def _graphs(module: ModuleType) -> list[CompiledGraph]:
    for name in PREFERRED:
        value = getattr(module, name, None)
        if isinstance(value, App):
            return [value.graph]
        if isinstance(value, (CompiledGraph, Graph, NodeBody)):
            return [compiled(value)]
        if value is not None and name == "root_agent":
            raise DefinitionError(f"root_agent is {value!r}; a workflow, a graph or an agent can be one")
    return _exported(module)


def _exported(module: ModuleType) -> list[CompiledGraph]:
    found = [value for name, value in vars(module).items() if not name.startswith("_")]
    graphs = [compiled(value) for value in found if isinstance(value, (CompiledGraph, Workflow))]
    return list({id(graph): graph for graph in graphs}.values())


def _hidden(module: ModuleType) -> list[Hidden]:
    by = next((name for name in PREFERRED if getattr(module, name, None) is not None), None)
    if by is None:
        return []
    try:
        return [Hidden(graph.id, module.__name__, by) for graph in _exported(module)]
    except SaysoError:
        return []  # a workflow beside it that does not compile, and that nobody uses


def _mark_twins(found: Iterator[Entry]) -> Iterator[Entry]:
    """The first graph of an id and version keeps them; a later one would take over its threads, so it is an error."""
    owners: dict[tuple[str, str], str] = {}
    for entry in found:
        version = entry.graph.version if entry.graph else ""
        owner = owners.setdefault((entry.graph_id, version), entry.module)
        if owner != entry.module and entry.graph is not None:
            why = f"The id {entry.graph_id!r} is taken by {owner}; give one of them another id or version."
            why += " The id of an agent or a team is its name."
            yield Entry(entry.graph_id, entry.module, None, why)
        else:
            yield entry


def _mark_older(found: list[Entry]) -> Iterator[Entry]:
    """Of several versions of one graph the highest is current: 10 is above 9, and 2.0 above 1.9."""
    highest: dict[str, CompiledGraph] = {}
    for graph in (entry.graph for entry in found if entry.graph is not None):
        best = highest.setdefault(graph.id, graph)
        if _rank(graph.version) > _rank(best.version):
            highest[graph.id] = graph
    for entry in found:
        current = entry.graph is None or highest[entry.graph_id] is entry.graph
        yield entry if current else replace(entry, current=False)


def _rank(version: str) -> list[tuple[bool, int, str]]:
    """What versions are compared by: runs of digits as numbers, runs of letters as words below every number."""
    return [
        (part.isdigit(), int(part) if part.isdigit() else 0, part) for part in re.findall(r"[0-9]+|[a-z]+", version)
    ]
