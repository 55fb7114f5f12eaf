"""Suspending and forking a thread while its job commits: whoever comes first, nothing is lost and nothing goes on."""

from __future__ import annotations

from typing import Any

import pytest

from graphs import store
from graphs.actions import audit, forks, leases, threads
from graphs.actions.decisions import decide
from graphs.actions.errors import NotPossible
from graphs.engine.errors import LeaseLost, ThreadSuspended
from graphs.engine.statuses import InterruptStatus, ThreadStatus
from graphs.models import AuditEntry, Checkpoint, Decision, Interrupt, Lease, Thread
from tests.actions import graphs
from tests.actions.conftest import Asked
from tests.actions.test_races import FEWER_ROUNDS, together
from tests.people import People, requested_by
from tests.records import Pen, question

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("redis")]


def running(people: People) -> Pen:
    pen = Pen(queue="finance")
    requested_by(pen.thread, people.requester)
    pen.claim()
    return pen


@FEWER_ROUNDS
def test_suspend_beside_a_commit(people: People, rounds: int) -> None:
    """The request falls before the commit, which then suspends, or after it, and the next commit suspends."""
    for _ in range(rounds):
        pen = running(people)
        thread = pen.thread
        suspended, written = together(
            lambda thread=thread: threads.suspend(people.operator, thread),  # type: ignore[misc]
            lambda pen=pen: pen.write(1),  # type: ignore[misc]
        )
        assert isinstance(suspended, Thread)
        if isinstance(written, ThreadSuspended):
            assert pen.thread.status == ThreadStatus.SUSPENDED
        else:
            assert not isinstance(written, BaseException) and pen.thread.status == ThreadStatus.RUNNING
            with pytest.raises(ThreadSuspended):
                pen.write(2)
        assert (pen.thread.status, pen.thread.suspended_by) == (ThreadStatus.SUSPENDED, "operator")
        assert Lease.objects.get(pk=thread.pk).expires_at is None and leases.claim() is None
        steps = list(Checkpoint.objects.filter(thread=thread).order_by("step").values_list("step", flat=True))
        assert steps == list(range(pen.thread.step + 1))
        with pytest.raises(LeaseLost):
            pen.write(pen.thread.step + 1)
    assert AuditEntry.objects.filter(action="suspend").count() == rounds and audit.verify().ok


@FEWER_ROUNDS
def test_suspend_beside_a_pause(people: People, rounds: int) -> None:
    """A step that pauses and a request to suspend it, at the same moment: it is suspended, with its question open."""
    for _ in range(rounds):
        pen = running(people)
        thread = pen.thread
        together(
            lambda thread=thread: threads.suspend(people.operator, thread),  # type: ignore[misc]
            lambda pen=pen: pen.pause(question()),  # type: ignore[misc]
        )
        assert (pen.thread.status, pen.thread.step) == (ThreadStatus.SUSPENDED, 1)
        assert Interrupt.objects.get(thread=thread).status == InterruptStatus.OPEN
        assert Lease.objects.get(pk=thread.pk).expires_at is None and leases.claim() is None


@FEWER_ROUNDS
def test_suspend_beside_a_decision(people: People, rounds: int) -> None:
    """The answer is recorded whoever comes first, and nothing runs before somebody resumes."""
    for _ in range(rounds):
        asked = Asked(people)
        given = asked.given()
        suspended, decided = together(
            lambda asked=asked: threads.suspend(people.operator, asked.pen.thread),  # type: ignore[misc]
            lambda given=given: decide(people.decider, [given], channel="form"),  # type: ignore[misc]
        )
        assert isinstance(suspended, Thread) and isinstance(decided, list)
        assert asked.pen.thread.status == ThreadStatus.SUSPENDED and leases.claim() is None
        threads.resume(people.operator, asked.pen.thread)
        assert leases.claim() is not None
        Thread.objects.update(status=ThreadStatus.COMPLETED)
    assert Decision.objects.count() == rounds and audit.verify().ok


@FEWER_ROUNDS
def test_suspend_beside_a_claim_and_a_hand_over(people: People, rounds: int) -> None:
    for number in range(rounds):
        pen = Pen(queue="finance")
        requested_by(pen.thread, people.requester)
        thread = pen.thread
        held = pen.claim() if number % 2 else None
        other: Any = leases.claim if held is None else lambda held=held: leases.hand_over(held)
        together(lambda thread=thread: threads.suspend(people.operator, thread), other)  # type: ignore[misc]
        if pen.thread.status == ThreadStatus.RUNNING:
            # It was claimed first: the job's commit will see the request.
            assert pen.thread.suspend_at is not None
            token = Lease.objects.get(pk=thread.pk).token
            assert leases.hand_over(leases.Held(thread.pk, pen.ref, token))
        assert pen.thread.status == ThreadStatus.SUSPENDED and leases.claim() is None


@FEWER_ROUNDS
def test_resume_beside_resume(people: People, rounds: int) -> None:
    asked = Asked(people)
    for _ in range(rounds):
        threads.suspend(people.requester, asked.pen.thread)
        results = together(
            lambda: threads.resume(people.operator, asked.pen.thread),
            lambda: threads.resume(people.requester, asked.pen.thread),
        )
        assert [type(one) for one in results].count(NotPossible) == 1
        assert asked.pen.thread.status == ThreadStatus.READY
    assert AuditEntry.objects.filter(action="resume").count() == rounds


@FEWER_ROUNDS
def test_fork_beside_a_commit(people: People, rounds: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fork has the cells of its checkpoint, whole, whatever the parent does at that moment."""
    graph = graphs.order()
    graphs.register(monkeypatch, graph)
    for number in range(rounds):
        parent = threads.start(people.requester, "order", {"amount": number})
        held = leases.claim()
        assert held is not None and held.ref.thread_id == parent.thread_id
        pen = Pen.__new__(Pen)
        pen.ref, pen.store = held.ref, graphs.store_of(held)
        before = pen.load().cells
        forked, written = together(
            lambda parent=parent: forks.fork(people.operator, parent, 0, {"price": 1}),  # type: ignore[misc]
            lambda pen=pen: pen.write(1, {"channel:|price": 9}),  # type: ignore[misc]
        )
        assert isinstance(forked, Thread) and not isinstance(written, BaseException)
        assert store.cells_at(forked, 0) == {**before, "channel:|price": 1}
        assert pen.thread.step == 1 and forked.parent_id == parent.pk
        Thread.objects.update(status=ThreadStatus.COMPLETED)
    assert AuditEntry.objects.filter(action="fork").count() == rounds and audit.verify().ok


@FEWER_ROUNDS
def test_one_fork_sent_twice(people: People, rounds: int, monkeypatch: pytest.MonkeyPatch) -> None:
    graphs.register(monkeypatch, graphs.order())
    parent = threads.start(people.requester, "order", {"amount": 1})
    for number in range(rounds):

        def fork(key: str = f"k{number}") -> Thread:
            return forks.fork(people.operator, parent, 0, submission_key=key)

        one, other = together(fork, fork)
        assert one.pk == other.pk
    assert Thread.objects.filter(parent=parent).count() == rounds
