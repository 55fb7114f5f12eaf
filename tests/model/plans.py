"""Random graphs as data: what hypothesis draws, what is compiled for the engine, and what the reference interprets."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from graphs.engine.asking import ask
from graphs.engine.context import Context
from graphs.engine.effects import aonce
from graphs.engine.graph import CompiledGraph, Graph
from graphs.engine.outputs import Event

#: Seconds that a question of an expiring node stays open; its default then stands for the answer.
EXPIRES_IN = 60.0
DEFAULT = "nobody came"


@dataclass(frozen=True)
class Node:
    """One node: how often it asks, whether at once, whether between effects; how often it sends the thread back; how
    long after its siblings it ends."""

    id: str
    asks: int = 0
    together: bool = False
    effects: bool = False
    expires: bool = False
    join: str = "merge"
    flaky: bool = False
    again: int = 0
    slow: int = 0
    inner: Plan | None = None


@dataclass(frozen=True)
class Plan:
    """A graph: nodes in order, edges forward, and edges back that are taken while their source says again."""

    nodes: tuple[Node, ...]
    edges: tuple[tuple[str, str], ...]
    back: tuple[tuple[str, str], ...]
    pause: str = "superstep"

    @property
    def entries(self) -> list[str]:
        targets = {target for _, target in self.edges}
        return [node.id for node in self.nodes if node.id not in targets]

    @property
    def terminals(self) -> list[str]:
        sources = {source for source, _ in self.edges}
        return [node.id for node in self.nodes if node.id not in sources]


@st.composite
def plans(draw: st.DrawFn, depth: int = 1) -> Plan:
    """Up to five nodes, up to two graphs deep."""
    names = "abcde"[: draw(st.integers(1, 5 if depth else 3))]
    edges = []
    for index, name in enumerate(names[1:], 1):
        sources = draw(st.sets(st.sampled_from(names[:index]), max_size=2))
        edges += [(source, name) for source in sorted(sources)]
    nodes, back = [], []
    for index, name in enumerate(names):
        node = draw(node_of(name, depth))
        if node.again:
            back.append((name, draw(st.sampled_from(names[: index + 1]))))
        nodes.append(node)
    return Plan(tuple(nodes), tuple(edges), tuple(back), draw(st.sampled_from(["superstep", "quiescent"])))


@st.composite
def node_of(draw: st.DrawFn, name: str, depth: int) -> Node:
    join = draw(st.sampled_from(["merge", "merge", "all", "any"]))
    if depth and draw(st.integers(0, 4)) == 4:
        return Node(name, join=join, inner=draw(plans(depth - 1)))
    return Node(
        name,
        asks=draw(st.sampled_from([0, 0, 1, 1, 2, 3])),
        together=draw(st.booleans()),
        effects=draw(st.booleans()),
        expires=draw(st.integers(0, 3)) == 3,
        join=join,
        flaky=draw(st.integers(0, 5)) == 5,
        again=draw(st.sampled_from([0, 0, 0, 1, 2])),
        slow=draw(st.integers(0, 2)),
    )


def shorten(value: Any) -> str:
    """A value's fingerprint: outputs would otherwise grow with every pass of a loop."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:12]


def output_of(node: Node, path: str, visit: int, given: Any, answers: list[Any]) -> dict[str, Any]:
    """What a node puts out; the engine's nodes and the reference agree on nothing but this function and the plan."""
    return {"by": f"{path}#{visit}", "in": shorten(given), "answers": answers, "again": visit <= node.again}


def question_of(path: str, visit: int, number: int) -> str:
    """The text of a question, which names its place."""
    return f"{path}#{visit}?{number}"


@dataclass
class World:
    """What the nodes of all threads did, and what a store has kept of it already."""

    repaired: set[str] = field(default_factory=set)
    stale: bool = False
    runs: Counter[tuple[str, ...]] = field(default_factory=Counter)
    settled: set[tuple[str, ...]] = field(default_factory=set)

    def did(self, *place: str) -> None:
        """Note an effect, or a node's beginning; what is settled must not happen again (I2)."""
        if not self.stale:
            assert place not in self.settled, f"{place} is recorded as finished and ran again"
            self.runs[place] += 1


def compiled(plan: Plan, world: World, version: int = 0, id: str = "model") -> CompiledGraph:
    """The graph. Version 1 has one node more that no thread reaches, and fits; version 2 changes all nodes and does
    not."""
    graph = Graph.new(id, pause=plan.pause, state={"log": "append", "sum": "add"})
    crash = "pure" if version == 2 else "idempotent"
    for node in plan.nodes:
        if node.inner is not None:
            graph.node(node.id, compiled(node.inner, world, version, f"{id}_{node.id}"), join=node.join)
        else:
            graph.node(node.id, body(node, world), join=node.join, crash=crash)
    looping = {source for source, _ in plan.back}
    for source, target in plan.edges:
        graph.edge(source, target, when=_goes_on if source in looping else None)
    for source, target in plan.back:
        graph.edge(source, target, when=_goes_back)
    for name in plan.entries:
        graph.entry(name)
    for name in plan.terminals:
        graph.terminal(name)
    plain = [node.id for node in plan.nodes if node.inner is None]
    if version == 1 and plain:
        graph.node("extra", lambda: None).edge(plain[-1], "extra", when=_never)
    return graph.compile()


def _goes_on(output: Any) -> bool:
    return not output["again"]


def _goes_back(output: Any) -> bool:
    return bool(output["again"])


def _never(output: Any) -> bool:
    return False


def body(node: Node, world: World) -> Callable[..., Any]:
    async def run(node_input: Any, ctx: Context) -> Event:
        world.did(ctx.thread_id, ctx.path, str(ctx.visit))
        for _ in range(10 * node.slow):
            await asyncio.sleep(0)  # its siblings finish first, and are recorded ahead of the commit
        answers = await (at_once if node.together else in_turn)(node, world, ctx)
        if node.effects:
            await effect(world, ctx, "end")
        if node.flaky and ctx.thread_id not in world.repaired:
            raise RuntimeError(f"{ctx.path} is down")
        output = output_of(node, ctx.path, ctx.visit, node_input, answers)
        return Event(output=output, state={"log": output["by"], "sum": ctx.visit})

    return run


async def in_turn(node: Node, world: World, ctx: Context) -> list[Any]:
    answers = []
    for number in range(node.asks):
        if node.effects:
            await effect(world, ctx, f"before {number}")
        answers.append(question(node, ctx, number))
    return answers


async def at_once(node: Node, world: World, ctx: Context) -> list[Any]:
    async def one(number: int) -> Any:
        return question(node, ctx, number, f"k{number}")

    if node.effects:
        await effect(world, ctx, "before")
    return list(await asyncio.gather(*(one(number) for number in range(node.asks))))


def question(node: Node, ctx: Context, number: int, key: str | None = None) -> Any:
    text = question_of(ctx.path, ctx.visit, number)
    if node.expires:
        return ask(text, key=key, expires_in=EXPIRES_IN, default=DEFAULT).value
    return ask(text, key=key).value


async def effect(world: World, ctx: Context, name: str) -> None:
    async def act() -> str:
        world.did(ctx.thread_id, ctx.path, str(ctx.visit), name)
        return name

    assert await aonce(name, act) == name
