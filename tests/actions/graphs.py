"""Definitions that the tests of steering register, and the life of a thread between them without processes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from graphs.actions import leases
from graphs.actions.decisions import Given, decide
from graphs.actions.supersteps import DjangoCheckpointer
from graphs.engine.asking import ask
from graphs.engine.context import Context
from graphs.engine.graph import CompiledGraph, Graph
from graphs.engine.state import Channel, StateView
from graphs.engine.statuses import Outcome
from graphs.jobs.threads import advance
from graphs.library import registry
from graphs.models import Interrupt, Thread

STATE = {"price": "last", "log": "append", "sums": "merge", "count": Channel("add", 0)}


def register(monkeypatch: pytest.MonkeyPatch, *graphs: CompiledGraph) -> None:
    """Make these the installed definitions; of several versions the last one is the current one."""
    newest = {graph.id: graph for graph in graphs}
    entries = tuple(registry.Entry(one.id, "tests", one, current=newest[one.id] is one) for one in graphs)
    monkeypatch.setattr(registry, "entries", lambda: entries)


def order(
    between: Callable[[], None] = lambda: None, names: tuple[str, ...] = ("read", "agree", "pay")
) -> CompiledGraph:
    """read → agree (asks) → pay; `between` runs inside the first node, and each of the last two has an effect."""

    def read(value: Any, state: StateView) -> Any:
        between()
        state["price"] = value["amount"]
        return value

    def agree(value: Any, state: StateView, ctx: Context) -> Any:
        ctx.once("hold", lambda: f"held {state['price']}")
        decision = ask("Pay it?", payload={"price": state["price"]}, queue="finance")
        return {"approved": decision.approved, "comment": decision.comment}

    def pay(value: Any, state: StateView, ctx: Context) -> Any:
        if not value["approved"]:
            return {"paid": 0, "why": value["comment"]}
        return {"paid": ctx.once("transfer", lambda: state["price"], mode="at_most_once")}

    graph = Graph.new("order", version=f"{names[0]}", state=STATE, queue="finance")
    for name, body in zip(names, (read, agree, pay), strict=True):
        graph.node(name, body)
    return graph.edge(names[0], names[1]).edge(names[1], names[2]).entry(names[0]).terminal(names[2]).compile()


def run(rounds: int = 5) -> None:
    """What a worker does until nothing is ready."""
    for _ in range(rounds):
        if not Thread.objects.filter(status="ready").exists():
            return
        advance()


def store_of(held: leases.Held) -> DjangoCheckpointer:
    """The store of a job that has claimed this lease."""
    return DjangoCheckpointer(held)


def given(row: Interrupt, outcome: Outcome = Outcome.APPROVED, value: Any = None, comment: str = "") -> Given:
    return Given(str(row.pk), row.version, row.digest, outcome, value, comment)


def answer(user: Any, thread: Thread, **details: Any) -> None:
    """Decide the one open question of a thread."""
    row = Interrupt.objects.waiting().get(thread=thread)
    decide(user, [given(row, **details)], channel="form")
