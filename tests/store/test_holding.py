"""A run in process holds its thread from the first moment to the end, as a job does (R3)."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.conf import settings

from graphs.actions import leases
from graphs.actions.supersteps import DjangoCheckpointer
from graphs.engine.asking import ask
from graphs.engine.errors import DefinitionChanged, LeaseLost, ThreadBusy
from graphs.engine.graph import CompiledGraph, Graph
from graphs.engine.ports import ThreadRef
from graphs.engine.results import GraphRunResult
from graphs.engine.runner import Runner
from graphs.models import Lease, Thread
from tests.engine.django_store import read

pytestmark = pytest.mark.django_db(transaction=True)
REF = ThreadRef("held", "run-1")


def graph(node: Callable[[], Any], **options: Any) -> CompiledGraph:
    return Graph.new("held").node("only", node, **options).entry("only").terminal("only").compile()


def run(graph: CompiledGraph, store: DjangoCheckpointer | None = None) -> GraphRunResult:
    store = store or DjangoCheckpointer()
    return async_to_sync(Runner.arun_graph)(graph, 1, checkpointer=store, thread_id=REF.thread_id)


def resume(graph: CompiledGraph, **replies: Any) -> GraphRunResult:
    go_on = async_to_sync(Runner.arun_graph_from_checkpoint)
    return go_on(graph, checkpointer=DjangoCheckpointer(), thread_id=REF.thread_id, resume=replies)


def free() -> bool:
    lease = Lease.objects.get()
    return lease.expires_at is None and lease.holder == ""


def test_r3_no_job_takes_up_a_thread_that_is_run_in_process() -> None:
    seen: list[Any] = []

    def node() -> str:
        seen.append(read(lambda: (Thread.objects.get().status, free(), leases.claim())))
        return "done"

    assert run(graph(node)).output == "done"
    assert seen == [("ready", False, None)]
    assert free()


def test_r3_a_second_run_of_the_thread_is_told_that_it_is_busy() -> None:
    told: list[type[BaseException]] = []

    def second() -> None:
        try:
            run(graph(lambda: "second"))
        except ThreadBusy as error:
            told.append(type(error))

    assert run(graph(lambda: read(second))).output is None
    assert told == [ThreadBusy]


def test_r3_the_lease_is_renewed_while_a_node_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "SAYSO_LEASE_SECONDS", 0.9)

    def renewed() -> bool:
        first, until = Lease.objects.get().expires_at, time.monotonic() + 30
        while time.monotonic() < until:
            if Lease.objects.get().expires_at != first:
                return True
            time.sleep(0.05)
        return False

    assert run(graph(lambda: read(renewed))).output is True
    assert free()


def test_r3_a_pause_and_a_resume_without_an_answer_leave_the_thread_to_anybody() -> None:
    asking = graph(lambda: ask("Sure?").value)
    run(asking)
    assert free()
    for _ in range(leases.PATIENCE + 1):
        assert resume(asking).paused
    assert free() and Lease.objects.get().barren == 0
    assert resume(asking, only=7).output == 7


def test_r3_whatever_ends_a_run_gives_the_thread_back() -> None:
    run(graph(lambda: ask("Sure?").value))
    with pytest.raises(DefinitionChanged):
        resume(graph(lambda: ask("Sure?").value, crash="pure"), only=7)
    assert free() and Thread.objects.get().status == "ready"


def test_r3_a_run_that_was_taken_over_gives_nothing_back() -> None:
    def taken_over() -> None:
        Lease.objects.update(token=1_000, holder="another")

    with pytest.raises(LeaseLost):
        run(graph(lambda: read(taken_over)))
    assert Lease.objects.get().holder == "another"
