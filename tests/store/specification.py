"""What every store promises the engine: one specification, run on the memory, SQLite and Django stores."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, TypeVar

import pytest

from graphs.engine.errors import (
    AlreadyAnswered,
    AnswerMismatch,
    LeaseLost,
    ThreadEnded,
    ThreadExists,
    UnknownThread,
)
from graphs.engine.interrupts import Interrupt
from graphs.engine.ports import (
    Answer,
    Checkpointer,
    Commit,
    Delta,
    JournalEntry,
    Snapshot,
    TaskKey,
    TaskResult,
    ThreadRef,
    ThreadStart,
)
from graphs.engine.statuses import InterruptStatus, Outcome, TaskStatus, ThreadStatus
from tests.store.logs import LogSpecification
from tests.store.trust import TrustSpecification

T = TypeVar("T")
A, B = TaskKey("a", 1), TaskKey("outer/b", 2)
AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def finished(key: TaskKey, output: Any = None, **details: Any) -> TaskResult:
    return TaskResult(key, TaskStatus.FINISHED, output, **{"targets": (), **details})


def failed(key: TaskKey) -> TaskResult:
    return TaskResult(key, TaskStatus.FAILED, error={"type": "ValueError", "message": "no", "traceback": ""})


def question(key: TaskKey = A, place: str = "ask", **details: Any) -> Interrupt:
    given = {"question": "May I?", "digest": "d", "interrupt_id": place, "style": "ask", **details}
    return Interrupt(
        node_id=key.path.split("/")[-1], id=str(uuid.uuid4()), path=key.path, visit=key.visit, key=place, **given
    )


def event(seq: int, type_: str = "graph.superstep_end") -> dict[str, Any]:
    return {"type": type_, "path": "", "visit": 0, "seq": seq, "at": AT, "data": {"step": seq}}


class StoreSpecification(LogSpecification, TrustSpecification):
    """Subclass it with a fixture `store`; override `call` where coroutines need another way to run."""

    def call(self, function: Callable[..., Coroutine[Any, Any, T]], *arguments: Any, **named: Any) -> T:
        return asyncio.run(function(*arguments, **named))

    @pytest.fixture
    def ref(self) -> ThreadRef:
        return ThreadRef("specified", uuid.uuid4().hex)

    def begin(self, store: Checkpointer, ref: ThreadRef, **cells: Any) -> None:
        start = ThreadStart("f" * 64, "1", {"amount": 5}, cells or {"n": 0, "list": [1]}, {"by": "spec"})
        self.call(store.create, ref, start)

    def load(self, store: Checkpointer, ref: ThreadRef) -> Snapshot:
        snapshot = self.call(store.load, ref)
        assert snapshot is not None
        return snapshot

    def commit(
        self,
        store: Checkpointer,
        ref: ThreadRef,
        step: int,
        status: ThreadStatus = ThreadStatus.RUNNING,
        delta: Delta | None = None,
        **details: Any,
    ) -> Sequence[Interrupt]:
        changed = delta or Delta(set={"n": step})
        before = dict(self.load(store, ref).cells)
        changed.apply(before)
        given: dict[str, Any] = {"active": (A,), **details}
        return self.call(store.commit, ref, Commit(step, status, changed, lambda: before, **given))

    def ask(self, store: Checkpointer, ref: ThreadRef, *questions: Interrupt) -> list[Interrupt]:
        return [self.call(store.open_interrupt, ref, one) for one in questions]

    def answer(self, store: Checkpointer, ref: ThreadRef, *given: Answer) -> Any:
        return self.call(store.answer, ref, list(given), actor="Ana")

    # Threads

    def test_a_thread_comes_back_as_it_began(self, store: Checkpointer, ref: ThreadRef) -> None:
        self.begin(store, ref, deep={"ü": [1, 2.5, None, True, "x"]}, text="")
        snapshot = self.load(store, ref)
        assert snapshot.cells == {"deep": {"ü": [1, 2.5, None, True, "x"]}, "text": ""}
        assert (snapshot.step, snapshot.next_seq, snapshot.status) == (0, 1, ThreadStatus.READY)
        assert (snapshot.fingerprint, snapshot.graph_version, snapshot.input) == ("f" * 64, "1", {"amount": 5})
        assert snapshot.tasks == {} and snapshot.output is None and snapshot.error is None

    def test_an_id_is_taken_once_a_graph(self, store: Checkpointer, ref: ThreadRef) -> None:
        self.begin(store, ref)
        with pytest.raises(ThreadExists):
            self.begin(store, ref)
        self.begin(store, ThreadRef("another", ref.thread_id))

    def test_g34_an_unknown_thread_is_none_to_load_and_refused_to_write(
        self, store: Checkpointer, ref: ThreadRef
    ) -> None:
        assert self.call(store.load, ref) is None
        with pytest.raises(UnknownThread):
            self.call(store.commit, ref, Commit(1, ThreadStatus.RUNNING, Delta(), dict))
        with pytest.raises(UnknownThread):
            self.answer(store, ref, Answer(str(uuid.uuid4()), Outcome.APPROVED))
        with pytest.raises(UnknownThread):
            self.call(store.retry, ref)

    # Supersteps

    def test_a_delta_drops_sets_and_appends(self, store: Checkpointer, ref: ThreadRef) -> None:
        self.begin(store, ref, old=1, n=0, list=[1])
        self.commit(store, ref, 1, delta=Delta({"n": {"z": 1}}, {"list": [2, 3]}, ("old",)))
        self.commit(store, ref, 2, delta=Delta({"m": None}, {"list": [4]}))
        assert self.load(store, ref).cells == {"n": {"z": 1}, "list": [1, 2, 3, 4], "m": None}

    def test_many_supersteps_come_back_and_so_does_each_of_them(self, store: Checkpointer, ref: ThreadRef) -> None:
        self.begin(store, ref, n=0, list=[])
        for step in range(1, 81):
            self.commit(store, ref, step, delta=Delta({"n": step}, {"list": [step]}))
        snapshot = self.load(store, ref)
        assert snapshot.step == 80 and snapshot.cells == {"n": 80, "list": list(range(1, 81))}
        for step in (0, 1, 63, 64, 65, 80):
            assert self.call(store.load_step, ref, step) == {"n": step, "list": list(range(1, step + 1))}
        assert self.call(store.load_step, ref, 81) is None

    def test_only_the_successor_is_written(self, store: Checkpointer, ref: ThreadRef) -> None:
        self.begin(store, ref)
        self.commit(store, ref, 1)
        for step in (1, 3):
            with pytest.raises(LeaseLost):
                self.commit(store, ref, step, results=(finished(A, "late"),))
        snapshot = self.load(store, ref)
        assert (snapshot.step, snapshot.cells["n"], snapshot.tasks) == (1, 1, {})

    def test_history_is_newest_first(self, store: Checkpointer, ref: ThreadRef) -> None:
        self.begin(store, ref)
        self.commit(store, ref, 1)
        self.commit(store, ref, 2, ThreadStatus.COMPLETED, output=7, active=())
        lines = self.call(store.history, ref)
        assert [(one.step, one.status) for one in lines] == [
            (2, ThreadStatus.COMPLETED),
            (1, ThreadStatus.RUNNING),
            (0, ThreadStatus.READY),
        ]
        assert len(self.call(store.history, ref, 2)) == 2

    def test_events_count_on(self, store: Checkpointer, ref: ThreadRef) -> None:
        self.begin(store, ref)
        self.commit(store, ref, 1, events=(event(1), event(2)))
        assert self.load(store, ref).next_seq == 3

    def test_output_and_error_are_kept(self, store: Checkpointer, ref: ThreadRef) -> None:
        self.begin(store, ref)
        error = {"type": "dead_end", "message": "nothing", "path": ""}
        self.commit(store, ref, 1, ThreadStatus.FAILED, error=error)
        assert self.load(store, ref).error == error
        self.call(store.retry, ref)
        self.commit(store, ref, 2, ThreadStatus.COMPLETED, output={"a": [0, False]}, active=())
        snapshot = self.load(store, ref)
        assert snapshot.output == {"a": [0, False]} and snapshot.error is None

    # Tasks

    def test_a_task_recorded_early_comes_back_until_it_is_applied(self, store: Checkpointer, ref: ThreadRef) -> None:
        self.begin(store, ref)
        result = finished(
            A,
            {"x": 1},
            route=["a", 1, True],
            has_route=True,
            writes=(("c", 1), ("=d", [None])),
            attempt=2,
            seconds=0.5,
            usage={"tokens": 7},
            targets=("b", "c"),
        )
        self.call(store.record_tasks, ref, [result])
        assert self.load(store, ref).tasks[A].result == result
        self.commit(store, ref, 1, results=(result,))
        assert self.load(store, ref).tasks == {}
        assert self.call(store.results, ref, [A, B]) == {A: result}

    def test_a_recorded_result_is_never_replaced(self, store: Checkpointer, ref: ThreadRef) -> None:
        self.begin(store, ref)
        self.call(store.record_tasks, ref, [finished(A, "first")])
        self.commit(store, ref, 1, results=(finished(A, "second"),))
        assert self.call(store.results, ref, [A])[A].output == "first"

    def test_z04_a_failed_task_keeps_its_journal_and_may_finish_later(
        self, store: Checkpointer, ref: ThreadRef
    ) -> None:
        self.begin(store, ref)
        entry = JournalEntry("charge", 0, "done", {"id": 1})
        self.call(store.record_effect, ref, A, entry)
        self.commit(store, ref, 1, ThreadStatus.FAILED, results=(failed(A),))
        self.call(store.retry, ref)
        snapshot = self.load(store, ref)
        assert snapshot.status is ThreadStatus.READY
        assert snapshot.tasks[A].journal == [entry]
        self.commit(store, ref, 2, ThreadStatus.COMPLETED, results=(finished(A, 1),), active=())
        assert self.call(store.results, ref, [A])[A].status is TaskStatus.FINISHED
        with pytest.raises(ThreadEnded):
            self.call(store.retry, ref)

    def test_an_effect_begun_is_replaced_by_its_end(self, store: Checkpointer, ref: ThreadRef) -> None:
        self.begin(store, ref)
        for entry in (
            JournalEntry("pay", 0, "started", 1, "at_most_once"),
            JournalEntry("pay", 1, "done", None),
            JournalEntry("pay", 0, "done", [1], "at_most_once"),
        ):
            self.call(store.record_effect, ref, B, entry)
        journal = self.load(store, ref).tasks[B].journal
        assert sorted(journal, key=lambda one: one.ordinal) == [
            JournalEntry("pay", 0, "done", [1], "at_most_once"),
            JournalEntry("pay", 1, "done", None),
        ]

    def test_r5_an_effect_that_is_done_is_never_replaced(self, store: Checkpointer, ref: ThreadRef) -> None:
        self.begin(store, ref)
        self.call(store.record_effect, ref, A, JournalEntry("pay", 0, "done", "first"))
        with suppress(LeaseLost):
            self.call(store.record_effect, ref, A, JournalEntry("pay", 0, "done", "second"))
        assert self.load(store, ref).tasks[A].journal == [JournalEntry("pay", 0, "done", "first")]

    def test_what_comes_late_to_a_finished_task_is_not_under_way(self, store: Checkpointer, ref: ThreadRef) -> None:
        self.begin(store, ref)
        self.commit(store, ref, 1, results=(finished(A, 1),))
        with suppress(LeaseLost):
            self.call(store.record_effect, ref, A, JournalEntry("pay", 0, "done", "late"))
        with suppress(LeaseLost):
            self.call(store.record_tasks, ref, [finished(A, 2)])
        assert self.load(store, ref).tasks == {}
        assert self.call(store.results, ref, [A])[A].output == 1

    # Questions

    def test_z08_a_question_is_there_before_any_commit(self, store: Checkpointer, ref: ThreadRef) -> None:
        self.begin(store, ref)
        asked = question(
            B,
            value={"Amount": 1},
            metadata={"risk": 1},
            response_schema={"type": "object"},
            graph_path=("outer", "inner"),
            kind="approval",
            reason={"why": 1},
            name="n",
            default=False,
            has_default=True,
            tool_call_id="t1",
            expires_at=AT,
        )
        (stored,) = self.ask(store, ref, asked)
        assert replace(stored, queue="") == asked
        (found,) = self.load(store, ref).tasks[B].interrupts
        assert replace(found, queue="") == asked

    def test_opening_twice_opens_once(self, store: Checkpointer, ref: ThreadRef) -> None:
        self.begin(store, ref)
        (first,) = self.ask(store, ref, question())
        (again,) = self.ask(store, ref, question())
        assert again.id == first.id

    def test_another_question_at_the_same_place_supersedes(self, store: Checkpointer, ref: ThreadRef) -> None:
        self.begin(store, ref)
        old, new = self.ask(store, ref, question(), question(digest="other", revision=1))
        kept = self.load(store, ref).tasks[A].interrupts
        assert [one.id for one in kept if one.status is InterruptStatus.OPEN] == [new.id]
        with pytest.raises(AnswerMismatch):
            self.answer(store, ref, Answer(old.id, Outcome.ANSWERED, 1))

    def test_z27_questions_come_back_in_the_order_they_were_asked(self, store: Checkpointer, ref: ThreadRef) -> None:
        self.begin(store, ref)
        asked = self.ask(store, ref, *(question(place=f"ask:{name}") for name in "zayb"))
        assert [one.id for one in self.load(store, ref).tasks[A].interrupts] == [one.id for one in asked]

    def test_an_answer_closes_its_question_and_readies_the_thread(self, store: Checkpointer, ref: ThreadRef) -> None:
        self.begin(store, ref)
        one, two = self.ask(store, ref, question(), question(place="ask:2"))
        self.commit(store, ref, 1, ThreadStatus.INTERRUPTED, waiting=(one.id, two.id))
        assert self.load(store, ref).status is ThreadStatus.INTERRUPTED
        (decision,) = self.answer(store, ref, Answer(one.id, Outcome.REJECTED, None, "too much"))
        assert (decision.outcome, decision.comment, decision.digest) == (Outcome.REJECTED, "too much", "d")
        assert decision.reviewer and decision.decided_at is not None
        snapshot = self.load(store, ref)
        assert snapshot.status is ThreadStatus.READY
        by_id = {asked.id: asked for asked in snapshot.tasks[A].interrupts}
        assert by_id[one.id].decision == decision and by_id[one.id].status is InterruptStatus.CLOSED
        assert by_id[two.id].decision is None

    def test_z34_the_same_answer_again_returns_the_first_decision(self, store: Checkpointer, ref: ThreadRef) -> None:
        self.begin(store, ref)
        (asked,) = self.ask(store, ref, question())
        given = Answer(asked.id, Outcome.ANSWERED, {"ok": True})
        assert self.answer(store, ref, given) == self.answer(store, ref, given)

    def test_z01_another_answer_to_a_closed_question_is_refused(self, store: Checkpointer, ref: ThreadRef) -> None:
        self.begin(store, ref)
        (asked,) = self.ask(store, ref, question())
        self.answer(store, ref, Answer(asked.id, Outcome.ANSWERED, 1))
        with pytest.raises(AlreadyAnswered):
            self.answer(store, ref, Answer(asked.id, Outcome.ANSWERED, 2))
        (kept,) = self.load(store, ref).tasks[A].interrupts
        assert kept.decision is not None and kept.decision.value == 1

    def test_z38_one_wrong_id_and_nothing_is_stored(self, store: Checkpointer, ref: ThreadRef) -> None:
        self.begin(store, ref)
        (asked,) = self.ask(store, ref, question())
        with pytest.raises(AnswerMismatch) as caught:
            self.answer(
                store, ref, Answer(asked.id, Outcome.ANSWERED, 1), Answer(str(uuid.uuid4()), Outcome.ANSWERED, 1)
            )
        assert caught.value.open_ids == [asked.id]
        (kept,) = self.load(store, ref).tasks[A].interrupts
        assert kept.decision is None

    def test_an_answer_that_came_before_the_pause_is_not_lost(self, store: Checkpointer, ref: ThreadRef) -> None:
        self.begin(store, ref)
        one, two = self.ask(store, ref, question(), question(place="ask:2"))
        self.answer(store, ref, Answer(one.id, Outcome.ANSWERED, 1))
        decided = self.commit(store, ref, 1, ThreadStatus.INTERRUPTED, waiting=(one.id, two.id))
        assert [(found.id, found.decision and found.decision.value) for found in decided] == [(one.id, 1)]
        assert self.load(store, ref).status is ThreadStatus.RUNNING

    def test_an_answer_to_a_failed_thread_waits_for_its_retry(self, store: Checkpointer, ref: ThreadRef) -> None:
        self.begin(store, ref)
        (asked,) = self.ask(store, ref, question(B))
        self.commit(store, ref, 1, ThreadStatus.FAILED, results=(failed(A),), active=(A, B))
        self.answer(store, ref, Answer(asked.id, Outcome.ANSWERED, 1))
        assert self.load(store, ref).status is ThreadStatus.FAILED
        self.call(store.retry, ref)
        (kept,) = self.load(store, ref).tasks[B].interrupts
        assert kept.decision is not None and kept.decision.value == 1

    def test_the_end_withdraws_what_is_still_open(self, store: Checkpointer, ref: ThreadRef) -> None:
        self.begin(store, ref)
        (asked,) = self.ask(store, ref, question())
        self.commit(store, ref, 1, ThreadStatus.CANCELLED, active=())
        with pytest.raises(AnswerMismatch):
            self.answer(store, ref, Answer(asked.id, Outcome.ANSWERED, 1))

    def test_a_finished_task_withdraws_what_it_no_longer_asks(self, store: Checkpointer, ref: ThreadRef) -> None:
        self.begin(store, ref)
        left, other = self.ask(store, ref, question(), question(B))
        self.commit(store, ref, 1, results=(finished(A),), active=(B,))
        with pytest.raises(AnswerMismatch) as caught:
            self.answer(store, ref, Answer(left.id, Outcome.ANSWERED, 1))
        assert caught.value.open_ids == [other.id]
