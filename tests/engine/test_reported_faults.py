"""Faults that users of other products reported (family E), each on every store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from graphs.engine.asking import ask, request_human_input
from graphs.engine.context import Context, ExecutableInput
from graphs.engine.effects import once
from graphs.engine.errors import AnswerInvalid
from graphs.engine.graph import CompiledGraph, Graph
from graphs.engine.interrupts import GraphResume
from graphs.engine.outputs import Event
from graphs.engine.ports import ThreadRef
from graphs.engine.runner import Runner
from graphs.engine.statuses import Outcome, ThreadStatus
from tests.engine.runs import asks, chain, fan, keeps, one, pending, resume, start, works

Store = Any
Reopen = Callable[[Store], Store]
REF = ThreadRef("fan", "run-1")


def open_ids(store: Store, ref: ThreadRef = REF) -> list[str]:
    return [question.id for question in store.questions(ref) if question.decision is None]


def three(calls: Counter[str]) -> CompiledGraph:
    return fan({name: asks(calls, name) for name in "abc"}, keeps([], calls))


async def test_e01_three_parallel_questions_keep_their_ids(store: Store, restarted: Reopen) -> None:
    """Also E02: all three are listed, not only the first to finish."""
    graph = three(Counter())
    paused = await start(graph, store)
    ids = [question.id for question in paused.interrupts]
    assert len(set(ids)) == 3 and sorted(open_ids(store)) == sorted(ids)
    again = await resume(graph, restarted(store))
    assert [question.id for question in again.interrupts] == ids
    assert sorted(open_ids(store)) == sorted(ids)


async def test_e02_every_open_question_is_listed(store: Store) -> None:
    paused = await start(three(Counter()), store)
    assert [question.node_id for question in paused.interrupts] == ["a", "b", "c"]
    assert len(open_ids(store)) == 3


async def test_e03_both_answers_in_one_request_resume_each_step_once(store: Store) -> None:
    calls: Counter[str] = Counter()
    seen: list[Any] = []
    graph = fan({"a": asks(calls, "a"), "b": asks(calls, "b")}, keeps(seen, calls))
    await start(graph, store)
    done = await resume(graph, store, {"a": 1, "b": 2})
    assert (done.status, done.interrupts) == (ThreadStatus.COMPLETED, ())
    assert calls == {"a": 2, "b": 2, "join": 1}
    assert seen == [{"a": {"a": 1}, "b": {"b": 2}}]


async def test_e05_a_loop_of_five_rounds_needs_five_answers_and_repeats_no_effect(store: Store) -> None:
    effects: Counter[int] = Counter()

    def round_(ctx: Context) -> Any:
        once("prepare", lambda: effects.update([ctx.visit]))
        decision = ask(f"Round {ctx.visit}?")
        return Event(output=decision.value, route="again" if ctx.visit < 5 else "done")

    graph = (
        Graph.new("rounds")
        .node("round", round_)
        .node("end", lambda node_input: node_input)
        .edge("round", "round", when="again")
        .edge("round", "end", when="done")
        .entry("round")
        .terminal("end")
        .compile()
    )
    result = await start(graph, store)
    answers = 0
    while result.status is ThreadStatus.INTERRUPTED:
        assert len(result.interrupts) == 1
        answers += 1
        result = await resume(graph, store, {"round": answers})
    assert (answers, result.status, result.output) == (5, ThreadStatus.COMPLETED, 5)
    assert effects == dict.fromkeys(range(1, 6), 1)


async def test_e06_what_a_nested_graph_did_before_its_pause_happens_once(store: Store, restarted: Reopen) -> None:
    charges: list[int] = []

    def pay(inp: ExecutableInput) -> Any:
        once("charge", lambda: charges.append(1))
        return request_human_input(inp, "Ship?")

    inner = Graph.new("inner").node("pay", pay).entry("pay").terminal("pay").compile()
    graph = chain([("before", works(Counter(), "before")), ("sub", inner)])
    await start(graph, store)
    done = await resume(graph, restarted(store), {"sub": "yes"})
    assert (done.output, charges) == ("yes", [1])


async def test_e07_the_second_pause_shows_its_own_text(store: Store, restarted: Reopen) -> None:
    def twice(inp: ExecutableInput) -> Any:
        return [request_human_input(inp, "The first?"), request_human_input(inp, "The second?")]

    graph = one(twice)
    first = await start(graph, store)
    second = await resume(graph, store, {first.interrupts[0].id: 1})
    reopened = await resume(graph, restarted(store))
    for result in (second, reopened):
        assert [question.question for question in result.interrupts] == ["The second?"]
    assert first.interrupts[0].id != second.interrupts[0].id


@pytest.mark.parametrize("way", ["on", "aside"])
async def test_e08_a_rejected_action_never_takes_place(store: Store, way: str) -> None:
    """Whichever edge the graph follows next."""
    done: list[str] = []

    def propose() -> Any:
        decision = ask("Delete it?", payload={"file": "a.txt"})
        if decision.approved:
            once("delete", lambda: done.append("a.txt"))
        return Event(output=decision.outcome, route=way)

    graph = (
        Graph.new("deleting")
        .node("propose", propose)
        .node("on", works(Counter(), "on"))
        .node("aside", works(Counter(), "aside"))
        .edge("propose", "on", when="on")
        .edge("propose", "aside", when="aside")
        .entry("propose")
        .compile()
    )
    await start(graph, store)
    result = await resume(graph, store, rejected={"propose": "not this one"})
    assert (result.status, result.output, done) == (ThreadStatus.COMPLETED, f"{way} done", [])


async def test_e09_a_reject_is_honoured_although_its_condition_no_longer_holds(store: Store) -> None:
    """The condition made the node ask; by the time of the answer it would not ask any more."""
    dear = [True]
    paid: list[int] = []

    def pay() -> Any:
        needed = once("needed", lambda: dear[0])
        if needed and not ask("It is dear. Pay?").approved:
            return "refused"
        once("pay", lambda: paid.append(1))
        return "paid"

    graph = one(pay)
    await start(graph, store)
    dear[0] = False
    result = await resume(graph, store, rejected={"ask": "no"})
    assert (result.output, paid) == ("refused", [])


async def test_e15_one_approval_of_two_does_not_finish_the_run(store: Store) -> None:
    calls: Counter[str] = Counter()
    graph = fan({"a": asks(calls, "a"), "b": asks(calls, "b")}, keeps([], calls))
    await start(graph, store)
    halfway = await resume(graph, store, {"a": True})
    assert (halfway.status, pending(halfway), calls["join"]) == (ThreadStatus.INTERRUPTED, ["b"], 0)
    assert halfway.output is None


async def test_e16_a_resumed_run_goes_past_its_pause(store: Store, restarted: Reopen) -> None:
    calls: Counter[str] = Counter()
    bodies = [("first", works(calls, "first")), ("ask", asks(calls, "ask")), ("last", works(calls, "last"))]
    graph = chain(bodies)
    await start(graph, store)
    done = await resume(graph, restarted(store), {"ask": 1})
    assert (done.status, done.interrupts) == (ThreadStatus.COMPLETED, ())
    assert calls == {"first": 1, "ask": 2, "last": 1}
    assert len(store.questions(ThreadRef("chain", "run-1"))) == 1


async def test_e18_an_invalid_answer_leaves_the_request_open(store: Store) -> None:
    schema = {"type": "object", "properties": {"days": {"type": "integer", "minimum": 1}}, "required": ["days"]}
    graph = one(lambda: ask("How long?", schema=schema).value)
    await start(graph, store)
    for wrong, where in (({"days": 0}, "/days"), ({"days": "two"}, "/days"), ({}, "")):
        with pytest.raises(AnswerInvalid) as refusal:
            await resume(graph, store, {"ask": wrong})
        assert [at for at, _ in refusal.value.problems] == [where]
    still = await resume(graph, store)
    assert (still.status, pending(still)) == (ThreadStatus.INTERRUPTED, ["ask"])
    assert (await resume(graph, store, {"ask": {"days": 2}})).output == {"days": 2}


async def test_e24_the_reason_of_a_reject_arrives_word_for_word(store: Store, restarted: Reopen) -> None:
    reason = "Nein – “zu teuer”; <b>really</b>\n\tsee §4 🙈"
    graph = one(lambda: [(answer := ask("Buy?")).outcome, answer.comment])
    await start(graph, store)
    done = await resume(graph, restarted(store), rejected={"ask": reason})
    assert done.output == [Outcome.REJECTED, reason]


async def test_e27_a_required_field_without_default_is_checked_on_the_answer(store: Store) -> None:
    schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    graph = chain([("form", lambda: ask("Who?", schema=schema).value)], input_schema=schema)
    run = Runner.configure().graph(graph).hook(store).thread("run-1")
    assert (await run.arun({"name": "Ana"})).paused
    with pytest.raises(AnswerInvalid):
        await run.resume_from(store, "run-1").arun(resume=GraphResume({"form": {}}))


async def test_z31_a_refused_answer_stores_nothing_and_a_corrected_one_completes(store: Store) -> None:
    schema = {"type": "object", "properties": {"rate": {"type": "number", "maximum": 5}}, "required": ["rate"]}
    graph = one(lambda: ask("Rate?", schema=schema).value)
    paused = await start(graph, store)
    with pytest.raises(AnswerInvalid, match="5"):
        await resume(graph, store, {"ask": {"rate": 6}})
    (question,) = store.questions(ThreadRef("one", "run-1"))
    assert (question.decision, question.version) == (None, paused.interrupts[0].version)
    assert (await resume(graph, store, {"ask": {"rate": 5}})).output == {"rate": 5}


async def test_z41_a_sibling_that_fails_leaves_the_waiting_question_answerable(store: Store) -> None:
    calls: Counter[str] = Counter()
    broken = [True]

    def breaks() -> str:
        calls["breaks"] += 1
        if broken[0]:
            raise ValueError("no network")
        return "mended"

    graph = fan({"a": asks(calls, "a"), "breaks": breaks}, keeps([], calls))
    failed = await start(graph, store)
    assert failed.status is ThreadStatus.FAILED and pending(failed) == ["a"]
    assert (failed.error["path"], failed.error["message"]) == ("breaks", "no network")
    answered = await resume(graph, store, {"a": "yes"})
    assert answered.status is ThreadStatus.FAILED and answered.error["path"] == "breaks"
    broken[0] = False
    done = await Runner.aretry_graph(graph, checkpointer=store, thread_id="run-1")
    assert (done.status, done.output) == (ThreadStatus.COMPLETED, {"a": {"a": "yes"}, "breaks": "mended"})
    assert calls["join"] == 1
