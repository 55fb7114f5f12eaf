"""Threads that were paused by an earlier build go on under this one: what they recorded is kept in `recorded/`.

`python -m tests.engine.test_recorded NAME` writes a new record. An old one is never rewritten: a change that breaks it
breaks the threads of everybody who upgrades, and needs a way over instead.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

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

FOLDER = Path(__file__).with_name("recorded")
REF = ThreadRef("recorded", "run-1")
ANSWERS = {"form": {"name": "Ana"}, "sub/look": "fine", "pay": True}


recording = False


def book() -> str:
    assert recording, "this effect is settled in the record and must not run again"
    return "B-1"


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


async def record(name: str) -> None:
    store = InMemoryCheckpointer()
    await Runner.arun_graph(recorded_graph(), {"order": 7}, checkpointer=store, thread_id=REF.thread_id)
    snapshot = await store.load(REF)
    assert snapshot is not None
    tasks = [
        {
            "path": key.path,
            "visit": key.visit,
            "journal": [[one.key, one.ordinal, one.state, one.value, one.mode] for one in task.journal],
            "interrupts": [rules.interrupt_to_json(one) for one in task.interrupts],
        }
        for key, task in snapshot.tasks.items()
    ]
    data = {
        "fingerprint": snapshot.fingerprint,
        "version": snapshot.graph_version,
        "input": snapshot.input,
        "cells": snapshot.cells,
        "tasks": tasks,
    }
    (FOLDER / f"{name}.json").write_text(json.dumps(data, indent=1, sort_keys=True) + "\n", encoding="utf-8")


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


def test_there_is_a_record() -> None:
    assert list(FOLDER.glob("*.json"))


if __name__ == "__main__":
    recording = True
    asyncio.run(record(sys.argv[1]))
