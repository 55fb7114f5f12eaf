"""Workflows by their edges (seed 002, family W)."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from functools import partial
from typing import Any

import pytest
from pydantic import BaseModel

from graphs.agents.agent import Agent
from graphs.agents.models import ScriptedModel
from graphs.engine.context import Context
from graphs.engine.errors import DefinitionError
from graphs.engine.functions import AnswersUnread, FunctionNode
from graphs.engine.graph import Graph
from graphs.engine.outputs import Event, RequestInput
from graphs.engine.policies import NodeRetryPolicy
from graphs.engine.runner import Runner
from graphs.engine.statuses import ThreadStatus
from graphs.engine.workflow import DEFAULT_ROUTE, START, Workflow
from tests.engine.offspring import requests
from tests.engine.runs import Calls, resume, start

Store = Any


def named(calls: Calls, name: str, output: Any = None, **options: Any) -> FunctionNode:
    """A node that counts its calls and gives `output`, or who it is."""

    def node(node_input: Any) -> Any:
        calls[name] += 1
        return name if output is None else output

    return FunctionNode(node, name=name, **options)


def echo(node_input: Any) -> Any:
    return node_input


# Edges


async def test_chains_fan_out_and_fan_in(store: Store) -> None:
    calls: Calls = Counter()
    a, b, c, d = (named(calls, name) for name in "abcd")
    flow = Workflow("w", [(START, a, (b, c), d, echo)])
    compiled = flow.compile()
    assert compiled is flow.compile() and compiled.pause == "quiescent" and compiled.entries == ("a",)
    assert {(one.source, one.target) for one in compiled.edges} == {
        ("a", "b"), ("a", "c"), ("b", "d"), ("c", "d"), ("d", "echo"),
    }  # fmt: skip
    assert (await start(compiled, store)).output == "d" and calls == dict.fromkeys("abcd", 1)


async def test_several_starts_and_groups_side_by_side(store: Store) -> None:
    calls: Calls = Counter()
    a, b, c, d = (named(calls, name) for name in "abcd")
    flow = Workflow("w", [(START, (a, b), (c, d), echo)])
    assert (await start(flow, store)).output == {"c": "c", "d": "d"}
    assert calls == dict.fromkeys("abcd", 1)


async def test_w27_a_join_behind_a_group_always_gets_its_inputs_by_name_and_separate_edges_what_arrived(
    store: Store,
) -> None:
    def pick(node_input: Any) -> Any:
        return Event(output=1, route="left")

    calls: Calls = Counter()
    left, right = named(calls, "left"), named(calls, "right")
    routes = {"left": left, "right": right}
    assert (await start(Workflow("x", [(START, pick, routes), ((left, right), echo)]), store)).output == {
        "left": "left"
    }
    apart = Workflow("y", [(START, pick, routes), (left, echo), (right, echo)])
    assert (await start(apart, store)).output == "left"


async def test_a_dict_in_the_middle_of_a_chain_leads_on_from_each_of_its_nodes(store: Store) -> None:
    calls: Calls = Counter()

    def pick(node_input: int) -> Any:
        return Event(output=node_input, route=node_input > 10)

    big, small = named(calls, "big"), named(calls, "small")
    flow = Workflow("w", [(START, pick, {True: big, False: small}, echo)])
    assert (await Runner.arun_graph(flow, 11, hooks=[store])).output == "big"
    assert (await Runner.arun_graph(flow, 9, hooks=[store])).output == "small"


@pytest.mark.parametrize(
    ("route", "taken"),
    [("a", ["s"]), (1, ["one"]), (True, ["yes", "also"]), (["a", 1], ["s", "one"]), ("?", ["rest"]), ([], ["rest"])],
)
async def test_w16_w17_w18_routes_of_a_dict_match_exactly_and_the_default_holds_otherwise(
    store: Store, route: Any, taken: list[str]
) -> None:
    calls: Calls = Counter()
    seen: list[Any] = []

    def pick(node_input: Any) -> Iterator[Any]:
        yield Event(output="picked", route=route, state={"x": 5})

    def notes(name: str) -> FunctionNode:
        def node(node_input: Any, ctx: Context) -> None:
            calls[name] += 1
            seen.append((node_input, ctx.state["x"]))

        return FunctionNode(node, name=name)

    s, one, yes, also, rest = (notes(name) for name in ("s", "one", "yes", "also", "rest"))
    edges = [(START, pick), (pick, {"a": s, 1: one}), (pick, {True: yes, DEFAULT_ROUTE: rest}), (yes, also)]
    assert (await start(Workflow("w", edges), store)).status is ThreadStatus.COMPLETED
    assert sorted(calls) == sorted(taken) and (set(seen) == {("picked", 5)} or route is True)


async def test_z53_a_route_without_an_edge_is_a_dead_end(store: Store) -> None:
    def pick(node_input: Any) -> Any:
        return Event(output=1, route="nowhere")

    result = await start(Workflow("w", [(START, pick, {"a": echo})]), store)
    assert result.status is ThreadStatus.FAILED and result.error["type"] == "dead_end"


def lambda_node() -> Any:
    return lambda node_input: node_input


@pytest.mark.parametrize(
    ("edges", "told"),
    [
        ([], "has no edges"),
        ([(START,)], "no chain of two"),
        ([START], "no chain of two"),
        ([(echo, partial)], "stands where a node is needed"),
        ([(echo, print)], "begins nowhere"),
        ([(START, echo, START)], "only START or a node begins"),
        ([({"a": echo}, print)], "only START or a node begins"),
        ([(START, {"a": echo})], "START gives no route"),
        ([(START, echo, {1.5: print})], "route 1.5"),
        ([(START, echo, {None: print})], "route None"),
        ([(START, lambda_node())], "no name of its own"),
        ([(START, echo), (START, FunctionNode(print, name="echo"))], "two nodes named 'echo'"),
        ([(START, 7)], "no name of its own"),
        ([(START, FunctionNode(echo, name="a/b"))], "without /"),
        ([(START, echo), (print, len)], "cannot be reached"),
        ([(START, echo, echo)], "no terminal"),
    ],
)
def test_what_is_wrong_with_edges_is_named(edges: Any, told: str) -> None:
    with pytest.raises(DefinitionError, match=told):
        Workflow("w", edges).compile()


def test_methods_partials_and_callables_are_nodes_too() -> None:
    class Desk:
        def open(self, node_input: Any) -> Any:
            return node_input

        def __call__(self, node_input: Any) -> Any:
            return node_input

    desk = Desk()
    filled = FunctionNode(partial(desk.open), name="filled")
    called = FunctionNode(desk, name="desk")
    flow = Workflow("w", [(START, desk.open, filled), (desk.open, called), ((filled, called), echo)])
    assert list(flow.compile().nodes) == ["open", "filled", "desk", "echo"]


async def test_an_options_node_keeps_its_options_in_graphs_as_well(store: Store) -> None:
    calls: Calls = Counter()

    def breaks() -> str:
        calls["breaks"] += 1
        if calls["breaks"] < 3:
            raise ValueError
        return "done"

    node = FunctionNode(breaks, retry=NodeRetryPolicy(max_attempts=3), label="Break it")
    graph = Graph.new("g").node("x", node, timeout=5).compile()
    assert (graph.nodes["x"].label, graph.nodes["x"].timeout) == ("Break it", 5)
    assert (await start(graph, store)).output == "done"
    assert FunctionNode(breaks)() == "done"


async def test_graphs_agents_and_workflows_are_nodes_and_roots(store: Store) -> None:
    inner = Graph.new("inner").node("echo", echo).compile()
    built = Graph.new("built").node("echo", echo)
    agent = Agent("helper", ScriptedModel(["hello"]))
    flow = Workflow("w", [(START, inner, built, Workflow("sub", [(START, echo)]), agent)])
    assert (await start(flow, store)).output == "hello"
    assert (await start(Workflow("again", [(START, inner)]), store)).output == "go"
    alone = Agent("alone", ScriptedModel(["hi"]))
    assert (await Runner.arun_graph(alone, "x", hooks=[store], thread_id="agent")).output == "hi"
    assert (await Runner.configure().graph(flow).hook(store).arun("x")).output == "hello"


# Answers


async def test_w05_functions_do_not_run_again_by_default_and_agents_do(store: Store) -> None:
    calls: Calls = Counter()
    flow = Workflow("w", [(START, requests(calls, "gate"), Agent("helper", ScriptedModel(["hello"])), echo)])
    nodes = flow.compile().nodes
    assert [nodes[name].rerun_on_resume for name in ("gate", "helper", "echo")] == [False, True, False]
    await start(flow, store)
    assert (await resume(flow, store, {"gate": 1})).output == "hello" and calls == {"gate": 1}


async def test_w07_the_answers_are_empty_on_the_first_run(store: Store) -> None:
    seen: list[Any] = []

    def node(ctx: Context) -> None:
        seen.append(ctx.resume_inputs)

    await start(Workflow("w", [(START, FunctionNode(node, rerun_on_resume=True))]), store)
    assert seen == [{}]


async def form(ctx: Context, node_input: Any) -> AsyncIterator[Any]:
    if not ctx.resume_inputs:
        yield RequestInput("name", "Name?")
        return
    yield Event(output=["both", ctx.resume_inputs])


async def test_w09_a_form_that_does_not_run_again_ends_with_its_first_answer_and_is_warned_of(store: Store) -> None:
    with pytest.warns(AnswersUnread, match="'form' reads ctx.resume_inputs"):
        flow = Workflow("w", [(START, FunctionNode(form, rerun_on_resume=False))])
    await start(flow, store)
    assert (await resume(flow, store, {"name": "Ana"})).output == "Ana"


def test_w09_nobody_is_warned_of_a_node_that_runs_again_or_reads_no_answers() -> None:
    def nested(node_input: Any) -> Any:
        return [one + 1 for one in node_input]

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Workflow("w", [(START, FunctionNode(form, rerun_on_resume=True), nested)])
    with pytest.warns(AnswersUnread):
        Workflow("w", [(START, FunctionNode(lambda ctx: [lambda: ctx.resume_inputs], name="hidden"))])


class Plan(BaseModel):
    approved: bool
    note: str = ""


async def test_w13_w14_a_review_goes_round_by_its_routes_until_it_is_approved(store: Store) -> None:
    calls: Calls = Counter()
    counts: list[int] = []
    maps: list[list[str]] = []

    async def review(ctx: Context, node_input: Any) -> AsyncIterator[Any]:
        count = ctx.state.get("count", 0)
        maps.append(list(ctx.resume_inputs))
        response = ctx.resume_inputs.get(f"review_{count}")
        if response:
            counts.append(count)
            route = "approved" if response["approved"] else "rejected"
            yield Event(output=response, route=route, state={"count": count + 1})
            return
        yield RequestInput(f"review_{count}", "Good?", response_schema=Plan)

    gate = FunctionNode(review, rerun_on_resume=True)
    revise, publish = named(calls, "revise"), named(calls, "publish")
    flow = Workflow("w", [(START, gate), (gate, {"rejected": revise, "approved": publish}), (revise, gate)])
    await start(flow, store)
    for count, approved in enumerate((False, False, True)):
        result = await resume(flow, store, {f"review_{count}": {"approved": approved}})
    assert result.output == "publish" and calls == {"revise": 2, "publish": 1} and counts == [0, 1, 2]
    assert maps == [[], ["review_0"], [], ["review_1"], [], ["review_2"]]


@pytest.mark.parametrize(
    ("given", "schema"),
    [
        (Plan, {"title": "Plan", "type": "object", "required": ["approved"]}),
        (int, {"type": "integer"}),
        (list[str], {"type": "array", "items": {"type": "string"}}),
        ({"type": "string", "enum": ["a"]}, {"type": "string", "enum": ["a"]}),
    ],
)
async def test_w22_a_model_a_type_and_a_schema_all_become_a_json_schema(store: Store, given: Any, schema: Any) -> None:
    flow = Workflow("w", [(START, FunctionNode(lambda: RequestInput("q", "?", response_schema=given), name="ask"))])
    (question,) = (await start(flow, store)).interrupts
    assert schema.items() <= question.response_schema.items()


# Branches


@pytest.mark.parametrize("order", ["ab", "ba", "both"])
async def test_w26_w27_w28_branches_go_on_alone_and_the_join_fires_once(store: Store, order: str) -> None:
    calls: Calls = Counter()
    seen: list[Any] = []

    def join(node_input: Any) -> Any:
        seen.append(node_input)
        return node_input

    a, b = requests(calls, "a"), requests(calls, "b")
    after, c, more = named(calls, "after"), named(calls, "c"), named(calls, "more")
    flow = Workflow("w", [(START, (a, b, c)), (a, after), (c, more), ((after, b, more), join)])
    paused = await start(flow, store)
    assert calls == {"a": 1, "b": 1, "c": 1, "more": 1} and len(paused.interrupts) == 2
    if order == "both":
        result = await resume(flow, store, {"a": 1, "b": 2})
    else:
        for index, name in enumerate(order):
            assert not seen
            result = await resume(flow, store, {name: {"a": 1, "b": 2}[name]})
            assert calls["after"] == (1 if index or name == "a" else 0)
    assert seen == [result.output] == [{"after": "after", "b": 2, "more": "more"}]
    assert calls == {"a": 1, "b": 1, "c": 1, "more": 1, "after": 1}


async def test_w29_a_nested_workflows_question_is_the_outer_runs(store: Store, restarted: Any) -> None:
    calls: Calls = Counter()
    inner = Workflow("inner", [(START, named(calls, "before"), requests(calls, "gate"), named(calls, "after"))])
    flow = Workflow("outer", [(START, inner, named(calls, "last"))])
    (question,) = (await start(flow, store)).interrupts
    assert question.path == "inner/gate" and question.graph_path == ("outer", "inner")
    assert (await resume(flow, restarted(store), {"gate": 1})).output == "last"
    assert calls == {"before": 1, "gate": 1, "after": 1, "last": 1}


# Ends


@pytest.mark.parametrize(
    "edges",
    [
        lambda a, b, c: [(START, (a, b))],
        lambda a, b, c: [(START, a, (b, c))],
        lambda a, b, c: [(START, a, {"x": [b, c]})],
        lambda a, b, c: [(START, a, {"x": b}), (a, c)],
    ],
)
def test_w45_two_ends_that_fire_together_are_refused_when_built(edges: Any) -> None:
    nodes = [named(Counter(), name) for name in "abc"]
    with pytest.raises(DefinitionError, match=r"misconfigured.* both put out.*join"):
        Workflow("w", edges(*nodes))


async def test_w45_two_ends_that_a_run_leads_to_fail_it_as_misconfigured(store: Store) -> None:
    def both(node_input: Any) -> Any:
        return Event(output=1, route=["x", "y"])

    def silent(node_input: Any) -> None:
        return None

    b, c = named(Counter(), "b"), named(Counter(), "c")
    flow = Workflow("w", [(START, both, {"x": b, "y": c})])
    result = await start(flow, store)
    assert result.status is ThreadStatus.FAILED
    assert result.error["type"] == "misconfigured" and "'b' and 'c'" in result.error["message"]
    outer = Workflow("outer", [(START, flow)])
    nested = await start(outer, store)
    assert nested.error["type"] == "misconfigured" and nested.error["path"] == "w"
    quiet = Workflow("quiet", [(START, both, {"x": b, "y": silent})])
    assert (await start(quiet, store)).output == "b"
    exclusive = Workflow("exclusive", [(START, named(Counter(), "pick", "x"), {"x": b, "y": c})])
    assert (await start(exclusive, store)).output == "b"


class Request(BaseModel):
    days: int


async def test_a_text_that_says_a_nodes_model_as_json_fills_it(store: Store) -> None:
    def days(request: Request) -> int:
        return request.days

    flow = Workflow("w", [(START, days)])
    assert (await Runner.arun_graph(flow, '{"days": 3}', hooks=[store])).output == 3
    assert (await Runner.arun_graph(flow, {"days": 4}, hooks=[store])).output == 4
    failed = await Runner.arun_graph(flow, "three days", hooks=[store])
    assert failed.error["type"] == "input_mismatch" and "'request'" in failed.error["message"]
