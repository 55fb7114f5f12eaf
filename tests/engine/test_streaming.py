"""Family G: what a stream tells, and in which order."""

from __future__ import annotations

import asyncio
import gc
from collections import Counter
from typing import Any

import pytest

from graphs.engine import results
from graphs.engine.checkpointers.memory import InMemoryCheckpointer
from graphs.engine.context import Context
from graphs.engine.events import GRAPH_END, NODE_INTERRUPT
from graphs.engine.interrupts import GraphResume
from graphs.engine.ports import ThreadRef
from graphs.engine.results import GraphRunStatus
from graphs.engine.runner import Runner
from graphs.engine.statuses import ThreadStatus
from tests.engine.runs import asks, chain, drain, fan, keeps, kinds, one, works

Store = Any


async def test_g18_an_interrupt_event_comes_after_the_superstep_and_before_the_end(store: Store) -> None:
    streamed = await Runner.arun_graph_streamed(one(asks(Counter(), "ask")), "go", hooks=[store], thread_id="run-1")
    events = await drain(streamed)
    assert kinds(events) == [
        "graph.start",
        "graph.superstep_start",
        "graph.node_start",
        "graph.superstep_end",
        NODE_INTERRUPT,
        GRAPH_END,
    ]
    told = events[-2]
    assert (told["graph_path"], told["thread_id"], told["node_id"]) == (("one",), "run-1", "ask")
    assert told["interrupt"].question == "ask?"
    assert events[-1]["status"].value == "interrupted"
    assert [event["seq"] for event in events] == sorted({event["seq"] for event in events})


async def test_g19_a_drained_stream_has_the_result(store: Store) -> None:
    streamed = await Runner.arun_graph_streamed(one(asks(Counter(), "ask")), "go", hooks=[store])
    async for _ in streamed.stream_events():
        pass
    assert streamed.status.value == "interrupted"
    assert len(streamed.interrupts) == 1
    assert streamed.state is not None and list(streamed.state.pending_interrupts) == ["ask"]


async def test_g20_a_streamed_resume_tells_its_way_to_the_end_in_order(store: Store) -> None:
    graph = chain([("ask", asks(Counter(), "ask")), ("next", works(Counter(), "next"))])
    await Runner.arun_graph(graph, "go", hooks=[store], thread_id="run-1")
    run = Runner.configure().graph(graph).resume_from(store, "run-1")
    streamed = await run.arun("go", stream=True, resume=GraphResume(replies={"ask": "yes"}))
    events = await drain(streamed)
    step = ["graph.superstep_start", "graph.node_start", "graph.node_end", "graph.superstep_end"]
    assert kinds(events) == ["graph.start", *step, *step, GRAPH_END]
    assert [event["node_id"] for event in events if event["type"] == "graph.node_start"] == ["ask", "next"]
    assert streamed.status == GraphRunStatus.COMPLETED and streamed.output == "next done"


async def test_g21_a_partial_resume_tells_every_open_question_in_node_order(store: Store) -> None:
    graph = fan({name: asks(Counter(), name) for name in "abcd"}, keeps([]))
    await Runner.arun_graph(graph, "go", hooks=[store], thread_id="run-1")
    run = Runner.configure().graph(graph).resume_from(store, "run-1")
    events = await drain(await run.arun(stream=True, resume=GraphResume(replies={"b": 1})))
    assert [event["node_id"] for event in events if event["type"] == NODE_INTERRUPT] == ["a", "c", "d"]
    assert kinds(events).count(GRAPH_END) == 1


async def test_g22_a_fan_out_starts_in_node_order_and_ends_only_what_finished(store: Store) -> None:
    graph = fan({"a": works(Counter(), "a"), "b": asks(Counter(), "b"), "c": works(Counter(), "c")}, keeps([]))
    events = await drain(await Runner.arun_graph_streamed(graph, "go", hooks=[store]))
    second = events[next(i for i, event in enumerate(events) if event.get("step") == 2) :]
    assert [event["node_id"] for event in second if event["type"] == "graph.node_start"] == ["a", "b", "c"]
    assert sorted(event["node_id"] for event in second if event["type"] == "graph.node_end") == ["a", "c"]
    ended = next(event for event in second if event["type"] == "graph.superstep_end")
    assert ended["nodes"] == ["a", "c"]


async def test_t21_a_reader_that_stops_loses_nothing(store: Store) -> None:
    graph = one(asks(Counter(), "ask"))
    streamed = await Runner.arun_graph_streamed(graph, "go", hooks=[store], thread_id="run-1")
    async for event in streamed.stream_events():
        if event["type"] == NODE_INTERRUPT:
            break
    answer = GraphResume(replies={"ask": 1})
    result = await Runner.arun_graph_from_checkpoint(graph, checkpointer=store, thread_id="run-1", resume=answer)
    assert result.output == {"ask": 1}


async def test_z09_the_interrupt_event_is_told_only_after_its_commit(store: Store) -> None:
    graph = one(asks(Counter(), "ask"))
    ref = ThreadRef("one", "run-1")
    streamed = await Runner.arun_graph_streamed(graph, "go", hooks=[store], thread_id="run-1")
    statuses: list[Any] = []
    commit = store.commit

    async def watched(ref: ThreadRef, given: Any) -> Any:
        done = await commit(ref, given)
        statuses.append("committed")
        return done

    store.commit = watched
    async for event in streamed.stream_events():
        if event["type"] == NODE_INTERRUPT:
            statuses.append("told")
            snapshot = await store.load(ref)
            assert snapshot.status is ThreadStatus.INTERRUPTED
    assert statuses == ["committed", "told"]


async def test_a_node_may_stream_what_it_has_so_far(store: Store) -> None:
    async def speaks(ctx: Context) -> str:
        ctx.stream("Hel")
        await asyncio.to_thread(ctx.stream, "lo")
        return "Hello"

    events = await drain(await Runner.arun_graph_streamed(one(speaks), "go", hooks=[store], thread_id="run-1"))
    assert [event["delta"] for event in events if event["type"] == "graph.node_stream"] == ["Hel", "lo"]
    assert not [event for event in store.events(ThreadRef("one", "run-1")) if event["type"] == "graph.node_stream"]


async def test_the_stored_timeline_counts_on_over_pauses(store: Store) -> None:
    graph = chain([("ask", asks(Counter(), "ask")), ("next", works(Counter(), "next"))])
    await Runner.arun_graph(graph, "go", hooks=[store], thread_id="run-1")
    answer = GraphResume({"ask": 1})
    await Runner.arun_graph_from_checkpoint(graph, checkpointer=store, thread_id="run-1", resume=answer)
    rows = store.events(ThreadRef("chain", "run-1"))
    assert [row["seq"] for row in rows] == list(range(1, len(rows) + 1))
    assert [row["type"].removeprefix("graph.") for row in rows] == [
        "start",
        "node_interrupt",
        "superstep_end",
        "node_end",
        "superstep_end",
        "node_end",
        "superstep_end",
        "end",
    ]


async def test_t21_a_run_that_breaks_off_unread_is_told_in_the_log_and_nowhere_else(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Full(InMemoryCheckpointer):
        async def commit(self, *_: Any) -> Any:
            raise OSError("the disk is full")

    reported: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, details: reported.append(details))
    streamed = await Runner.arun_graph_streamed(one(works(Counter(), "work")), "go", checkpointer=Full())
    events = streamed.stream_events()
    await anext(events)
    await events.aclose()
    (driver,) = results._unread
    await asyncio.wait([driver])
    del driver, streamed, events
    gc.collect()
    await asyncio.sleep(0)
    assert ("OSError" in caplog.text, reported, set(results._unread)) == (True, [], set())


async def test_the_events_of_a_run_are_read_once_since_reading_them_runs_it(store: Store) -> None:
    calls: Counter[str] = Counter()
    streamed = await Runner.arun_graph_streamed(one(works(calls, "work")), "go", hooks=[store])
    await drain(streamed)
    with pytest.raises(RuntimeError, match="told once"):
        await drain(streamed)
    with pytest.raises(RuntimeError, match="told once"):
        list(streamed.events())
    assert calls["work"] == 1
