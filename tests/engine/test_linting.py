"""What is seen of a graph without running it: its pauses, and what would go wrong at one."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Callable
from typing import Any

import pytest

import graphs
from graphs import FunctionNode, Graph, LongRunningFunctionTool, ToolNode, Workflow, lint, pauses
from graphs.agents.agent import Agent
from graphs.agents.tools import tool
from graphs.engine.inspection import linting, passages, sources
from graphs.library import moderation, refund, release, time_off
from tests.engine import linted, linted_keys
from tests.engine.runs import chain, fan, one


def rules(node: Any, **options: Any) -> list[str]:
    return [found.rule for found in lint(one(node, **options)) if found.fails]


def of(node: Any, **options: Any) -> linting.Finding:
    (found,) = [found for found in lint(one(node, **options)) if found.fails]
    return found


@pytest.mark.parametrize("graph", [refund.app, moderation.app, release.app, time_off.app], ids=lambda graph: graph.id)
def test_the_shipped_graphs_are_clean(graph: Any) -> None:
    assert lint(graph) == []


# Effects before a question


@pytest.mark.parametrize(
    ("node", "called"),
    [
        (linted.acts_first, "charge"),
        (linted.acts_first_by_an_expression, "bank.pay"),
        (linted.acts_first_in_another_function, "requests.post"),
        (linted.acts_first_outside, "shutil.rmtree"),
        (linted.acts_first_by_a_command, "subprocess.run"),
        (linted.acts_first_on_one_way, "charge"),
        (linted.acts_in_a_loop, "charge"),
        (linted.acts_in_a_try, "charge"),
        (linted_keys.acts_deep_in_loops, "requests.post"),
        (linted.acts_inside_once, "charge"),
        (linted.acts_on_what_it_was_given, "client.send"),
        (linted.acts_first_and_keeps_the_result, "api.create_order"),
        (linted.acts_first_in_camel_case, "api.createOrder"),
        (linted.acts_first_over_http, "urlopen"),
        (linted.acts_first_over_http_by_a_request, "urlopen"),
        (linted.acts_first_in_a_table, "conn.execute"),
        (linted.acts_first_in_a_database, "db.update"),
        (linted.acts_first_and_counts, "stock.update"),
        (linted.acts_first_by_a_method_of_a_class, "Outside.create"),
        (linted.acts_first_by_booking, "hotel.book_room"),
    ],
)
def test_an_effect_before_a_question_beside_the_journal_fails(node: Callable[..., Any], called: str) -> None:
    found = of(node)
    assert found.rule == "effect-before-question" and found.message.startswith(f"{called}(...) runs before")
    assert found.file.endswith("linted.py") and found.path == "ask" and "ctx.once" in found.way
    assert called in sources.line_of(found.file, found.line)


@pytest.mark.parametrize(
    "node",
    [
        linted.asks_first,
        linted.only_reads,
        linted.asks_in_a_function_named_like_an_effect,
        linted.acts_through_the_journal,
        linted.acts_through_the_async_journal,
        linted.acts_on_the_other_way,
        linted.only_prepares,
        linted_keys.lets_it_through,
        linted_keys.cleans_up,
        linted_keys.catches_elsewhere,
        linted_keys.asks_together_by_keys,
        linted_keys.asks_beside_work,
        linted_keys.asks_in_no_order_by_keys,
        linted_keys.asks_sorted,
        linted_keys.asks_by_input,
        linted_keys.runs_children_together,
    ],
)
def test_what_is_right_is_not_reported(node: Callable[..., Any]) -> None:
    assert lint(one(node)) == []


def test_a_form_that_runs_again_with_its_answers_is_right() -> None:
    assert lint(one(linted.walks_a_form, rerun_on_resume=True)) == []


def test_what_a_request_repeats_depends_on_whether_its_node_runs_again() -> None:
    for node in (linted.acts_before_it_requests, linted.acts_while_it_requests):
        assert rules(node, rerun_on_resume=True) == ["effect-before-question"]
        assert rules(node) == []


def test_an_allowed_finding_is_listed_as_silenced() -> None:
    (found,) = lint(one(linted.acts_and_says_so))
    assert (found.rule, found.silenced, found.fails) == ("effect-before-question", True, False)


# Keys, pauses that are swallowed, schemas


@pytest.mark.parametrize(
    "node",
    [
        linted_keys.asks_together,
        linted_keys.asks_each_together,
        linted_keys.asks_in_tasks,
        linted_keys.asks_in_threads,
        linted_keys.runs_a_child_that_asks_together,
        linted_keys.asks_in_no_order,
        linted_keys.asks_a_folder,
        linted_keys.asks_by_chance,
    ],
)
def test_questions_without_stable_keys_fail(node: Callable[..., Any]) -> None:
    assert set(rules(node)) == {"unstable-key"}


@pytest.mark.parametrize("node", [linted_keys.swallows, linted_keys.swallows_barely, linted_keys.swallows_by_name])
def test_a_pause_that_would_be_swallowed_fails(node: Callable[..., Any]) -> None:
    assert rules(node) == ["swallowed-pause"]


def test_an_unsupported_schema_fails_and_one_that_only_a_run_knows_is_shown_as_written() -> None:
    assert of(linted.asks_with_a_bad_schema).rule == "unsupported-schema"
    assert lint(one(linted.asks_with_a_schema_of_the_run)) == []
    assert [found.schema for found in pauses(one(linted.asks_with_a_schema_of_the_run))] == ["shape"]


# The graph


def test_two_ends_that_run_side_by_side_fail() -> None:
    graph = Graph.new("g").node("a", lambda: 1).node("b", lambda: 2).node("c", lambda: 3)
    apart = graph.edge("a", "b").edge("a", "c").entry("a").compile()
    (found,) = lint(apart)
    assert (found.rule, found.path) == ("unjoined-branches", "c") and "'b' and 'c'" in found.message


def test_a_node_that_takes_any_of_two_branches_fails() -> None:
    taken = {"left": lambda: 1, "right": lambda: 2}
    assert [found.rule for found in lint(fan(dict(taken), lambda x: x, kind="any"))] == ["unjoined-branches"]
    assert lint(fan(dict(taken), lambda x: x, kind="merge")) == []


def test_ends_that_exclude_each_other_are_right() -> None:
    graph = Graph.new("g").node("a", lambda: 1).node("b", lambda: 2).node("c", lambda: 3)
    assert lint(graph.edge("a", "b", when="x").edge("a", "c", default=True).entry("a").compile()) == []


def test_a_loop_without_a_way_out_fails() -> None:
    graph = Graph.new("g").node("a", lambda: 1).node("b", lambda: 2).node("c", lambda: 3).node("end", lambda: 4)
    graph.edge("a", "b", when="x").edge("b", "c").edge("c", "b").edge("a", "end", default=True).entry("a").terminal(
        "end"
    )
    assert {(found.rule, found.path) for found in lint(graph.compile())} == {("unreachable", "b"), ("unreachable", "c")}


def test_an_end_that_is_no_terminal_fails() -> None:
    graph = Graph.new("g").node("a", lambda: 1).node("b", lambda: 2).node("c", lambda: 3)
    graph.edge("a", "b", when="x").edge("a", "c", default=True).entry("a").terminal("b")
    assert [(found.rule, found.path) for found in lint(graph.compile())] == [("unjoined-branches", "c")]


def test_a_graph_that_cannot_be_compiled_is_one_finding() -> None:
    graph = Graph.new("g").node("a", lambda: 1).node("island", lambda: 2).entry("a").terminal("a")
    (found,) = lint(graph)
    assert found.rule == "definition" and "'island'" in found.message and found.fails


def test_a_node_without_source_is_said_to_be_unreadable() -> None:
    (found,) = lint(one(len))
    assert (found.severity, found.rule) == ("note", "unreadable") and not found.fails


# Pauses


def test_every_way_of_asking_is_listed_with_what_is_known_of_it() -> None:
    listed = pauses(one(linted.asks_in_each_way, queue="desk"))
    assert [(pause.style, pause.message, pause.queue) for pause in listed] == [
        ("ask", "First?", "cashiers"),
        ("request_human_input", "Second {inp.input}?", "desk"),
        ("interrupt", "Really?", "desk"),
        ("request_human_input", "Last {first} {second} {third}?", "desk"),
    ]
    assert listed[0].schema["required"] == ["amount"] and listed[0].expires == "3600"
    assert listed[2].schema == {"type": "string"} and listed[0].line < listed[1].line


def test_structural_pauses_and_those_of_effects_in_doubt_are_listed() -> None:
    listed = pauses(
        one(lambda: 1, crash="at_most_once", compile={"interrupt_before": ["ask"], "interrupt_after": ["ask"]})
    )
    assert [pause.style for pause in listed] == ["structural", "effect", "structural"]
    assert [pause.message for pause in pauses(release.app)][1:] == [
        "Go on to “Roll out”?",
        "“tag” of roll_out was cut off while it ran. Did it happen?",
    ]


def wipe(table: str) -> str:
    """Wipe a table."""
    linted.charge(1)
    return str(linted.question(f"Wipe {table}?"))


def test_tools_are_listed_with_their_gates_and_read_like_nodes() -> None:
    tools = [
        tool(require_confirmation=lambda table: table == "t")(wipe),
        LongRunningFunctionTool(lambda part: part, name="order"),
    ]
    for body in (Agent("ops", tools=tools, approve=["ord*"]), ToolNode(tools, name="ops", approve=["ord*"])):
        graph = one(body, id="ops")
        assert [(pause.path, pause.message) for pause in pauses(graph)] == [
            ("ops:wipe", "ops wants to call wipe (where a rule says so)"),
            ("ops:wipe", "Wipe {table}?"),
            ("ops:order", "ops wants to call order"),
            ("ops:order", "ops waits for the result of order"),
        ]
        assert [(found.rule, found.path) for found in lint(graph)] == [("effect-before-question", "ops:wipe")]


class Guard:
    def register_hooks(self, registry: Any) -> None:
        registry.add_callback(graphs.BeforeToolCallEvent, self.check)

    def check(self, event: Any) -> None:
        if event.interrupt("guard", reason={"tool": event.tool_use["name"]}) != "y":
            event.cancel_tool = True
        event.interrupt(f"second-{event.tool_use['name']}", reason="Really, really?")


def test_questions_of_an_agents_hooks_are_listed() -> None:
    graph = one(Agent("ops", tools=[], hooks=[Guard()]), id="ops")
    assert [(pause.style, pause.message) for pause in pauses(graph)] == [
        ("hook", "guard"),
        ("hook", "Really, really?"),
    ]
    assert lint(graph) == []


def test_nested_graphs_children_methods_and_workflows_are_looked_into() -> None:
    class Desk:
        def review(self) -> Any:
            return self.say()

        def say(self) -> Any:
            return linted.question("Method?")

    inner = chain([("review", Desk().review)], queue="inner")
    outer = Graph.new("outer").node("sub", inner).node("children", linted.runs_children).edge("sub", "children")
    listed = pauses(outer.entry("sub").compile())
    assert [(pause.path, pause.message, pause.queue) for pause in listed] == [
        ("sub/review", "Method?", "inner"),
        ("children", "Ship?", ""),
        ("children", "Inner?", ""),
    ]
    flow = Workflow(name="w", edges=[(graphs.START, FunctionNode(linted.asks_behind_a_decorator, name="n"))])
    assert [(pause.path, pause.message) for pause in pauses(flow)] == [("n", "Behind?")]


def test_a_graph_run_as_a_child_is_listed_below_its_node() -> None:
    inner = chain([("deep", linted.asks_first)])

    async def parent(ctx: graphs.Context) -> Any:
        return await ctx.run_node(inner)

    assert [pause.path for pause in pauses(one(parent, id="parent"))] == ["parent/deep"]


def test_any_source_can_be_read() -> None:
    for module in (argparse, textwrap, passages):
        bodies = [body for one in vars(module).values() if callable(one) and (body := sources.read(one)) is not None]
        assert bodies and all(passages.through(body, rerun=True) for body in bodies)


def test_lambdas_of_one_line_are_told_apart() -> None:
    graph = chain([("a", lambda: linted.question("A?").approved), ("b", lambda x: linted.question("B?").approved)])
    assert [pause.message for pause in pauses(graph)] == ["A?", "B?"]
