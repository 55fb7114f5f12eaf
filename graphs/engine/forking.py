"""A fork: a new thread that begins where another one stood at one of its checkpoints, with edited state (E19, E25).

The parent is only read. What the fork begins with is one first checkpoint, so a fork is there whole or not at all:

inherited:<path>#<visit>   [[key, ordinal, mode, {"done", "result", "thread"}]]

are the effects that the parent's tasks had after that checkpoint. When the fork reaches one of them, a pure one gives
its stored result, and for any other a person is asked: take the result, or do it again (see effects.py). Questions are
asked again, each of them. Idempotency keys differ by the thread's id.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from graphs.engine import counters, superstep
from graphs.engine.blocking import blocking
from graphs.engine.cells import channel, spell
from graphs.engine.effects import HARMLESS
from graphs.engine.errors import CannotFork, DefinitionChanged, UnknownThread
from graphs.engine.graph import CompiledGraph
from graphs.engine.journal import is_note
from graphs.engine.ports import (
    Cells,
    Checkpointer,
    IdFactory,
    JournalEntry,
    Json,
    Snapshot,
    TaskKey,
    ThreadRef,
    ThreadStart,
    random_id,
)
from graphs.engine.state import edited

Journals = Mapping[TaskKey, Sequence[JournalEntry]]


def fork(graph: CompiledGraph, checkpointer: Checkpointer, thread_id: str, step: int, **options: Any) -> str:
    """`afork` for code without an event loop."""
    return blocking(afork(graph, checkpointer, thread_id, step, **options))


async def afork(
    graph: CompiledGraph,
    checkpointer: Checkpointer,
    thread_id: str,
    step: int,
    *,
    state: Mapping[str, Any] | None = None,
    new_thread_id: str | None = None,
    new_id: IdFactory = random_id,
) -> str:
    """Make a thread that goes on from checkpoint `step` of another one, and return its id; `Runner` then runs it.

    `state` sets channels of the outermost graph, whatever their reducers are; the others keep their values.
    Raises `UnknownThread`, `CannotFork`, `DefinitionChanged` (naming the node), `PayloadError`, `ThreadExists`.
    """
    ref = ThreadRef(graph.id, thread_id)
    parent = await checkpointer.load(ref)
    if parent is None:
        raise UnknownThread(f"graph {graph.id!r} has no thread {thread_id!r}")
    cells = await checkpointer.load_step(ref, step)
    begun = begin(graph, parent, step, cells, await checkpointer.journals(ref), state or {})
    name = new_thread_id or new_id()
    await checkpointer.create(ThreadRef(graph.id, name), begun)
    return name


def begin(
    graph: CompiledGraph, parent: Snapshot, step: int, cells: Cells | None, journals: Journals, state: Mapping[str, Any]
) -> ThreadStart:
    """What a fork begins with. `cells` are those of the parent's checkpoint `step`, `journals` all of the parent's.

    Raises as `afork` does.
    """
    name = parent.ref.thread_id
    if cells is None:
        raise CannotFork(f"thread {name!r} has no checkpoint {step}; its newest is {parent.step}")
    if reason := superstep.compatible(graph, cells):
        raise DefinitionChanged(f"graph {graph.id!r} changed since checkpoint {step} of thread {name!r}: {reason}")
    began = rewound(cells, edited(graph.channels, state))
    if not any(cell.startswith("task:") for cell in began):
        raise CannotFork(f"nothing would run from checkpoint {step} of thread {name!r}; fork from an earlier one")
    began.update(inheritance(cells, journals, name))
    origin: dict[str, Json] = {"forked_from": {"thread_id": name, "step": step}}
    return ThreadStart(graph.fingerprint, graph.version, parent.input, began, origin)


def rewound(cells: Cells, state: Mapping[str, Json]) -> Cells:
    """The cells with which a fork begins: what waited or had failed is ready, and the edited channels are set."""
    kept = {name: value for name, value in cells.items() if not name.startswith(("wait:", "fail:", "inherited:"))}
    kept.pop(counters.CELL, None)
    return kept | {channel("", name): value for name, value in state.items()}


def inheritance(cells: Cells, journals: Journals, thread_id: str) -> Cells:
    """Cells with the effects of all tasks that were not finished at the checkpoint of `cells`."""
    found: Cells = {}
    for key, entries in journals.items():
        kept = [_kept(entry, thread_id) for entry in entries if _is_effect(entry)]
        if kept and not finished(cells, key):
            found[f"inherited:{spell(key)}"] = kept
    for name, value in cells.items():
        # A fork of a fork: what it had not reached yet took place before both.
        if name.startswith("inherited:"):
            own = {(key, ordinal) for key, ordinal, _, _ in found.get(name, ())}
            found[name] = [*found.get(name, ()), *(one for one in value if (one[0], one[1]) not in own)]
    return found


def finished(cells: Cells, key: TaskKey) -> bool:
    """Whether this task was over at the checkpoint of these cells."""
    count = cells.get(f"visit:{key.path}", [0])[0]
    return key.visit <= count and f"task:{spell(key)}" not in cells


def inherited(cells: Cells, key: TaskKey) -> list[JournalEntry]:
    """The effects that a task inherits."""
    rows = cells.get(f"inherited:{spell(key)}", ())
    return [JournalEntry(name, ordinal, "inherited", value, mode) for name, ordinal, mode, value in rows]


def channels(cells: Cells) -> dict[str, Json]:
    """The state channels of the outermost graph at a checkpoint: what an editor shows."""
    prefix = channel("", "")
    return {name.removeprefix(prefix): value for name, value in sorted(cells.items()) if name.startswith(prefix)}


def _is_effect(entry: JournalEntry) -> bool:
    settled = entry.state in ("done", "started") and entry.mode != HARMLESS
    return settled and not is_note(entry.key)


def _kept(entry: JournalEntry, thread_id: str) -> list[Json]:
    done = entry.state == "done"
    value = {"done": done, "result": entry.value if done else None, "thread": thread_id}
    return [entry.key, entry.ordinal, entry.mode, value]
