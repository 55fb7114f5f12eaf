"""The graph that the kill tests run: a fan-out with two questions and one quiet branch, a join, and a second pass.

Loaded by the processes under test through SAYSO_GRAPHS; SAYSO_TEST_LEDGER names the ledger's file."""

from __future__ import annotations

import os
from typing import Any

from graphs.engine.asking import ask
from graphs.engine.context import Context
from graphs.engine.graph import Graph
from graphs.engine.outputs import Event
from tests.processes.ledger import Ledger

EFFECT_SECONDS = 0.08
ROUNDS = 2
WORD = {"type": "object", "properties": {"word": {"type": "string", "title": "Word"}}, "required": ["word"]}
NUMBER = {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]}

ledger = Ledger(os.environ.get("SAYSO_TEST_LEDGER", os.devnull))


def effect(ctx: Context, number: int, name: str) -> str:
    key = f"{number}:{ctx.node_id}:{ctx.visit}:{name}"
    return str(ctx.once(name, lambda: ledger.effect(key, ctx.idempotency_key, EFFECT_SECONDS)))


def enter(ctx: Context, number: int) -> None:
    from graphs.models import Lease

    ledger.enter(f"{number}:{ctx.node_id}:{ctx.visit}")
    # Read anew by every attempt, whoever makes it: whatever dies, the number on the lease may only grow.
    ledger.token(str(number), Lease.objects.get(thread__graph_id="ledger", thread__thread_id=ctx.thread_id).token)


def begin(order: dict[str, Any], ctx: Context) -> dict[str, Any]:
    enter(ctx, order["number"])
    effect(ctx, order["number"], "begin")
    return {"number": order["number"], "round": order.get("round", 0) + 1, "words": order.get("words", [])}


def asking(order: dict[str, Any], ctx: Context) -> dict[str, Any]:
    """Between two effects a person is asked; the answer's word must come out at the end, at this node's place."""
    enter(ctx, order["number"])
    effect(ctx, order["number"], "before")
    decision = ask(f"{ctx.node_id} of {order['number']}, round {order['round']}", payload=order, schema=WORD)
    effect(ctx, order["number"], "after")
    return {"place": f"{ctx.node_id}:{order['round']}", "word": decision.value["word"]}


def quiet(order: dict[str, Any], ctx: Context) -> dict[str, Any]:
    enter(ctx, order["number"])
    effect(ctx, order["number"], "first")
    effect(ctx, order["number"], "second")
    return order


def join(parts: dict[str, Any], ctx: Context) -> Event:
    order = parts["quiet"]
    enter(ctx, order["number"])
    effect(ctx, order["number"], "join")
    words = [*order["words"], parts["left"], parts["right"]]
    return Event(output={**order, "words": words}, route="again" if order["round"] < ROUNDS else "done")


def finish(order: dict[str, Any], ctx: Context) -> dict[str, Any]:
    enter(ctx, order["number"])
    effect(ctx, order["number"], "finish")
    return {"words": order["words"]}


def expected_keys(number: int) -> set[str]:
    """Every effect of one thread, as the ledger must hold it in the end."""
    nodes = {"begin": ["begin"], "left": ["before", "after"], "right": ["before", "after"]}
    nodes |= {"quiet": ["first", "second"], "join": ["join"]}
    looped = {f"{number}:{n}:{visit}:{e}" for n, es in nodes.items() for e in es for visit in visits()}
    return looped | {f"{number}:finish:{visits()[0]}:finish"}


def visits() -> list[int]:
    return list(range(FIRST_VISIT, FIRST_VISIT + ROUNDS))


FIRST_VISIT = 1

app = (
    Graph.new("ledger", title="Ledger", input_schema=NUMBER)
    .node("begin", begin)
    .node("left", asking)
    .node("right", asking)
    .node("quiet", quiet)
    .node("join", join)
    .node("finish", finish)
    .edge("begin", "left")
    .edge("begin", "right")
    .edge("begin", "quiet")
    .edge("left", "join")
    .edge("right", "join")
    .edge("quiet", "join")
    .edge("join", "begin", when="again")
    .edge("join", "finish", when="done")
    .entry("begin")
    .terminal("finish")
    .compile()
)
