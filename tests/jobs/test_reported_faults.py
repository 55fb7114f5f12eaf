"""Faults that users of other products reported (family E), where they concern jobs, queues and the clock."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from graphs import outbox, queue
from graphs.actions import sweeping, threads
from graphs.engine.asking import ask
from graphs.engine.effects import once
from graphs.engine.graph import Graph
from graphs.engine.statuses import InterruptStatus, Outcome, ThreadStatus
from graphs.jobs.background import publish
from graphs.jobs.threads import advance
from graphs.models import Decision, Interrupt, Lease, OutboxMessage, Thread
from tests.jobs.running import Shelf, answer, asks, elsewhere, graph

pytestmark = pytest.mark.django_db(transaction=True)


def fresh(thread: Thread) -> Thread:
    return Thread.objects.get(pk=thread.pk)


def test_e13_a_run_waits_although_nobody_could_be_told(
    shelf: Shelf, root: User, redis: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Telling people is another job's work: the run is waiting before that job has begun."""
    shelf.put(graph(("asks", asks)))
    thread = threads.start(root, "g", 1)

    def cut_off(messages: Any) -> None:
        raise ConnectionError("the notifier hangs")

    with monkeypatch.context() as broken:
        broken.setattr(outbox, "publish", cut_off)
        advance()
    assert fresh(thread).status == ThreadStatus.INTERRUPTED
    unsaid = OutboxMessage.objects.filter(published_at=None)
    assert unsaid.exists()
    unsaid.update(created_at=timezone.now() - timedelta(minutes=1))
    publish()
    assert not OutboxMessage.objects.filter(published_at=None).exists()


def test_e14_threads_that_wait_hold_no_worker(shelf: Shelf, root: User) -> None:
    shelf.put(graph(("asks", asks)))
    shelf.put(graph(("works", lambda value: value), id="quick"))
    waiting = [threads.start(root, "g", number) for number in range(200)]
    for _ in waiting:
        advance()
    assert Thread.objects.filter(status=ThreadStatus.INTERRUPTED).count() == 200
    assert not Lease.objects.filter(expires_at__isnull=False).exists()
    new = threads.start(root, "quick", "now")
    advance()
    assert (fresh(new).status, fresh(new).output) == (ThreadStatus.COMPLETED, "now")


def test_e20_the_worker_goes_on_at_the_paused_node(shelf: Shelf, root: User) -> None:
    """The answer is given by one process, the run is loaded afresh by another: nothing before the pause runs again."""
    calls: list[str] = []

    def first(value: Any) -> Any:
        calls.append("first")
        return value

    def second() -> Any:
        calls.append("second")
        once("booked", lambda: calls.append("booked"))
        return ask("Go on?").approved

    shelf.put(graph(("first", first), ("second", second)))
    thread = threads.start(root, "g", 1)
    advance()
    answer(root)
    advance()
    assert fresh(thread).output is True
    assert calls == ["first", "second", "booked", "second"]


def test_e21_a_start_that_is_rolled_back_rings_for_nobody(shelf: Shelf, root: User, redis: str) -> None:
    shelf.put(graph(("works", lambda value: value)))
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        threads.start(root, "g", 1)
        raise ZeroDivisionError
    assert (queue.depth(), OutboxMessage.objects.count(), Thread.objects.count()) == (0, 0, 0)
    thread = threads.start(root, "g", 1)
    assert queue.depth() == 1
    advance()
    assert fresh(thread).status == ThreadStatus.COMPLETED


def test_e21_a_job_whose_thread_is_gone_ends_with_a_line_in_the_log(
    shelf: Shelf, root: User, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def vanishes(value: Any) -> Any:
        elsewhere(lambda: Thread.objects.all().delete())
        return value

    shelf.put(graph(("vanishes", vanishes), ("last", lambda value: value)))
    threads.start(root, "g", 1)
    with caplog.at_level(logging.WARNING, "graphs"):
        advance()
    assert any(record.name.startswith("graphs.jobs") for record in caplog.records)


def test_e26_open_requests_stay_answerable_with_their_own_version(shelf: Shelf, root: User) -> None:
    shelf.put(graph(("asks", asks)))
    thread = threads.start(root, "g", 1)
    advance()
    old = shelf.graphs["g"]
    new = Graph.new("g", version="2").node("other", lambda value: value).entry("other").terminal("other").compile()
    shelf.graphs.clear()
    shelf.put(new)
    shelf.graphs["g of before"] = old
    assert Interrupt.objects.waiting().count() == 1
    answer(root)
    advance()
    assert fresh(thread).status == ThreadStatus.COMPLETED


def test_e28_after_a_pause_of_the_clock_what_is_overdue_expires_once(shelf: Shelf, root: User) -> None:
    def node() -> Any:
        decision = ask("In time?", expires_in=60, default={"late": True})
        return [str(decision.outcome), decision.value]

    shelf.put(graph(("node", node)))
    started = [threads.start(root, "g", number) for number in range(3)]
    for _ in started:
        advance()
    Interrupt.objects.update(expires_at=timezone.now() - timedelta(hours=5))
    sweeping.sweep()
    sweeping.sweep()
    assert Decision.objects.filter(outcome=Outcome.EXPIRED).count() == 3
    assert set(Interrupt.objects.values_list("status", flat=True)) == {InterruptStatus.CLOSED}
    for _ in started:
        advance()
    assert [fresh(thread).output for thread in started] == [["expired", {"late": True}]] * 3
