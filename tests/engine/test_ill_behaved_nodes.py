"""Nodes that do what they must not: each becomes a failure of theirs that can be retried, never one of the loop."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest

from graphs.engine.asking import interrupt
from graphs.engine.context import Context
from graphs.engine.functions import FunctionNode
from graphs.engine.graph import Graph
from graphs.engine.statuses import ThreadStatus
from tests.engine.runs import one, resume, retry, start

Store = Any


async def awaits_cancelled() -> str:
    task = asyncio.ensure_future(asyncio.sleep(60))
    task.cancel()
    await task
    return "never"


def raises_cancelled() -> str:
    raise asyncio.CancelledError


@pytest.mark.parametrize("body", [awaits_cancelled, raises_cancelled])
async def test_a_node_that_awaits_something_cancelled_has_failed_and_the_loop_goes_on(store: Store, body: Any) -> None:
    broken = [True]

    async def node() -> Any:
        return await awaits_cancelled() if broken else "mended"

    graph = Graph.new("two").node("bad", body).node("node", node).entry("bad").entry("node")
    result = await start(graph.compile(), store)
    assert result.status is ThreadStatus.FAILED
    assert result.error["type"] == "RuntimeError" and "node 'bad' awaited something" in result.error["message"]
    graph = one(node)
    assert (await start(graph, store)).status is ThreadStatus.FAILED
    broken.clear()
    assert (await retry(graph, store)).output == "mended"


async def test_a_real_cancellation_still_ends_the_run(store: Store) -> None:
    begun = asyncio.Event()

    async def node() -> None:
        begun.set()
        await asyncio.sleep(60)

    run = asyncio.ensure_future(start(one(node), store))
    await begun.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run


async def test_an_error_whose_text_raises_is_written_down_without_one(store: Store) -> None:
    class Unspeakable(Exception):
        def __str__(self) -> str:
            raise ValueError

    def node() -> None:
        raise Unspeakable

    result = await start(one(node), store)
    assert (result.status, result.error["type"]) == (ThreadStatus.FAILED, "Unspeakable")
    assert "ValueError" in result.error["message"]


@pytest.mark.parametrize("handler_is_async", [False, True])
async def test_g17_a_node_that_asked_may_fail_into_a_handler_that_asks(store: Store, handler_is_async: bool) -> None:
    calls: Counter[str] = Counter()

    async def node() -> None:
        interrupt("from the node")
        calls["node"] += 1
        raise ValueError("broken")

    def handler(error: ValueError) -> Any:
        return interrupt(f"after {error}")

    async def async_handler(error: ValueError) -> Any:
        return handler(error)

    graph = one(node, on_error=async_handler if handler_is_async else handler)
    first = await start(graph, store)
    second = await resume(graph, store, {first.interrupts[0].id: 1})
    assert [one.value for one in second.interrupts] == ["after broken"], second.error
    assert (await resume(graph, store, {second.interrupts[0].id: "done"})).output == "done"
    assert calls["node"] == 2


async def test_w30_a_node_may_run_a_child_again_that_it_gave_too_little_time(store: Store) -> None:
    calls: Counter[str] = Counter()

    async def slow(node_input: Any) -> str:
        calls["slow"] += 1
        await asyncio.sleep(60 if calls["slow"] == 1 else 0)
        return f"done {node_input}"

    async def node(ctx: Context) -> Any:
        try:
            return await asyncio.wait_for(ctx.run_node(slow, 1), 0.01)
        except TimeoutError:
            return await ctx.run_node(FunctionNode(slow), 2)

    result = await start(one(node), store)
    assert (result.status, result.output) == (ThreadStatus.COMPLETED, "done 2"), result.error
