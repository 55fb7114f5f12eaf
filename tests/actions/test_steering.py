"""Operating a thread: suspend, resume, fork, each by those who may, each an audit entry."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from django.db import connection

from graphs import store
from graphs.actions import audit, forks, leases, sweeping, threads
from graphs.actions.errors import InputInvalid, NotAllowed, NotFound, NotPossible
from graphs.engine.errors import ThreadSuspended
from graphs.engine.statuses import InterruptStatus, Outcome, ThreadStatus
from graphs.jobs.threads import advance
from graphs.models import AuditEntry, Checkpoint, Decision, Interrupt, Lease, OutboxMessage, Task, Thread
from graphs.models.clock import Now
from tests.actions import graphs
from tests.actions.conftest import Asked
from tests.people import People, requested_by
from tests.records import Pen, finished, question

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("redis")]
ORDER = {"amount": 180}


@pytest.fixture
def paused(people: People, monkeypatch: pytest.MonkeyPatch) -> Thread:
    """An order that waits for its answer."""
    graphs.register(monkeypatch, graphs.order())
    thread = threads.start(people.requester, "order", ORDER)
    graphs.run()
    thread.refresh_from_db()
    assert thread.status == ThreadStatus.INTERRUPTED
    return thread


def fresh(thread: Thread) -> Thread:
    return Thread.objects.get(pk=thread.pk)


def acted(thread: Thread, action: str) -> list[AuditEntry]:
    return list(AuditEntry.objects.about("thread", str(thread.uid)).filter(action=action))


# --- suspend and resume


def test_e17_no_further_node_starts_after_the_current_one(people: People, monkeypatch: pytest.MonkeyPatch) -> None:
    def suspends() -> None:
        threads.suspend(people.operator, Thread.objects.get(), "look at it first")
        connection.close()

    def operator_suspends() -> None:
        # In a thread of its own: those of the nodes' pool may still know the database of another test.
        operator = threading.Thread(target=suspends)
        operator.start()
        operator.join()

    graphs.register(monkeypatch, graphs.order(between=operator_suspends))
    thread = threads.start(people.requester, "order", ORDER)
    advance()
    thread = fresh(thread)
    assert (thread.status, thread.step) == (ThreadStatus.SUSPENDED, 1)
    assert (thread.suspended_by, thread.suspend_reason) == ("operator", "look at it first")
    assert list(Task.objects.values_list("path", "status")) == [("read", "finished")]
    assert Lease.objects.get(pk=thread.pk).expires_at is None
    assert not Interrupt.objects.exists() and leases.claim() is None
    assert [entry.actor_name for entry in acted(thread, "suspend")] == ["operator"]
    with pytest.raises(NotAllowed, match="Only operators may resume"):
        threads.resume(people.requester, thread)
    threads.resume(people.operator, thread)
    graphs.run()
    assert fresh(thread).status == ThreadStatus.INTERRUPTED
    assert (fresh(thread).suspend_at, fresh(thread).suspended_by) == (None, "")
    assert len(acted(thread, "resume")) == 1 and audit.verify().ok


def test_an_answer_to_a_suspended_thread_is_recorded_and_wakes_nobody(people: People, paused: Thread) -> None:
    threads.suspend(people.requester, paused)
    assert paused.status == ThreadStatus.SUSPENDED
    rings = OutboxMessage.objects.filter(kind="wake").count()
    graphs.answer(people.decider, paused)
    sweeping.sweep()
    assert fresh(paused).status == ThreadStatus.SUSPENDED
    assert OutboxMessage.objects.filter(kind="wake").count() == rings
    threads.resume(people.operator, paused)
    graphs.run()
    assert (fresh(paused).status, fresh(paused).output) == (ThreadStatus.COMPLETED, {"paid": 180})


def test_a_resumed_thread_that_nobody_answered_waits_again(people: People, paused: Thread) -> None:
    threads.suspend(people.requester, paused)
    threads.resume(people.requester, paused)
    graphs.run()
    assert fresh(paused).status == ThreadStatus.INTERRUPTED
    assert Interrupt.objects.get().status == InterruptStatus.OPEN


def test_a_ready_thread_is_suspended_at_once(people: People, monkeypatch: pytest.MonkeyPatch) -> None:
    graphs.register(monkeypatch, graphs.order())
    thread = threads.start(people.requester, "order", ORDER)
    assert threads.suspend(people.requester, thread).status == ThreadStatus.SUSPENDED
    assert leases.claim() is None
    assert threads.resume(people.requester, thread).status == ThreadStatus.READY


def test_a_request_to_suspend_can_be_taken_back(people: People, asked: Asked) -> None:
    Thread.objects.update(status=ThreadStatus.READY)
    asked.pen.claim()
    threads.suspend(people.requester, asked.pen.thread)
    threads.resume(people.requester, asked.pen.thread)
    asked.pen.write(2)
    assert (asked.pen.thread.status, asked.pen.thread.step) == (ThreadStatus.RUNNING, 2)


def test_who_pauses_while_it_is_being_suspended_leaves_it_suspended(people: People, asked: Asked) -> None:
    Thread.objects.update(status=ThreadStatus.READY)
    pen = asked.pen
    pen.claim()
    threads.suspend(people.requester, pen.thread)
    with pytest.raises(ThreadSuspended):
        pen.write(2, status=ThreadStatus.INTERRUPTED, waiting=[asked.questions[0].id])
    assert (pen.thread.status, pen.thread.step) == (ThreadStatus.SUSPENDED, 2)
    assert asked.row().status == InterruptStatus.OPEN


def test_who_ends_while_it_is_being_suspended_ends(people: People, asked: Asked) -> None:
    Thread.objects.update(status=ThreadStatus.READY)
    asked.pen.claim()
    threads.suspend(people.requester, asked.pen.thread)
    asked.pen.write(2, status=ThreadStatus.COMPLETED, results=[finished()])
    assert (asked.pen.thread.status, asked.pen.thread.suspend_at) == (ThreadStatus.COMPLETED, None)


@pytest.mark.parametrize("end", ["dies", "hands over", "gives up", "rests"])
def test_whatever_becomes_of_its_job_a_thread_to_suspend_is_suspended(people: People, asked: Asked, end: str) -> None:
    Thread.objects.update(status=ThreadStatus.READY)
    held = asked.pen.claim()
    threads.suspend(people.requester, asked.pen.thread)
    if end == "dies":
        Lease.objects.update(expires_at=Now())
        sweeping.sweep()
    else:
        {"hands over": leases.hand_over, "gives up": leases.give_up, "rests": leases.rest}[end](held)
    assert asked.pen.thread.status == ThreadStatus.SUSPENDED
    assert leases.claim() is None


def test_what_does_not_go_on_cannot_be_suspended(people: People, paused: Thread) -> None:
    for status in (ThreadStatus.FAILED, ThreadStatus.QUARANTINED, ThreadStatus.COMPLETED, ThreadStatus.CANCELLED):
        Thread.objects.update(status=status)
        with pytest.raises(NotPossible, match="cannot be suspended"):
            threads.suspend(people.requester, paused)
        with pytest.raises(NotPossible, match="Only a suspended thread"):
            threads.resume(people.requester, paused)
    Thread.objects.update(status=ThreadStatus.INTERRUPTED)
    threads.suspend(people.requester, paused)
    with pytest.raises(NotPossible, match="already"):
        threads.suspend(people.requester, paused)
    cancelled = threads.cancel(people.requester, paused)
    assert (cancelled.status, cancelled.suspend_at) == (ThreadStatus.CANCELLED, None)


@pytest.mark.parametrize("name", ["suspend", "resume", "fork"])
def test_only_the_requester_and_operators_steer(people: People, paused: Thread, name: str) -> None:
    acts: dict[str, Any] = {
        "suspend": lambda user: threads.suspend(user, paused),
        "resume": lambda user: threads.resume(user, paused),
        "fork": lambda user: forks.fork(user, paused, 1),
    }
    with pytest.raises(NotAllowed):
        acts[name](people.decider)
    with pytest.raises(NotFound):
        acts[name](people.stranger)
    assert fresh(paused).status == ThreadStatus.INTERRUPTED and Thread.objects.count() == 1


def test_a_requester_cannot_fork_past_an_approval(people: People, paused: Thread) -> None:
    """Approved once is done once: who asked for it cannot have it done again, or with another amount, by forking."""
    graphs.answer(people.decider, paused)
    graphs.run()
    for step in range(fresh(paused).step + 1):
        with pytest.raises(NotAllowed, match="Only operators may fork"):
            forks.fork(people.requester, fresh(paused), step, {"price": 1_000_000})
    assert Thread.objects.count() == 1


# --- quarantine and retry


def test_a_thread_that_takes_its_workers_down_is_set_aside_and_a_person_brings_it_back(
    people: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    graphs.register(monkeypatch, graphs.order())
    thread = threads.start(people.requester, "order", ORDER)
    for _ in range(leases.PATIENCE):
        assert leases.claim() is not None
        Lease.objects.update(expires_at=Now())
        sweeping.free_dead_leases()
    assert leases.claim() is None
    assert fresh(thread).status == ThreadStatus.QUARANTINED
    entry = acted(thread, "quarantine")[0]
    assert (entry.actor_name, entry.data) == ("system:clock", {"acquisitions": leases.PATIENCE})
    threads.retry(people.operator, fresh(thread))
    graphs.run()
    assert fresh(thread).status == ThreadStatus.INTERRUPTED and len(acted(thread, "retry")) == 1


# --- forks


def test_e25_a_fork_from_an_answered_pause_leaves_the_first_branch_as_it_was(people: People, paused: Thread) -> None:
    graphs.answer(people.decider, paused)
    graphs.run()
    before = Thread.objects.filter(pk=paused.pk).values().get()
    checkpoints = list(Checkpoint.objects.filter(thread=paused).values())
    assert before["output"] == {"paid": 180}
    child = forks.fork(people.operator, fresh(paused), 2)
    assert (child.parent, child.parent_step, child.conversation) == (paused, 2, paused.conversation)
    graphs.run()
    graphs.answer(people.decider, child, outcome=Outcome.ANSWERED, value={"do": "take"})
    graphs.run()
    graphs.answer(people.decider, child, outcome=Outcome.REJECTED, comment="too much")
    graphs.run()
    assert fresh(child).output == {"paid": 0, "why": "too much"}
    assert Thread.objects.filter(pk=paused.pk).values().get() == before
    assert list(Checkpoint.objects.filter(thread=paused).values()) == checkpoints
    outcomes = Decision.objects.filter(interrupt__message="Pay it?").values_list("interrupt__thread", "outcome")
    assert set(outcomes) == {(paused.pk, "approved"), (child.pk, "rejected")}
    entry = acted(paused, "fork")[0]
    assert (entry.actor_name, entry.data["fork"], entry.data["step"]) == ("operator", str(child.uid), 2)
    assert acted(child, "start")[0].data["parent"] == str(paused.uid) and audit.verify().ok


def test_e19_a_retry_from_before_the_pause_is_a_fork_and_asks_again(people: People, paused: Thread) -> None:
    graphs.answer(people.decider, paused)
    graphs.run()
    child = forks.fork(people.operator, fresh(paused), 1)
    graphs.run()
    graphs.answer(people.decider, child, outcome=Outcome.ANSWERED, value={"do": "again"})
    graphs.run()
    again = Interrupt.objects.waiting().get(thread=child)
    assert again.message == "Pay it?" and not again.decisions.exists()
    assert Decision.objects.get(interrupt__thread=paused).outcome == "approved"


def test_e25_an_effect_in_a_fork_asks_before_it_is_done_again(people: People, paused: Thread) -> None:
    graphs.answer(people.decider, paused)
    graphs.run()
    child = forks.fork(people.operator, fresh(paused), 2, {"price": 50})
    graphs.run()
    graphs.answer(people.decider, child, outcome=Outcome.ANSWERED, value={"do": "take"})
    graphs.run()
    graphs.answer(people.decider, child)
    graphs.run()
    asked = Interrupt.objects.waiting().get(thread=child)
    assert asked.payload == {"effect": "transfer", "result": 180, "forked_from": paused.thread_id}
    graphs.answer(people.decider, child, outcome=Outcome.ANSWERED, value={"do": "again"})
    graphs.run()
    assert (fresh(child).status, fresh(child).output) == (ThreadStatus.COMPLETED, {"paid": 50})


def test_a_fork_is_whole_and_made_once(people: People, paused: Thread) -> None:
    first = forks.fork(people.operator, paused, 1, {"price": 7}, submission_key="k")
    assert forks.fork(people.operator, paused, 1, {"price": 7}, submission_key="k").pk == first.pk
    assert forks.fork(people.operator, paused, 1, {"price": 7}, submission_key="l").pk != first.pk
    cells = store.cells_at(first, 0)
    assert cells is not None and cells["channel:|price"] == 7 and "wait:agree#1" not in cells
    assert cells["inherited:agree#1"] == [
        ["hold", 0, "idempotent", {"done": True, "result": "held 180", "thread": paused.thread_id}]
    ]
    assert first.status == ThreadStatus.READY and Lease.objects.filter(pk=first.pk).exists()


def test_what_cannot_be_forked_says_why(people: People, paused: Thread, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NotPossible, match="no checkpoint 9"):
        forks.fork(people.operator, paused, 9)
    with pytest.raises(InputInvalid):
        forks.fork(people.operator, paused, 1, {"a|b": 1})
    graphs.register(monkeypatch, graphs.order(names=("fetch", "review", "transfer")))
    with pytest.raises(NotPossible, match="'read' is gone"):
        forks.fork(people.operator, paused, 1)
    graphs.register(monkeypatch)
    with pytest.raises(NotPossible, match="No graph"):
        forks.fork(people.operator, paused, 1)
    assert Thread.objects.count() == 1


def test_a_fork_can_be_made_of_a_running_thread(people: People, monkeypatch: pytest.MonkeyPatch) -> None:
    graphs.register(monkeypatch, graphs.order())
    thread = threads.start(people.requester, "order", ORDER)
    leases.claim()
    child = forks.fork(people.operator, fresh(thread), 0)
    assert leases.claim() is not None and fresh(child).status == ThreadStatus.RUNNING


def test_pens_of_other_tests_have_no_graph_and_say_so(people: People) -> None:
    pen = Pen()
    requested_by(pen.thread, people.requester)
    pen.claim()
    pen.pause(question("a"))
    with pytest.raises(NotPossible, match="No graph"):
        forks.fork(people.operator, pen.thread, 0)
