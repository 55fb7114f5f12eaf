"""Family G: graph runs as in seed 000."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from graphs.engine.asking import request_human_input
from graphs.engine.context import Context, ExecutableInput
from graphs.engine.errors import AnswerMismatch, UnknownThread
from graphs.engine.graph import Budgets
from graphs.engine.hooks import BeforeNodeCallEvent, HookRegistry
from graphs.engine.interrupts import GraphResume, Interrupt, InterruptException
from graphs.engine.policies import NodeRetryPolicy
from graphs.engine.ports import ThreadRef
from graphs.engine.results import GraphRunStatus
from graphs.engine.runner import Runner
from graphs.engine.statuses import Outcome, ThreadStatus
from tests.engine.runs import asks, chain, fan, keeps, one, pending, resume, retry, start, works

Store = Any


async def test_g01_a_node_that_asks_pauses_the_run(store: Store) -> None:
    graph = one(asks(Counter(), "ask", "Approve?", kind="tool_approval", tool="deploy"))
    result = await start(graph, store)
    assert result.status == GraphRunStatus.INTERRUPTED
    assert result.state is not None
    (only,) = result.interrupts
    assert result.state.pending_interrupts == {"ask": only}
    assert (only.node_id, only.question, only.kind, only.metadata) == (
        "ask",
        "Approve?",
        "tool_approval",
        {"tool": "deploy"},
    )


async def test_g02_the_defaults_are_generic_and_empty(store: Store) -> None:
    result = await start(one(asks(Counter(), "ask")), store)
    assert result.interrupts[0].kind == "generic"
    assert result.interrupts[0].metadata == {}


async def test_g03_extra_details_arrive_unchanged(store: Store) -> None:
    details = {"tool_call_id": "c1", "options": [1, "two", {"three": None}], "risk": 0.5}
    streamed = await Runner.arun_graph_streamed(one(asks(Counter(), "ask", **details)), "go", hooks=[store])
    told = [event async for event in streamed.stream_events() if event["type"] == "graph.node_interrupt"]
    assert told[0]["interrupt"].metadata == details
    assert streamed.interrupts[0].metadata == details
    assert streamed.state is not None
    assert streamed.state.pending_interrupts["ask"].metadata == details


async def test_g04_a_reply_by_node_id_runs_the_node_once_more_from_its_start(store: Store) -> None:
    calls: Counter[str] = Counter()
    graph = one(asks(calls, "ask"))
    await start(graph, store)
    result = await resume(graph, store, {"ask": "the-answer"})
    assert result.status == GraphRunStatus.COMPLETED
    assert result.output == {"ask": "the-answer"}
    assert calls == {"ask": 2}


@pytest.mark.parametrize("value", [None, False, 0, "", [], {}])
async def test_g05_every_reply_is_an_answer(store: Store, value: Any) -> None:
    envelopes = []

    def node(inp: ExecutableInput, ctx: Any) -> Any:
        envelopes.append(dict(inp.metadata))
        return [request_human_input(inp, "?")]

    graph = one(node)
    await start(graph, store)
    result = await resume(graph, store, {"ask": value})
    assert result.output == [value] and type(result.output[0]) is type(value)
    assert envelopes == [{}, {"__resume_reply__": value}]


async def test_g06_a_rejection_delivers_its_message_and_is_recorded_as_one(store: Store) -> None:
    graph = chain([("ask", asks(Counter(), "ask")), ("next", keeps([]))])
    await start(graph, store)
    result = await resume(graph, store, rejected={"ask": "denied by reviewer"})
    assert result.status == GraphRunStatus.COMPLETED
    assert result.output == {"ask": "denied by reviewer"}
    (asked,) = store.questions(ThreadRef("chain", "run-1"))
    assert asked.decision.outcome is Outcome.REJECTED


async def test_g07_an_empty_resume_runs_nothing(store: Store) -> None:
    calls: Counter[str] = Counter()
    graph = one(asks(calls, "ask"))
    first = await start(graph, store)
    again = await resume(graph, store)
    assert again.status == GraphRunStatus.INTERRUPTED
    assert again.interrupts == first.interrupts
    assert calls == {"ask": 1}


async def test_g08_direct_call_and_builder_chain_are_the_same(store: Store) -> None:
    prompts = []

    def node(inp: ExecutableInput, ctx: Any) -> str:
        prompts.append(inp.input)
        return f"approved:{request_human_input(inp, '?')}"

    graph = one(node)
    for thread in ("direct", "chain"):
        await Runner.arun_graph(graph, "go", hooks=[store], thread_id=thread)
    answer = GraphResume(replies={"ask": "yes"})
    direct = await Runner.arun_graph_from_checkpoint(graph, checkpointer=store, thread_id="direct", resume=answer)
    chained = await Runner.configure().graph(graph).resume_from(store, "chain").arun("other", resume=answer)
    assert direct.output == chained.output == "approved:yes"
    assert direct.state == chained.state
    assert prompts == ["go"] * 4


async def test_g09_a_new_process_resumes_what_another_paused(store: Store, restarted: Callable[[Store], Store]) -> None:
    graph = one(asks(Counter(), "ask"))
    await start(graph, store)
    result = await resume(graph, restarted(store), {"ask": 1})
    assert result.output == {"ask": 1}


async def test_g10_fan_out_keeps_finished_sibling(store: Store) -> None:
    seen: list[Any] = []
    calls: Counter[str] = Counter()
    graph = fan({"a": asks(calls, "a"), "b": works(calls, "b")}, keeps(seen))
    result = await start(graph, store)
    assert result.status == GraphRunStatus.INTERRUPTED
    assert pending(result) == ["a"]
    assert result.state.node_results == {"root": "root", "b": "b done"}
    assert seen == []


async def test_g11_only_the_asking_node_and_what_follows_run(store: Store) -> None:
    seen: list[Any] = []
    calls: Counter[str] = Counter()
    graph = fan({"root": works(calls, "root"), "a": asks(calls, "a"), "b": works(calls, "b")}, keeps(seen, calls))
    await start(graph, store)
    result = await resume(graph, store, {"a": "yes"})
    assert result.status == GraphRunStatus.COMPLETED
    assert calls == {"root": 1, "a": 2, "b": 1, "join": 1}
    assert seen == [{"a": {"a": "yes"}, "b": "b done"}]


async def test_g12_all_questions_of_a_superstep_are_kept(store: Store) -> None:
    calls: Counter[str] = Counter()
    graph = fan({name: asks(calls, name) for name in "abc"}, keeps([]))
    result = await start(graph, store)
    assert [one.node_id for one in result.interrupts] == ["a", "b", "c"]
    assert len({one.id for one in result.interrupts}) == 3


async def test_g13_one_answer_completes_one_node_and_leaves_the_others_alone(store: Store) -> None:
    calls: Counter[str] = Counter()
    graph = fan({name: asks(calls, name) for name in "abc"}, keeps([]))
    await start(graph, store)
    result = await resume(graph, store, {"b": 1})
    assert result.status == GraphRunStatus.INTERRUPTED
    assert pending(result) == ["a", "c"]
    assert result.state.node_results["b"] == {"b": 1}
    assert calls == {"a": 1, "b": 2, "c": 1}


async def test_g14_the_join_fires_once_with_inputs_in_a_stable_order(store: Store) -> None:
    seen: list[Any] = []
    calls: Counter[str] = Counter()
    graph = fan({name: asks(calls, name) for name in "abc"}, keeps(seen, calls))
    await start(graph, store)
    await resume(graph, store, {"b": 1})
    result = await resume(graph, store, {"c": 2}, {"a": "no"})
    assert result.status == GraphRunStatus.COMPLETED
    assert calls["join"] == 1
    assert list(seen[0].items()) == [("a", {"a": "no"}), ("b", {"b": 1}), ("c", {"c": 2})]


@pytest.mark.parametrize("retried", [(Exception,), (BaseException,)])
async def test_g15_a_retry_policy_never_sees_a_pause(store: Store, retried: Any) -> None:
    calls: Counter[str] = Counter()
    graph = one(asks(calls, "ask"), retry=NodeRetryPolicy(max_attempts=5, retry_on=retried))
    result = await start(graph, store)
    assert result.status == GraphRunStatus.INTERRUPTED
    assert calls == {"ask": 1}


async def test_g16_every_attempt_sees_the_same_reply(store: Store) -> None:
    replies = []

    def node(inp: ExecutableInput, ctx: Context) -> Any:
        replies.append(request_human_input(inp, "?"))
        if len(replies) < 3:
            raise ValueError("not yet")
        return replies[-1]

    graph = one(node, retry=NodeRetryPolicy(max_attempts=3))
    await start(graph, store)
    result = await resume(graph, store, {"ask": "yes"})
    assert result.status == GraphRunStatus.COMPLETED
    assert replies == ["yes", "yes", "yes"]


async def test_g17_neither_the_error_handler_nor_the_timeout_fires_on_a_pause(store: Store) -> None:
    handled: list[Any] = []
    graph = one(asks(Counter(), "ask"), on_error=handled.append, timeout=60)
    result = await start(graph, store)
    assert result.status == GraphRunStatus.INTERRUPTED and handled == []
    result = await resume(graph, store, {"ask": 1})
    assert result.status == GraphRunStatus.COMPLETED and handled == []


async def test_g33_reply_and_rejection_for_one_node_are_refused(store: Store) -> None:
    graph = one(asks(Counter(), "ask"))
    await start(graph, store)
    with pytest.raises(AnswerMismatch, match="twice"):
        await resume(graph, store, {"ask": 1}, {"ask": "no"})
    assert (await resume(graph, store, {"ask": 1})).output == {"ask": 1}


async def test_g34_an_unknown_thread_or_another_graph_is_refused(store: Store) -> None:
    graph, other = one(asks(Counter(), "ask")), chain([("ask", asks(Counter(), "ask"))])
    await start(graph, store)
    with pytest.raises(UnknownThread):
        await resume(other, store, {"ask": 1})
    with pytest.raises(UnknownThread):
        await Runner.arun_graph_from_checkpoint(graph, checkpointer=store, thread_id="none", resume=GraphResume())
    assert await store.load(ThreadRef("chain", "run-1")) is None


async def test_g35_a_completed_thread_runs_nothing_and_returns_what_it_has(store: Store) -> None:
    calls: Counter[str] = Counter()
    graph = one(asks(calls, "ask"))
    await start(graph, store)
    done = await resume(graph, store, {"ask": 1})
    again = await resume(graph, store)
    assert (again.status, again.output) == (done.status, done.output)
    with pytest.raises(AnswerMismatch):
        await resume(graph, store, {"ask": 2})
    assert calls == {"ask": 2}


async def test_g36_budgets_carry_on_over_a_resume_and_a_decision_starts_them_anew(store: Store) -> None:
    bodies = [("one", works(Counter(), "one")), ("ask", asks(Counter(), "ask"))]
    bodies += [(name, works(Counter(), name)) for name in ("two", "three", "four")]
    graph = chain(bodies, budgets=Budgets(supersteps=3, lifetime_supersteps=5))
    paused = await start(graph, store)
    assert paused.status == GraphRunStatus.INTERRUPTED
    result = await resume(graph, store, {"ask": 1})
    assert result.status is ThreadStatus.FAILED
    assert result.error["type"] == "budget_exceeded" and "3 supersteps" in result.error["message"]
    result = await retry(graph, store)
    assert result.status is ThreadStatus.FAILED and "5 lifetime" in result.error["message"]


async def test_g36_a_token_budget_counts_what_nodes_spend(store: Store) -> None:
    def spends(ctx: Context) -> str:
        ctx.spend(tokens=60)
        return "spent"

    graph = chain([("a", spends), ("b", spends), ("c", spends)], budgets=Budgets(tokens=100))
    result = await start(graph, store)
    assert result.status is ThreadStatus.FAILED
    assert "100 tokens" in result.error["message"]
    assert list(result.state.node_results) == ["a", "b"]


class AskFirst:
    """A hook that asks before one node."""

    def __init__(self, node_id: str = "work") -> None:
        self.node_id = node_id

    def register_hooks(self, registry: HookRegistry, **kwargs: Any) -> None:
        registry.add_callback(BeforeNodeCallEvent, self.before)

    def before(self, event: BeforeNodeCallEvent) -> None:
        if event.node_id == self.node_id and event.interrupt("go", reason={"why": "risky"}) != "y":
            event.cancel_node = "not allowed"


@pytest.mark.parametrize(("reply", "status"), [("y", ThreadStatus.COMPLETED), ("n", ThreadStatus.CANCELLED)])
async def test_g37_a_hook_that_asks_pauses_the_node(store: Store, reply: str, status: ThreadStatus) -> None:
    calls: Counter[str] = Counter()
    graph = chain([("first", works(calls, "first")), ("work", works(calls, "work"))])
    result = await start(graph, store, hooks=[AskFirst()])
    assert result.status == GraphRunStatus.INTERRUPTED
    assert pending(result) == ["work"]
    assert (result.interrupts[0].name, result.interrupts[0].reason) == ("go", {"why": "risky"})
    assert calls == {"first": 1}
    result = await resume(graph, store, {"work": reply}, hooks=[AskFirst()])
    assert result.status is status
    assert calls["work"] == (reply == "y")
    if reply == "n":
        assert result.output == "not allowed"


async def test_g38_a_node_may_raise_the_pause_itself(store: Store) -> None:
    caught: list[Interrupt] = []

    def node(inp: ExecutableInput, ctx: Any) -> Any:
        if "__resume_reply__" in inp.metadata:
            return inp.metadata["__resume_reply__"]
        try:
            raise InterruptException(Interrupt(node_id="ask", question="Sure?", metadata={"a": 1}))
        except InterruptException as pause:
            caught.append(pause.interrupt)
            raise

    graph = one(node)
    result = await start(graph, store)
    assert caught[0].question == "Sure?"
    (asked,) = result.interrupts
    assert (asked.node_id, asked.question, asked.kind, asked.metadata) == ("ask", "Sure?", "generic", {"a": 1})
    assert (await resume(graph, store, {"ask": "yes"})).output == "yes"


async def test_slices_and_crashes_keep_the_counters(store: Store, clock: Any) -> None:
    """G36: only a person's decision, a start and a retry begin the activation's budgets anew."""
    from graphs.engine import superstep
    from graphs.engine.loop import advance

    graph = chain([(name, works(Counter(), name)) for name in "abcde"], budgets=Budgets(supersteps=3))
    ref = ThreadRef(graph.id, "sliced")
    await store.create(ref, superstep.begin(graph, 1))
    ids = iter(range(100))
    statuses = []
    for _ in range(4):
        done = await advance(graph, store, ref, clock=clock, new_id=lambda: str(next(ids)), slice_steps=1)
        statuses.append((done.status, done.more))
    assert statuses == [(ThreadStatus.RUNNING, True)] * 3 + [(ThreadStatus.FAILED, False)]


def test_sync_twins_work_without_and_within_a_loop(store: Store) -> None:
    graph = one(asks(Counter(), "ask"))
    assert Runner.run_graph(graph, "go", hooks=[store], thread_id="run-1").paused
    done = Runner.run_graph_from_checkpoint(
        graph, checkpointer=store, thread_id="run-1", resume=GraphResume({"ask": 1})
    )
    assert done.output == {"ask": 1}
    streamed = Runner.run_graph_streamed(graph, "go", hooks=[store], thread_id="run-2")
    assert [event["type"] for event in streamed.events()][-1] == "graph.end"
    assert streamed.status == GraphRunStatus.INTERRUPTED

    async def inside() -> Any:
        return Runner.run_graph(graph, "go", hooks=[store], thread_id="run-3")

    assert asyncio.run(inside()).paused
