"""Graphs for a test, and the reviewer who answers what they ask."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from typing import Any

from django.contrib.auth.models import User
from django.db import connection

from graphs.actions.decisions import Given, decide
from graphs.engine.asking import ask
from graphs.engine.graph import CompiledGraph, Graph
from graphs.engine.statuses import Outcome
from graphs.library import registry
from graphs.models import Interrupt


class Shelf:
    """The graphs that this test has registered."""

    def __init__(self) -> None:
        self.graphs: dict[str, CompiledGraph] = {}

    def put(self, graph: CompiledGraph) -> None:
        self.graphs[graph.id] = graph

    def entries(self) -> tuple[registry.Entry, ...]:
        return tuple(registry.Entry(graph.id, "tests", graph) for graph in self.graphs.values())


def graph(*nodes: tuple[str, Callable[..., Any]], id: str = "g", version: str = "1") -> CompiledGraph:
    """A chain of these nodes."""
    made = Graph.new(id, version=version)
    names = [name for name, _ in nodes]
    for name, body in nodes:
        made.node(name, body)
    for source, target in itertools.pairwise(names):
        made.edge(source, target)
    return made.entry(names[0]).terminal(names[-1]).compile()


def asks(value: Any) -> dict[str, Any]:
    decision = ask("May I?", payload={"value": value})
    return {"approved": decision.approved, "by": decision.reviewer}


def answer(actor: User, row: Interrupt | None = None, outcome: Outcome = Outcome.APPROVED) -> None:
    row = row or Interrupt.objects.waiting().get()
    decide(actor, [Given(str(row.pk), row.version, row.digest, outcome)], channel="test")


def elsewhere(work: Callable[[], Any]) -> None:
    """Do it as another process would: in a thread with a connection of its own."""
    problems: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:
            problems.append(error)
        finally:
            connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(30)
    assert not thread.is_alive() and not problems, problems
