"""Three shapes of graphs that ask and have effects: a chain, a fan-out with a join, a loop.

Loaded through SAYSO_GRAPHS by the processes that the crash tests start. What an effect really did is appended to the
file that SAYSO_TEST_LEDGER names, one line each: the key that it was given, and what it did.
"""

from __future__ import annotations

import os
import time
from typing import Any

from graphs.engine.asking import ask
from graphs.engine.context import Context
from graphs.engine.graph import Graph
from graphs.engine.outputs import Event

#: Longer than the window in which finished siblings are recorded together, so that they are recorded before the commit.
SLOW_SECONDS = 0.2
NUMBER = {"type": "integer"}


def act(ctx: Context, name: str) -> str:
    def effect() -> str:
        with open(os.environ.get("SAYSO_TEST_LEDGER", os.devnull), "a", encoding="utf-8") as ledger:
            ledger.write(f"{ctx.idempotency_key}\t{ctx.node_id}.{name}\n")
        return name

    return str(ctx.once(name, effect))


def prepare(value: Any, ctx: Context) -> Any:
    act(ctx, "prepare")
    return value


def confirm(value: Any, ctx: Context) -> dict[str, Any]:
    """Asks between two effects."""
    act(ctx, "before")
    decision = ask(f"{ctx.node_id}, please", payload={"value": value}, schema=NUMBER)
    act(ctx, "after")
    return {"value": value, "number": decision.value}


def slow(value: Any, ctx: Context) -> Any:
    act(ctx, "slow")
    time.sleep(SLOW_SECONDS)
    return value


def quick(value: Any, ctx: Context) -> Any:
    act(ctx, "quick")
    return value


def gather(parts: dict[str, Any], ctx: Context) -> dict[str, Any]:
    act(ctx, "gather")
    return parts


def revise(value: Any, ctx: Context) -> Event:
    """Asks again until the number is 2."""
    act(ctx, "draft")
    decision = ask("good enough?", payload={"visit": ctx.visit}, schema=NUMBER)
    return Event(output={"number": decision.value}, route="done" if decision.value >= 2 else "again")


chain = (
    Graph.new("chain")
    .node("prepare", prepare)
    .node("confirm", confirm)
    .node("finish", quick)
    .edge("prepare", "confirm")
    .edge("confirm", "finish")
    .entry("prepare")
    .terminal("finish")
    .compile()
)

fan = (
    Graph.new("fan")
    .node("prepare", prepare)
    .node("left", confirm)
    .node("right", confirm)
    .node("quick", quick)
    .node("slow", slow)
    .node("gather", gather)
    .edge("prepare", "left")
    .edge("prepare", "right")
    .edge("prepare", "quick")
    .edge("prepare", "slow")
    .edge("left", "gather")
    .edge("right", "gather")
    .edge("quick", "gather")
    .edge("slow", "gather")
    .entry("prepare")
    .terminal("gather")
    .compile()
)

loop = (
    Graph.new("loop")
    .node("revise", revise)
    .node("finish", quick)
    .edge("revise", "revise", when="again")
    .edge("revise", "finish", when="done")
    .entry("revise")
    .terminal("finish")
    .compile()
)
