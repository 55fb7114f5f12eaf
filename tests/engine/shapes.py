"""One thread of each shape, as a story: what it is started with and what people do until it ends.

The bodies belong to a `World`, so that a test can count what ran, let a node fail, or forbid that any node runs at all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from graphs.agents.agent import Agent
from graphs.agents.models import ScriptedModel, ToolCall
from graphs.agents.tool_node import ToolNode
from graphs.engine.asking import ask, interrupt, request_human_input
from graphs.engine.context import Context, ExecutableInput
from graphs.engine.effects import once
from graphs.engine.functions import FunctionNode
from graphs.engine.graph import Budgets, CompiledGraph, Graph
from graphs.engine.hooks import BeforeNodeCallEvent, HookRegistry
from graphs.engine.messages import Message
from graphs.engine.outputs import Event, RequestInput
from graphs.engine.ports import Checkpointer
from graphs.engine.results import GraphRunResult
from graphs.engine.runner import Runner
from graphs.engine.statuses import ThreadStatus
from graphs.engine.workflow import START, Workflow

THREAD = "run-1"


@dataclass
class World:
    """What the nodes of one test share. A replay's world is not `alive`: no node and no predicate may run in it."""

    alive: bool = True
    failing: bool = True
    calls: Counter[str] = field(default_factory=Counter)

    def enter(self, name: str) -> None:
        assert self.alive, f"{name} ran during a replay"
        self.calls[name] += 1

    def node(self, name: str, output: Any = None, **state: Any) -> Callable[..., Any]:
        def body(node_input: Any) -> Any:
            self.enter(name)
            return Event(output=[name, node_input] if output is None else output, state=state)

        return body

    def fails_first(self, name: str) -> Callable[..., Any]:
        def body(node_input: Any) -> Any:
            self.enter(name)
            if self.failing:
                raise RuntimeError(f"{name} is down")
            return Event(output=name, state={"log": name})

        return body

    def when(self, expected: Any) -> Callable[..., bool]:
        def predicate(output: Any) -> bool:
            self.enter("predicate")
            return bool(output == expected)

        return predicate


@dataclass(frozen=True)
class Shape:
    """A graph, and the story of one thread of it: pairs of an act (start, answer, retry, turn) and what it is given."""

    name: str
    build: Callable[[World], CompiledGraph]
    story: Sequence[tuple[str, Any]]
    output: Any
    hooks: tuple[Any, ...] = ()
    ends: ThreadStatus = ThreadStatus.COMPLETED


async def act(shape: Shape, graph: CompiledGraph, store: Checkpointer, number: int, world: World) -> GraphRunResult:
    """Do the story's act of this number."""
    kind, given = shape.story[number]
    hooks = [store, *shape.hooks]
    if kind in ("start", "turn"):
        return await Runner.arun_graph(graph, given, hooks=hooks, thread_id=THREAD)
    if kind == "retry":
        world.failing = False
        return await Runner.aretry_graph(graph, checkpointer=store, thread_id=THREAD, hooks=list(shape.hooks))
    return await Runner.arun_graph_from_checkpoint(
        graph, checkpointer=store, thread_id=THREAD, resume=given, hooks=list(shape.hooks)
    )


def chain(world: World) -> CompiledGraph:
    def pay(ctx: Context) -> Any:
        booked = once("book", lambda: world.enter("book") or "B-1")
        return [booked, ask("Pay?", payload={"booked": booked}, schema={"type": "boolean"}).value]

    graph = Graph.new("chain", state={"log": "append"})
    graph.node("first", world.node("first", log="first")).node("pay", pay).node(
        "last", world.node("last", log=["last"])
    )
    return graph.edge("first", "pay").edge("pay", "last").entry("first").terminal("last").compile()


def fan(world: World) -> CompiledGraph:
    graph = Graph.new("fan", state={"log": "append", "sum": "add", "seen": "merge"})
    graph.node("root", world.node("root", log="root", sum=2))
    graph.node("a", lambda: {"a": ask("A?").value}).node("b", world.node("b", "b", log="b", sum=3, seen={"b": True}))
    graph.node("c", lambda: {"c": ask("C?").value}).node("never", world.node("never"))
    graph.node("join", lambda node_input, ctx: [node_input, ctx.state["log"], ctx.state["sum"]], join="all")
    for name in "abc":
        graph.edge("root", name).edge(name, "join")
    graph.edge("root", "never", when=world.when("no")).edge("never", "join")
    return graph.entry("root").terminal("join").compile()


def loop(world: World) -> CompiledGraph:
    def review(node_input: Any, ctx: Context) -> Any:
        verdict = ask("Good?", payload=node_input, schema={"type": "string"}).value
        return Event(output=verdict, route=verdict, state={"rounds": 1})

    graph = Graph.new("loop", state={"rounds": "add"})
    graph.node("draft", world.node("draft")).node("review", review)
    graph.node("publish", lambda node_input, ctx: [node_input, ctx.state["rounds"]])
    graph.edge("draft", "review").edge("review", "draft", when="again").edge("review", "publish", when="good")
    return graph.entry("draft").terminal("publish").compile()


def nested(world: World) -> CompiledGraph:
    inmost = Graph.new("inmost", state={"log": "append"})
    inmost.node("look", lambda: Event(output=interrupt({"page": 1}, message="Look?"), state={"log": "look"}))
    inmost.node("side", world.node("side", "side", log="side")).node("both", lambda ctx: list(ctx.state["log"]))
    inmost.edge("look", "both").edge("side", "both").entry("look").entry("side").terminal("both")
    inner = Graph.new("inner", state={"log": "append"}).node("deep", inmost.compile())
    inner.node("tail", world.node("tail")).edge("deep", "tail").entry("deep").terminal("tail")
    graph = Graph.new("nested", state={"log": "append"}).node("sub", inner.compile())
    graph.node("yes", world.node("yes", log="yes")).node("no", world.node("no"))
    graph.edge("sub", "yes", when=world.when(["tail", ["side", "look"]])).edge("sub", "no", default=True)
    graph.edge("yes", "again").node("again", inner.compile())
    return graph.entry("sub").terminal("no").terminal("again").compile()


def asking(world: World) -> CompiledGraph:
    def human(inp: ExecutableInput) -> Any:
        return request_human_input(inp, "Who?", kind="choice", options=["a", "b"])

    def twice(ctx: Context) -> Any:
        charged = once("charge", lambda: world.enter("charge") or 1, mode="at_most_once")
        return [charged, ask("One?", key="one").value, ask("Two?", key="two").approved]

    graph = Graph.new("asking", state={"mood": "last"})
    graph.node("root", world.node("root", mood="calm")).node("human", human)
    graph.node("tool", lambda: interrupt({"x": 1}, message="Tool?", response_schema={"type": "integer"}))
    graph.node("form", lambda: RequestInput(interrupt_id="form", message="Form?", payload={"y": 2}))
    graph.node("twice", twice).node("before", lambda ctx: ctx.state["mood"]).node("after", world.node("after", "after"))
    graph.node("join", lambda node_input: node_input, join="all")
    for name in ("human", "tool", "form", "twice", "before", "after"):
        graph.edge("root", name).edge(name, "join")
    return graph.entry("root").terminal("join").compile(interrupt_before=["before"], interrupt_after=["after"])


def failing(world: World) -> CompiledGraph:
    graph = Graph.new("failing", state={"log": "append"})
    graph.node("root", world.node("root")).node("shaky", world.fails_first("shaky"))
    graph.node("asks", lambda: ask("Sure?").value).node("steady", world.node("steady", "steady", log="steady"))
    graph.node("join", lambda node_input, ctx: [node_input, list(ctx.state["log"])], join="all")
    for name in ("shaky", "asks", "steady"):
        graph.edge("root", name).edge(name, "join")
    return graph.entry("root").terminal("join").compile()


def turns(world: World) -> CompiledGraph:
    graph = Graph.new("turns", state={"messages": "messages"})
    graph.node("hear", lambda node_input: Event(output=node_input, state={"messages": {"text": node_input}}))
    graph.node("answer", lambda node_input, ctx: [ask(f"{node_input}?").value, len(ctx.state["messages"])])
    return graph.edge("hear", "answer").entry("hear").terminal("answer").compile()


def budgets(world: World) -> CompiledGraph:
    graph = Graph.new("budgets", budgets=Budgets(supersteps=2, seconds=60, lifetime_supersteps=9))
    for name, after in (("a", "b"), ("b", "c"), ("c", "d")):
        graph.node(name, world.node(name)).edge(name, after)
    return graph.node("d", world.node("d", "d")).entry("a").terminal("d").compile()


class Watching:
    """Hooks around every node: nested graphs then open as tasks of their own."""

    def register_hooks(self, registry: HookRegistry, **_: Any) -> None:
        registry.add_callback(BeforeNodeCallEvent, lambda event: None)


class Cancelling:
    """Calls off the node `stop`."""

    def register_hooks(self, registry: HookRegistry, **_: Any) -> None:
        registry.add_callback(BeforeNodeCallEvent, self.before)

    def before(self, event: BeforeNodeCallEvent) -> None:
        if event.node_id == "stop":
            event.cancel_node = "called off"


def stopping(world: World) -> CompiledGraph:
    graph = Graph.new("stopping").node("root", world.node("root")).node("stop", world.node("stop"))
    graph.node("asks", lambda: ask("Still?").value)
    graph.edge("root", "stop").edge("root", "asks")
    return graph.entry("root").terminal("stop").terminal("asks").compile()


def workflow(world: World) -> CompiledGraph:
    def review(ctx: Context, node_input: Any) -> Any:
        name = f"review_{ctx.state.get('round', 0)}"
        if name not in ctx.resume_inputs:
            return RequestInput(name, "Good?", payload=node_input, response_schema={"type": "boolean"})
        good = ctx.resume_inputs[name]
        return Event(output=node_input, route=good, state={"round": ctx.state.get("round", 0) + 1})

    async def gather(ctx: Context, node_input: Any) -> Any:
        counted = await ctx.run_node(FunctionNode(world.node("count", 2), name="count"), node_input)
        named = await ctx.run_node(FunctionNode(lambda: RequestInput("name", "Whose?"), name="name"), node_input)
        return [counted, named]

    rounds = FunctionNode(review, name="review", rerun_on_resume=True)
    draft, publish = (
        FunctionNode(world.node("draft"), name="draft"),
        FunctionNode(world.node("publish"), name="publish"),
    )
    edges = [(START, FunctionNode(gather, name="gather"), draft, rounds), (rounds, {False: draft, True: publish})]
    return Workflow("workflow", edges).compile()


def agent(world: World) -> CompiledGraph:
    def refund(amount: int) -> str:
        world.enter("refund")
        return f"paid back {amount}"

    def look(order: str) -> str:
        world.enter("look")
        return f"{order} cost 30"

    said = [[ToolCall("look", {"order": "A-1"}), ToolCall("refund", {"amount": 30})], "It is paid back."]
    clerk = Agent("clerk", ScriptedModel(said), tools=[look, refund], approve=["refund"])
    return Graph.new("agent").node("clerk", clerk).entry("clerk").terminal("clerk").compile()


def ledger(world: World) -> CompiledGraph:
    def free() -> str:
        world.enter("free")
        return "free"

    def gated() -> Any:
        return interrupt({"amount": 5}, message="Pay?")

    calls = [{"name": name, "input": {}, "toolUseId": f"{name}-1"} for name in ("free", "gated")]

    def talk() -> Any:
        message = Message.tool_call_message(*calls)
        return Event(output=message, state={"messages": message})

    graph = Graph.new("ledger").node("talk", talk).node("tools", ToolNode([free, gated]))
    graph.node("end", lambda ctx: [one["role"] for one in ctx.state["messages"]])
    return graph.edge("talk", "tools").edge("tools", "end").entry("talk").terminal("end").compile()


SHAPES = [
    Shape(
        "workflow",
        workflow,
        [
            ("start", 1),
            ("answer", {"name": "Ana"}),
            ("answer", {"review_0": False}),
            ("answer", {"review_1": True}),
        ],
        ["publish", ["draft", ["draft", [2, "Ana"]]]],
    ),
    Shape("agent", agent, [("start", "Pay back A-1"), ("answer", {"clerk": {"approved": True}})], "It is paid back."),
    Shape("ledger", ledger, [("start", 1), ("answer", {"tools": "yes"})], ["assistant", "user"]),
    Shape("chain", chain, [("start", 1), ("answer", {"pay": True})], ["last", ["B-1", True]]),
    Shape(
        "fan",
        fan,
        [("start", 1), ("answer", {"c": 3}), ("answer", {"a": 1})],
        [{"a": {"a": 1}, "b": "b", "c": {"c": 3}}, ["root", "b"], 5],
    ),
    Shape(
        "loop",
        loop,
        [
            ("start", 1),
            ("answer", {"review": "again"}),
            ("answer", {"review": "again"}),
            ("answer", {"review": "good"}),
        ],
        ["good", 3],
    ),
    Shape(
        "nested",
        nested,
        [("start", 1), ("answer", {"sub/deep/look": "fine"}), ("answer", {"again/deep/look": "fine"})],
        ["tail", ["side", "look"]],
    ),
    Shape(
        "asking",
        asking,
        [
            ("start", 1),
            ("answer", {"human": "a", "before": {"state": {"mood": "edited"}}}),
            ("answer", {"tool": 7, "after": True}),
            ("answer", {"form": {"name": "Ana"}}),
            ("answer", {"twice": 1}),
            ("answer", {"twice": False}),
        ],
        {
            "human": "a",
            "tool": 7,
            "form": {"name": "Ana"},
            "twice": [1, 1, True],
            "before": "edited",
            "after": "after",
        },
    ),
    Shape(
        "failing",
        failing,
        [("start", 1), ("retry", None), ("answer", {"asks": "yes"})],
        [{"shaky": "shaky", "asks": "yes", "steady": "steady"}, ["steady", "shaky"]],
    ),
    Shape(
        "turns",
        turns,
        [("start", "one"), ("answer", {"answer": 1}), ("turn", "two"), ("answer", {"answer": 2})],
        [2, 2],
    ),
    Shape("budgets", budgets, [("start", 1), ("retry", None)], "d"),
    Shape(
        "watched",
        nested,
        [("start", 1), ("answer", {"sub/deep/look": "fine"}), ("answer", {"again/deep/look": "fine"})],
        ["tail", ["side", "look"]],
        (Watching(),),
    ),
    Shape("stopping", stopping, [("start", 1)], "called off", (Cancelling(),), ThreadStatus.CANCELLED),
]
