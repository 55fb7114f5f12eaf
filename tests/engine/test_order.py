"""The order in which nodes finish never matters: properties of applying a superstep."""

from __future__ import annotations

import asyncio
import random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from graphs.engine import superstep
from graphs.engine.checkpointers.memory import InMemoryCheckpointer
from graphs.engine.context import Context
from graphs.engine.graph import CompiledGraph, Graph
from graphs.engine.machine import Machine
from graphs.engine.outputs import Event
from graphs.engine.ports import TaskResult
from graphs.engine.runner import Runner
from graphs.engine.statuses import TaskStatus, ThreadStatus
from graphs.engine.superstep import Ran
from tests.engine.runs import chain, start

Store = Any


STATE = {"last": "last", "log": "append", "sum": "add", "map": "merge", "most": "tests.engine.test_order:most"}


def most(current: Any, value: Any) -> Any:
    """A reducer of the test's own, found by its dotted name."""
    return value if current is None else max(current, value)


def writes(name: str, number: int) -> Event:
    state = {"last": name, "log": name, "sum": number, "map": {name: number, "who": name}, "most": number}
    return Event(output=name, state=state)


def racing(names: str, order: list[str]) -> CompiledGraph:
    """Siblings that finish in the given order and all write to every channel."""

    def sibling(name: str, number: int) -> Any:
        async def node() -> Event:
            while order[0] != name:
                await asyncio.sleep(0)
            order.pop(0)
            return writes(name, number)

        return node

    graph = Graph.new("race", state=STATE).node("root", lambda: 0).entry("root")
    for number, name in enumerate(names):
        graph.node(name, sibling(name, number)).edge("root", name)
    graph.node("join", lambda node_input: node_input, join="all").terminal("join")
    for name in names:
        graph.edge(name, "join")
    return graph.compile()


@settings(max_examples=60, deadline=None)
@given(st.permutations("abcdef"))
def test_the_order_in_which_nodes_finish_never_matters(order: list[str]) -> None:
    result = asyncio.run(Runner.arun_graph(racing("abcdef", [*order, ""]), 1, checkpointer=InMemoryCheckpointer()))
    assert result.status is ThreadStatus.COMPLETED
    assert list(result.output) == list("abcdef")
    assert result.state is not None
    assert result.state.values == {
        "last": "f",
        "log": list("abcdef"),
        "sum": 15,
        "map": {**{name: number for number, name in enumerate("abcdef")}, "who": "f"},
        "most": 5,
    }


@st.composite
def layered(draw: Any) -> CompiledGraph:
    """A random graph without cycles: every node but the first has at least one earlier source."""
    size = draw(st.integers(2, 9))
    graph = Graph.new("random", state=STATE)
    for number in range(size):
        join = draw(st.sampled_from(["all", "merge", "any"]))
        graph.node(f"n{number}", lambda: 0, join=join)
        sources = draw(st.sets(st.integers(0, number - 1), min_size=1)) if number else set()
        for source in sorted(sources):
            graph.edge(f"n{source}", f"n{number}")
    return graph.entry("n0").terminal(f"n{size - 1}").compile()


def play(graph: CompiledGraph, seed: int) -> list[Any]:
    """Apply supersteps on the pure machine, the passes handed over in a random order."""
    shuffle = random.Random(seed)
    machine = Machine(graph, dict(superstep.begin(graph, 1).cells))
    history: list[Any] = []
    for _ in range(60):
        tasks = superstep.plan(machine, {})
        if not tasks:
            return history
        ran = []
        for task in tasks:
            node = task.place.node.id
            targets = tuple(edge.target for edge in graph.outgoing[node])
            written = (("log", node), ("sum", task.place.node.order), ("last", node))
            result = TaskResult(task.key, TaskStatus.FINISHED, node, writes=written, targets=targets)
            ran.append(Ran(task, result))
        shuffle.shuffle(ran)
        applied = superstep.apply(machine, ran)
        delta = machine.draft.take()
        history.append(
            (applied.status, applied.output, dict(delta.set), dict(delta.append), delta.drop, dict(machine.cells))
        )
    raise AssertionError("a graph without cycles did not end")


@settings(max_examples=120, deadline=None)
@given(layered(), st.integers(0, 10_000))
def test_apply_does_not_see_the_order_of_its_results(graph: CompiledGraph, seed: int) -> None:
    first, second = play(graph, seed), play(graph, seed + 1)
    assert first == second
    assert first[-1][0] is ThreadStatus.COMPLETED
    rebuilt: dict[str, Any] = dict(superstep.begin(graph, 1).cells)
    for _, _, set_, append, drop, cells in first:
        from graphs.engine.ports import Delta

        Delta(set_, append, drop).apply(rebuilt)
        assert rebuilt == cells


@settings(max_examples=60, deadline=None)
@given(layered())
def test_the_machine_reads_back_what_it_wrote(graph: CompiledGraph) -> None:
    """A crash after any commit: a machine built from the cells plans the same as the one that went on."""
    machine = Machine(graph, dict(superstep.begin(graph, 1).cells))
    for _ in range(60):
        tasks = superstep.plan(machine, {})
        again = superstep.plan(Machine(graph, dict(machine.cells)), {})
        assert [(task.key, task.input) for task in tasks] == [(task.key, task.input) for task in again]
        if not tasks:
            return
        superstep.apply(
            machine,
            [
                Ran(
                    task,
                    TaskResult(
                        task.key,
                        TaskStatus.FINISHED,
                        task.place.node.id,
                        targets=tuple(edge.target for edge in graph.outgoing[task.place.node.id]),
                    ),
                )
                for task in tasks
            ],
        )


async def test_a_reducer_may_be_any_function_of_a_module(store: Store) -> None:
    def counts(ctx: Context) -> Event:
        return Event(output=1, state={"most": {"a": 3, "b": 7, "c": 5}[ctx.node_id]})

    graph = chain([(name, counts) for name in "abc"], state={"most": most})
    assert (await start(graph, store)).state.values == {"most": 7}
