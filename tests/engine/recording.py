"""Whole threads as JSON: every checkpoint with its log, the results, and what was under way at each pause."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from graphs.engine import replaying
from graphs.engine.checkpointers import rules
from graphs.engine.checkpointers.memory import InMemoryCheckpointer
from graphs.engine.ports import (
    Answer,
    Cells,
    Checkpointer,
    Commit,
    Delta,
    JournalEntry,
    StepLog,
    TaskKey,
    TaskRecord,
    ThreadRef,
    ThreadStart,
)
from graphs.engine.statuses import ThreadStatus
from tests.engine.shapes import THREAD, Shape, World, act

Record = Mapping[str, Any]


async def record(shape: Shape) -> Record:
    """Play a shape's story to its end, and keep how the thread stood after each act."""
    world, store = World(), InMemoryCheckpointer()
    graph = shape.build(world)
    ref, pauses = ThreadRef(graph.id, THREAD), []
    for number in range(len(shape.story)):
        result = await act(shape, graph, store, number, world)
        snapshot = await store.load(ref)
        assert snapshot is not None
        if number + 1 < len(shape.story):
            tasks = [_task(one) for one in snapshot.tasks.values()]
            pauses.append({"acts": number + 1, "step": snapshot.step, "tasks": tasks})
    log = await store.log(ref, 0, 10_000)
    done = await store.results(ref, replaying.named_results(log))
    return {
        "shape": shape.name,
        "graph": graph.id,
        "fingerprint": snapshot.fingerprint,
        "version": snapshot.graph_version,
        "input": snapshot.input,
        "checkpoints": [_checkpoint(one) for one in log],
        "results": [[*key, rules.result_to_json(result)] for key, result in sorted(done.items())],
        "pauses": pauses,
        "status": str(result.status),
        "output": result.output,
    }


async def restore(store: Checkpointer, data: Record, pause: Record | None = None) -> ThreadRef:
    """Write a recorded thread into a store, as it stood at this pause or at its end."""
    ref = ThreadRef(data["graph"], THREAD)
    first, *rest = data["checkpoints"]
    await store.create(ref, ThreadStart(data["fingerprint"], data["version"], data["input"], first["cells"]))
    cells: Cells = dict(first["cells"])
    until = pause["step"] if pause is not None else rest[-1]["step"]
    for one in rest[:until]:
        if pause is not None and one["step"] == until:
            await _bring_under_way(store, ref, pause["tasks"])
        await store.commit(ref, _commit(one, cells, data["results"]))
    return ref


def _task(task: TaskRecord) -> Record:
    return {
        "path": task.key.path,
        "visit": task.key.visit,
        "journal": [[one.key, one.ordinal, one.state, one.value, one.mode] for one in task.journal],
        "interrupts": [
            {**rules.interrupt_to_json(one), "decision": one.decision and rules.decision_to_json(one.decision)}
            for one in task.interrupts
        ],
    }


def _checkpoint(step: StepLog) -> Record:
    if step.delta is None:
        return {"step": step.step, "status": str(step.status), "cells": step.cells}
    delta = [
        dict(step.delta.set),
        {name: list(tail) for name, tail in step.delta.append.items()},
        list(step.delta.drop),
    ]
    return {"step": step.step, "status": str(step.status), "delta": delta, "log": dict(step.log)}


def _commit(one: Record, cells: Cells, results: Sequence[Any]) -> Commit:
    delta = Delta(*one["delta"])
    delta.apply(cells)
    known = {TaskKey(path, visit): data for path, visit, data in results}
    done = replaying.named_results([StepLog(one["step"], ThreadStatus(one["status"]), one["log"])])
    return Commit(
        one["step"],
        ThreadStatus(one["status"]),
        delta,
        lambda: dict(cells),
        tuple(rules.result_from_json(key, known[key]) for key in done),
        active=tuple(replaying.read_key(name[5:]) for name in cells if name.startswith("task:")),
        log=one["log"],
    )


async def _bring_under_way(store: Checkpointer, ref: ThreadRef, tasks: Sequence[Record]) -> None:
    for task in tasks:
        for entry in task["journal"]:
            await store.record_effect(ref, TaskKey(task["path"], task["visit"]), JournalEntry(*entry))
        for data in task["interrupts"]:
            question = {name: value for name, value in data.items() if name != "decision"}
            await store.open_interrupt(ref, rules.interrupt_from_json(question, "open", None))
            if data["decision"] is not None:
                given = rules.interrupt_from_json(question, "closed", data["decision"]).decision
                assert given is not None
                await store.answer(ref, [Answer(question["id"], given.outcome, given.value, given.comment)])
