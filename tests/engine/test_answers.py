"""Matching, checking and delivering answers (families G and Z)."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest

from graphs.engine import answers, schemas
from graphs.engine.asking import ask, interrupt, request_human_input
from graphs.engine.context import ExecutableInput
from graphs.engine.errors import AlreadyAnswered, AnswerInvalid, AnswerMismatch, PayloadError, SchemaError
from graphs.engine.interrupts import Decision, GraphResume, Interrupt
from graphs.engine.ports import Answer, ThreadRef
from graphs.engine.runner import Runner
from graphs.engine.statuses import Outcome, TaskStatus, ThreadStatus
from tests.engine.runs import asks, chain, fan, keeps, one, resume, start, works

Store = Any
APPROVAL = {"type": "object", "properties": {"approved": {"type": "boolean"}, "note": {"type": "string"}}}


async def test_z01_of_two_answers_at_once_one_wins(store: Store) -> None:
    """Also Z35: the loser is told, and the action runs once."""
    calls: Counter[str] = Counter()
    graph = chain([("ask", asks(calls, "ask")), ("act", works(calls, "act"))])
    asked = (await start(graph, store)).interrupts[0]
    ref = ThreadRef("chain", "run-1")

    async def decide(value: str) -> Any:
        return await store.answer(ref, [Answer(asked.id, Outcome.ANSWERED, value)], actor=value)

    outcomes = await asyncio.gather(decide("ana"), decide("bo"), return_exceptions=True)
    lost = [one for one in outcomes if isinstance(one, AlreadyAnswered)]
    assert len(lost) == 1 and "already answered by ana" in str(lost[0]).lower()
    done = await resume(graph, store)
    assert done.status is ThreadStatus.COMPLETED
    assert done.state.node_results["ask"] == {"ask": "ana"}
    assert calls["act"] == 1


async def test_z35_the_later_reviewer_sees_who_answered(store: Store) -> None:
    graph = one(asks(Counter(), "ask"))
    asked = (await start(graph, store)).interrupts[0]
    await resume(graph, store, {asked.id: 1}, actor="Ana")
    with pytest.raises(AlreadyAnswered, match="by Ana"):
        await resume(graph, store, {asked.id: 2}, actor="Bo")


async def test_z02_a_second_delivery_never_answers_the_next_question(store: Store) -> None:
    """Also Z34: it returns the first outcome and runs nothing."""
    calls: Counter[str] = Counter()

    def twice(inp: ExecutableInput) -> Any:
        calls["twice"] += 1
        return [request_human_input(inp, "first?"), request_human_input(inp, "second?")]

    graph = one(twice)
    first = (await start(graph, store)).interrupts[0]
    paused = await resume(graph, store, {first.id: "a"})
    again = await resume(graph, store, {first.id: "a"})
    assert again.interrupts == paused.interrupts
    assert again.interrupts[0].question == "second?"
    assert calls == {"twice": 2}


@pytest.mark.parametrize("name", ["nobody", "8e0b1a8c-3f1e-4a6e-9e0e-111111111111", "root", "join"])
async def test_z03_an_unknown_question_is_refused_with_what_is_open(store: Store, name: str) -> None:
    """Also Z38: a payload with one valid and one unknown id changes nothing."""
    calls: Counter[str] = Counter()
    graph = fan({"a": asks(calls, "a"), "b": asks(calls, "b")}, keeps([]))
    paused = await start(graph, store)
    for replies in ({name: 1}, {"a": 1, name: 1}):
        with pytest.raises(AnswerMismatch) as caught:
            await resume(graph, store, replies)
        assert caught.value.open_ids == [one.id for one in paused.interrupts]
    assert all(one.decision is None for one in store.questions(ThreadRef("fan", "run-1")))
    assert calls == {"a": 1, "b": 1}


async def test_z38_valid_and_unknown_together_apply_neither(store: Store) -> None:
    graph = one(asks(Counter(), "ask"))
    asked = (await start(graph, store)).interrupts[0]
    with pytest.raises(AnswerMismatch):
        await resume(graph, store, {asked.id: 1, "8e0b1a8c-3f1e-4a6e-9e0e-111111111111": 1})
    assert (await resume(graph, store)).interrupts == (asked,)


async def test_z49_after_a_partial_answer_the_rest_is_listed(store: Store) -> None:
    graph = fan({name: asks(Counter(), name) for name in "abc"}, keeps([]))
    await start(graph, store)
    result = await resume(graph, store, {"b": 1})
    assert [one.node_id for one in result.interrupts] == ["a", "c"]


async def test_z06_z31_a_schema_is_checked_when_asked_and_enforced_when_answered(store: Store) -> None:
    """Also Z31: nothing is stored of a wrong answer, and a corrected one completes the run."""
    schema = {"type": "object", "properties": {"amount": {"type": "integer"}}, "required": ["amount"]}
    graph = one(lambda: ask("How much?", schema=schema).value)
    await start(graph, store)
    with pytest.raises(AnswerInvalid) as caught:
        await resume(graph, store, {"ask": {"amount": "many"}})
    assert caught.value.problems == [("/amount", "'many' is not of type 'integer'")]
    with pytest.raises(AnswerInvalid, match="required"):
        await resume(graph, store, {"ask": {}})
    assert (await resume(graph, store)).paused
    assert (await resume(graph, store, {"ask": {"amount": 3}})).output == {"amount": 3}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "nonsense"},
        {"$ref": "https://example.org/schema"},
        {"$ref": "#/$defs/missing"},
        {"$dynamicRef": "#x"},
        {"pattern": "("},
        {"pattern": "(?=x)"},
        {"properties": {"a": {"minimum": "low"}}},
    ],
)
async def test_z06_an_invalid_schema_is_refused_when_asking(store: Store, schema: Any) -> None:
    result = await start(one(lambda: ask("?", schema=schema)), store)
    assert result.status is ThreadStatus.FAILED
    assert result.error["type"] == SchemaError.code()
    assert store.questions(ThreadRef("one", "run-1")) == []


@pytest.mark.parametrize("text", ["12345", "true", "null", ""])
async def test_z32_text_stays_text(store: Store, text: str) -> None:
    graph = one(lambda: ask("Say", schema={"type": "string"}).value)
    await start(graph, store)
    assert (await resume(graph, store, {"ask": text})).output == text


RULES = {
    "type": "object",
    "properties": {
        "level": {"enum": ["low", "high"]},
        "count": {"type": "integer", "minimum": 1, "maximum": 9},
        "code": {"type": "string", "pattern": "^[A-Z]{2}$"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "who": {"type": "object", "properties": {"name": {"type": "string", "default": "nobody"}}, "default": {}},
        "limit": {"anyOf": [{"type": "number"}, {"type": "null"}], "default": None},
        "more": {"$ref": "#/$defs/more"},
    },
    "$defs": {"more": {"type": "object", "properties": {"deep": {"type": "boolean", "default": False}}}},
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("value", "where"),
    [
        ({"level": "middle"}, "/level"),
        ({"count": 0}, "/count"),
        ({"count": 10}, "/count"),
        ({"count": 1.5}, "/count"),
        ({"code": "abc"}, "/code"),
        ({"tags": [1]}, "/tags/0"),
        ({"who": {"name": 1}}, "/who/name"),
        ({"limit": "x"}, "/limit"),
        ({"more": {"deep": "no"}}, "/more/deep"),
        ({"other": 1}, "/other"),
        ([], ""),
    ],
)
def test_z33_every_rule_is_enforced(value: Any, where: str) -> None:
    question = Interrupt(style="ask", response_schema=RULES)
    with pytest.raises(AnswerInvalid) as caught:
        answers.validate(question, Outcome.ANSWERED, value)
    assert [path for path, _ in caught.value.problems] == [where]


def test_z33_a_long_list_of_wrong_items_is_told_in_part() -> None:
    """A megabyte of them takes half a minute to name them all, and nobody reads as many."""
    problems = schemas.validate({"type": "array", "items": {"type": "string"}}, [1] * 100_000)
    assert len(problems) == schemas.MAX_PROBLEMS


def test_z33_defaults_are_filled_however_deep() -> None:
    question = Interrupt(style="ask", response_schema=RULES)
    filled = answers.validate(question, Outcome.ANSWERED, {"level": "low", "more": {}})
    assert filled == {"level": "low", "who": {"name": "nobody"}, "limit": None, "more": {"deep": False}}


def test_a_slow_pattern_takes_no_time() -> None:
    question = Interrupt(style="ask", response_schema={"type": "string", "pattern": "^(a+)+$"})
    with pytest.raises(AnswerInvalid):
        answers.validate(question, Outcome.ANSWERED, "a" * 5_000 + "!")


@pytest.mark.parametrize(
    ("style", "schema", "outcome", "value", "comment", "arrives"),
    [
        ("request_human_input", None, Outcome.APPROVED, None, "", True),
        ("request_human_input", None, Outcome.APPROVED, {"a": 1}, "", {"a": 1}),
        ("request_human_input", {"type": "integer"}, Outcome.REJECTED, None, "too much", "too much"),
        ("request_human_input", None, Outcome.ANSWERED, 0, "", 0),
        ("request_human_input", None, Outcome.EXPIRED, None, "", "expired"),
        ("interrupt", APPROVAL, Outcome.APPROVED, {"note": "ok"}, "", {"note": "ok", "approved": True}),
        ("interrupt", APPROVAL, Outcome.REJECTED, {"note": "no"}, "", {"note": "no", "approved": False}),
        ("interrupt", None, Outcome.REJECTED, {"note": "no"}, "", None),
        ("interrupt", APPROVAL, Outcome.CANCELLED, None, "", None),
        ("interrupt", None, Outcome.EXPIRED, None, "", None),
        ("request_input", APPROVAL, Outcome.APPROVED, None, "", {"approved": True}),
        ("request_input", APPROVAL, Outcome.REJECTED, None, "", {"approved": False}),
        ("hook", None, Outcome.APPROVED, None, "", "y"),
        ("hook", None, Outcome.APPROVED, "trust", "", "trust"),
        ("hook", None, Outcome.REJECTED, None, "why", "n"),
        ("tool", None, Outcome.EXPIRED, None, "", "n"),
    ],
)
def test_the_buttons_deliver_what_the_table_says(
    style: str, schema: Any, outcome: Outcome, value: Any, comment: str, arrives: Any
) -> None:
    question = Interrupt(style=style, response_schema=schema, id="q")
    stored = answers.validate(question, outcome, value)
    decided = Interrupt(style=style, response_schema=schema, id="q", decision=Decision(outcome, stored, comment))
    assert answers.delivered(decided) == arrives


@pytest.mark.parametrize("style", ["request_human_input", "request_input"])
def test_a_cancelled_question_ends_its_task(style: str) -> None:
    with pytest.raises(answers.TaskEnded) as caught:
        answers.delivered(Interrupt(style=style, decision=Decision(Outcome.CANCELLED, None, "not needed")))
    assert caught.value.status is TaskStatus.CANCELLED


def test_a_request_without_an_approved_field_cannot_be_rejected() -> None:
    question = Interrupt(style="request_input", response_schema={"type": "string"})
    assert not answers.allows_reject(question)
    with pytest.raises(AnswerInvalid):
        answers.validate(question, Outcome.REJECTED, None)


async def test_z22_the_decision_tells_approve_from_reject(store: Store) -> None:
    seen: list[Decision] = []

    def node() -> Any:
        seen.append(ask("Pay?", payload={"amount": 5}))
        return seen[-1].value

    graph = one(node)
    for thread, answer in (
        ("run-1", Answer("", Outcome.APPROVED, {"note": 1}, "fine")),
        ("run-2", Answer("", Outcome.REJECTED, None, "never")),
    ):
        asked = (await Runner.arun_graph(graph, 1, hooks=[store], thread_id=thread)).interrupts[0]
        given = [Answer(asked.id, answer.outcome, answer.value, answer.comment)]
        await store.answer(ThreadRef("one", thread), given, actor="Ana")
        await Runner.arun_graph_from_checkpoint(graph, checkpointer=store, thread_id=thread)
    yes, no = seen
    assert (yes.approved, yes.value, yes.comment, yes.reviewer) == (True, {"note": 1}, "fine", "Ana")
    assert (no.approved, no.outcome, no.comment) == (False, Outcome.REJECTED, "never")
    assert yes.decided_at is not None and yes.decided_at.tzinfo is not None


async def test_z23_an_empty_rejection_is_one_and_a_null_text_is_refused(store: Store) -> None:
    graph = one(asks(Counter(), "ask"))
    await start(graph, store)
    with pytest.raises(PayloadError):
        await resume(graph, store, rejected={"ask": None})
    result = await resume(graph, store, rejected={"ask": ""})
    assert result.output == {"ask": ""}
    assert store.questions(ThreadRef("one", "run-1"))[0].decision.outcome is Outcome.REJECTED


async def test_z29_questions_and_answers_are_capped(store: Store) -> None:
    big = "x" * (1024 * 1024 + 1)
    refused = await start(one(lambda: ask("?", payload=big)), store)
    assert refused.error["type"] == "payload_error" and "bytes" in refused.error["message"]
    graph = one(asks(Counter(), "ask"))
    await Runner.arun_graph(graph, 1, hooks=[store], thread_id="run-2")
    with pytest.raises(PayloadError, match="bytes"):
        await Runner.arun_graph_from_checkpoint(
            graph, checkpointer=store, thread_id="run-2", resume=GraphResume({"ask": big})
        )


async def test_z56_null_is_an_answer_only_where_it_is_allowed(store: Store) -> None:
    strict = one(lambda: ask("?", schema={"type": "string"}).value)
    await start(strict, store)
    with pytest.raises(AnswerInvalid):
        await resume(strict, store, {"ask": None})
    loose = one(lambda: ask("?", schema={"type": ["string", "null"]}).value)
    await Runner.arun_graph(loose, 1, thread_id="run-2", hooks=[store])
    done = await Runner.arun_graph_from_checkpoint(
        loose, checkpointer=store, thread_id="run-2", resume=GraphResume({"ask": None})
    )
    assert done.status is ThreadStatus.COMPLETED and done.output is None


async def test_t05_null_cancels_an_interrupt_whatever_its_schema(store: Store) -> None:
    graph = one(lambda: {"got": interrupt({"a": 1}, response_schema=APPROVAL)})
    await start(graph, store)
    assert (await resume(graph, store, {"ask": None})).output == {"got": None}
    assert store.questions(ThreadRef("one", "run-1"))[0].decision.outcome is Outcome.CANCELLED


@pytest.mark.parametrize("value", [{1}, (1, 2), float("nan"), b"x", {"a": {1: 2}}, object(), "\0", "\ud800", 2**70])
async def test_z48_what_is_not_json_is_refused_as_an_answer_too(store: Store, value: Any) -> None:
    graph = one(asks(Counter(), "ask"))
    await start(graph, store)
    with pytest.raises(PayloadError):
        await resume(graph, store, {"ask": value})
    assert (await resume(graph, store, {"ask": 1})).output == {"ask": 1}
