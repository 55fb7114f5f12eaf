"""Effects that happen once, whatever happens around them."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from typing import Any

import pytest

from graphs.engine import failpoints
from graphs.engine.asking import interrupt
from graphs.engine.checkpointers.memory import InMemoryCheckpointer
from graphs.engine.context import Context
from graphs.engine.effects import aonce, once
from graphs.engine.failpoints import Crash
from graphs.engine.graph import Graph
from graphs.engine.policies import NodeRetryPolicy
from graphs.engine.runner import Runner
from tests.engine.runs import one, resume, start, works

Store = Any


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

    graph = one(node, timeout=0.5, retry=NodeRetryPolicy(max_attempts=2))
    result = await start(graph, store)
    released.set()
    assert result.output == "second"
    for _ in range(2_000):
        if late:
            break
        await asyncio.sleep(0.01)
    assert late == ["this attempt of node 'ask' is over"]


async def test_a_deadline_while_an_effect_is_stored_neither_ends_the_run_nor_repeats_the_effect() -> None:
    """The node's deadline strikes when the effect is done and its entry on the way into the store."""
    did: Counter[str] = Counter()
    writing, written = asyncio.Event(), asyncio.Event()

    class Slow(InMemoryCheckpointer):
        async def record_effect(self, *given: Any) -> None:
            writing.set()
            await written.wait()
            await super().record_effect(*given)

    async def node(ctx: Context) -> str:
        await aonce("charge", lambda: did.update(["charge"]))
        return f"attempt {ctx.attempt}"

    graph = one(node, timeout=0.2, retry=NodeRetryPolicy(max_attempts=2))
    running = asyncio.create_task(start(graph, Slow()))
    await writing.wait()
    # The loop's timers fire in their order, and the deadline's was set first.
    await asyncio.sleep(0.2)
    written.set()
    result = await running
    assert (result.status, result.output) == ("completed", "attempt 2")
    assert did == {"charge": 1}
