from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.contrib.auth.models import AnonymousUser

from graphs.actions import audit, comments, leases, sweeping, threads
from graphs.actions.errors import InputInvalid, NotAllowed, NotFound, NotPossible
from graphs.engine.errors import LeaseLost, ThreadExists
from graphs.engine.graph import CompiledGraph, Graph
from graphs.engine.statuses import InterruptStatus, ThreadStatus
from graphs.library import registry
from graphs.models import AuditEntry, Checkpoint, Conversation, Interrupt, Lease, OutboxMessage, Thread, ThreadEvent
from tests.actions.conftest import Asked
from tests.people import People
from tests.records import finished, question

pytestmark = pytest.mark.django_db(transaction=True)

SCHEMA = {
    "type": "object",
    "properties": {"amount": {"type": "integer"}, "note": {"type": "string", "default": "none"}},
    "required": ["amount"],
}


def small() -> CompiledGraph:
    graph = Graph.new("small", title="A small one", input_schema=SCHEMA)
    graph.node("only", lambda inp: inp)
    return graph.entry("only").terminal("only").compile()


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    graph = small()
    monkeypatch.setattr(registry, "entries", lambda: (registry.Entry("small", "tests", graph),))
    yield


def test_a_thread_begins_ready_with_its_first_checkpoint_and_rings(people: People) -> None:
    thread = threads.start(people.stranger, "small", {"amount": 3})
    assert (thread.status, thread.input, thread.title) == (
        ThreadStatus.READY,
        {"amount": 3, "note": "none"},
        "A small one, 3",
    )
    assert Checkpoint.objects.get(thread=thread).full
    assert Lease.objects.get(pk=thread.pk).token == 0
    assert thread.conversation.requester == people.stranger
    assert OutboxMessage.objects.filter(kind="wake").count() == 1
    assert AuditEntry.objects.get().object_id == str(thread.uid)
    assert Thread.objects.visible_to(people.stranger).get() == thread


def test_the_same_submission_starts_once(people: People) -> None:
    first = threads.start(people.stranger, "small", {"amount": 3}, submission_key="k")
    again = threads.start(people.stranger, "small", {"amount": 3}, submission_key="k")
    other = threads.start(people.requester, "small", {"amount": 3}, submission_key="k")
    assert first.pk == again.pk != other.pk
    assert Conversation.objects.count() == 2


def test_a_thread_id_is_taken_once(people: People) -> None:
    threads.start(people.stranger, "small", {"amount": 3}, thread_id="order-1")
    with pytest.raises(ThreadExists):
        threads.start(people.requester, "small", {"amount": 3}, thread_id="order-1")
    assert Conversation.objects.count() == 1


def test_input_that_breaks_the_schema_starts_nothing(people: People) -> None:
    for wrong, pointer in (({"amount": "x"}, "/amount"), ({"amount": float("nan")}, "/amount"), ([], "")):
        with pytest.raises(InputInvalid) as refusal:
            threads.start(people.stranger, "small", wrong)
        assert refusal.value.problems[0][0] == pointer
    for name in ("", "x" * 201, "a\nb"):
        with pytest.raises(InputInvalid):
            threads.start(people.stranger, "small", {"amount": 1}, thread_id=name)
    assert not Thread.objects.exists()


def test_only_people_start_and_only_what_there_is(people: People) -> None:
    with pytest.raises(NotAllowed):
        threads.start(AnonymousUser(), "small", {"amount": 1})
    with pytest.raises(NotFound):
        threads.start(people.stranger, "unknown", {"amount": 1})


def test_a_failed_thread_is_retried_by_those_who_may(people: People, asked: Asked) -> None:
    thread = asked.pen.thread
    with pytest.raises(NotPossible):
        threads.retry(people.requester, thread)
    for status in (ThreadStatus.FAILED, ThreadStatus.QUARANTINED, ThreadStatus.WAITING_VERSION):
        Thread.objects.update(status=status, error={"type": "x", "message": "y"})
        Lease.objects.update(barren=6)
        with pytest.raises(NotAllowed):
            threads.retry(people.decider, thread)
        with pytest.raises(NotFound):
            threads.retry(people.stranger, thread)
        threads.retry(people.requester, thread)
        assert (thread.status, thread.error) == (ThreadStatus.READY, None)
        assert Lease.objects.get(pk=thread.pk).barren == 0


def test_cancelling_a_paused_thread_withdraws_its_questions(people: People, asked: Asked) -> None:
    with pytest.raises(NotAllowed):
        threads.cancel(people.decider, asked.pen.thread)
    thread = threads.cancel(people.requester, asked.pen.thread, "bought elsewhere")
    assert thread.status == ThreadStatus.CANCELLED
    assert thread.error == {"type": "Cancelled", "message": "bought elsewhere"}
    row = asked.row()
    assert (row.status, row.closed_because) == (InterruptStatus.WITHDRAWN, "bought elsewhere")
    event = ThreadEvent.objects.filter(thread=thread).latest("seq")
    assert (event.type, event.data["status"]) == ("graph.end", "cancelled")
    assert audit.verify().ok
    with pytest.raises(NotPossible):
        threads.cancel(people.requester, thread)
    assert leases.claim() is None


def test_a_running_thread_is_cancelled_by_its_next_commit(people: People, asked: Asked) -> None:
    Thread.objects.update(status=ThreadStatus.READY)
    pen = asked.pen
    pen.claim()
    thread = threads.cancel(people.operator, pen.thread)
    assert thread.status == ThreadStatus.RUNNING
    with pytest.raises(LeaseLost):
        pen.write(2, results=[finished("done")])
    thread = pen.thread
    assert (thread.status, thread.step, thread.cancel_at) == (ThreadStatus.CANCELLED, 2, None)
    assert thread.ended_at is not None
    assert asked.row().status == InterruptStatus.WITHDRAWN
    assert Lease.objects.get(pk=thread.pk).expires_at is None
    with pytest.raises(LeaseLost):
        pen.write(3)


def test_a_thread_that_does_not_come_to_a_commit_is_cancelled_by_force(people: People, asked: Asked) -> None:
    Thread.objects.update(status=ThreadStatus.READY)
    pen = asked.pen
    pen.claim()
    threads.cancel(people.operator, pen.thread)
    assert sweeping.cancel_overdue() == 0
    Thread.objects.update(cancel_at=asked.row().created_at.replace(year=2020))
    assert sweeping.cancel_overdue() == 1
    assert pen.thread.status == ThreadStatus.CANCELLED
    with pytest.raises(LeaseLost):
        pen.ask(question("b"))
    assert Interrupt.objects.count() == 1


def test_the_end_of_a_thread_withdraws_what_is_still_open(people: People, asked: Asked) -> None:
    Thread.objects.update(status=ThreadStatus.READY)
    asked.pen.claim()
    asked.pen.write(2, status=ThreadStatus.FAILED)
    assert asked.row().status == InterruptStatus.OPEN
    threads.retry(people.requester, asked.pen.thread)
    asked.pen.claim()
    asked.pen.write(3, status=ThreadStatus.REJECTED)
    assert asked.row().status == InterruptStatus.WITHDRAWN


def test_remarks_are_for_those_who_see_it_and_answer_nothing(people: People, asked: Asked) -> None:
    for actor in (people.viewer, people.requester):
        comments.add(actor, interrupt=asked.row(), text=" hello ")
    comment = comments.add(people.operator, thread=asked.pen.thread, text="x")
    assert (comment.interrupt, comment.thread, comment.author_name) == (None, asked.pen.thread, "operator")
    assert asked.row().comments.count() == 2
    assert (asked.row().status, asked.row().version) == (InterruptStatus.OPEN, 1)
    for text in ("", "  ", "x" * 10_001, "a\x00"):
        with pytest.raises(InputInvalid):
            comments.add(people.viewer, interrupt=asked.row(), text=text)
    with pytest.raises(NotFound):
        comments.add(people.stranger, interrupt=asked.row(), text="hello")
