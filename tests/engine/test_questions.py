"""Asking: places, digests, swallowed pauses, and what a question may carry (family Z, with some of T and W)."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections import Counter
from typing import Any

import pytest

from graphs.engine.asking import ask, interrupt, request_human_input
from graphs.engine.context import Context, ExecutableInput
from graphs.engine.errors import NestedPause, ThreadBusy
from graphs.engine.interrupts import GraphInterrupt, Interrupt
from graphs.engine.outputs import Event, RequestInput
from graphs.engine.ports import ThreadRef
from graphs.engine.runner import Runner
from graphs.engine.statuses import InterruptStatus, Outcome, ThreadStatus
from tests.engine.runs import asks, chain, drain, fan, keeps, one, resume, start

Store = Any


async def test_z07_two_questions_in_one_node_get_their_own_answers(store: Store) -> None:
    """Also T06, T07: in order, the first is not asked again."""
    calls: Counter[str] = Counter()

    def node() -> Any:
        calls["node"] += 1
        first = interrupt("a", message="first?")
        return [first, interrupt("b", message="second?")] if first != "stop" else [first]

    graph = one(node)
    assert (await start(graph, store)).interrupts[0].question == "first?"
    assert (await resume(graph, store, {"ask": 1})).interrupts[0].question == "second?"
    assert (await resume(graph, store, {"ask": 2})).output == [1, 2]
    assert calls == {"node": 3}
    assert (await Runner.arun_graph(graph, 1, hooks=[store], thread_id="run-2")).paused


async def test_z10_the_resumed_node_sees_the_stored_input(store: Store) -> None:
    inputs = []

    def node(inp: ExecutableInput) -> Any:
        inputs.append(inp.input)
        inp.input["amount"] = 999  # what a node does to its input never reaches the stored one
        return request_human_input(inp, "?")

    graph = one(node)
    await start(graph, store, {"amount": 5})
    run = Runner.configure().graph(graph).resume_from(store, "run-1")
    await run.arun({"amount": 7}, resume={"ask": 1})
    assert [given["amount"] for given in inputs] == [999, 999]
    assert (await store.load(ThreadRef("one", "run-1"))).input == {"amount": 5}


async def test_z11_a_paused_thread_takes_no_new_input(store: Store) -> None:
    graph = one(asks(Counter(), "ask"))
    paused = await start(graph, store)
    with pytest.raises(ThreadBusy) as caught:
        await start(graph, store, "another")
    assert caught.value.open_ids == [paused.interrupts[0].id]
    assert (await resume(graph, store, {"ask": 1})).output == {"ask": 1}


async def test_t31_a_completed_thread_takes_its_next_turn(store: Store) -> None:
    def node(node_input: str, ctx: Context) -> Any:
        ctx.state["said"] = node_input
        return [ctx.visit, ctx.state["said"]]

    graph = one(node, state={"said": "append"})
    assert (await start(graph, store, "one")).output == [1, ["one"]]
    assert (await start(graph, store, "two")).output == [2, ["one", "two"]]


async def test_z14_looking_at_a_question_runs_nothing_and_uses_no_budget(store: Store) -> None:
    calls: Counter[str] = Counter()
    graph = one(asks(calls, "ask"))
    await start(graph, store)
    before = await store.load(ThreadRef("one", "run-1"))
    for _ in range(5):
        await resume(graph, store)
        store.questions(ThreadRef("one", "run-1"))
    after = await store.load(ThreadRef("one", "run-1"))
    assert calls == {"ask": 1}
    assert (after.step, after.cells) == (before.step, before.cells)


async def test_z17_graphs_share_neither_threads_nor_default_stores(store: Store) -> None:
    first, second = one(asks(Counter(), "ask")), chain([("ask", asks(Counter(), "ask"))])
    await start(first, store)
    await start(second, store)
    await resume(first, store, {"ask": 1})
    assert (await resume(second, store)).status is ThreadStatus.INTERRUPTED
    alone = one(asks(Counter(), "ask"))
    await Runner.arun_graph(alone, 1, thread_id="t")
    again = await Runner.configure().graph(alone).thread("t").arun(resume={"ask": 1})
    assert again.status is ThreadStatus.COMPLETED  # T32: memory serves within the process
    assert (await Runner.arun_graph(one(asks(Counter(), "ask")), 1, thread_id="t")).paused


async def test_z24_a_pause_hidden_behind_a_plain_call_fails_loudly(store: Store) -> None:
    inner = one(asks(Counter(), "ask"))

    async def outer() -> Any:
        result = await Runner.arun_graph(inner, 1)
        return {"looks": "fine", "status": str(result.status)}

    result = await start(chain([("outer", outer)]), store)
    assert result.status is ThreadStatus.FAILED
    assert result.error["type"] == NestedPause.code()


async def test_z25_the_stored_status_is_the_returned_one(store: Store) -> None:
    def fails() -> None:
        raise ValueError("no")

    def cancelled() -> Any:
        raise GraphInterrupt(Interrupt(question="?"))

    for thread, node in (("a", lambda: 1), ("b", fails), ("c", asks(Counter(), "ask")), ("d", cancelled)):
        result = await Runner.arun_graph(one(node), 1, hooks=[store], thread_id=thread)
        assert (await store.load(ThreadRef("one", thread))).status is result.status


async def test_z26_every_answer_of_the_runner_says_what_is_open(store: Store) -> None:
    graph = fan({"a": asks(Counter(), "a"), "b": asks(Counter(), "b")}, keeps([]))
    paused = await start(graph, store)
    assert paused.paused and len(paused.interrupts) == 2
    run = Runner.configure().graph(graph).resume_from(store, "run-1")
    streamed = await run.arun(stream=True, resume={"a": 1})
    last = (await drain(streamed))[-1]
    assert last["interrupts"] == [paused.interrupts[1].id]
    done = await resume(graph, store, {"b": 1})
    assert not done.paused and done.interrupts == ()


async def test_z27_open_questions_come_in_one_order_everywhere(store: Store) -> None:
    async def slow(inp: ExecutableInput) -> Any:
        for _ in range(5):
            await asyncio.sleep(0)
        return request_human_input(inp, "slow?")

    async def fast() -> Any:
        return await asyncio.gather(*(at_once(f"{key}?", key=key) for key in "ba"))

    graph = fan({"slow": slow, "fast": fast}, keeps([]))
    paused = await start(graph, store)
    asked = [(one.node_id, one.question) for one in paused.interrupts]
    assert asked == [("slow", "slow?"), ("fast", "b?"), ("fast", "a?")]
    assert [one.id for one in (await resume(graph, store)).interrupts] == [one.id for one in paused.interrupts]


async def test_z28_catching_exceptions_does_not_swallow_a_pause(store: Store) -> None:
    """Also Z43, T08."""

    def node() -> Any:
        try:
            return interrupt("?")
        except Exception:
            return "swallowed"

    graph = one(node)
    assert (await start(graph, store)).paused
    assert (await resume(graph, store, {"ask": "yes"})).output == "yes"


@pytest.mark.parametrize("how", ["return", "raise"])
async def test_z43_a_swallowed_pause_fails_the_task_and_opened_nothing(store: Store, how: str) -> None:
    """Also T09."""

    def node() -> Any:
        try:
            interrupt("?")
        except BaseException as caught:
            if how == "raise":
                raise ValueError("converted") from caught
        return "went on"

    result = await start(one(node), store)
    assert result.status is ThreadStatus.FAILED and result.error["type"] == "pause_swallowed"
    assert store.questions(ThreadRef("one", "run-1")) == []


def test_t10_outside_of_a_run_asking_says_where_it_may_be_called() -> None:
    for call in (lambda: interrupt(1), lambda: ask("?"), lambda: request_human_input(None, "?")):
        with pytest.raises(RuntimeError, match="while a graph node or tool is running"):
            call()


async def test_t14_sync_async_and_threads_with_copied_context_all_pause(store: Store) -> None:
    async def asynchronous() -> Any:
        return interrupt("async")

    async def threaded() -> Any:
        return await asyncio.to_thread(interrupt, "thread")

    def own_thread() -> Any:
        out: list[Any] = []
        context = contextvars.copy_context()

        def work() -> None:
            try:
                out.append(context.run(interrupt, "own"))
            except BaseException as error:
                out.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        if isinstance(out[0], BaseException):
            raise out[0]
        return out[0]

    graph = fan({"a": asynchronous, "b": threaded, "c": own_thread, "d": lambda: interrupt("sync")}, keeps([]))
    paused = await start(graph, store)
    assert [one.value for one in paused.interrupts] == ["async", "thread", "own", "sync"]
    result = await resume(graph, store, {name: name for name in "abcd"})
    assert result.output == {name: name for name in "abcd"}


async def test_z36_the_same_name_in_two_branches_is_two_questions(store: Store) -> None:
    calls: Counter[str] = Counter()

    def branch(name: str) -> Any:
        def node() -> Any:
            calls[name] += 1
            return RequestInput(interrupt_id="confirm", message=name)

        return node

    graph = fan({"a": branch("a"), "b": branch("b")}, keeps([]))
    paused = await start(graph, store)
    assert [one.interrupt_id for one in paused.interrupts] == ["confirm", "confirm"]
    from graphs.engine.errors import AnswerMismatch

    with pytest.raises(AnswerMismatch, match="2 open questions"):
        await resume(graph, store, {"confirm": 1})
    await resume(graph, store, {"a": "for a"})
    result = await resume(graph, store, {"confirm": "for b"})
    assert result.output == {"a": "for a", "b": "for b"}


@pytest.mark.parametrize("event", [Event(output=1), Event(route="x")])
async def test_z50_asking_and_answering_in_one_pass_is_refused(store: Store, event: Event) -> None:
    def node() -> Any:
        yield event
        yield RequestInput(message="?")

    result = await start(one(node), store)
    assert result.status is ThreadStatus.FAILED and result.error["type"] == "output_beside_question"
    assert store.questions(ThreadRef("one", "run-1")) == []


async def test_z51_a_question_is_visible_before_its_slow_sibling_is_done(store: Store) -> None:
    seen: list[Any] = []

    async def slow() -> Any:
        while not store.questions(ThreadRef("fan", "run-1")):
            await asyncio.sleep(0.001)
        snapshot = await store.load(ThreadRef("fan", "run-1"))
        seen.extend(one.question for task in snapshot.tasks.values() for one in task.interrupts)
        return "slow"

    graph = fan({"a": asks(Counter(), "a"), "slow": slow}, keeps([]))
    await asyncio.wait_for(start(graph, store), 20)
    assert seen == ["a?"]


def requesting(ids: list[Any]) -> Any:
    def node() -> Any:
        for id in ids:
            yield RequestInput(interrupt_id=id, message="?")

    return node


async def test_z57_empty_and_repeated_ids_are_refused_when_asked(store: Store) -> None:
    for number, requests in enumerate((["", None], ["same", "same"])):
        result = await Runner.arun_graph(one(requesting(requests)), 1, hooks=[store], thread_id=f"t{number}")
        assert result.status is ThreadStatus.FAILED and result.error["type"] == "payload_error"
        assert store.questions(ThreadRef("one", f"t{number}")) == []


async def at_once(message: str, **details: Any) -> Any:
    """Let its sibling begin too, so that both ask in the same turn of the loop."""
    await asyncio.sleep(0)
    return ask(message, **details)


async def test_unkeyed_questions_at_the_same_time_are_ambiguous_and_keyed_ones_are_not(store: Store) -> None:
    async def unkeyed() -> Any:
        return await asyncio.gather(at_once("a?"), at_once("b?"))

    async def keyed() -> Any:
        both = await asyncio.gather(at_once("a?", key="a"), at_once("b?", key="b"))
        return [one.value for one in both]

    failed = await start(one(unkeyed), store)
    assert failed.error["type"] == "ambiguous_question"
    graph = one(keyed)
    paused = await Runner.arun_graph(graph, 1, hooks=[store], thread_id="run-2")
    assert sorted(one.question for one in paused.interrupts) == ["a?", "b?"]
    run = Runner.configure().graph(graph).resume_from(store, "run-2")
    partly = await run.arun(resume={"ask:b": 2})
    assert [one.question for one in partly.interrupts] == ["a?"]
    assert (await run.arun(resume={"ask:a": 1})).output == [1, 2]


async def test_another_question_at_the_same_place_never_gets_the_old_answer(store: Store) -> None:
    rates = iter([10, 20, 20, 30, 40, 50, 60])

    def node() -> Any:
        return ask("At this rate?", payload={"rate": next(rates)}).value

    graph = one(node)
    first = (await start(graph, store)).interrupts[0]
    second = (await resume(graph, store, {"ask": "yes"})).interrupts[0]
    assert (first.value, second.value) == ({"rate": 10}, {"rate": 20})
    assert second.revision == 1 and second.id != first.id
    old = store.questions(ThreadRef("one", "run-1"))[0]
    assert old.status is InterruptStatus.SUPERSEDED and old.decision.outcome is Outcome.ANSWERED
    assert (await resume(graph, store, {"ask": "yes"})).output == "yes"


async def test_a_question_that_never_stays_the_same_fails_the_task(store: Store) -> None:
    rates = iter(range(100))
    graph = one(lambda: ask("?", payload=next(rates)).value)
    result = await start(graph, store)
    for _ in range(4):
        assert result.paused
        result = await resume(graph, store, {"ask": 1})
    assert result.status is ThreadStatus.FAILED and result.error["type"] == "question_changed"
