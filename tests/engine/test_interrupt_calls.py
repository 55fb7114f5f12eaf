"""Family T, `interrupt()` in nodes: what the question carries, and which answer goes where (on each store)."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from graphs.engine.asking import interrupt
from graphs.engine.errors import AnswerMismatch
from graphs.engine.invocation.responses import pending_interrupt
from graphs.engine.invocation.swallowed import assert_no_pause_swallowed
from graphs.engine.ports import ThreadRef
from graphs.engine.statuses import Outcome
from tests.engine.calls import CONFIG, FULL, HELLO, SCHEMA, answered, asking, fork, paused, single
from tests.engine.runs import Calls

Store = Any


async def test_t01_a_bare_interrupt_has_its_defaults(store: Store) -> None:
    result = await paused(single(asking(), store))
    asked = pending_interrupt(result["state"])
    assert asked is not None
    assert (asked.reason, asked.value, asked.response_schema) == ("input_required", None, None)
    shown = result["state"]["execution_meta"]["interrupt_data"]["interrupt"]
    assert shown["message"] is None and shown["response_schema"] is None and shown["value"] is None


async def test_t02_all_four_reach_record_stream_and_response_unchanged(store: Store) -> None:
    value = {"amount": 2.5, "count": 3, "tags": ["a", None, True], "who": {"name": "Zoë"}}
    graph = single(asking(value, message="Ship?", reason="shipping", response_schema=SCHEMA), store)
    chunks = [chunk async for chunk in graph.astream(HELLO, CONFIG, FULL)]
    told = next(one.data["interrupt"] for one in chunks if one.data.get("status") == "interrupted")
    (stored,) = store.questions(ThreadRef("desk", "desk-7"))
    again = await graph.ainvoke(None, CONFIG, FULL)
    for one in (told, again["meta"]["interrupts"][0], again["state"]["execution_meta"]["interrupt_data"]["interrupt"]):
        assert json.loads(json.dumps(one)) == one
        assert (one["value"], one["message"], one["reason"], one["response_schema"]) == (
            value,
            "Ship?",
            "shipping",
            SCHEMA,
        )
    assert (stored.value, stored.message, stored.reason, stored.response_schema) == (value, "Ship?", "shipping", SCHEMA)
    assert told["id"] == stored.id


async def test_t04_the_answer_comes_back_where_it_was_asked(store: Store) -> None:
    calls: Calls = Counter()

    def work() -> Any:
        calls["before"] += 1
        answer = interrupt("go?")
        calls["after"] += 1
        return answer

    graph = single(work, store)
    await paused(graph)
    result = await answered(graph, {"go": 1})
    assert result["meta"]["output"] == {"go": 1} and result["meta"]["status"] == "completed"
    assert calls == {"before": 2, "after": 1}


async def test_t05_null_is_a_cancellation_and_skips_the_schema(store: Store) -> None:
    graph = single(lambda: "stopped" if interrupt(response_schema=SCHEMA) is None else "went", store)
    await paused(graph)
    assert (await answered(graph, None))["meta"]["output"] == "stopped"
    (stored,) = store.questions(ThreadRef("desk", "desk-7"))
    assert stored.decision.outcome is Outcome.CANCELLED


async def test_t06_two_interrupts_are_answered_in_order(store: Store) -> None:
    graph = single(lambda: [interrupt(message="first?"), interrupt(message="second?")], store)
    first = await paused(graph)
    second = await answered(graph, 1)
    assert [one["meta"]["interrupts"][0]["message"] for one in (first, second)] == ["first?", "second?"]
    assert (await answered(graph, 2))["meta"]["output"] == [1, 2]
    assert len(store.questions(ThreadRef("desk", "desk-7"))) == 2


async def test_t07_an_answer_that_ends_the_function_leaves_no_second_question(store: Store) -> None:
    graph = single(lambda: "early" if interrupt(message="first?") == "stop" else interrupt(message="second?"), store)
    await paused(graph)
    result = await answered(graph, "stop")
    assert result["meta"]["output"] == "early" and result["meta"]["interrupts"] == []
    assert len(store.questions(ThreadRef("desk", "desk-7"))) == 1


async def test_t08_except_exception_lets_the_pause_through(store: Store) -> None:
    def careful() -> Any:
        try:
            return interrupt("sure?")
        except Exception:
            return "swallowed"

    graph = single(careful, store)
    assert (await paused(graph))["meta"]["status"] == "interrupted"
    assert (await answered(graph, "yes"))["meta"]["output"] == "yes"


async def test_t09_a_swallowed_pause_fails_the_task_and_a_helper_reports_it(store: Store) -> None:
    def greedy() -> Any:
        try:
            return interrupt("sure?")
        except BaseException:
            return "swallowed"

    result = await paused(single(greedy, store))
    assert result["meta"]["status"] == "failed" and result["meta"]["error"]["type"] == "pause_swallowed"
    assert store.questions(ThreadRef("desk", "desk-7")) == []
    with pytest.raises(AssertionError, match=r"node 'work' swallowed a pause"):
        assert_no_pause_swallowed(result)
    assert_no_pause_swallowed(await paused(single(asking(), None)))


def test_t10_outside_of_a_run_interrupt_says_where_it_may_be_called() -> None:
    with pytest.raises(RuntimeError, match="while a graph node or tool is running"):
        interrupt("go?")


@pytest.mark.parametrize("value", [False, 0, "", [], {}])
async def test_t04_empty_answers_are_answers(store: Store, value: Any) -> None:
    graph = single(asking(), store)
    await paused(graph)
    assert (await answered(graph, value))["meta"]["output"] == value


async def test_t12_with_several_open_a_bare_answer_is_refused_and_ids_answer(store: Store) -> None:
    graph = fork(store, left=asking(message="l?"), right=asking(message="r?"))
    left, right = (await paused(graph))["meta"]["interrupts"]
    with pytest.raises(AnswerMismatch) as refused:
        await answered(graph, "yes")
    assert refused.value.open_ids == [left["id"], right["id"]]
    half = await answered(graph, "R", interrupt_id=right["id"])
    assert [one["id"] for one in half["meta"]["interrupts"]] == [left["id"]]
    assert (await answered(graph, "L"))["meta"]["output"] == {"left": "L", "right": "R"}


async def test_t12_a_map_by_id_answers_all_and_never_counts_as_one_answer(store: Store) -> None:
    graph = fork(store, left=asking(message="l?"), right=asking(message="r?"))
    left, right = ((one["id"]) for one in (await paused(graph))["meta"]["interrupts"])
    await answered(graph, "L", interrupt_id=left)
    # Somebody else answered the left one meanwhile. The map does not turn into the answer to the right one.
    with pytest.raises(AnswerMismatch):
        await answered(graph, {left: "other", right: "R"})
    assert (await answered(graph, {right: "R"}))["meta"]["output"] == {"left": "L", "right": "R"}


async def test_t12_a_value_that_looks_like_a_map_by_id_is_given_under_interrupt_id(store: Store) -> None:
    graph = single(asking(), store)
    (asked,) = (await paused(graph))["meta"]["interrupts"]
    odd = {"3f0c1d5e-0000-4000-8000-000000000000": 1}
    with pytest.raises(AnswerMismatch):
        await answered(graph, odd)
    assert (await answered(graph, odd, interrupt_id=asked["id"]))["meta"]["output"] == odd


@pytest.mark.parametrize("name", ["id", "interrupt_id", "path", "node_id"])
async def test_t12_a_no_by_name_stays_a_no_where_one_question_is_open(store: Store, name: str) -> None:
    graph = single(lambda: "paid" if interrupt(message="Pay?") else "kept", store)
    (asked,) = (await paused(graph))["meta"]["interrupts"]
    assert (await answered(graph, {asked[name]: False}))["meta"]["output"] == "kept"


async def test_t12_a_map_by_node_answers_several(store: Store) -> None:
    graph = fork(store, left=asking(message="l?"), right=asking(message="r?"))
    await paused(graph)
    done = await answered(graph, {"left": "L", "right": "R"})
    assert done["meta"]["output"] == {"left": "L", "right": "R"}


@pytest.mark.parametrize("wrapped", [False, True])
async def test_t12_keys_that_the_only_schema_declares_are_its_value(store: Store, wrapped: bool) -> None:
    shape = {"type": "object", "properties": {"work": {"type": "boolean"}}, "required": ["work"]}
    schema = {"$ref": "#/$defs/Shape", "$defs": {"Shape": shape}} if wrapped else shape
    graph = single(asking(message="Work?", response_schema=schema), store)
    await paused(graph)
    assert (await answered(graph, {"work": False}))["meta"]["output"] == {"work": False}


async def test_t12_a_mapping_that_names_nothing_is_the_answer(store: Store) -> None:
    graph = single(asking(), store)
    await paused(graph)
    assert (await answered(graph, {"go": False}))["meta"]["output"] == {"go": False}


async def test_t12_an_id_that_names_nothing_is_refused_beside_others(store: Store) -> None:
    graph = single(asking(), store)
    await paused(graph)
    with pytest.raises(AnswerMismatch):
        await answered(graph, {"3f0c1d5e-0000-4000-8000-000000000000": 1, "work": True})
