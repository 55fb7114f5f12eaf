"""What authors of graphs do wrong: each error names the node, the parameter or the option, and the way out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from graphs import (
    START,
    Agent,
    Event,
    Graph,
    InMemoryCheckpointer,
    Runner,
    ToolNode,
    Workflow,
    aonce,
    ask,
    interrupt,
    once,
    request_human_input,
)
from graphs.engine.errors import DefinitionError, SchemaError
from tests.engine.runs import one


class Odd:
    """Nothing that JSON can become."""


def plain(order: Any) -> Any:
    return order


def both(order: Any, amount: Any) -> Any:
    return [order, amount]


def whole(amount: int) -> int:
    return amount


def odd(order: Odd) -> Any:
    return order


def steps(order: Any) -> Any:
    yield order


async def later() -> int:
    return 1


async def blocks(ctx: Any) -> Any:
    return ctx.once("x", plain, 1)


async def blocks_with_a_child(ctx: Any) -> Any:
    return ctx.run_node_sync(plain)


def two(edge: Callable[[Graph], Any]) -> Any:
    graph = Graph.new("g").node("review", plain).node("pay", plain)
    edge(graph)
    return graph.entry("review").terminal("pay").compile()


DEFINITIONS: dict[str, tuple[Callable[[], Any], list[str]]] = {
    "one id for two nodes": (
        lambda: Graph.new("g").node("a", plain).node("a", whole),
        ["node 'a' is defined twice", "plain", "whole", "another id"],
    ),
    "one name for two functions": (
        lambda: Workflow(name="w", edges=[(START, lambda_named("f"), lambda_named("f"))]),
        ["two nodes named 'f'", "FunctionNode(func=…, name=…)"],
    ),
    "an edge to nowhere": (
        lambda: two(lambda graph: graph.edge("review", "pya")),
        ["edge review → pya", "unknown node 'pya'", "did you mean 'pay'?", "Its nodes are 'review', 'pay'"],
    ),
    "an entry that is no node": (
        lambda: Graph.new("g").node("review", plain).entry("start").compile(),
        ["entry names the unknown node 'start' of graph 'g'", "its nodes are 'review'"],
    ),
    "text for a list of nodes": (
        lambda: Graph.new("g").node("a", plain).entry("a").compile(interrupt_before="a"),
        ["interrupt_before is a list of node ids, ['a'], not text"],
    ),
    "a reducer by a wrong name": (
        lambda: Graph.new("g", state={"log": "appendd"}).node("a", plain).compile(),
        ["state channel 'log'", "'appendd'", "one of add, append, last, merge, messages, or module:function"],
    ),
    "a reducer that cannot be found again": (
        lambda: Graph.new("g", state={"log": lambda a, b: b}).node("a", plain).compile(),
        ["state channel 'log'", "a function that a module has under its name"],
    ),
    "state as a list": (lambda: Graph.new("g", state=["log"]), ["graph 'g': state is a mapping", "['log']"]),
    "budgets as a dict": (lambda: Graph.new("g", budgets={"supersteps": 1}), ["graph 'g': budgets is graphs.Budgets("]),
    "a called function": (
        lambda: Graph.new("g").node("a", print()),
        ["node 'a': None is no function", "without calling it"],
    ),
    "a class": (lambda: Graph.new("g").node("a", Odd), ["node 'a'", "make an object of it: Odd(…)"]),
    "a function's name": (lambda: Graph.new("g").node("a", "plain"), ["node 'a'", "the function itself, not its name"]),
    "a name in a workflow": (
        lambda: Workflow(name="w", edges=[(START, "plain")]),
        ["workflow 'w': 'plain' stands where a node is needed", "give the function itself"],
    ),
    "a number of retries": (
        lambda: Graph.new("g").node("a", plain, retry=3),
        ["node 'a': retry is a NodeRetryPolicy(max_attempts=…), not 3"],
    ),
    "a timeout in text": (
        lambda: Graph.new("g").node("a", plain, timeout="5"),
        ["node 'a': timeout is", "not '5'"],
    ),
    "an on_error that is no function": (lambda: Graph.new("g").node("a", plain, on_error=1), ["node 'a': on_error"]),
    "a predicate that is a coroutine": (
        lambda: two(lambda graph: graph.edge("review", "pay", when=later)),
        ["edge review → pay: a predicate is a plain function that returns True or False, not a coroutine"],
    ),
    "a predicate that yields": (
        lambda: two(lambda graph: graph.edge("review", "pay", when=steps)),
        ["edge review → pay", "not a generator"],
    ),
    "a route that is a fraction": (
        lambda: two(lambda graph: graph.edge("review", "pay", when=1.5)),
        ["edge review → pay: when is a function, text, a whole number or a boolean"],
    ),
    "a tool that yields": (lambda: ToolNode([steps]), ["tool 'steps' yields", "as a list"]),
    "a tool that is no function": (lambda: Agent("a", tools=[3]), ["3 is no tool: give a function"]),
    "a hook that is none": (
        lambda: Runner.run_graph(one(plain), 1, hooks=[3]),
        ["hook 3 is neither a checkpointer nor an object with register_hooks(registry)"],
    ),
    "options for a nested graph": (
        lambda: Graph.new("g").node("a", one(plain), timeout=1),
        ["node 'a' is a graph: put retry, timeout, on_error and crash on its own nodes"],
    ),
    "a function for a graph": (lambda: Runner.run_graph(plain, 1), ["is no graph, workflow or agent"]),
}


def lambda_named(name: str) -> Any:
    def body() -> None:
        return None

    body.__name__ = name
    return body


@pytest.mark.parametrize("wrong", DEFINITIONS)
def test_a_wrong_definition_is_refused_with_the_place_and_the_way_out(wrong: str) -> None:
    define, said = DEFINITIONS[wrong]
    with pytest.raises(DefinitionError) as refusal:
        define()
    for part in said:
        assert part in str(refusal.value)


def test_an_input_schema_that_is_wrong_says_whose_it_is() -> None:
    with pytest.raises(SchemaError, match="graph 'g': input_schema is not a valid JSON Schema at /type: 'objekt'"):
        Graph.new("g", input_schema={"type": "objekt"}).node("a", plain).compile()


RUNS: dict[str, tuple[Any, Any, list[str]]] = {
    "a parameter that nothing fills": (
        both,
        {"order": 1},
        ["node 'ask'", "parameter 'amount'", "its input has 'order'", "give it a default"],
    ),
    "an input that does not fit": (whole, "many", ["node 'ask'", "'amount'", "valid integer"]),
    "an annotation that JSON cannot become": (odd, 1, ["node 'ask'", "'order'", "annotate it with", "or not at all"]),
    "a set put out": (lambda: {1}, 1, ["set is not JSON; use a list (at output)"]),
    "a tuple deep inside": (lambda: {"a": [1, (2,)]}, 1, ["tuple is not JSON; use a list (at output/a/1)"]),
    "an object put out": (lambda: Odd(), 1, ["Odd is not JSON; give a dict, a dataclass or a Pydantic model"]),
    "a generator put out": (
        lambda: (n for n in [1]),
        1,
        ["generator is not JSON; give a list, or let the"],
    ),
    "two outputs": (lambda: (yield from [1, 2]), 1, ["a second output in one pass; give one list instead"]),
    "state that is not JSON": (lambda ctx: ctx.state.update(log={1}), 1, ["set is not JSON", "state/log"]),
    "state that is no mapping": (
        lambda: Event(state=[1]),
        1,
        ["a mapping from channels to values, not [1]"],
    ),
    "a route that is a fraction": (lambda: Event(route=1.5), 1, ["a route is text, a whole number, a boolean"]),
    "a deadline in words": (lambda: ask("Go?", expires_in="3 days"), 1, ["not '3 days' (at expires_in)"]),
    "a message that is no text": (lambda: ask(3), 1, ["int where text is needed (at message)"]),
    "a schema that is none": (lambda: ask("Go?", schema={"type": "objekt"}), 1, ["not a valid JSON Schema at /type"]),
    "a payload that is not JSON": (lambda: ask("Go?", payload={"a": {1}}), 1, ["set is not JSON", "payload/a"]),
    "a default that does not fit": (lambda: ask("Go?", schema=int, default="a"), 1, ["default: 'a' is not of type"]),
    "a key that is no text": (lambda: ask("Go?", key=3), 1, ["a question's key is text of 1 to"]),
    "once in an async node": (
        blocks,
        1,
        ["once() would block the event loop here", "`await aonce("],
    ),
    "once with a coroutine": (lambda ctx: ctx.once("x", later), 1, ["once('x')", "`await aonce(...)`"]),
    "once with a result": (lambda ctx: ctx.once("x", 3), 1, ["once('x', 3): give the function itself"]),
    "an unknown mode": (lambda ctx: ctx.once("x", plain, 1, mode="x"), 1, ["at_most_once, idempotent, pure"]),
    "a child that blocks": (blocks_with_a_child, 1, ["use `await ctx.run_node(...)`"]),
}


@pytest.mark.parametrize("wrong", RUNS)
def test_a_wrong_node_fails_with_the_place_and_the_way_out(wrong: str) -> None:
    node, given, said = RUNS[wrong]
    result = Runner.run_graph(one(node), given, hooks=[InMemoryCheckpointer()])
    assert result.status == "failed" and result.error is not None and result.error["path"] == "ask"
    for part in said:
        assert part in result.error["message"]
    assert "pydantic.dev" not in result.error["message"]


def test_a_reducer_that_cannot_take_a_value_names_its_channel() -> None:
    def adds(ctx: Any) -> None:
        ctx.state["sum"] = "a"
        ctx.state["sum"] = 3

    result = Runner.run_graph(one(adds, state={"sum": "add"}), 1, hooks=[InMemoryCheckpointer()])
    assert result.error is not None
    assert "the reducer 'add' cannot take this" in result.error["message"] and "state/sum" in result.error["message"]


def test_a_predicate_that_raises_is_named_by_its_edge() -> None:
    graph = Graph.new("g").node("a", lambda: 1).node("b", plain).edge("a", "b", when=lambda output: output["x"])
    result = Runner.run_graph(graph.entry("a").terminal("b").compile(), 1, hooks=[InMemoryCheckpointer()])
    assert result.error is not None and "raised by the predicate of edge a → b" in result.error["traceback"]


@pytest.mark.parametrize(
    "call",
    [lambda: ask("Go?"), interrupt, lambda: request_human_input(None, "Go?"), lambda: once("x", print)],
    ids=["ask", "interrupt", "request_human_input", "once"],
)
def test_asking_outside_a_run_says_where_it_may_be_called(call: Callable[[], Any]) -> None:
    with pytest.raises(RuntimeError, match=r"\(\) can only be called while a graph node or tool is running"):
        call()


async def test_an_async_effect_outside_a_run_says_where_it_may_be_called() -> None:
    with pytest.raises(RuntimeError, match=r"aonce\(\) can only be called while a graph node or tool is running"):
        await aonce("x", print)
