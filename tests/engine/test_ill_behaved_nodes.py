"""Nodes that do what they must not: each becomes a failure of theirs that can be retried, never one of the loop."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest

from graphs.engine.asking import interrupt
from graphs.engine.checkpointers.memory import InMemoryCheckpointer
from graphs.engine.context import Context
from graphs.engine.errors import AnswerInvalid, AnswerMismatch, DefinitionError, PayloadError
from graphs.engine.functions import FunctionNode
from graphs.engine.graph import Graph
from graphs.engine.hooks import BeforeNodeCallEvent, HookRegistry
from graphs.engine.interrupts import GraphResume
from graphs.engine.outputs import Event, RequestInput
from graphs.engine.ports import ThreadRef
from graphs.engine.replaying import compare
from graphs.engine.runner import Runner
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


async def test_a_reducer_that_refuses_what_two_nodes_write_at_once_fails_the_later_of_them(store: Store) -> None:
    def text(ctx: Context) -> str:
        ctx.state["total"] = "x"
        return "text"

    def number(ctx: Context) -> str:
        calls["number"] += 1
        ctx.state["total"] = 5 if calls["number"] < 3 else "y"
        return "number"

    calls: Counter[str] = Counter()
    graph = Graph.new("two", state={"total": "add"}).node("text", text).node("number", number)
    made = graph.entry("text").entry("number").terminal("number").compile()
    result = await start(made, store)
    assert (result.status, result.error["path"]) == (ThreadStatus.FAILED, "number")
    assert "channel 'total'" in result.error["message"]
    assert (await retry(made, store)).status is ThreadStatus.FAILED, "alone it fails where it writes"
    result = await retry(made, store)
    assert (result.status, result.state.values["total"]) == (ThreadStatus.COMPLETED, "xy")
    assert (await compare(made, store, ThreadRef("two", "run-1"))).difference is None


async def test_a_node_that_spends_what_cannot_be_counted_has_failed(store: Store) -> None:
    def node(ctx: Context) -> None:
        ctx.spend(tokens="many")  # type: ignore[arg-type]

    result = await start(one(node), store)
    assert result.status is ThreadStatus.FAILED and "usage/tokens" in result.error["message"]


@pytest.mark.parametrize("name", ["=total", "a|b", ""])
async def test_a_channel_is_written_through_its_reducer_whatever_its_name_is_spelled_like(
    store: Store, name: str
) -> None:
    def assigns(ctx: Context) -> None:
        ctx.state[name] = 50

    def yields(ctx: Context) -> Any:
        yield Event(state={name: 50})

    for body in (assigns, yields):
        result = await start(one(body, state={"total": "add"}), InMemoryCheckpointer(), state={"total": 1})
        assert result.status is ThreadStatus.FAILED and "names no channel" in result.error["message"]
    graph = one(lambda: 1, compile={"interrupt_before": ["ask"]})
    with pytest.raises(PayloadError, match="names no channel"):
        await start(graph, store, state={name: 1})
    question = (await start(graph, store)).interrupts[0]
    with pytest.raises(AnswerInvalid, match="names no channel"):
        await resume(graph, store, {question.id: {"state": {name: 1}}})
    assert (await resume(graph, store, {question.id: {"state": {"total": 1}}})).status is ThreadStatus.COMPLETED


@pytest.mark.parametrize("answers", ["yes", 5, ["yes"], [1]])
async def test_what_is_no_answer_is_refused(store: Store, answers: Any) -> None:
    graph = one(lambda: interrupt())
    await start(graph, store)
    with pytest.raises(AnswerMismatch, match="answers are"):
        await Runner.arun_graph_from_checkpoint(graph, checkpointer=store, thread_id="run-1", resume=answers)


@pytest.mark.parametrize("wrong", [{5: 1}, "yes", None, [1]])
def test_an_answer_goes_by_the_text_of_an_id(wrong: Any) -> None:
    for options in ({"replies": wrong}, {"rejected": wrong}):
        with pytest.raises(PayloadError, match="a mapping from ids"):
            GraphResume(**options)


@pytest.mark.parametrize(
    "wrong", [{"state": [1]}, {"state": {5: 1}}, {"context": [1]}, {"hooks": 5}, {"hooks": [5]}, {"checkpointer": 5}]
)
async def test_what_a_run_is_given_is_checked_before_it_starts(wrong: dict[str, Any]) -> None:
    with pytest.raises((PayloadError, DefinitionError)):
        await Runner.arun_graph(one(lambda: 1), "go", **wrong)


async def test_z27_questions_of_children_are_listed_by_place_whichever_came_first(store: Store) -> None:
    async def child(node_input: int) -> Any:
        for _ in range(12 - node_input):
            await asyncio.sleep(0)
        return interrupt(node_input)

    async def node(ctx: Context) -> Any:
        return await asyncio.gather(*[ctx.run_node(child, index, name=f"child {index}") for index in range(12)])

    graph = one(node)
    result = await start(graph, store)
    assert [one.value for one in result.interrupts] == list(range(12))
    result = await resume(graph, store, {result.interrupts[3].id: 3})
    assert [one.value for one in result.interrupts] == [0, 1, 2, *range(4, 12)]


def leaves(*_: Any) -> Any:
    raise SystemExit(3)


async def leaves_later() -> Any:
    raise SystemExit(3)


class LeavingHook:
    def register_hooks(self, registry: HookRegistry) -> None:
        registry.add_callback(BeforeNodeCallEvent, leaves)


async def test_whatever_leaves_the_process_fails_its_node_alone(store: Store) -> None:
    def breaks() -> None:
        raise ValueError

    routed = Graph.new("routed").node("ask", lambda: 1).node("b", lambda: 2).edge("ask", "b", when=leaves)
    hooked = {"hooks": [LeavingHook()]}
    for graph, options in [
        (one(leaves), {}),
        (one(leaves_later), {}),
        (one(breaks, on_error=leaves_later), {}),
        (routed.entry("ask").compile(), {}),
        (one(lambda: 1), hooked),
    ]:
        result = await start(graph, InMemoryCheckpointer(), **options)
        assert result.status is ThreadStatus.FAILED and "SystemExit(3)" in result.error["message"]


@pytest.mark.parametrize("key", ["state", "patched", "patched:fee"])
async def test_an_effect_is_not_kept_where_the_engine_keeps_its_own(store: Store, key: str) -> None:
    def node(ctx: Context) -> Any:
        ctx.once(key, lambda: 1)

    result = await start(one(node), store)
    assert result.status is ThreadStatus.FAILED and "take another key" in result.error["message"]


async def test_z50_questions_in_a_list_are_refused_and_not_put_out(store: Store) -> None:
    result = await start(one(lambda: [RequestInput(message="Go?")]), store)
    assert result.status is ThreadStatus.FAILED and "yield each" in result.error["message"]
