from __future__ import annotations

import pytest
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext

from graphs.actions import leases
from graphs.engine.errors import LeaseLost, ThreadBusy, ThreadExists, UnknownThread
from graphs.engine.ports import Delta, TaskKey
from graphs.engine.statuses import TaskStatus, ThreadStatus
from graphs.models import Checkpoint, Lease, Task, Thread, ThreadEvent
from tests.records import Pen, beginning, commit, event, finished, reference, run, statements

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_thread_comes_back_as_it_began() -> None:
    pen = Pen(cells={"task:a#1": {"i": [1, "ü", None]}, "counters": {"steps": 0}})
    snapshot = pen.load()
    assert snapshot.cells == {"task:a#1": {"i": [1, "ü", None]}, "counters": {"steps": 0}}
    assert (snapshot.step, snapshot.next_seq, snapshot.tasks) == (0, 1, {})
    assert snapshot.input == {"amount": 5}


def test_an_id_is_taken_once_per_graph() -> None:
    pen = Pen()
    with pytest.raises(ThreadExists):
        run(pen.store.create, pen.ref, beginning())


def test_an_unknown_thread_is_none_to_load_and_refused_to_write() -> None:
    pen = Pen()
    assert run(pen.store.load, reference()) is None
    with pytest.raises(UnknownThread):
        run(pen.store.commit, reference(), commit(1, {}))


def test_deltas_add_up_to_the_cells() -> None:
    pen = Pen(cells={"messages": ["a"], "old": 1})
    pen.write(1, delta=Delta(set={"n": {"z": 1, "a": 2}}, append={"messages": ["b", "c"]}, drop=("old",)))
    pen.write(2, delta=Delta(set={"n": None}, append={"messages": ["d"]}))
    snapshot = pen.load()
    assert snapshot.cells == {"messages": ["a", "b", "c", "d"], "n": None}
    assert snapshot.step == 2
    assert run(pen.store.load_step, pen.ref, 1) == {"messages": ["a", "b", "c"], "n": {"z": 1, "a": 2}}
    assert run(pen.store.load_step, pen.ref, 3) is None


def test_a_superstep_is_four_statements_and_one_commit() -> None:
    pen = Pen()
    pen.claim()
    results = [finished("a", visit, {"out": visit}) for visit in range(1, 21)]
    with CaptureQueriesContext(connection) as captured:
        pen.write(1, results=results, events=[event(1), event(2)], active=(TaskKey("b", 1),))
    sent = [query["sql"].split()[0].upper() for query in captured.captured_queries]
    assert sent.count("COMMIT") <= 1
    assert len([word for word in sent if word in ("UPDATE", "INSERT", "SELECT", "DELETE", "WITH")]) <= 4
    assert Task.objects.filter(thread=pen.thread, applied=True, step=1).count() == 20
    assert list(ThreadEvent.objects.filter(thread=pen.thread).values_list("seq", flat=True)) == [1, 2]
    assert pen.thread.next_seq == 3


def test_a_plain_superstep_is_one_round_trip_where_round_trips_cost(database: str) -> None:
    pen = Pen()
    pen.claim()
    results = [finished("a", 1, {"n": 1.5}, writes=(("c", None),)), finished("b", 1)]
    with CaptureQueriesContext(connection) as captured:
        pen.write(1, results=results, events=[event(1), event(2)])
    assert len(captured) == (1 if database == "postgres" else 6)
    assert pen.load().cells == {"task:a#1": {"i": None}, "n": 1}
    assert [task.output for task in Task.objects.order_by("path")] == [{"n": 1.5}, None]


def test_claiming_and_loading_a_resumed_thread_is_six_statements() -> None:
    from tests.records import question

    pen = Pen()
    pen.claim()
    pen.pause(question("a"), question("b"))
    Thread.objects.filter(pk=pen.thread.pk).update(status=ThreadStatus.READY)
    with statements() as sent:
        pen.claim()
    assert len(sent) <= 6, sent


def test_loading_reads_a_bounded_tail_however_long_the_history() -> None:
    pen = Pen(cells={"state": "x" * 1000})
    pen.claim()
    for step in range(1, 201):
        pen.write(
            step, {"state": "x" * 1000, "n": step}, delta=Delta(set={"n": step}), results=[finished("a", step, step)]
        )
    with statements() as sent:
        snapshot = pen.load()
    assert snapshot.cells == {"state": "x" * 1000, "n": 200}
    assert snapshot.tasks == {}
    assert len(sent) <= 4
    assert Checkpoint.objects.filter(thread=pen.thread, step__gte=pen.thread.full_step).count() <= 64
    assert run(pen.store.load_step, pen.ref, 57) == {"state": "x" * 1000, "n": 57}


def test_a_large_state_is_not_written_again_for_a_small_change() -> None:
    pen = Pen(cells={f"channel:{n}": str(n) * 1000 for n in range(100)})
    pen.claim()
    cells = {f"channel:{n}": str(n) * 1000 for n in range(100)}
    for step in range(1, 21):
        cells = {**cells, "n": step}
        pen.write(step, cells, delta=Delta(set={"n": step}))
    written = sum(Checkpoint.objects.filter(thread=pen.thread, step__gt=0).values_list("size", flat=True))
    assert written < 20 * 50
    assert pen.load().cells == cells


def test_a_growing_list_costs_the_same_bytes_each_step() -> None:
    pen = Pen(cells={"messages": []})
    pen.claim()
    messages: list[str] = []
    for step in range(1, 301):
        messages = [*messages, "m" * 100]
        pen.write(step, {"messages": messages}, delta=Delta(append={"messages": ["m" * 100]}))
    sizes = Checkpoint.objects.filter(thread=pen.thread, full=False).values_list("size", flat=True)
    assert max(sizes) - min(sizes) < 20 * 100
    total = sum(Checkpoint.objects.filter(thread=pen.thread).values_list("size", flat=True))
    assert total < 300 * (150 + 1100)
    assert pen.load().cells == {"messages": messages}


def test_a_commit_with_a_wrong_step_writes_nothing() -> None:
    pen = Pen()
    pen.write(1)
    for wrong in (1, 3):
        with pytest.raises(LeaseLost):
            pen.write(wrong, results=[finished("late")], events=[event(9)])
    assert pen.thread.step == 1
    assert not Task.objects.filter(path="late").exists()
    assert not ThreadEvent.objects.exists()


def test_whoever_lost_the_lease_writes_nothing() -> None:
    pen = Pen()
    pen.claim()
    Lease.objects.filter(pk=pen.thread.pk).update(token=99)
    from graphs.engine.ports import JournalEntry
    from tests.records import question

    for attempt in (
        lambda: pen.write(1),
        lambda: pen.ask(question()),
        lambda: run(pen.store.record_tasks, pen.ref, [finished()]),
        lambda: run(pen.store.record_effect, pen.ref, TaskKey("a", 1), JournalEntry("k", 0, "done", 1)),
    ):
        with pytest.raises(LeaseLost):
            attempt()
    assert pen.thread.step == 0
    assert not Task.objects.exists()


def test_a_second_process_cannot_take_a_held_thread() -> None:
    pen = Pen()
    pen.claim()
    with pytest.raises(ThreadBusy):
        leases.take(pen.thread)
    assert leases.claim() is None


def test_what_a_sibling_finished_is_found_again_and_never_overwritten() -> None:
    pen = Pen()
    pen.claim()
    result = finished(
        "a", 1, {"paid": True}, writes=(("total", 3), ("log", ["x"])), route="yes", has_route=True, usage={"tokens": 7}
    )
    run(pen.store.record_tasks, pen.ref, [result])
    assert pen.load().tasks[TaskKey("a", 1)].result == result
    pen.write(1, results=[result])
    assert pen.load().tasks == {}
    run(pen.store.record_tasks, pen.ref, [finished("a", 1, "again")])
    assert Task.objects.get(path="a").output == {"paid": True}


def test_effects_come_back_in_their_task_with_their_last_state() -> None:
    from graphs.engine.ports import JournalEntry

    pen = Pen()
    pen.claim()
    key = TaskKey("pay", 2)
    run(pen.store.record_effect, pen.ref, key, JournalEntry("charge", 0, "started", None, "at_most_once"))
    run(pen.store.record_effect, pen.ref, key, JournalEntry("charge", 0, "done", {"id": "x"}, "at_most_once"))
    run(pen.store.record_effect, pen.ref, key, JournalEntry("charge", 1, "done", 0))
    record = pen.load().tasks[key]
    assert record.journal == [
        JournalEntry("charge", 0, "done", {"id": "x"}, "at_most_once"),
        JournalEntry("charge", 1, "done", 0, "idempotent"),
    ]
    assert (record.status, record.result) == (TaskStatus.RUNNING, None)


def test_a_failed_task_stays_under_way_and_forgets_its_failure_at_retry() -> None:
    pen = Pen()
    pen.claim()
    from graphs.engine.ports import JournalEntry, TaskResult

    key = TaskKey("a", 1)
    run(pen.store.record_effect, pen.ref, key, JournalEntry("k", 0, "done", 1))
    failure = TaskResult(key, TaskStatus.FAILED, error={"type": "ValueError", "message": "no"})
    pen.write(1, status=ThreadStatus.FAILED, results=[failure], error={"type": "ValueError", "message": "no"})
    assert pen.load().tasks[key].result == failure
    run(pen.store.retry, pen.ref)
    snapshot = pen.load()
    assert (snapshot.status, snapshot.error) == (ThreadStatus.READY, None)
    assert snapshot.tasks[key].result is None
    assert len(snapshot.tasks[key].journal) == 1


def test_history_lists_the_newest_checkpoints_first() -> None:
    pen = Pen()
    pen.write(1)
    pen.write(2, status=ThreadStatus.COMPLETED, output={"ok": True})
    infos = run(pen.store.history, pen.ref, 2)
    assert [(info.step, info.status) for info in infos] == [(2, "completed"), (1, "running")]
    assert pen.load().output == {"ok": True}


def test_the_lease_is_given_back_by_the_commit_that_pauses_or_ends() -> None:
    for status in (ThreadStatus.INTERRUPTED, ThreadStatus.COMPLETED, ThreadStatus.FAILED):
        pen = Pen()
        pen.claim()
        pen.write(1, status=status)
        assert Lease.objects.get(pk=pen.thread.pk).expires_at is None


def test_one_checkpoint_per_step_is_a_constraint_of_the_database() -> None:
    pen = Pen()
    with pytest.raises(IntegrityError), transaction.atomic():
        Checkpoint.objects.create(thread=pen.thread, step=0, data={}, status="ready")
