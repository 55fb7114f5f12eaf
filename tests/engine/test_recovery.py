"""What survives: crashes at each boundary, failures beside pauses, effects that happen once (family Z)."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from graphs.engine import failpoints
from graphs.engine.asking import ask, interrupt
from graphs.engine.context import Context
from graphs.engine.effects import aonce, once
from graphs.engine.failpoints import Crash
from graphs.engine.graph import CompiledGraph, Graph
from graphs.engine.interrupts import GraphInterrupt, Interrupt
from graphs.engine.outputs import RequestInput
from graphs.engine.pool import SHARED
from graphs.engine.ports import Answer, ThreadRef
from graphs.engine.runner import Runner
from graphs.engine.statuses import InterruptStatus, Outcome, ThreadStatus
from tests.engine.runs import asks, chain, fan, keeps, one, pending, resume, retry, start, works

Store = Any


FAILPOINTS = [
    "before_create",
    "before_effect",
    "after_effect",
    "before_record_effect",
    "after_record_effect",
    "before_open_interrupt",
    "after_open_interrupt",
    "before_record_tasks",
    "after_record_tasks",
    "before_commit",
    "after_commit",
]


class World:
    """A graph with effects, a fan-out, a question, a nested graph and a loop; and what it did to the world."""

    def __init__(self) -> None:
        self.did: Counter[str] = Counter()
        self.keys: dict[str, set[str]] = {}
        self.recorded = asyncio.Event()

    def effect(self, name: str, ctx: Context) -> str:
        self.did[name] += 1
        self.keys.setdefault(name, set()).add(ctx.idempotency_key)
        return name

    def book(self, ctx: Context) -> Any:
        booked = once("book", self.effect, "book", ctx)
        answer = ask("Book?", payload={"booked": booked})
        return [booked, answer.value, once("confirm", self.effect, "confirm", ctx)]

    async def slow(self, ctx: Context) -> Any:
        first = await aonce("slow", self.effect, "slow", ctx)
        await asyncio.sleep(0.08)  # longer than the window, so that finished siblings are recorded ahead
        return first

    def graph(self) -> CompiledGraph:
        inner = chain([("in1", lambda node_input: node_input), ("in2", lambda: interrupt("inner?"))])
        return (
            Graph.new("world", state={"log": "append"})
            .node("root", lambda node_input: node_input)
            .node("book", self.book)
            .node("slow", self.slow)
            .node("quick", lambda: "quick")
            .node("join", lambda node_input: node_input, join="all")
            .node("sub", inner)
            .edge("root", "book")
            .edge("root", "slow")
            .edge("root", "quick")
            .edge("book", "join")
            .edge("slow", "join")
            .edge("quick", "join")
            .edge("join", "sub")
            .entry("root")
            .terminal("join")
            .terminal("sub")
            .compile()
        )


async def live_through(world: World, store: Store, reopen: Callable[[Store], Store]) -> tuple[Any, int]:
    """Run to the end as a supervisor would: after each crash go on from what is stored, with what is asked answered."""
    graph, crashes = world.graph(), 0
    for _ in range(20):
        try:
            snapshot = await store.load(ThreadRef("world", "run-1"))
            if snapshot is None:
                result = await start(graph, store, 1)
            else:
                opened = [one for task in snapshot.tasks.values() for one in task.interrupts if one.decision is None]
                paused = snapshot.status is ThreadStatus.INTERRUPTED
                result = await resume(graph, store, {one.id: "yes" for one in opened} if paused else None)
            if result.status is ThreadStatus.COMPLETED:
                return result, crashes
        except Crash:
            crashes += 1
            await threads_ended()
            store = reopen(store)
    raise AssertionError("it never came to an end")


async def threads_ended() -> None:
    """A process that died has no threads left, so what a crash in process leaves running ends before the next life."""
    executor, SHARED._executor = SHARED._executor, None
    if executor is not None:
        await asyncio.to_thread(executor.shutdown)


@pytest.mark.parametrize("nth", [1, 2, 3, 5])
@pytest.mark.parametrize("place", FAILPOINTS)
async def test_z05_z08_a_crash_at_any_boundary_changes_nothing_in_the_end(
    store: Store, restarted: Any, monkeypatch: pytest.MonkeyPatch, place: str, nth: int
) -> None:
    """Also Z05, Z09, Z40."""
    from graphs.engine.checkpointers.memory import InMemoryCheckpointer

    expected, _ = await live_through(World(), InMemoryCheckpointer(), lambda same: same)
    world = World()
    monkeypatch.setenv("SAYSO_FAILPOINT", f"{place}:raise:{nth}")
    failpoints.reset()
    result, crashes = await live_through(world, store, restarted)
    assert result.output == expected.output
    assert result.state == expected.state
    assert all(len(keys) == 1 for keys in world.keys.values()), "an effect that ran again had another key"
    again = crashes if place in ("after_effect", "before_record_effect") else 0
    assert sum(world.did.values()) <= 3 + again, world.did
    assert crashes <= 1


async def test_every_failpoint_is_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    from graphs.engine.checkpointers.memory import InMemoryCheckpointer

    for place in FAILPOINTS:
        monkeypatch.setenv("SAYSO_FAILPOINT", f"{place}:raise")
        failpoints.reset()
        _, crashes = await live_through(World(), InMemoryCheckpointer(), lambda same: same)
        assert crashes == 1, place


async def test_z04_a_node_that_fails_after_its_answer_is_retried_with_it(store: Store) -> None:
    """Also W44: nobody is asked twice."""
    calls: Counter[str] = Counter()

    def node() -> Any:
        answer = interrupt("?")
        calls["after"] += 1
        if calls["after"] == 1:
            raise ConnectionError("gone")
        return answer

    graph = one(node)
    await start(graph, store)
    failed = await resume(graph, store, {"ask": "yes"})
    assert failed.status is ThreadStatus.FAILED and failed.error["type"] == "ConnectionError"
    assert failed.error["path"] == "ask" and "gone" in failed.error["traceback"]
    from graphs.engine.errors import ThreadBusy

    with pytest.raises(ThreadBusy):
        await start(graph, store, "a new message does not trigger it")
    result = await retry(graph, store)
    assert result.output == "yes"
    assert len(store.questions(ThreadRef("one", "run-1"))) == 1


async def test_z05_an_answer_outlives_the_worker_that_ran_on_it(
    store: Store, restarted: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = []

    def node(ctx: Context) -> Any:
        answer = interrupt("?")
        return once("act", lambda: keys.append(ctx.idempotency_key) or answer)

    graph = one(node)
    asked = (await start(graph, store)).interrupts[0]
    monkeypatch.setenv("SAYSO_FAILPOINT", "after_effect:raise")
    with pytest.raises(Crash):
        await resume(graph, store, {"ask": "yes"})
    fresh = restarted(store)
    result = await resume(graph, fresh)
    assert result.output == "yes"
    assert keys == ["one/run-1/ask/1/act/0"] * 2
    again = await resume(graph, fresh, {asked.id: "yes"})
    assert again.output == "yes"


async def test_z12_z41_a_failure_beside_a_pause_leaves_both(store: Store) -> None:
    """Also Z41: the question is still answerable, the failure is shown per node, the join fires afterwards."""
    calls: Counter[str] = Counter()
    seen: list[Any] = []

    def breaks() -> str:
        calls["b"] += 1
        if calls["b"] == 1:
            raise ValueError("broken")
        return "mended"

    graph = fan({"a": asks(calls, "a"), "b": breaks, "c": works(calls, "c")}, keeps(seen))
    failed = await start(graph, store)
    assert failed.status is ThreadStatus.FAILED and failed.error["path"] == "b"
    assert pending(failed) == ["a"]
    assert failed.state.node_results["c"] == "c done"
    told = [event for event in store.events(ThreadRef("fan", "run-1")) if event["type"] == "graph.node_error"]
    assert [(event["path"], event["data"]["message"]) for event in told] == [("b", "broken")]
    answered = await resume(graph, store, {"a": "yes"})
    assert answered.status is ThreadStatus.FAILED and calls["a"] == 1
    result = await retry(graph, store)
    assert result.status is ThreadStatus.COMPLETED
    assert seen == [{"a": {"a": "yes"}, "b": "mended", "c": "c done"}]
    assert calls == {"a": 2, "b": 2, "c": 1}


async def test_z42_a_gather_that_breaks_keeps_the_question_its_sibling_asked(store: Store) -> None:
    calls: Counter[str] = Counter()

    async def asks_() -> Any:
        return interrupt("?", key="q")

    async def breaks() -> str:
        calls["breaks"] += 1
        if calls["breaks"] == 1:
            raise ValueError("broken")
        return "mended"

    async def node() -> Any:
        results = await asyncio.gather(breaks(), asks_(), return_exceptions=False)
        return list(results)

    graph = one(node)
    failed = await start(graph, store)
    assert failed.status is ThreadStatus.FAILED and len(failed.interrupts) == 1
    await resume(graph, store, {"ask": "yes"})
    assert (await retry(graph, store)).output == ["mended", "yes"]


async def test_a_cancelled_question_ends_the_run_as_cancelled(store: Store) -> None:
    calls: Counter[str] = Counter()
    graph = fan({"a": asks(calls, "a"), "b": asks(calls, "b")}, keeps([]))
    paused = await start(graph, store)
    answer = Answer(paused.interrupts[0].id, Outcome.CANCELLED, None, "no longer needed")
    await store.answer(ThreadRef("fan", "run-1"), [answer])
    result = await resume(graph, store)
    assert result.status is ThreadStatus.CANCELLED and result.output == "no longer needed"
    assert result.interrupts == () and calls == {"a": 1, "b": 1}
    statuses = {one.node_id: one.status for one in store.questions(ThreadRef("fan", "run-1"))}
    assert statuses == {"a": InterruptStatus.CLOSED, "b": InterruptStatus.WITHDRAWN}
    again = await start(graph, store, "next turn")
    assert [one.visit for one in again.interrupts] == [2, 2]


async def test_an_expired_question_takes_its_default_or_fails(store: Store, clock: Any) -> None:
    graph = one(lambda: ask("?", default={"ok": 1}, expires_in=60).value)
    asked = (await start(graph, store, clock=clock)).interrupts[0]
    assert asked.expires_at == clock.now() + timedelta(seconds=60)
    await store.answer(ThreadRef("one", "run-1"), [Answer(asked.id, Outcome.EXPIRED)])
    assert (await resume(graph, store)).output == {"ok": 1}
    strict = one(lambda: RequestInput(message="?"))
    asked = (await Runner.arun_graph(strict, 1, hooks=[store], thread_id="run-2")).interrupts[0]
    await store.answer(ThreadRef("one", "run-2"), [Answer(asked.id, Outcome.EXPIRED)])
    failed = await Runner.arun_graph_from_checkpoint(strict, checkpointer=store, thread_id="run-2")
    assert failed.error["type"] == "question_expired"


async def test_a_pause_raised_with_what_is_not_json_fails_its_node(store: Store) -> None:
    def node() -> None:
        raise GraphInterrupt(Interrupt(question="?", metadata={"bad": {1}}))

    result = await start(one(node), store)
    assert result.error["type"] == "payload_error"


async def test_a_task_group_that_asks_pauses(store: Store) -> None:
    async def node() -> Any:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(asking_later())
        return task.result()

    async def asking_later() -> Any:
        return interrupt(message="grouped?", key="k")

    graph = one(node)
    assert (await start(graph, store)).interrupts[0].question == "grouped?"
    assert (await resume(graph, store, {"ask": "yes"})).output == "yes"


async def test_z04_a_task_that_failed_and_asks_in_its_retry_runs_with_the_answer(store: Store) -> None:
    broken = [True]

    def node() -> str:
        if broken and broken.pop():
            raise ConnectionError("gone")
        return str(ask("Go on?", schema=str).value)

    graph = Graph.new("again").node("a", node).entry("a").compile()
    assert (await start(graph, store)).status is ThreadStatus.FAILED
    paused = await retry(graph, store)
    assert paused.status is ThreadStatus.INTERRUPTED
    done = await resume(graph, store, {paused.interrupts[0].id: "yes"})
    assert (done.status, done.output) == (ThreadStatus.COMPLETED, "yes")
