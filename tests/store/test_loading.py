"""What a job reads of a thread: enough to go on with, and no more of those who wait than that they do."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User

from graphs.actions import threads
from graphs.actions.decisions import Given, decide
from graphs.engine.asking import ask
from graphs.engine.graph import CompiledGraph, Graph
from graphs.engine.ports import ThreadRef
from graphs.engine.statuses import Outcome, ThreadStatus
from graphs.jobs.threads import advance
from graphs.library import registry
from graphs.models import Interrupt
from graphs.store import loading

pytestmark = pytest.mark.django_db(transaction=True)
WIDTH = 6


def wide() -> CompiledGraph:
    graph = Graph.new("wide").node("root", lambda value: value).entry("root").node("join", lambda value: value)
    for number in range(WIDTH):
        graph.node(f"q{number}", lambda: str(ask("Go on?").outcome)).edge("root", f"q{number}").edge(
            f"q{number}", "join"
        )
    return graph.terminal("join").compile()


@pytest.fixture
def reviewer(db: None, monkeypatch: pytest.MonkeyPatch) -> User:
    graph = wide()
    monkeypatch.setattr(registry, "entries", lambda: (registry.Entry(graph.id, "tests", graph),))
    return User.objects.create_superuser("root")


def answer(actor: User, row: Interrupt) -> None:
    decide(actor, [Given(str(row.pk), row.version, row.digest, Outcome.APPROVED)], channel="test")


def read(brief: bool) -> list[str]:
    loaded = loading.load(ThreadRef("wide", "one"), brief=brief)
    assert loaded is not None
    return sorted(one.path for task in loaded.snapshot.tasks.values() for one in task.interrupts)


def test_of_tasks_that_go_on_waiting_a_job_reads_no_question(reviewer: User) -> None:
    threads.start(reviewer, "wide", 1, thread_id="one")
    advance()
    assert (read(brief=True), len(read(brief=False))) == ([], WIDTH)
    answer(reviewer, Interrupt.objects.waiting().get(task__path="q3"))
    assert read(brief=True) == ["q3"]


def test_answered_one_by_one_a_wide_fan_out_comes_to_its_join(reviewer: User) -> None:
    thread = threads.start(reviewer, "wide", 1, thread_id="one")
    advance()
    seen: list[Any] = []
    for row in Interrupt.objects.waiting().order_by("task__path"):
        answer(reviewer, row)
        advance()
        thread.refresh_from_db()
        seen.append((thread.status, Interrupt.objects.waiting().count()))
    assert seen == [(ThreadStatus.INTERRUPTED, left) for left in range(WIDTH - 1, 0, -1)] + [
        (ThreadStatus.COMPLETED, 0)
    ]
    assert thread.output == {f"q{number}": "approved" for number in range(WIDTH)}
