"""What a newcomer reads when something is wrong: the node, the question, and the way out."""

from __future__ import annotations

import inspect
import traceback
from typing import Any

import pytest

from graphs import (
    START,
    Event,
    Graph,
    GraphResume,
    InMemoryCheckpointer,
    RequestInput,
    Runner,
    Workflow,
    ask,
    interrupt,
)
from graphs.engine import replaying
from graphs.engine.checkpointers.memory import InMemoryCheckpointer as Memory
from graphs.engine.context import Context
from graphs.engine.errors import AnswerInvalid, AnswerMismatch, ThreadBusy
from graphs.engine.ports import ThreadRef
from tests.engine.runs import chain, one, resume, start

Store = Any


async def message(node: Any, store: Store, **options: Any) -> str:
    result = await start(one(node, id="x", **options), store)
    assert result.error is not None
    return str(result.error["message"])


@pytest.mark.parametrize(("value", "told"), [({1}, "set is not JSON; use a list"), ({"deep": {1}}, "output/deep")])
async def test_an_output_that_is_not_json_names_the_node(store: Store, value: Any, told: str) -> None:
    found = await message(lambda: value, store)
    assert found.startswith("node 'x' returned what cannot be stored: ") and told in found


async def test_a_result_of_once_that_is_not_json_names_its_key_and_the_node(store: Store) -> None:
    def node(ctx: Context) -> Any:
        return ctx.once("k", lambda: {1})

    told = await message(node, store)
    assert told.startswith("once('k') of node 'x' got a result that cannot be stored: set is not JSON; use a list")


async def test_nan_has_a_way_out(store: Store) -> None:
    assert "nan is not JSON; give None, or its text" in await message(lambda: float("nan"), store)


@pytest.mark.parametrize("schema", [{"type": "nonsense"}, {"$ref": "https://example.org/schema"}])
async def test_a_bad_schema_names_the_node_and_the_question(store: Store, schema: Any) -> None:
    for node in (
        lambda: ask("Ship it?", schema=schema),
        lambda: RequestInput("boss", "Ship it?", None, schema),
    ):
        told = await message(node, Memory())
        assert told.startswith("node 'x' asks 'Ship it?' with a schema that is none: ")


def routed(node: Any) -> Any:
    graph = Graph.new("routed").node("x", node).node("a", lambda: 1).node("b", lambda: 2)
    return graph.edge("x", "a", when="yes").edge("x", "b", when="no").entry("x").compile()


async def test_a_route_that_matches_nothing_lists_those_that_there_are(store: Store) -> None:
    result = await start(routed(lambda: Event(route="maybe")), store)
    assert "no edge matches route ['maybe']" in result.error["message"]
    assert "there are routes 'yes', 'no'" in result.error["message"] and "return Event" not in result.error["message"]


async def test_a_dict_before_routes_says_how_to_choose_one(store: Store) -> None:
    result = await start(routed(lambda: {"route": "yes"}), store)
    assert "return Event(route=…)" in result.error["message"]


async def test_an_answer_that_breaks_its_schema_names_the_question(store: Store) -> None:
    graph = one(lambda: ask("How many?", schema=int).value, id="x")
    await start(graph, store)
    with pytest.raises(AnswerInvalid) as refused:
        await resume(graph, store, {"x": "many"})
    assert str(refused.value).startswith("question 'How many?' of node 'x': the answer: ")
    assert refused.value.problems[0][0] == ""


async def test_a_reply_by_a_wrong_id_is_told_the_ids_with_their_nodes(store: Store) -> None:
    graph = one(lambda: ask("Ship it?"), id="x")
    (asked,) = (await start(graph, store)).interrupts
    with pytest.raises(AnswerMismatch) as refused:
        await resume(graph, store, {"y": True})
    assert str(refused.value).endswith(f"open questions: {asked.id} (x)") and refused.value.open_ids == [asked.id]


async def test_input_for_a_paused_thread_is_told_how_to_answer(store: Store) -> None:
    graph = one(lambda: ask("Ship it?"), id="x")
    await start(graph, store)
    with pytest.raises(ThreadBusy, match=r'waits for 1 answer and .*"resume".*GraphResume'):
        await start(graph, store)


async def test_a_replay_after_a_rename_names_the_node_that_is_missing() -> None:
    store = Memory()
    await start(chain([("first", lambda: 1), ("second", lambda: 2)]), store)
    renamed = chain([("first", lambda: 1), ("other", lambda: 2)])
    compared = await replaying.compare(renamed, store, ThreadRef(renamed.id, "run-1"))
    assert compared.difference is not None and compared.difference.name == "second"
    assert "leads to node 'second', which graph" in compared.difference.why
    assert "KeyError" not in compared.difference.why


def test_what_is_still_being_built_is_called_like_what_is_compiled() -> None:
    for built in (
        Workflow(name="flow", edges=[(START, review)]),
        Graph.new("graph").node("review", review).entry("review"),
    ):
        paused = built.invoke({"messages": ["Hello"]}, {"thread_id": "one"})
        assert [one["message"] for one in paused["meta"]["interrupts"]] == ["Ship it?"]
        done = built.invoke({"resume": True}, {"thread_id": "one"})
        assert done["meta"]["output"] == "shipped"


def review() -> str:
    return "shipped" if ask("Ship it?").approved else "kept"


def test_an_error_of_a_blocking_run_is_told_without_the_loop() -> None:
    graph = Graph.new("g").node("review", review).entry("review").compile()
    store = InMemoryCheckpointer()
    with pytest.raises(AnswerMismatch) as refused:
        Runner.run_graph(graph, None, hooks=[store], thread_id="one")
        Runner.run_graph_from_checkpoint(graph, checkpointer=store, thread_id="one", resume=GraphResume({"nobody": 1}))
    assert "no running event loop" not in "".join(traceback.format_exception(refused.value))


@pytest.mark.parametrize(
    ("call", "right"),
    [
        (ask, {"response_schema": int}),
        (interrupt, {"schema": int}),
        (RequestInput, {"schema": int}),
    ],
)
def test_the_other_name_of_the_schema_is_answered_with_the_one_that_holds(call: Any, right: dict[str, Any]) -> None:
    (wrong,) = right
    name = "schema" if wrong == "response_schema" else "response_schema"
    with pytest.raises(TypeError, match=f"{call.__name__}\\(\\) takes {name}=…, not {wrong}=…"):
        call(message="Go?", **right)
    assert name in inspect.signature(call).parameters
