"""Threads that an earlier build wrote can be replayed and go on under this one: they are kept in `recorded/`.

`python -m tests.engine.test_recorded NAME` writes `recorded/NAME/`, a thread of each shape that is not there yet. An
old one is never rewritten: a change that breaks it breaks the threads of everybody who upgrades, and needs a way over
instead. `recorded/*.json` are from before there was a log, so they can only go on.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from graphs.engine import replaying
from graphs.engine.asking import ask, interrupt
from graphs.engine.checkpointers import rules
from graphs.engine.checkpointers.memory import InMemoryCheckpointer
from graphs.engine.context import Context
from graphs.engine.effects import once
from graphs.engine.graph import CompiledGraph, Graph
from graphs.engine.outputs import Event, RequestInput
from graphs.engine.ports import Commit, Delta, JournalEntry, TaskKey, ThreadRef, ThreadStart
from graphs.engine.runner import Runner
from graphs.engine.statuses import ThreadStatus
from tests.engine import recording
from tests.engine.shapes import SHAPES, World, act

FOLDER = Path(__file__).with_name("recorded")
REF = ThreadRef("recorded", "run-1")
ANSWERS = {"form": {"name": "Ana"}, "sub/look": "fine", "pay": True}


def book() -> str:
    raise AssertionError("this effect is settled in the record and must not run again")


def pay(ctx: Context) -> Any:
    booked = once("book", book)
    return [booked, ask("Pay?", payload={"booked": booked}, schema={"type": "boolean"}).value]


def recorded_graph() -> CompiledGraph:
    inner = (
        Graph.new("inner").node("look", lambda: interrupt({"page": 1}, message="Look?")).entry("look").terminal("look")
    )
    graph = Graph.new("recorded", state={"log": "append", "sum": "add"})
    graph.node("root", lambda node_input: Event(output=node_input, state={"log": "root", "sum": 2}))
    graph.node("pay", pay).node("form", lambda: RequestInput(interrupt_id="form", message="Who?"))
    graph.node("sub", inner.compile()).node("free", lambda: Event(output="free", state={"log": "free", "sum": 3}))
    graph.node("join", lambda node_input, ctx: [node_input, ctx.state["log"], ctx.state["sum"]], join="all")
    for name in ("pay", "form", "sub", "free"):
        graph.edge("root", name).edge(name, "join")
    return graph.entry("root").terminal("join").compile()


async def replay(data: dict[str, Any]) -> InMemoryCheckpointer:
    store = InMemoryCheckpointer()
    await store.create(REF, ThreadStart(data["fingerprint"], data["version"], data["input"], data["cells"]))
    waiting = []
    for task in data["tasks"]:
        key = TaskKey(task["path"], task["visit"])
        for entry in task["journal"]:
            await store.record_effect(REF, key, JournalEntry(*entry))
        for question in task["interrupts"]:
            waiting.append((await store.open_interrupt(REF, rules.interrupt_from_json(question, "open", None))).id)
    await store.commit(REF, Commit(1, ThreadStatus.INTERRUPTED, Delta(), dict, waiting=tuple(waiting)))
    return store


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.json")), ids=lambda path: path.stem)
async def test_z20_a_recorded_thread_goes_on(path: Path) -> None:
    data = json.loads(path.read_text(encoding="utf-8"))
    assert data["fingerprint"] == recorded_graph().fingerprint, "the same graph must keep its fingerprint"
    store = await replay(data)
    for name, answer in ANSWERS.items():
        result = await Runner.arun_graph_from_checkpoint(
            recorded_graph(), checkpointer=store, thread_id=REF.thread_id, resume={name: answer}
        )
    assert result.status is ThreadStatus.COMPLETED, result.error
    assert result.output == [
        {"pay": ["B-1", True], "form": {"name": "Ana"}, "sub": "fine", "free": "free"},
        ["root", "free"],
        5,
    ]


RECORDS = [pytest.param(path, id=f"{path.parent.name}-{path.stem}") for path in sorted(FOLDER.glob("*/*.json"))]
BY_NAME = {shape.name: shape for shape in SHAPES}


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", RECORDS)
async def test_a_recorded_thread_replays(path: Path, store: Any) -> None:
    data = read(path)
    graph = BY_NAME[data["shape"]].build(World(alive=False))
    assert data["fingerprint"] == graph.fingerprint, "the same graph must keep its fingerprint"
    ref = await recording.restore(store, data)
    last = data["checkpoints"][-1]["step"]
    assert await replaying.compare(graph, store, ref) == replaying.Compared(0, last)


@pytest.mark.parametrize("path", RECORDS)
async def test_z20_a_recorded_thread_goes_on_from_each_of_its_pauses(path: Path) -> None:
    data = read(path)
    for pause in data["pauses"]:
        await go_on(data, pause, InMemoryCheckpointer())


@pytest.mark.parametrize("path", RECORDS)
async def test_z20_a_recorded_thread_goes_on_in_every_store(path: Path, store: Any) -> None:
    data = read(path)
    for pause in data["pauses"][:1]:
        await go_on(data, pause, store)


async def go_on(data: recording.Record, pause: recording.Record, store: Any) -> None:
    shape, world = BY_NAME[data["shape"]], World()
    graph, ref = shape.build(world), await recording.restore(store, data, pause)
    for number in range(pause["acts"], len(shape.story)):
        result = await act(shape, graph, store, number, world)
    assert (str(result.status), result.output) == (data["status"], data["output"]), result.error
    settled = {entry[0] for task in pause["tasks"] for entry in task["journal"] if entry[2] == "done"}
    assert not any(world.calls[name] for name in settled), "an effect that was settled in the record ran again"
    snapshot = await store.load(ref)
    assert await replaying.compare(graph, store, ref) == replaying.Compared(0, snapshot.step)


def test_every_shape_is_recorded() -> None:
    assert list(FOLDER.glob("*.json"))
    assert {shape.name for shape in SHAPES} == {path.stem for path in FOLDER.glob("*/*.json")}


def write(name: str) -> None:
    folder = FOLDER / name
    folder.mkdir(exist_ok=True)
    for shape in SHAPES:
        path = folder / f"{shape.name}.json"
        if not path.exists():
            data = asyncio.run(recording.record(shape))
            path.write_text(json.dumps(data, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write(sys.argv[1])
