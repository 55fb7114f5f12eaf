"""How children end otherwise than with an output: failing, cut off, cancelled, left behind."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from typing import Any

import pytest

from graphs.engine import failpoints
from graphs.engine.asking import interrupt
from graphs.engine.context import Context
from graphs.engine.effects import once
from graphs.engine.failpoints import Crash
from graphs.engine.forking import afork
from graphs.engine.functions import FunctionNode
from graphs.engine.graph import Budgets, Graph
from graphs.engine.hooks import BeforeNodeCallEvent, HookRegistry
from graphs.engine.interrupts import GraphInterrupt, GraphResume
from graphs.engine.policies import NodeRetryPolicy
from graphs.engine.ports import Answer, ThreadRef
from graphs.engine.runner import Runner
from graphs.engine.statuses import Outcome, ThreadStatus
from graphs.engine.workflow import START, Workflow
from tests.engine.offspring import counted, requests
from tests.engine.runs import Calls, one, resume, retry, start

Store = Any


async def test_a_child_that_fails_raises_in_its_node_and_runs_again_on_retry(store: Store) -> None:
    calls: Calls = Counter()

    def breaks() -> Any:
        calls["breaks"] += 1
        if calls["breaks"] < 3:
            raise ValueError("away")
        return "here"

    async def parent(ctx: Context) -> Any:
        first = await ctx.run_node(counted(calls, "first"))
        answer = await ctx.run_node(requests(calls, "gate"))
        return [first, answer, await ctx.run_node(breaks)]

    graph = one(parent)
    await start(graph, store)
    failed = await resume(graph, store, {"gate": 1})
    assert failed.status is ThreadStatus.FAILED and failed.error["type"] == "ValueError"
    assert (await retry(graph, store)).status is ThreadStatus.FAILED
    assert (await retry(graph, store)).output == ["first of None", 1, "here"]
    assert calls == {"first": 1, "gate": 1, "breaks": 3}


async def test_a_node_may_catch_what_its_child_raises_and_a_childs_own_retries_come_first(store: Store) -> None:
    calls: Calls = Counter()

    def breaks() -> Any:
        calls["breaks"] += 1
        raise ValueError("away")

    def graph_of(fn: Any) -> Any:
        return Graph.new("breaking").node("breaks", fn).compile()

    async def parent(ctx: Context) -> Any:
        told = []
        for child in (FunctionNode(breaks, retry=NodeRetryPolicy(max_attempts=2)), graph_of(breaks)):
            try:
                await ctx.run_node(child)
            except Exception as error:
                told.append(f"{type(error).__name__}: {error}")
        return told

    result = await start(one(parent), store)
    assert result.output == ["ValueError: away", "ChildFailed: child 'breaking' failed in breaks: ValueError: away"]
    assert calls == {"breaks": 3}


async def test_z41_a_failing_child_beside_an_asking_one_loses_no_question(store: Store) -> None:
    calls: Calls = Counter()

    async def breaks() -> Any:
        calls["breaks"] += 1
        if calls["breaks"] == 1:
            raise ValueError("away")
        return "here"

    end = FunctionNode(lambda node_input: node_input, name="end")
    flow = Workflow("flow", [(START, (requests(calls, "gate"), breaks), end)])

    async def parent(ctx: Context) -> Any:
        return await ctx.run_node(flow)

    graph = one(parent)
    failed = await start(graph, store)
    assert failed.status is ThreadStatus.FAILED and len(failed.interrupts) == 1
    await resume(graph, store, {"gate": 1})
    assert (await retry(graph, store)).output == {"gate": 1, "breaks": "here"}
    assert calls == {"gate": 1, "breaks": 2}


async def test_a_swallowed_pause_of_a_child_fails_the_task(store: Store) -> None:
    async def parent(ctx: Context) -> Any:
        try:
            return await ctx.run_node(requests(Counter(), "gate"))
        except GraphInterrupt:
            return "swallowed"

    assert (await start(one(parent), store)).error["type"] == "pause_swallowed"


async def test_a_cancelled_question_of_a_child_ends_the_node(store: Store) -> None:
    async def parent(ctx: Context) -> Any:
        return await ctx.run_node(requests(Counter(), "gate"))

    graph = one(parent)
    (question,) = (await start(graph, store)).interrupts
    await store.answer(ThreadRef("one", "run-1"), [Answer(question.id, Outcome.CANCELLED, None, "never mind")])
    result = await resume(graph, store)
    assert result.status is ThreadStatus.CANCELLED


@pytest.mark.parametrize("point", ["after_effect:raise", "after_record_effect:raise", "before_record_effect:raise:2"])
async def test_a_crash_between_children_repeats_none_that_was_settled(
    store: Store, restarted: Any, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    calls: Calls = Counter()

    async def parent(ctx: Context) -> Any:
        return [await ctx.run_node(counted(calls, name)) for name in ("first", "second")]

    graph = one(parent)
    monkeypatch.setenv("SAYSO_FAILPOINT", point)
    with pytest.raises(Crash):
        await start(graph, store)
    monkeypatch.delenv("SAYSO_FAILPOINT")
    failpoints.reset()
    assert (await resume(graph, restarted(store))).output == ["first of None", "second of None"]
    assert calls["first"] == (2 if point.startswith("after_effect") else 1)


async def test_synchronous_nodes_run_children_without_taking_more_threads(store: Store) -> None:
    calls: Calls = Counter()
    threads: list[int] = []

    def inner() -> str:
        threads.append(threading.get_ident())
        return "inner"

    def middle(ctx: Context) -> Any:
        threads.append(threading.get_ident())
        return [ctx.run_node_sync(inner), once("effect", lambda: "once")]

    def parent(ctx: Context) -> Any:
        threads.append(threading.get_ident())
        return [ctx.run_node_sync(middle), ctx.run_node_sync(requests(calls, "gate"))]

    graph = one(parent)
    assert (await start(graph, store)).paused
    assert (await resume(graph, store, {"gate": 1})).output == [["inner", "once"], 1]
    assert len(set(threads[:3])) == 1 and calls == {"gate": 1}


async def test_a_synchronous_nodes_deadline_lets_go_of_its_children(store: Store) -> None:
    release, entered, left = threading.Event(), threading.Event(), threading.Event()

    def child() -> None:
        entered.set()
        release.wait(30)

    def parent(ctx: Context) -> None:
        try:
            ctx.run_node_sync(child)
        finally:
            left.set()

    assert (await start(one(parent, timeout=0.2), store)).error["type"] == "node_timeout"
    assert entered.is_set()
    release.set()
    assert await asyncio.to_thread(left.wait, 30)


async def test_the_blocking_form_is_refused_on_the_loop(store: Store) -> None:
    async def parent(ctx: Context) -> Any:
        return ctx.run_node_sync(lambda: 1, name="x")

    assert "await ctx.run_node" in (await start(one(parent), store)).error["message"]


@pytest.mark.parametrize(
    ("child", "name", "told"), [(7, None, "a child is a function"), (lambda: 1, None, "no name"), (len, "", "name")]
)
async def test_what_is_no_child_is_refused_by_name(store: Store, child: Any, name: Any, told: str) -> None:
    async def parent(ctx: Context) -> Any:
        return await ctx.run_node(child, name=name)

    assert told in (await start(one(parent), store)).error["message"]


async def test_a_childs_graph_that_never_ends_uses_up_its_budget(store: Store) -> None:
    loop = (
        Graph.new("loop", budgets=Budgets(supersteps=5))
        .node("a", lambda: 1).node("b", lambda: 1).node("end", lambda: 1)
        .edge("a", "b", when=1).edge("b", "a", when=1).edge("b", "end", when=2).entry("a")
    )  # fmt: skip

    async def parent(ctx: Context) -> Any:
        return await ctx.run_node(loop.compile())

    assert (await start(one(parent), store)).error["type"] == "budget_exceeded"


async def test_a_nodes_deadline_stops_its_children(store: Store) -> None:
    stopped: list[bool] = []

    async def child() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            stopped.append(True)
            raise

    async def parent(ctx: Context) -> Any:
        await ctx.run_node(child)

    assert (await start(one(parent, timeout=0.05), store)).error["type"] == "node_timeout"
    assert stopped == [True]


async def test_hooks_stand_around_children_too_and_may_ask_there(store: Store) -> None:
    calls: Calls = Counter()

    class Asks:
        def register_hooks(self, registry: HookRegistry) -> None:
            registry.add_callback(BeforeNodeCallEvent, self.before)

        def before(self, event: BeforeNodeCallEvent) -> None:
            if event.node_id == "danger" and event.interrupt("sure", "Run danger?") != "y":
                event.cancel_node = "not now"

    async def parent(ctx: Context) -> Any:
        return [await ctx.run_node(counted(calls, name)) for name in ("safe", "danger")]

    graph = one(parent)
    (question,) = (await start(graph, store, hooks=[Asks()])).interrupts
    assert question.name == "sure" and question.metadata == {"child": "danger"}
    result = await resume(graph, store, {"sure": "y"}, hooks=[Asks()])
    assert result.output == ["safe of None", "danger of None"] and calls == {"safe": 1, "danger": 1}


async def test_e25_a_fork_asks_before_a_childs_effect_is_done_again(store: Store) -> None:
    calls: Calls = Counter()

    def pays(node_input: Any) -> Any:
        return [once("pay", lambda: calls.update(["pay"]) or calls["pay"]), interrupt("sent?")]

    async def parent(ctx: Context) -> Any:
        return await ctx.run_node(pays)

    graph = one(parent)
    await start(graph, store)
    assert (await resume(graph, store, {"ask": "yes"})).output == [1, "yes"]
    forked = await afork(graph, store, "run-1", 0)
    (question,) = (await Runner.configure().graph(graph).resume_from(store, forked).arun()).interrupts
    assert question.reason == "effect_in_parent" and question.payload["result"] == 1
    again = Runner.configure().graph(graph).resume_from(store, forked)
    await again.arun(resume=GraphResume({question.id: {"do": "again"}}))
    assert (await again.arun(resume={"ask": "no"})).output == [2, "no"]


async def test_a_branch_left_behind_at_a_pause_settles_nothing_more(store: Store) -> None:
    calls: Calls = Counter()
    later, late = asyncio.Event(), []

    async def branch(ctx: Context) -> None:
        await later.wait()
        try:
            await ctx.run_node(counted(calls, "late"))
        except RuntimeError as error:
            late.append(str(error))

    async def parent(ctx: Context) -> Any:
        ctx.metadata["branch"] = asyncio.ensure_future(branch(ctx))
        return await ctx.run_node(requests(calls, "gate"))

    assert (await start(one(parent), store)).paused
    later.set()
    for _ in range(5):
        await asyncio.sleep(0)
    assert late and "is over" in late[0] and calls == {"gate": 1}
