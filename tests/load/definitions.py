"""The graphs that are measured; their nodes cost nothing, so that what is left is ours."""

from __future__ import annotations

import itertools
import os
import time
from pathlib import Path
from typing import Any

from graphs import Event, Graph, aonce, ask, once


def same(value: Any) -> Any:
    return value


def chain(length: int) -> Any:
    graph = Graph.new(f"chain_{length}")
    names = [f"n{number}" for number in range(length)]
    for name in names:
        graph.node(name, same)
    for source, target in itertools.pairwise(names):
        graph.edge(source, target)
    return graph.entry(names[0]).terminal(names[-1]).compile()


def question(value: Any) -> Any:
    return ask("Go on?", payload={"note": "measured"}).outcome


def count(value: dict[str, int]) -> Event:
    left = value["left"] - 1
    return Event(output={"left": left}, route="again" if left > 0 else "done")


def stamp(name: str) -> None:
    """Leave the time at which this line ran, in seconds since the epoch, where the measuring process reads it."""
    folder = Path(os.environ["SAYSO_VAR"]) / "stamps"
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.part").write_text(repr(time.time()))
    (folder / f"{name}.part").rename(folder / name)


def stamped(value: dict[str, str]) -> str:
    stamp(f"{value['id']}-asked")
    ask(f"Measured question {value['id']}")
    stamp(f"{value['id']}-resumed")
    return value["id"]


def effects(value: dict[str, int]) -> int:
    for number in range(value["effects"]):
        once(f"e{number}", lambda: "x" * 1000)
    return value["effects"]


async def async_effects(value: dict[str, int]) -> int:
    for number in range(value["effects"]):
        await aonce(f"e{number}", kilobyte)
    return value["effects"]


async def kilobyte() -> str:
    return "x" * 1000


def settled(value: dict[str, int]) -> Any:
    effects(value)
    return ask("Go on?").outcome


def gathered(answers: Any) -> int:
    return len(answers)


def wide(width: int) -> Any:
    graph = (
        Graph.new(f"wide_{width}").node("root", same).node("join", gathered, join="all").entry("root").terminal("join")
    )
    for number in range(width):
        graph.node(f"q{number}", question).edge("root", f"q{number}").edge(f"q{number}", "join")
    return graph.compile()


def single(name: str, body: Any) -> Any:
    return Graph.new(name).node(name, body).entry(name).terminal(name).compile()


chain_100 = chain(100)
wide_1, wide_10, wide_100, wide_500 = (wide(width) for width in (1, 10, 100, 500))
effects_graph, async_effects_graph = single("effects", effects), single("async_effects", async_effects)
settled_graph = single("settled", settled)
pause = Graph.new("pause").node("question", question).entry("question").terminal("question").compile()
history = (
    Graph.new("history")
    .node("count", count)
    .node("question", question)
    .edge("count", "count", when="again")
    .edge("count", "question", when="done")
    .entry("count")
    .terminal("question")
    .compile()
)
stamped_pause = Graph.new("stamped").node("stamped", stamped).entry("stamped").terminal("stamped").compile()
