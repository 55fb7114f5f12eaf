"""A dry run shows every question in its order, lets no effect happen, and leaves nothing behind."""

from __future__ import annotations

from typing import Any

import pytest

import graphs
from graphs import Context, Decision, Event, Graph, LongRunningFunctionTool, Outcome, RequestInput, ToolCall, ask
from graphs.agents.agent import Agent
from graphs.agents.models import ScriptedModel
from graphs.agents.tools import tool
from graphs.engine.checkpointers.memory import InMemoryCheckpointer
from graphs.engine.errors import AnswerInvalid
from graphs.engine.inspection.samples import simplest
from graphs.engine.schemas import validate
from graphs.library import moderation, refund, release, time_off
from tests.engine.runs import chain, fan, one

ORDER = {"order": "A-4721", "amount": 80, "customer": "ana@example.org"}


def test_an_effect_is_stood_in_for_and_the_question_before_it_is_told() -> None:
    told = graphs.rehearse(refund.app, ORDER, stubs={"transfer": {"reference": "RF-1"}})
    assert [(one.message, one.queue, one.path) for one in told.questions] == [
        ("Refund order A-4721, 80.00 EUR", "payments", "review")
    ]
    assert [(one.kind, one.key, one.given) for one in told.effects] == [("once", "transfer", True)]
    assert told.status == "completed" and told.output == {"order": "A-4721", "paid": True, "reference": "RF-1"}


def test_an_answer_from_the_mapping_takes_the_other_way() -> None:
    told = graphs.rehearse(refund.app, ORDER, answers={"review": Decision(Outcome.REJECTED, comment="too old")})
    assert told.output == {"order": "A-4721", "paid": False, "because": "too old"}
    assert told.effects == () and told.asked[0].given


def test_questions_of_one_step_are_told_together_in_node_order() -> None:
    told = graphs.rehearse(moderation.app, {"author": "Ana", "text": "hello"}, answers={"tone": "friendly"})
    assert [(one.interrupt.node_id, one.round) for one in told.asked] == [("tone", 1), ("facts", 1)]
    assert told.output["publish"] is True


def test_a_list_of_answers_is_used_up_in_a_loop_and_a_structural_pause_is_continued() -> None:
    notes = {"version": "2.4.0", "changes": ["faster"]}
    no = Decision(Outcome.REJECTED, comment="shorter")
    told = graphs.rehearse(release.app, notes, answers={"review": [no, Decision(Outcome.APPROVED)]})
    assert [one.interrupt.style for one in told.asked] == ["ask", "ask", "structural"]
    assert told.output["drafts"] == 2 and told.output["released"] is None


def test_a_form_gets_its_simplest_answer() -> None:
    leave = {"employee": "Bob", "first_day": "2026-05-01", "days": 5}
    told = graphs.rehearse(time_off.app, leave)
    assert told.asked[0].value["approved"] is True
    assert told.output["granted_days"] == 5


def test_tools_are_not_called_but_their_gates_are_shown() -> None:
    called = []

    @tool(require_confirmation=True)
    def wipe(table: str) -> str:
        called.append(table)
        return "gone"

    def order_parts(part: str) -> str:
        called.append(part)
        return "ordered"

    waits = LongRunningFunctionTool(order_parts)
    model = ScriptedModel([[ToolCall("wipe", {"table": "t"}), ToolCall("order_parts", {"part": "p"})], "done"])
    graph = one(Agent("ops", model, tools=[wipe, waits]), id="ops")
    told = graphs.rehearse(graph, "go", stubs={"wipe": "pretended"})
    assert called == []
    assert [one.interrupt.kind for one in told.asked] == ["tool_approval", "long_running_tool"]
    assert [(one.key, one.result, one.arguments) for one in told.effects] == [
        ("order_parts", None, {"part": "p"}),
        ("wipe", "pretended", {"table": "t"}),
    ]
    assert told.output == "done"


def test_a_node_that_may_run_only_once_is_an_effect_as_a_whole() -> None:
    ran = []

    def ship(order: str) -> str:
        ran.append(order)
        return "shipped"

    graph = (
        Graph.new("post")
        .node("ship", ship, crash="at_most_once")
        .node("thank", lambda shipped: f"thanks for {shipped}")
        .node("retry", lambda: "retry")
        .edge("ship", "thank", when="ok")
        .edge("ship", "retry", when="late")
        .entry("ship")
        .compile()
    )
    told = graphs.rehearse(graph, "x", stubs={"ship": Event(output="a box", route="ok")})
    assert (ran, told.output) == ([], "thanks for a box")
    assert [(one.kind, one.key, one.result) for one in told.effects] == [("node", "ship", "a box")]


def test_a_pause_after_a_node_runs_its_body_and_only_stands_in_for_its_effects() -> None:
    def write(value: str, ctx: Context) -> str:
        return f"{value}:{ctx.once('node', lambda: 'real')}"

    graph = one(write, id="write", compile={"interrupt_after": ["write"]})
    told = graphs.rehearse(graph, "draft", stubs={"node": "stub"})
    assert told.output == "draft:stub" and [one.interrupt.reason for one in told.asked] == ["interrupt_after"]


def test_effects_of_children_and_of_async_nodes_are_stood_in_for() -> None:
    real = []

    async def child(value: str, ctx: Context) -> Any:
        return await ctx.aonce("pay", real.append, value)

    async def parent(value: str, ctx: Context) -> Any:
        return [await ctx.run_node(child, value), await ctx.aonce("own", real.append, value)]

    told = graphs.rehearse(one(parent), "x", stubs={"pay": 1, "ask:own": 2})
    assert (real, told.output) == ([], [1, 2])


def test_it_stops_at_its_bound_and_says_so() -> None:
    def again(value: Any) -> Event:
        return Event(output=value, route=bool(ask("Again?")))

    graph = Graph.new("loop").node("again", again).node("end", lambda: 1)
    graph.edge("again", "again", when=True).edge("again", "end", when=False).entry("again").terminal("end")
    told = graphs.rehearse(graph.compile(), most_questions=3)
    assert told.status == "interrupted" and len(told.asked) == 3 and told.stopped == "it asks more than 3 questions"


def test_a_question_without_a_simple_answer_stops_it_and_names_it() -> None:
    def code() -> Any:
        return ask("The code?", schema={"type": "string", "pattern": "^[XY]{7}q$"}).value

    told = graphs.rehearse(one(code))
    assert "ask asks 'The code?'" in told.stopped and "give an answer" in told.stopped
    assert graphs.rehearse(one(code), answers={"The code?": "XYXYXYXq"}).output == "XYXYXYXq"


def test_an_answer_that_does_not_fit_is_refused_with_the_question() -> None:
    with pytest.raises(AnswerInvalid, match="ask: 'How many"):
        graphs.rehearse(one(lambda: ask("How many?", schema=int).value), answers={"ask": "many"})


def test_a_failure_is_told_like_any_end() -> None:
    def broken() -> None:
        raise ValueError("no such order")

    told = graphs.rehearse(chain([("a", lambda: 1), ("b", broken)]))
    assert told.status == "failed" and told.error and told.error["path"] == "b"


async def test_nothing_is_stored_and_the_graphs_own_store_is_left_alone() -> None:
    store = InMemoryCheckpointer()
    graph = Graph.new("kept").node("a", lambda: ask("Go?").outcome).entry("a").compile(checkpointer=store)
    told = await graphs.arehearse(graph)
    assert told.output == "approved"
    from graphs.engine.ports import ThreadRef

    assert await store.load(ThreadRef("kept", "rehearsal")) is None


async def test_a_real_run_beside_it_does_its_effects() -> None:
    def pay(ctx: Context) -> Any:
        return ctx.once("pay", lambda: "paid")

    graph = one(pay)
    assert (await graphs.arehearse(graph)).output is None
    assert (await graphs.Runner.arun_graph(graph)).output == "paid"


def test_two_requests_of_a_fan_out_are_answered_by_their_ids() -> None:
    bodies = {name: (lambda name=name: RequestInput(interrupt_id=name, message=name)) for name in ("left", "right")}
    told = graphs.rehearse(fan(bodies, lambda both: both), "go", answers={"left": 1, "right": 0})
    assert told.output == {"left": 1, "right": 0}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": {"type": "integer", "minimum": 4}}, "required": ["a"]},
        {"type": "object", "properties": {"approved": {"type": "boolean"}}},
        {"type": "array", "items": {"enum": ["x", "y"]}, "minItems": 2},
        {"oneOf": [{"type": "string", "format": "date"}, {"type": "null"}]},
        {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 0.5},
        {"type": "integer", "multipleOf": 7, "minimum": 20},
        {"allOf": [{"type": "object", "required": ["a"]}, {"properties": {"a": {"const": 3}}}]},
        {"$defs": {"one": {"type": "string", "minLength": 9}}, "$ref": "#/$defs/one"},
        {"type": "object", "properties": {"u": {"$ref": "#/$defs/u"}}, "required": ["u"], "$defs": {"u": {"const": 1}}},
        {"type": "string", "pattern": r"^\d+\.\d+\.\d+$"},
        {"const": False},
        True,
    ],
)
def test_the_simplest_value_is_valid(schema: Any) -> None:
    assert validate(schema, simplest(schema)) == []
