from __future__ import annotations

import threading
import time
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection, connections, transaction

from graphs import queue
from graphs.actions import leases, sweeping, threads
from graphs.engine import loop
from graphs.engine.asking import ask
from graphs.engine.context import Context
from graphs.engine.graph import Graph
from graphs.engine.statuses import InterruptStatus, Outcome, ThreadStatus
from graphs.jobs.background import publish
from graphs.jobs.threads import advance
from graphs.models import Decision, Interrupt, Lease, OutboxMessage, Thread
from tests.jobs.running import Shelf, answer, asks, elsewhere, graph
from tests.records import statements

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_run_pauses_and_resumes_at_its_question(shelf: Shelf, root: User) -> None:
    calls: list[str] = []

    def first(value: Any) -> Any:
        calls.append("first")
        return value

    shelf.put(graph(("first", first), ("asks", asks), ("last", lambda value: value)))
    thread = threads.start(root, "g", {"n": 1})
    advance()
    thread.refresh_from_db()
    assert (thread.status, Lease.objects.get(pk=thread.pk).expires_at) == (ThreadStatus.INTERRUPTED, None)
    answer(root)
    advance()
    thread.refresh_from_db()
    assert (thread.status, thread.output) == (ThreadStatus.COMPLETED, {"approved": True, "by": "root"})
    assert calls == ["first"]
    assert thread.ended_at is not None


def test_a_ring_without_work_is_one_statement(shelf: Shelf) -> None:
    with statements() as sent:
        leases.claim()
    assert len(sent) == 1


def test_rings_that_come_twice_change_nothing(shelf: Shelf, root: User) -> None:
    shelf.put(graph(("asks", asks)))
    thread = threads.start(root, "g", 1)
    for _ in range(3):
        advance()
    thread.refresh_from_db()
    assert (thread.status, thread.step, Interrupt.objects.count()) == (ThreadStatus.INTERRUPTED, 1, 1)


def test_a_slice_hands_over_and_rings_for_the_next(shelf: Shelf, root: User, redis: str, settings: Any) -> None:
    settings.SAYSO_SLICE_STEPS = 2
    shelf.put(graph(*((f"n{number}", lambda value: value + 1) for number in range(5))))
    thread = threads.start(root, "g", 0)
    seen = []
    for _ in range(3):
        advance()
        thread.refresh_from_db()
        seen.append((thread.status, thread.step))
    assert seen == [("ready", 2), ("ready", 4), ("completed", 5)]
    assert thread.output == 5
    assert queue.depth() >= 1


def test_an_answer_while_the_step_still_runs_is_found_by_the_pause(shelf: Shelf, root: User) -> None:
    def answer_soon() -> None:
        deadline = time.monotonic() + 20
        while not Interrupt.objects.waiting().exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        answer(root)

    def meanwhile(value: Any) -> Any:
        """Wait until the sibling's question is open, and answer it before this step's end."""
        elsewhere(answer_soon)
        return value

    made = Graph.new("g").node("start", lambda value: value).node("asks", asks).node("meanwhile", meanwhile)
    made.edge("start", "asks").edge("start", "meanwhile").entry("start").terminal("asks").terminal("meanwhile")
    shelf.put(made.compile())
    thread = threads.start(root, "g", 1)
    advance()
    thread.refresh_from_db()
    assert thread.status == ThreadStatus.COMPLETED
    # Only the start rang; the answer found a running thread and the pause looked again.
    assert OutboxMessage.objects.filter(kind="wake").count() == 1


def test_a_graph_that_is_not_installed_waits_with_the_reason(shelf: Shelf, root: User) -> None:
    made = graph(("asks", asks))
    shelf.put(made)
    thread = threads.start(root, "g", 1)
    shelf.graphs.clear()
    advance()
    thread.refresh_from_db()
    assert thread.status == ThreadStatus.WAITING_VERSION
    assert "'g'" in thread.error["message"]
    shelf.put(made)
    threads.retry(root, thread)
    advance()
    thread.refresh_from_db()
    assert (thread.status, thread.error) == (ThreadStatus.INTERRUPTED, None)


def test_a_graph_that_lost_the_node_waits_and_one_that_kept_it_goes_on(shelf: Shelf, root: User) -> None:
    shelf.put(graph(("first", lambda value: value), ("asks", asks)))
    thread = threads.start(root, "g", 1)
    advance()
    answer(root)
    shelf.put(graph(("first", lambda value: value), ("other", asks), version="2"))
    advance()
    thread.refresh_from_db()
    assert thread.status == ThreadStatus.WAITING_VERSION
    assert "asks" in thread.error["message"]
    assert Lease.objects.get(pk=thread.pk).barren == 0
    shelf.put(graph(("first", lambda value: value), ("asks", asks), ("more", lambda value: value), version="3"))
    Thread.objects.update(updated_at=thread.created_at.replace(year=2020))
    assert sweeping.reconsider_versions() == 1
    advance()
    thread.refresh_from_db()
    assert (thread.status, thread.output) == (ThreadStatus.COMPLETED, {"approved": True, "by": "root"}), thread.error


def test_a_failed_run_keeps_its_answer_for_the_retry(shelf: Shelf, root: User) -> None:
    broken = [True]

    def fragile(value: Any) -> Any:
        decision = ask("May I?")
        if broken[0]:
            raise ValueError("no connection")
        return decision.outcome

    shelf.put(graph(("fragile", fragile)))
    thread = threads.start(root, "g", 1)
    advance()
    answer(root)
    advance()
    thread.refresh_from_db()
    assert (thread.status, thread.error["message"]) == (ThreadStatus.FAILED, "no connection")
    broken[0] = False
    threads.retry(root, thread)
    advance()
    thread.refresh_from_db()
    assert (thread.status, thread.output, Decision.objects.count()) == (ThreadStatus.COMPLETED, "approved", 1)


def test_a_job_that_lost_its_thread_in_mid_run_writes_nothing_more(shelf: Shelf, root: User) -> None:
    calls = []

    def rob() -> None:
        Lease.objects.update(expires_at=thread.created_at.replace(year=2020))
        assert sweeping.free_dead_leases() == 1

    def robbed(value: Any) -> Any:
        calls.append(value)
        if len(calls) == 1:
            elsewhere(rob)
        return value

    shelf.put(graph(("robbed", robbed)))
    thread = threads.start(root, "g", 1)
    advance()
    thread.refresh_from_db()
    assert (thread.status, thread.step) == (ThreadStatus.READY, 0), thread.error
    advance()
    thread.refresh_from_db()
    assert (thread.status, thread.step, calls) == (ThreadStatus.COMPLETED, 1, [1, 1])


def test_cancelled_in_mid_run_it_ends_at_its_next_commit(shelf: Shelf, root: User) -> None:
    def first(value: Any) -> Any:
        elsewhere(lambda: threads.cancel(root, Thread.objects.get(), "enough"))
        return value

    shelf.put(graph(("first", first), ("asks", asks)))
    thread = threads.start(root, "g", 1)
    advance()
    thread.refresh_from_db()
    assert (thread.status, thread.step) == (ThreadStatus.CANCELLED, 1)
    assert not Interrupt.objects.exists()
    ends = thread.events.filter(type="graph.end")
    assert [event.data["status"] for event in ends] == ["cancelled"]


def test_woken_without_an_answer_it_rests_again(shelf: Shelf, root: User) -> None:
    shelf.put(graph(("asks", asks)))
    thread = threads.start(root, "g", 1)
    advance()
    Thread.objects.update(status=ThreadStatus.READY)
    advance()
    thread.refresh_from_db()
    assert thread.status == ThreadStatus.INTERRUPTED
    assert leases.claim() is None
    answer(root)
    advance()
    thread.refresh_from_db()
    assert thread.status == ThreadStatus.COMPLETED


def test_an_answer_between_the_look_and_the_rest_is_not_lost(shelf: Shelf, root: User) -> None:
    shelf.put(graph(("asks", asks)))
    thread = threads.start(root, "g", 1)
    advance()
    Thread.objects.update(status=ThreadStatus.READY)
    held = leases.claim()
    assert held is not None
    answer(root)
    assert leases.rest(held)
    thread.refresh_from_db()
    assert thread.status == ThreadStatus.READY


def test_two_questions_of_one_node_are_answered_one_by_one(shelf: Shelf, root: User) -> None:
    effects: list[str] = []

    def both(value: Any, ctx: Context) -> Any:
        first = ask("first?")
        ctx.once("between", lambda: effects.append("x"))
        second = ask("second?")
        return [first.outcome, second.outcome]

    shelf.put(graph(("both", both)))
    thread = threads.start(root, "g", 1)
    for outcome in (Outcome.APPROVED, Outcome.REJECTED):
        advance()
        answer(root, outcome=outcome)
    advance()
    thread.refresh_from_db()
    assert (thread.output, effects) == (["approved", "rejected"], ["x"])
    assert Interrupt.objects.filter(status=InterruptStatus.CLOSED).count() == 2


def test_a_job_that_breaks_gives_its_thread_back_for_longer_and_longer_until_it_is_set_aside(
    shelf: Shelf, root: User, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    shelf.put(graph(("asks", asks)))
    thread = threads.start(root, "g", 1)

    async def broken(*given: Any, **named: Any) -> None:
        raise RuntimeError("a bug of the engine")

    monkeypatch.setattr(loop, "advance", broken)
    for times in range(1, leases.PATIENCE + 1):
        advance()
        thread.refresh_from_db()
        lease = Lease.objects.get(pk=thread.pk)
        assert (thread.status, lease.expires_at, lease.barren) == (ThreadStatus.READY, None, times)
        assert abs((thread.ready_at - thread.updated_at).total_seconds() - 2**times) < 0.1
        # However often it is rung for: a fault of a moment does not use up the tries within that moment.
        advance()
        assert sweeping.ring_for_ready() == 0 and not sweeping.ring_for_next()
        assert Lease.objects.get(pk=thread.pk).barren == times
        Thread.objects.update(ready_at=thread.created_at)
    assert "a bug of the engine" in caplog.text
    advance()
    thread.refresh_from_db()
    assert thread.status == ThreadStatus.QUARANTINED


def test_a_ring_is_not_lost_on_a_thread_that_is_locked_for_a_moment(
    shelf: Shelf, root: User, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf.put(graph(("last", lambda value: value)))
    thread = threads.start(root, "g", 1)
    locked, waits = threading.Event(), threading.Event()
    lets_go = leases.lets_go

    def noted(pk: int) -> bool:
        waits.set()
        return lets_go(pk)

    def hold() -> None:
        with transaction.atomic():
            threads.lock(thread)
            locked.set()
            # SQLite has one lock for all, at which the claim itself waits.
            assert database == "sqlite" or waits.wait(20)
        connection.close()

    monkeypatch.setattr(leases, "lets_go", noted)
    holder = threading.Thread(target=hold)
    holder.start()
    assert locked.wait(20)
    advance()
    holder.join(20)
    thread.refresh_from_db()
    assert thread.status == ThreadStatus.COMPLETED
    assert waits.is_set() == (database != "sqlite")


def test_nodes_may_query_in_threads_and_keep_no_connection_but_never_on_the_loop(shelf: Shelf, root: User) -> None:
    used: list[Any] = []

    def queries(value: Any) -> int:
        found = Thread.objects.count()
        used.append(connections["default"])
        assert used[0].connection is not None
        return found

    async def blocks(value: Any) -> int:
        return Thread.objects.count()

    shelf.put(graph(("queries", queries), ("blocks", blocks)))
    thread = threads.start(root, "g", 1)
    advance()
    thread.refresh_from_db()
    assert (thread.status, thread.error["type"]) == (ThreadStatus.FAILED, "SynchronousOnlyOperation")
    assert thread.step == 2
    assert used[0].connection is None


def test_the_background_job_says_what_is_unsaid(redis: str, root: User) -> None:
    OutboxMessage.objects.create(kind="wake", payload={}, created_at=root.date_joined.replace(year=2020))
    publish()
    assert queue.depth() == 1
    assert not OutboxMessage.objects.filter(published_at=None).exists()


def test_every_name_that_the_queue_may_call_is_there() -> None:
    for name in queue.FUNCTIONS:
        assert callable(queue.resolve(name))
