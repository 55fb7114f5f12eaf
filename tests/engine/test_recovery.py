"""What survives: crashes at each boundary, failures beside pauses, effects that happen once (family Z)."""

from __future__ import annotations

import asyncio
import threading
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
from graphs.engine.hooks import AfterNodeCallEvent, BeforeNodeCallEvent, HookRegistry
from graphs.engine.interrupts import GraphInterrupt, Interrupt
from graphs.engine.outputs import RequestInput
from graphs.engine.policies import NodeRetryPolicy
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
            store = reopen(store)
    raise AssertionError("it never came to an end")


@pytest.mark.parametrize("nth", [1, 2, 3, 5])
@pytest.mark.parametrize("place", FAILPOINTS)
async def test_z08_a_crash_at_any_boundary_changes_nothing_in_the_end(
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


# Failures and answers


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


async def test_z12_a_failure_beside_a_pause_leaves_both(store: Store) -> None:
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


class TwoHooks:
    """One asks, the other breaks the first time."""

    def __init__(self) -> None:
        self.breaks = 1

    def register_hooks(self, registry: HookRegistry) -> None:
        registry.add_callback(BeforeNodeCallEvent, self.ask)
        registry.add_callback(BeforeNodeCallEvent, self.fail)

    async def ask(self, event: BeforeNodeCallEvent) -> None:
        event.interrupt("sure", reason="Sure?")

    def fail(self, event: BeforeNodeCallEvent) -> None:
        if self.breaks:
            self.breaks -= 1
            raise ValueError("hook broke")


async def test_z42_a_hook_that_raises_does_not_lose_another_ones_question(store: Store) -> None:
    hooks = TwoHooks()
    graph = one(lambda: "ran")
    failed = await start(graph, store, hooks=[hooks])
    assert failed.status is ThreadStatus.FAILED
    assert [asked.name for asked in failed.interrupts] == ["sure"]
    await resume(graph, store, {"sure": "y"}, hooks=[hooks])
    assert (await retry(graph, store, hooks=[hooks])).output == "ran"


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


class Cancels:
    """The first hook cancels; the second one's question is then never asked."""

    def register_hooks(self, registry: HookRegistry, **kwargs: Any) -> None:
        registry.add_callback(BeforeNodeCallEvent, self.cancel)
        registry.add_callback(BeforeNodeCallEvent, self.ask)

    def cancel(self, event: BeforeNodeCallEvent) -> None:
        event.cancel_node = True

    def ask(self, event: BeforeNodeCallEvent) -> None:
        event.interrupt("sure")


async def test_z52_after_a_cancellation_nobody_is_asked(store: Store) -> None:
    result = await start(one(lambda: "ran"), store, hooks=[Cancels()])
    assert result.status is ThreadStatus.CANCELLED and "cancelled" in result.output
    assert store.questions(ThreadRef("one", "run-1")) == []


async def test_h12_two_hooks_may_not_ask_under_one_name(store: Store) -> None:
    class Twice:
        def register_hooks(self, registry: HookRegistry) -> None:
            for _ in range(2):
                registry.add_callback(BeforeNodeCallEvent, lambda event: event.interrupt("same"))

    result = await start(one(lambda: "ran"), store, hooks=[Twice()])
    assert result.error["type"] == "duplicate_hook_name" and "same" in result.error["message"]


# Effects


async def test_e04_work_before_a_question_is_not_repeated(store: Store) -> None:
    """Also E05, E06, in a loop and in a nested graph."""
    did: Counter[str] = Counter()

    def count(name: str) -> int:
        did[name] += 1
        return did[name]

    def node(node_input: Any) -> Any:
        first = once("work", count, "first")
        a = interrupt("a?")
        second = once("work", count, "second")
        b = interrupt("b?")
        return [first, a, second, b]

    inner = one(node)
    graph = Graph.new("outer").node("sub", inner).entry("sub").terminal("sub").compile()
    await start(graph, store)
    await resume(graph, store, {"sub": 1})
    assert (await resume(graph, store, {"sub": 2})).output == [1, 1, 1, 2]
    assert did == {"first": 1, "second": 1}


async def test_an_effect_cut_off_at_most_once_asks_whether_it_happened(
    store: Store, restarted: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    did: Counter[str] = Counter()

    async def node() -> Any:
        return await aonce("charge", lambda: did.update(["charge"]) or {"id": did["charge"]}, mode="at_most_once")

    graph = one(node)
    monkeypatch.setenv("SAYSO_FAILPOINT", "after_effect:raise")
    with pytest.raises(Crash):
        await start(graph, store)
    fresh = restarted(store)
    doubt = await resume(graph, fresh)
    assert doubt.interrupts[0].style == "effect" and did == {"charge": 1}
    monkeypatch.setenv("SAYSO_FAILPOINT", "before_record_effect:raise:2")
    failpoints.reset()
    with pytest.raises(Crash):  # it did not happen; it runs again, and is cut off again
        await resume(graph, fresh, {"ask": {"happened": False}})
    assert did == {"charge": 2}
    monkeypatch.delenv("SAYSO_FAILPOINT")
    again = await resume(graph, fresh)
    assert again.interrupts[0].id != doubt.interrupts[0].id and did == {"charge": 2}
    result = await resume(graph, fresh, {"ask": {"happened": True, "result": {"id": 7}}})
    assert result.output == {"id": 7} and did == {"charge": 2}


async def test_a_node_declared_at_most_once_is_not_run_again_either(
    store: Store, restarted: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    did: Counter[str] = Counter()
    graph = one(works(did, "ask"), crash="at_most_once")
    monkeypatch.setenv("SAYSO_FAILPOINT", "after_effect:raise")
    with pytest.raises(Crash):
        await start(graph, store)
    fresh = restarted(store)
    assert (await resume(graph, fresh)).interrupts[0].style == "effect"
    result = await resume(graph, fresh, {"ask": {"happened": True, "result": "told"}})
    assert result.output == "told" and did == {"ask": 1}


async def test_a_pause_inside_an_effect_is_no_doubt_about_it(store: Store) -> None:
    graph = one(lambda: once("careful", lambda: interrupt(message="inside?"), mode="at_most_once"))
    paused = await start(graph, store)
    assert paused.interrupts[0].question == "inside?"
    assert (await resume(graph, store, {"ask": "yes"})).output == "yes"


async def test_once_in_an_async_node_says_what_to_use(store: Store) -> None:
    async def node() -> Any:
        return once("x", lambda: 1)

    result = await start(one(node), store)
    assert "aonce" in result.error["message"]


async def test_a_retry_within_a_pass_does_not_repeat_a_settled_effect(store: Store) -> None:
    did: Counter[str] = Counter()

    def node() -> Any:
        value = once("work", lambda: did.update(["work"]) or did["work"])
        did["pass"] += 1
        if did["pass"] < 3:
            raise ValueError("again")
        return value

    result = await start(one(node, retry=NodeRetryPolicy(max_attempts=3)), store)
    assert result.output == 1 and did == {"work": 1, "pass": 3}


async def test_a_timeout_ends_an_attempt_and_the_handler_may_answer_for_it(store: Store) -> None:
    async def hangs() -> None:
        await asyncio.Event().wait()

    result = await start(one(hangs, timeout=0.02), store)
    assert result.error["type"] == "node_timeout"
    handled = one(hangs, timeout=0.02, on_error=lambda error, node_input: [type(error).__name__, node_input])
    result = await Runner.arun_graph(handled, "in", hooks=[store], thread_id="run-2")
    assert result.output == ["NodeTimeout", "in"]


async def test_an_error_of_the_store_is_no_failure_of_the_node(store: Store) -> None:
    class Gone(Exception):
        pass

    async def broken(*_: Any) -> None:
        raise Gone

    def node() -> Any:
        try:
            return once("x", lambda: 1)
        except Exception:
            return "hidden"

    store.record_effect = broken
    with pytest.raises(Gone):
        await start(one(node), store)


async def test_a_flow_that_outlived_its_attempt_settles_nothing(store: Store) -> None:
    """A timed-out thread cannot be stopped, but it can no longer be mistaken for the attempt that followed it."""
    released, late = threading.Event(), []

    def node(ctx: Context) -> Any:
        if ctx.attempt > 1:
            return once("work", lambda: "second")
        released.wait(20)
        try:
            once("work", lambda: "first")
        except RuntimeError as error:
            late.append(str(error))
        return "too late"

    graph = one(node, timeout=0.05, retry=NodeRetryPolicy(max_attempts=2))
    result = await start(graph, store)
    released.set()
    assert result.output == "second"
    for _ in range(2_000):
        if late:
            break
        await asyncio.sleep(0.01)
    assert late == ["this attempt of node 'ask' is over"]


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


class Listens:
    def __init__(self) -> None:
        self.heard: list[Any] = []

    def register_hooks(self, registry: HookRegistry) -> None:
        registry.add_callback(AfterNodeCallEvent, self.after)

    def after(self, event: AfterNodeCallEvent) -> None:
        self.heard.append((event.node_id, event.output, type(event.error).__name__))
        with pytest.raises(RuntimeError, match="BeforeNodeCallEvent"):
            event.interrupt("late")


async def test_h42_after_a_node_hooks_hear_of_it_once_and_cannot_ask(store: Store) -> None:
    def fails() -> None:
        raise ValueError("no")

    hooks = Listens()
    graph = Graph.new("g").node("a", asks(Counter(), "a")).node("b", fails).edge("a", "b").entry("a").terminal("b")
    compiled = graph.compile(interrupt_after=["a"])
    await start(compiled, store, hooks=[hooks])
    await resume(compiled, store, {"a": 1}, hooks=[hooks])
    await resume(compiled, store, {"a": True}, hooks=[hooks])
    assert hooks.heard == [("a", {"a": 1}, "NoneType"), ("b", None, "ValueError")]
