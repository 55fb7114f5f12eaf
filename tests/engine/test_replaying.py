"""A thread rebuilt from its log is the thread that was stored; and what does not agree is found where it begins."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from graphs.engine import replaying, superstep
from graphs.engine.checkpointers.memory import InMemoryCheckpointer
from graphs.engine.errors import CannotReplay
from graphs.engine.graph import Graph
from graphs.engine.machine import Machine
from graphs.engine.ports import Commit, Delta, TaskKey, TaskResult, ThreadRef
from graphs.engine.statuses import TaskStatus, ThreadStatus
from tests.engine.shapes import SHAPES, THREAD, Shape, World, act

BY_NAME = {shape.name: shape for shape in SHAPES}


async def play(shape: Shape, store: Any, acts: int | None = None) -> ThreadRef:
    world = World()
    graph = shape.build(world)
    for number in range(len(shape.story) if acts is None else acts):
        result = await act(shape, graph, store, number, world)
    if acts is None:
        assert result.status is shape.ends, result.error
        assert result.output == shape.output
    return ThreadRef(graph.id, THREAD)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
async def test_an_untouched_thread_agrees_and_no_node_runs(shape: Shape, store: Any) -> None:
    ref = await play(shape, store)
    snapshot = await store.load(ref)
    graph = shape.build(World(alive=False))
    assert await replaying.compare(graph, store, ref) == replaying.Compared(0, snapshot.step)
    assert await replaying.rebuilt(graph, store, ref) == snapshot.cells


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
async def test_a_thread_agrees_at_each_pause(shape: Shape) -> None:
    for acts in range(1, len(shape.story)):
        store = InMemoryCheckpointer()
        ref = await play(shape, store, acts)
        compared = await replaying.compare(shape.build(World(alive=False)), store, ref)
        assert compared.difference is None and compared.agreed > 0


async def test_w32_rebuild_is_pure_and_gives_the_stored_cells(store: Any) -> None:
    ref = await play(BY_NAME["fan"], store)
    begun = await store.load_step(ref, 0)
    kept = dict(begun)
    log = await store.log(ref, 1)
    results = await store.results(ref, replaying.named_results(log))
    graph = BY_NAME["fan"].build(World(alive=False))
    assert replaying.rebuild(graph, begun, log, results) == (await store.load(ref)).cells
    assert begun == kept


def row(store: InMemoryCheckpointer, ref: ThreadRef, step: int) -> Any:
    return store._threads[ref].history[step]


async def test_a_tampered_cell_is_found_at_its_step() -> None:
    store, shape = InMemoryCheckpointer(), BY_NAME["fan"]
    ref = await play(shape, store)
    delta = row(store, ref, 2).delta
    row(store, ref, 2).delta = replace(delta, set={**delta.set, "channel:|sum": 500})
    compared = await replaying.compare(shape.build(World(alive=False)), store, ref)
    assert compared.difference == replaying.Difference(2, "channel:|sum", "the log gives 5, stored is 500")
    assert compared.agreed == 1


async def test_a_tampered_whole_copy_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(InMemoryCheckpointer, "FULL_EVERY", 2)
    store, shape = InMemoryCheckpointer(), BY_NAME["fan"]
    ref = await play(shape, store)
    row(store, ref, 2).full["channel:|log"] = ["root"]
    compared = await replaying.compare(shape.build(World(alive=False)), store, ref)
    assert compared.difference is not None
    assert (compared.difference.step, compared.difference.name) == (2, "channel:|log")


async def test_a_cell_that_came_from_nowhere_is_found() -> None:
    store, shape = InMemoryCheckpointer(), BY_NAME["chain"]
    ref = await play(shape, store)
    delta = row(store, ref, 3).delta
    row(store, ref, 3).delta = replace(delta, append={"channel:|log": ["last", "more"]})
    difference = (await replaying.compare(shape.build(World(alive=False)), store, ref)).difference
    assert difference is not None and (difference.step, difference.name) == (3, "channel:|log")


async def test_a_changed_reducer_is_found_where_it_first_matters() -> None:
    store, shape = InMemoryCheckpointer(), BY_NAME["fan"]
    ref = await play(shape, store)
    graph = shape.build(World(alive=False))
    graph.channels["sum"] = replace(graph.channels["sum"], reducer="max", function=max)
    with pytest.raises(CannotReplay, match=r"'sum' is no longer reduced by 'add'"):
        await replaying.compare(graph, store, ref)
    graph.channels["sum"] = replace(graph.channels["sum"], reducer="add", function=lambda old, new: max(old or 0, new))
    difference = (await replaying.compare(graph, store, ref)).difference
    assert difference == replaying.Difference(2, "channel:|sum", "the log gives 3, stored is 5")


async def test_a_dropped_task_is_found_at_its_step() -> None:
    store, shape = InMemoryCheckpointer(), BY_NAME["fan"]
    ref = await play(shape, store)
    lost = next(key for key in store._threads[ref].done if key.path == "b")
    del store._threads[ref].done[lost]
    difference = (await replaying.compare(shape.build(World(alive=False)), store, ref)).difference
    assert difference is not None and (difference.step, difference.name) == (2, "b#1")
    with pytest.raises(CannotReplay, match=r"step 2 applied the result of 'b#1', and there is none"):
        await replaying.rebuilt(shape.build(World(alive=False)), store, ref)


async def test_a_changed_output_and_a_changed_end_are_found() -> None:
    store: Any = InMemoryCheckpointer()
    shape = BY_NAME["chain"]
    ref = await play(shape, store)
    done = store._threads[ref].done
    for key in done:
        if key.path == "first":
            done[key] = replace(done[key], output="something else")
    difference = (await replaying.compare(shape.build(World(alive=False)), store, ref)).difference
    assert difference is not None and (difference.step, difference.name) == (1, "task:pay#1")

    store = InMemoryCheckpointer()
    await play(shape, store)
    last = (await store.load(ref)).step
    row(store, ref, last).info = replace(row(store, ref, last).info, status=ThreadStatus.FAILED)
    difference = (await replaying.compare(shape.build(World(alive=False)), store, ref)).difference
    assert difference == replaying.Difference(last, "status", "the log gives completed, stored is failed")


async def test_a_removed_node_is_named() -> None:
    store, shape = InMemoryCheckpointer(), BY_NAME["chain"]
    ref = await play(shape, store)
    other = (
        Graph.new("chain", state={"log": "append"})
        .node("first", lambda node_input: 1)
        .entry("first")
        .terminal("first")
        .compile()
    )
    difference = (await replaying.compare(other, store, ref)).difference
    assert difference is not None and difference.step == 1 and "pay" in difference.why


async def test_a_step_without_a_log_is_where_the_replay_begins() -> None:
    store, shape = InMemoryCheckpointer(), BY_NAME["loop"]
    ref = await play(shape, store)
    row(store, ref, 3).log = {}
    last = (await store.load(ref)).step
    graph = shape.build(World(alive=False))
    assert await replaying.compare(graph, store, ref) == replaying.Compared(3, last - 3)
    assert await replaying.rebuilt(graph, store, ref) == (await store.load(ref)).cells
    with pytest.raises(CannotReplay, match="step 3 has no log"):
        replaying.rebuild(graph, await store.load_step(ref, 2) or {}, await store.log(ref, 3, 1), {})


async def test_a_migration_is_where_the_replay_begins(store: Any) -> None:
    ref = await play(BY_NAME["chain"], store, acts=1)
    snapshot = await store.load(ref)
    renamed = {name.replace("pay", "paid"): value for name, value in snapshot.cells.items()}
    gone = tuple(name for name in snapshot.cells if name not in renamed)
    log = {"kind": "migrate", "map": {"pay": "paid"}}
    step = snapshot.step + 1
    await store.commit(ref, Commit(step, ThreadStatus.READY, Delta(renamed, {}, gone), lambda: renamed, log=log))
    graph = Graph.new("chain", state={"log": "append"}).node("first", lambda node_input: 1).node("paid", lambda ctx: 1)
    compiled = graph.edge("first", "paid").entry("first").terminal("paid").compile()
    assert await replaying.compare(compiled, store, ref) == replaying.Compared(step, 0)


async def test_t17_an_edit_of_the_state_replays(store: Any) -> None:
    shape = BY_NAME["asking"]
    ref = await play(shape, store, acts=1)
    world = World()
    graph = shape.build(world)
    snapshot = await store.load(ref)
    machine = Machine(graph, dict(snapshot.cells))
    log = superstep.edit(machine, {"mood": "edited"})
    await store.commit(
        ref,
        Commit(
            snapshot.step + 1,
            snapshot.status,
            machine.draft.take(),
            lambda: machine.cells,
            active=tuple(machine.tasks),
            log=log,
        ),
    )
    for number in range(1, len(shape.story)):
        await act(shape, graph, store, number, world)
    compared = await replaying.compare(shape.build(World(alive=False)), store, ref)
    assert compared.difference is None and compared.agreed == (await store.load(ref)).step


async def test_a_long_thread_is_read_in_pages(monkeypatch: pytest.MonkeyPatch, store: Any) -> None:
    monkeypatch.setattr(replaying, "PAGE", 3)
    ref = await play(BY_NAME["loop"], store)
    graph = BY_NAME["loop"].build(World(alive=False))
    assert (await replaying.compare(graph, store, ref)).agreed == (await store.load(ref)).step > 6


async def test_a_result_that_an_earlier_build_recorded_without_targets_replays(store: Any) -> None:
    shape = BY_NAME["fan"]
    graph, ref = shape.build(World()), ThreadRef("fan", THREAD)
    await store.create(ref, superstep.begin(graph, 1))
    await store.record_tasks(ref, [TaskResult(TaskKey("root", 1), TaskStatus.FINISHED, ["root", 1])])
    result = await act(Shape("", shape.build, [("answer", None)], None), graph, store, 0, World())
    assert result.paused, result.error
    last = (await store.load(ref)).step
    assert (await store.log(ref, 1, 1))[0].log["targets"] == {"root#1": ["a", "b", "c"]}
    assert await replaying.compare(shape.build(World(alive=False)), store, ref) == replaying.Compared(0, last)
