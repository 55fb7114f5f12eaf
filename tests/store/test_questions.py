from __future__ import annotations

from datetime import timedelta

import pytest

from graphs.actions import decisions
from graphs.actions.actors import System
from graphs.engine.ports import TaskKey
from graphs.engine.statuses import InterruptStatus, Outcome, TaskStatus, ThreadStatus
from graphs.models import ApprovalQueue, Counter, Decision, Interrupt, OutboxMessage
from graphs.models.clock import Now
from tests.records import Pen, commit, question, run

pytestmark = pytest.mark.django_db(transaction=True)
SOMEBODY = System("somebody")


def answer(interrupt_id: str, value: object = None) -> None:
    row = Interrupt.objects.get(pk=interrupt_id)
    given = decisions.Given(interrupt_id, row.version, row.digest, Outcome.APPROVED, value)
    decisions.decide(SOMEBODY, [given], channel="test")


def test_a_question_is_there_at_once_with_all_that_was_asked() -> None:
    pen = Pen()
    pen.claim()
    asked = question(
        "outer/inner",
        value={"Amount": 120},
        metadata={"risk": "High"},
        response_schema={"type": "object"},
        graph_path=("outer",),
        interrupt_id="confirm",
        kind="approval",
        name="n",
        reason={"why": 1},
        default=False,
        has_default=True,
        tool_call_id="t1",
        queue="inbox",
    )
    (stored,) = pen.ask(asked)
    assert stored == asked
    record = pen.load().tasks[TaskKey("outer/inner", 1)]
    assert record.status == TaskStatus.WAITING
    assert record.interrupts == [asked]
    row = Interrupt.objects.get(pk=asked.id)
    assert row.seq == Counter.objects.get(pk=f"queue:{row.queue_id}").value
    assert "may i?" in row.search and "120" in row.search and "outer/inner" in row.search


def test_opening_twice_opens_once() -> None:
    pen = Pen()
    pen.claim()
    first, again = question(), question()
    pen.ask(first)
    (stored,) = pen.ask(again)
    assert stored.id == first.id
    assert Interrupt.objects.count() == 1


def test_another_question_at_the_same_place_supersedes_the_open_one() -> None:
    pen = Pen()
    pen.claim()
    old, new = question(value=1), question(value=2, revision=1)
    pen.ask(old, new)
    assert Interrupt.objects.get(pk=old.id).status == InterruptStatus.SUPERSEDED
    known = {one.id: one.status for one in pen.load().tasks[TaskKey("a", 1)].interrupts}
    assert known == {old.id: InterruptStatus.SUPERSEDED, new.id: InterruptStatus.OPEN}


def test_questions_go_to_the_queue_they_name_then_their_graphs_then_the_default() -> None:
    for slug in ("finance", "legal"):
        ApprovalQueue.objects.create(slug=slug, title=slug)
    pen = Pen(queue="legal")
    asked = pen.ask(question("a", queue="finance"), question("b"), question("c", queue="unknown"))
    assert [one.queue for one in asked] == ["finance", "legal", "legal"]
    (plain,) = Pen().ask(question())
    assert plain.queue == ApprovalQueue.objects.get(is_default=True).slug


def test_hints_hold_ids_only_and_are_small() -> None:
    pen = Pen()
    pen.claim()
    pen.pause(question(value={"canary": "canary-secret"}, question="canary-secret?"))
    rows = list(OutboxMessage.objects.filter(kind="hint"))
    assert rows
    for row in rows:
        assert "canary" not in str(row.payload)
        assert len(str(row.payload)) < 1024


def test_whoever_pauses_looks_again_and_finds_the_answer_that_came_meanwhile() -> None:
    pen = Pen()
    pen.claim()
    (asked,) = pen.ask(question())
    answer(asked.id)
    assert pen.thread.status == ThreadStatus.RUNNING
    (found,) = run(pen.store.commit, pen.ref, commit(1, {}, status=ThreadStatus.INTERRUPTED, waiting=[asked.id]))
    assert (found.id, found.decision.outcome, found.decision.reviewer) == (asked.id, Outcome.APPROVED, "somebody")
    assert pen.thread.status == ThreadStatus.RUNNING
    assert pen.write(2, status=ThreadStatus.COMPLETED) == ()


def test_an_answer_after_the_pause_makes_the_thread_ready_and_rings() -> None:
    pen = Pen()
    pen.claim()
    (asked,) = pen.pause(question())
    answer(asked.id, {"ok": True})
    assert pen.thread.status == ThreadStatus.READY
    assert OutboxMessage.objects.filter(kind="wake").count() == 1
    pen.claim()
    (record,) = pen.load().tasks.values()
    assert record.interrupts[0].decision.value == {"ok": True}


def test_a_verdict_that_does_not_count_yet_is_not_seen() -> None:
    pen = Pen()
    pen.claim()
    (asked,) = pen.ask(question())
    Interrupt.objects.filter(pk=asked.id).update(status=InterruptStatus.CLOSED)
    Decision.objects.create(
        interrupt_id=asked.id, outcome="approved", channel="test", digest="", effective_at=Now() + timedelta(hours=1)
    )
    waiting = commit(1, {}, status=ThreadStatus.INTERRUPTED, waiting=[asked.id])
    assert run(pen.store.commit, pen.ref, waiting) == ()
    (record,) = pen.load().tasks.values()
    assert (record.interrupts[0].status, record.interrupts[0].decision) == (InterruptStatus.CLOSED, None)


def test_the_port_answers_all_or_none_in_the_engines_words() -> None:
    from graphs.engine.errors import AnswerInvalid, AnswerMismatch
    from graphs.engine.ports import Answer

    pen = Pen()
    pen.claim()
    schema = {"type": "integer"}
    one, two = pen.pause(question("a", response_schema=schema), question("b", response_schema=schema))
    good, bad = Answer(one.id, Outcome.ANSWERED, 3), Answer(two.id, Outcome.ANSWERED, "three")
    with pytest.raises(AnswerInvalid):
        run(pen.store.answer, pen.ref, [good, bad])
    with pytest.raises(AnswerMismatch) as refusal:
        run(pen.store.answer, pen.ref, [good, Answer("0" * 32, Outcome.ANSWERED, 3)])
    assert sorted(refusal.value.open_ids) == sorted([one.id, two.id])
    assert not Decision.objects.exists()
    (verdict,) = run(pen.store.answer, pen.ref, [good], actor="ana")
    assert (verdict.value, verdict.reviewer) == (3, "ana")
    # Said again it is the same answer; something else is too late.
    run(pen.store.answer, pen.ref, [good], actor="ana")
    with pytest.raises(AnswerMismatch):
        run(pen.store.answer, pen.ref, [Answer(one.id, Outcome.ANSWERED, 4)], actor="ana")


def test_answering_one_of_many_costs_the_same_statements_however_many_there_are() -> None:
    from tests.records import statements

    counts = []
    # The first decision of an installation makes the head of its audit chain; the others are alike.
    for many in (1, 1, 40):
        pen = Pen()
        pen.claim()
        asked = pen.pause(*(question(f"n{number}") for number in range(many)))
        with statements() as sent:
            answer(asked[0].id)
        counts.append(len(sent))
        pen.claim()
        pen.write(2, status=ThreadStatus.FAILED)
    assert counts[1] == counts[2]
