"""RequestInput and Event in nodes (seed 002): what family W needs of nodes; workflows come on top of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from pydantic import BaseModel

from graphs.engine.context import Context
from graphs.engine.errors import AnswerInvalid
from graphs.engine.graph import Graph
from graphs.engine.outputs import Event, RequestInput
from graphs.engine.ports import Answer, ThreadRef
from graphs.engine.runner import Runner
from graphs.engine.statuses import Outcome, ThreadStatus
from tests.engine.runs import asks, chain, fan, keeps, one, resume, start, works

Store = Any
ASKED = RequestInput(interrupt_id="manager", message="Please review.", payload={"days": 3}, response_schema=bool)


def returns() -> Any:
    return ASKED


async def areturns() -> Any:
    return ASKED


def yields() -> Iterator[Any]:
    yield ASKED


async def ayields() -> AsyncIterator[Any]:
    yield ASKED


@pytest.mark.parametrize("node", [returns, areturns, yields, ayields])
async def test_w01_w02_returning_and_yielding_a_question_are_the_same(store: Store, node: Any) -> None:
    result = await start(one(node), store)
    (asked,) = result.interrupts
    assert (asked.interrupt_id, asked.message, asked.payload) == ("manager", "Please review.", {"days": 3})
    assert asked.response_schema == {"type": "boolean"}
    assert (await resume(one(node), store, {"manager": True})).output is True


async def test_w03_a_missing_id_is_made_up(store: Store) -> None:
    asked = (await start(one(lambda: RequestInput(message="?")), store)).interrupts[0]
    assert len(asked.interrupt_id) == 36


async def test_w04_w05_no_question_no_pause_and_an_answer_is_the_output_without_a_rerun(store: Store) -> None:
    calls: Counter[str] = Counter()
    seen: list[Any] = []

    def gate(node_input: int) -> Any:
        calls["gate"] += 1
        return "small" if node_input < 10 else RequestInput(message="Large, really?")

    graph = chain([("gate", gate), ("next", keeps(seen))])
    assert (await start(graph, store, 1)).output == "small"
    assert (await start(graph, store, 100)).paused
    assert (await resume(graph, store, {"gate": {"ok": 0}})).output == {"ok": 0}
    assert calls == {"gate": 2} and seen == ["small", {"ok": 0}]


async def test_w06_w08_a_form_walks_its_questions_and_sees_every_answer_so_far(store: Store) -> None:
    passes: list[dict[str, Any]] = []

    async def form(ctx: Context, node_input: str) -> AsyncIterator[Any]:
        passes.append(dict(ctx.resume_inputs))
        if not ctx.resume_inputs:
            yield RequestInput(interrupt_id="ask_name", message="What is your name?")
            return
        if "ask_email" not in ctx.resume_inputs:
            yield RequestInput(interrupt_id="ask_email", message="What is your email?")
            return
        yield Event(output=[node_input, ctx.resume_inputs["ask_name"], ctx.resume_inputs["ask_email"]])

    graph = one(form, rerun_on_resume=True)
    await start(graph, store, "hi")
    await resume(graph, store, {"ask_name": "Ana"})
    result = await resume(graph, store, {"ask_email": "a@x"})
    assert result.output == ["hi", "Ana", "a@x"]
    assert passes == [{}, {"ask_name": "Ana"}, {"ask_name": "Ana", "ask_email": "a@x"}]


def two() -> Iterator[Any]:
    yield RequestInput(interrupt_id="a", message="a?")
    yield RequestInput(interrupt_id="b", message="b?")


async def test_w10_two_questions_of_one_pass_wait_for_both_answers(store: Store) -> None:
    calls: Counter[str] = Counter()

    def node() -> Iterator[Any]:
        calls["node"] += 1
        yield from two()

    graph = one(node)
    assert len((await start(graph, store)).interrupts) == 2
    partly = await resume(graph, store, {"b": 2})
    assert [one.interrupt_id for one in partly.interrupts] == ["a"]
    result = await resume(graph, store, {"a": 1})
    assert result.output == {"a": 1, "b": 2} and list(result.output) == ["a", "b"]
    assert calls == {"node": 1}


async def test_w11_w12_a_rerun_may_keep_a_question_open_and_runs_once_for_both_answers(store: Store) -> None:
    calls: Counter[str] = Counter()

    def node(ctx: Context) -> Iterator[Any]:
        calls["node"] += 1
        for id in "ab":
            if id not in ctx.resume_inputs:
                yield RequestInput(interrupt_id=id, message=f"{id}?")
        if len(ctx.resume_inputs) == 2:
            yield Event(output=dict(ctx.resume_inputs))

    graph = one(node, rerun_on_resume=True)
    first = await start(graph, store)
    partly = await resume(graph, store, {"a": 1})
    assert [one.id for one in partly.interrupts] == [first.interrupts[1].id]
    assert (await resume(graph, store, {"b": 2})).output == {"a": 1, "b": 2}
    assert calls == {"node": 3}


class Approval(BaseModel):
    approved: bool
    feedback: str = ""


async def test_w13_w14_w15_a_review_loop_revises_until_approved(store: Store) -> None:
    counters: list[int] = []
    calls: Counter[str] = Counter()
    answered: list[list[str]] = []

    async def review(ctx: Context, node_input: Any) -> AsyncIterator[Any]:
        count = ctx.state.get("review_count", 0)
        answered.append(list(ctx.resume_inputs))
        response = ctx.resume_inputs.get("review")
        if response:
            counters.append(count)
            route = "approved" if response.get("approved") else "rejected"
            yield Event(output=response, route=route, state={"review_count": count + 1})
            return
        yield RequestInput(interrupt_id="review", message="Approve this plan?", response_schema=Approval)

    graph = (
        Graph.new("w")
        .node("review", review, rerun_on_resume=True)
        .node("revise", works(calls, "revise"))
        .node("publish", works(calls, "publish"))
        .edge("review", "revise", when="rejected")
        .edge("review", "publish", when="approved")
        .edge("revise", "review")
        .entry("review")
        .terminal("publish")
        .compile()
    )
    await start(graph, store)
    with pytest.raises(AnswerInvalid):
        await resume(graph, store, {"review": {}})  # W23
    for approved in (False, False, True):
        result = await resume(graph, store, {"review": {"approved": approved}})
    assert result.status is ThreadStatus.COMPLETED
    assert calls == {"revise": 2, "publish": 1} and counters == [0, 1, 2]
    assert answered == [[], ["review"]] * 3


@pytest.mark.parametrize(
    ("route", "taken"),
    [
        ("a", ["s"]),
        (1, ["one"]),
        (True, ["yes"]),
        (["a", 1], ["s", "one"]),
        ("other", ["rest"]),
        ("1", ["rest"]),
        ([], ["rest"]),
    ],
)
async def test_w16_w17_w18_routes_match_exactly(store: Store, route: Any, taken: list[str]) -> None:
    calls: Counter[str] = Counter()
    graph = Graph.new("routes").node("pick", lambda: Event(output=1, route=route, state={"x": 5})).entry("pick")
    for name, when in (("s", "a"), ("one", 1), ("yes", True), ("rest", None)):
        graph.node(name, works(calls, name)).edge("pick", name, when=when, default=when is None).terminal(name)
    result = await start(graph.compile(), store)
    assert list(calls) == taken
    assert result.state.values == {"x": 5}


async def test_w19_state_of_an_event_yielded_before_asking_is_seen_by_the_rerun(store: Store) -> None:
    def node(ctx: Context) -> Iterator[Any]:
        if not ctx.resume_inputs:
            yield Event(state={"draft": "v1", "log": "asked"})
            yield RequestInput(interrupt_id="q", message="?")
            return
        yield Event(output=ctx.state["draft"], state={"log": "answered"})

    graph = one(node, rerun_on_resume=True, state={"log": "append"})
    paused = await start(graph, store)
    assert paused.state.values == {}
    result = await resume(graph, store, {"q": 1})
    assert result.output == "v1"
    assert result.state.values == {"draft": "v1", "log": ["asked", "answered"]}


async def test_w19_state_given_again_by_the_rerun_is_written_once(store: Store) -> None:
    def node(ctx: Context) -> Iterator[Any]:
        yield Event(state={"log": "began"})
        if "q" not in ctx.resume_inputs:
            yield RequestInput(interrupt_id="q", message="?")

    graph = one(node, rerun_on_resume=True, state={"log": "append"})
    await start(graph, store)
    assert (await resume(graph, store, {"q": 1})).state.values == {"log": ["began"]}


async def test_what_a_node_wrote_directly_before_it_asked_is_not_applied(store: Store) -> None:
    from graphs.engine.asking import interrupt

    def node(ctx: Context) -> Any:
        ctx.state["tries"] = 1
        return interrupt("?")

    graph = one(node, state={"tries": "add"})
    assert (await start(graph, store)).state.values == {}
    assert (await resume(graph, store, {"ask": 1})).state.values == {"tries": 1}


@pytest.mark.parametrize("order", ["ab", "ba", "both"])
async def test_w26_w27_w28_quiescent_branches_run_on_and_the_join_fires_once(store: Store, order: str) -> None:
    calls: Counter[str] = Counter()
    seen: list[Any] = []
    graph = (
        Graph.new("q", pause="quiescent")
        .node("root", lambda: 0)
        .node("a", asks(calls, "a"))
        .node("b", asks(calls, "b"))
        .node("c", works(calls, "c"))
        .node("c2", works(calls, "c2"))
        .node("c3", works(calls, "c3"))
        .node("join", keeps(seen))
    )
    for pair in ("root a", "root b", "root c", "c c2", "c2 c3", "a join", "b join", "c3 join"):
        graph.edge(*pair.split())
    compiled = graph.entry("root").terminal("join").compile()
    paused = await start(compiled, store)
    assert paused.status is ThreadStatus.INTERRUPTED
    assert paused.state.node_results["c3"] == "c3 done"
    for names in ["ab"] if order == "both" else order:
        result = await resume(compiled, store, {name: name for name in names})
    assert result.status is ThreadStatus.COMPLETED
    assert seen == [{"a": {"a": "a"}, "b": {"b": "b"}, "c3": "c3 done"}]


async def test_g12_superstep_policy_stops_after_the_step_that_asked(store: Store) -> None:
    calls: Counter[str] = Counter()
    graph = fan({"a": asks(calls, "a"), "c": works(calls, "c")}, keeps([]))
    await start(graph, store)
    snapshot = await store.load(ThreadRef("fan", "run-1"))
    assert snapshot.step == 2


async def test_w02_what_a_generator_returns_is_given_like_what_it_yields(store: Store) -> None:
    def asks_at_its_end() -> Any:
        yield Event(state={"mood": "calm"})
        return RequestInput("late", "And now?")

    def says_at_its_end(node_input: Any, ctx: Context) -> Any:
        yield Event(state={"mood": "gay"})
        return [node_input, ctx.state["mood"]]

    graph = chain([("asks", asks_at_its_end), ("says", says_at_its_end)])
    paused = await start(graph, store)
    assert [one.interrupt_id for one in paused.interrupts] == ["late"]
    assert (await resume(graph, store, {"late": "yes"})).output == ["yes", "gay"]


WORDS = {"type": "object", "properties": {"approved": {"type": "boolean"}, "note": {"type": "string"}}}


def _with(name: str, rule: Any, **more: Any) -> Any:
    return {**WORDS, "properties": {**WORDS["properties"], name: rule}, **more}


@pytest.mark.parametrize("name", ["comment", "reason"])
@pytest.mark.parametrize("outcome", [Outcome.APPROVED, Outcome.REJECTED, Outcome.ANSWERED])
async def test_w07_the_reviewers_words_fill_the_property_that_asks_for_them(
    store: Store, name: str, outcome: Outcome
) -> None:
    graph = one(lambda: RequestInput("boss", "Send it?", None, _with(name, {"type": "string"}, required=[name])))
    (asked,) = (await start(graph, store)).interrupts
    done = await _decided(graph, store, Answer(asked.id, outcome, {"note": "n"}, "too dear"))
    assert done.output[name] == "too dear" and done.output["note"] == "n"


@pytest.mark.parametrize(
    ("rule", "given", "found"),
    [
        ({"type": "string"}, {"comment": ""}, "too dear"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, {"comment": None}, "too dear"),
        ({"type": "string"}, {"comment": "mine"}, "mine"),
        ({"enum": ["a", "b"]}, {}, None),
        ({"type": "string", "maxLength": 3}, {}, None),
    ],
)
async def test_w07_an_answer_keeps_words_of_its_own(store: Store, rule: Any, given: Any, found: Any) -> None:
    graph = one(lambda: RequestInput("boss", "Send it?", None, _with("comment", rule)))
    (asked,) = (await start(graph, store)).interrupts
    done = await _decided(graph, store, Answer(asked.id, Outcome.REJECTED, given, "too dear"))
    assert done.output.get("comment") == found and done.output["approved"] is False


async def test_w07_a_node_reads_the_decisions_on_its_requests(store: Store) -> None:
    def node(ctx: Context) -> Any:
        if "boss" not in ctx.decisions:
            return RequestInput("boss", "Send it?", None, WORDS)
        verdict = ctx.decisions["boss"]
        return [verdict.outcome, verdict.comment, verdict.value]

    graph = one(node, rerun_on_resume=True)
    await start(graph, store)
    done = await resume(graph, store, rejected={"boss": "too dear"})
    assert done.output == ["rejected", "too dear", {"approved": False}]


async def _decided(graph: Any, store: Store, answer: Answer) -> Any:
    return await Runner.arun_graph_from_checkpoint(graph, checkpointer=store, thread_id="run-1", resume=[answer])
