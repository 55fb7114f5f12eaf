from __future__ import annotations

import pytest
from django.contrib.auth.models import AnonymousUser
from django.db import OperationalError

from graphs import queue
from graphs.actions import audit
from graphs.actions.actors import System
from graphs.actions.decisions import Given, decide
from graphs.actions.errors import (
    AlreadyDecided,
    AnswerRefused,
    NoLongerOpen,
    NotAllowed,
    NotFound,
    Refused,
    Stale,
    status_of,
)
from graphs.actions.receipts import Receipt
from graphs.engine.statuses import InterruptStatus, Outcome, ThreadStatus
from graphs.models import AuditEntry, Counter, Decision, Interrupt, OutboxMessage, Thread
from graphs.store import verdicts
from tests.actions.conftest import Asked
from tests.people import People
from tests.records import question

pytestmark = pytest.mark.django_db(transaction=True)

FORM = {
    "type": "object",
    "properties": {"amount": {"type": "integer", "maximum": 100}, "note": {"type": "string"}},
    "required": ["amount"],
    "additionalProperties": False,
}


def refused(asked: Asked, people: People, given: Given, kind: type[Refused], **more: object) -> Refused:
    """The refusal; nothing was changed by it."""
    before = list(Interrupt.objects.order_by("pk").values()), Decision.objects.count(), AuditEntry.objects.count()
    with pytest.raises(kind) as caught:
        decide(more.pop("actor", people.decider), [given], channel="form", **more)  # type: ignore[call-overload]
    assert before == (
        list(Interrupt.objects.order_by("pk").values()),
        Decision.objects.count(),
        AuditEntry.objects.count(),
    )
    return caught.value


def test_a_verdict_is_one_transaction_with_all_that_belongs_to_it(people: People, asked: Asked) -> None:
    OutboxMessage.objects.all().delete()
    cursor = Counter.objects.get(pk=f"queue:{people.finance.pk}").value
    (receipt,) = decide(people.decider, [asked.given(comment="fine")], channel="form")
    row, decision = asked.row(), Decision.objects.get()
    assert (row.status, row.version) == (InterruptStatus.CLOSED, 2)
    assert (decision.outcome, decision.comment, decision.reviewer_id) == ("approved", "fine", people.decider.pk)
    assert (decision.digest, decision.version, decision.channel) == (row.digest, 1, "form")
    entry = AuditEntry.objects.get(pk=decision.audit_seq)
    assert (entry.action, entry.object_id, entry.actor_name) == ("decide", str(row.pk), "decider")
    assert row.seq == cursor + 1
    assert asked.pen.thread.status == ThreadStatus.READY
    assert sorted(OutboxMessage.objects.values_list("kind", flat=True)) == ["hint", "hint", "wake"]
    assert receipt == Receipt(
        interrupt_id=str(row.pk),
        outcome="approved",
        value=None,
        comment="fine",
        reviewer_name="decider",
        channel="form",
        decided_at=decision.decided_at,
        version=1,
        digest=row.digest,
        audit_seq=entry.seq,
        audit_digest=entry.digest,
    )
    assert audit.verify().ok


@pytest.mark.parametrize("value", [False, 0, "", [], {}, None])
def test_values_that_look_like_nothing_are_answers(people: People, asked: Asked, value: object) -> None:
    (receipt,) = decide(people.decider, [asked.given(Outcome.ANSWERED, value)], channel="form")
    assert receipt.value == value
    assert Decision.objects.get().value == value


def test_who_may_not_see_it_is_told_that_it_is_not_there(people: People, asked: Asked) -> None:
    for actor in (people.stranger, people.other_team, people.inactive, AnonymousUser()):
        assert status_of(refused(asked, people, asked.given(), NotFound, actor=actor)) == 404
    unknown = Given("00000000-0000-0000-0000-000000000000", 1, "", Outcome.APPROVED)
    assert str(refused(asked, people, unknown, NotFound)) == str(
        refused(asked, people, Given("no uuid", 1, "", Outcome.APPROVED), NotFound)
    )


def test_who_may_only_see_it_is_told_so(people: People, asked: Asked) -> None:
    for actor in (people.viewer, people.requester, people.operator):
        assert status_of(refused(asked, people, asked.given(), NotAllowed, actor=actor)) == 403


def test_an_answer_that_breaks_the_schema_changes_nothing(people: People) -> None:
    asked = Asked(people, question(response_schema=FORM))
    given = asked.given(Outcome.ANSWERED, {"amount": 101, "x": 1})
    refusal = refused(asked, people, given, AnswerRefused)
    assert isinstance(refusal, AnswerRefused)
    assert status_of(refusal) == 422
    assert {pointer for pointer, _ in refusal.problems} >= {"/amount"}
    assert asked.row().status == InterruptStatus.OPEN
    (receipt,) = decide(people.decider, [asked.given(Outcome.ANSWERED, {"amount": 100})], channel="form")
    assert receipt.value == {"amount": 100}


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), "a\x00b", "\ud800", {1: 2}, b"x", "x" * 5_000_000, 2**70]
)
def test_what_is_not_json_is_refused_before_anything_is_stored(people: People, asked: Asked, value: object) -> None:
    refused(asked, people, asked.given(Outcome.ANSWERED, value), AnswerRefused)


def test_a_comment_has_bounds_and_a_verdict_is_one_of_the_words(people: People, asked: Asked) -> None:
    refused(asked, people, asked.given(comment="x" * 10_001), AnswerRefused)
    refused(asked, people, asked.given(comment="a\x00"), AnswerRefused)
    refused(asked, people, asked.given("perhaps"), AnswerRefused)  # type: ignore[arg-type]
    # Only the clock lets a question expire.
    refused(asked, people, asked.given(Outcome.EXPIRED), AnswerRefused)


def test_a_question_that_changed_is_stale(people: People, asked: Asked) -> None:
    given = asked.given()
    Interrupt.objects.update(version=2)
    refusal = refused(asked, people, given, Stale)
    assert isinstance(refusal, Stale) and refusal.current_version == 2


def test_a_digest_that_was_not_shown_is_stale(people: People, asked: Asked) -> None:
    given = asked.given()
    refused(asked, people, Given(given.interrupt_id, given.version, "0" * 64, given.outcome), Stale)


def test_a_late_answer_gets_the_winners_receipt(people: People, asked: Asked) -> None:
    given = asked.given(Outcome.REJECTED)
    (winner,) = decide(people.administrator, [asked.given(comment="mine")], channel="form")
    refusal = refused(asked, people, given, AlreadyDecided)
    assert isinstance(refusal, AlreadyDecided)
    assert refusal.receipt == winner
    # Also where the late form would not have been valid: it is told who decided, not what it lacks.
    refused(asked, people, Given(given.interrupt_id, 2, given.digest, Outcome.APPROVED), AlreadyDecided)


def test_the_same_submission_gets_the_first_receipt(people: People, asked: Asked) -> None:
    given = asked.given()
    (first,) = decide(people.decider, [given], channel="form", submission_key="k1")
    (again,) = decide(people.decider, [given], channel="form", submission_key="k1")
    assert again.replay and not first.replay
    assert (again.audit_seq, again.decided_at) == (first.audit_seq, first.decided_at)
    assert Decision.objects.count() == 1
    assert AuditEntry.objects.filter(action="decide").count() == 1
    assert OutboxMessage.objects.filter(kind="wake").count() == 1


def test_the_same_words_without_a_key_are_the_same_submission(people: People, asked: Asked) -> None:
    given = asked.given(value={"a": 1})
    decide(people.decider, [given], channel="api")
    assert decide(people.decider, [given], channel="api")[0].replay
    other = Given(given.interrupt_id, given.version, given.digest, given.outcome, {"a": 2})
    refused(asked, people, other, AlreadyDecided)


def test_another_persons_key_is_another_submission(people: People, asked: Asked) -> None:
    given = asked.given()
    decide(people.decider, [given], channel="form", submission_key="k1")
    refused(asked, people, given, AlreadyDecided, actor=people.administrator, submission_key="k1")
    refused(asked, people, given, AlreadyDecided, submission_key="k2")


def test_a_withdrawn_question_says_why(people: People, asked: Asked) -> None:
    given = asked.given()
    Interrupt.objects.update(status=InterruptStatus.WITHDRAWN, closed_because="The run is cancelled.")
    refusal = refused(asked, people, given, NoLongerOpen)
    assert isinstance(refusal, NoLongerOpen)
    assert (refusal.reason, refusal.newer_id) == ("The run is cancelled.", None)


def test_a_superseded_question_names_its_successor(people: People) -> None:
    asked = Asked(people, question("a", value=1), question("b"))
    given = asked.given()
    asked.pen.store.grips.clear()
    asked.pen.store.held = None
    newer = question("a", value=2, revision=1)
    asked.pen.ask(newer)
    refusal = refused(asked, people, given, NoLongerOpen)
    assert isinstance(refusal, NoLongerOpen) and refusal.newer_id == newer.id


def test_several_answers_are_recorded_all_or_none(people: People) -> None:
    asked = Asked(people, *(question(f"n{n}", response_schema={"type": "integer"}) for n in range(3)))
    wrong = [asked.given(Outcome.ANSWERED, 1, 0), asked.given(Outcome.ANSWERED, "x", 1)]
    with pytest.raises(AnswerRefused) as refusal:
        decide(people.decider, wrong, channel="api")
    assert refusal.value.interrupt_id == asked.questions[1].id
    decide(people.administrator, [asked.given(Outcome.ANSWERED, 9, 2)], channel="form")
    late = [asked.given(Outcome.ANSWERED, n, n) for n in range(3)]
    with pytest.raises(AlreadyDecided):
        decide(people.decider, late, channel="api")
    assert Decision.objects.count() == 1
    receipts = decide(people.decider, [late[1], late[0]], channel="api")
    assert [receipt.value for receipt in receipts] == [1, 0]


def test_a_bulk_is_row_by_row(people: People) -> None:
    asked = Asked(people, *(question(f"n{n}") for n in range(3)))
    decide(people.administrator, [asked.given(number=1)], channel="form")
    given = [asked.given(number=n, comment="bulk") for n in range(3)]
    results = decide(people.decider, given, channel="bulk", atomic=False, submission_key="b1")
    assert [type(one) for one in results] == [Receipt, AlreadyDecided, Receipt]
    again = decide(people.decider, given, channel="bulk", atomic=False, submission_key="b1")
    assert [getattr(one, "replay", None) for one in again] == [True, None, True]


@pytest.mark.parametrize(
    ("status", "after"),
    [
        (ThreadStatus.INTERRUPTED, ThreadStatus.READY),
        (ThreadStatus.SUSPENDED, ThreadStatus.SUSPENDED),
        (ThreadStatus.RUNNING, ThreadStatus.RUNNING),
        (ThreadStatus.FAILED, ThreadStatus.FAILED),
        (ThreadStatus.WAITING_VERSION, ThreadStatus.WAITING_VERSION),
        (ThreadStatus.QUARANTINED, ThreadStatus.QUARANTINED),
    ],
)
def test_a_verdict_is_recorded_wherever_its_thread_stands(
    people: People, asked: Asked, status: ThreadStatus, after: ThreadStatus
) -> None:
    OutboxMessage.objects.all().delete()
    Thread.objects.update(status=status)
    decide(people.decider, [asked.given()], channel="form")
    assert Thread.objects.get().status == after
    assert OutboxMessage.objects.filter(kind="wake").exists() == (status != after)


def test_the_system_may_decide_under_its_own_name(people: People, asked: Asked) -> None:
    (receipt,) = decide(System("system:timeout"), [asked.given(Outcome.EXPIRED)], channel="clock")
    assert receipt.reviewer_name == "system:timeout"
    assert Decision.objects.get().reviewer_id is None


def test_the_audit_entry_holds_digests_never_contents(people: People, asked: Asked) -> None:
    decide(people.decider, [asked.given(value={"secret": "canary"}, comment="canary")], channel="form")
    assert "canary" not in str(list(AuditEntry.objects.values()))


def test_redis_away_changes_nothing_about_a_verdict(
    people: People, asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queue, "connection", lambda: queue.client("unix:///nonexistent/redis"))
    decide(people.decider, [asked.given()], channel="form")
    assert OutboxMessage.objects.filter(kind="wake", published_at=None, attempts=1).count() == 1


@pytest.mark.parametrize(("sqlstate", "decided"), [("40P01", True), ("40001", True), ("57014", False)])
def test_a_decision_that_the_database_gave_up_begins_again_once(
    people: People, asked: Asked, monkeypatch: pytest.MonkeyPatch, sqlstate: str, decided: bool
) -> None:
    class GivenUp(Exception):
        pass

    GivenUp.sqlstate = sqlstate  # type: ignore[attr-defined]
    lock, calls = verdicts.lock_threads, []

    def give_up_once(ids: list[int]) -> object:
        calls.append(ids)
        if len(calls) == 1:
            raise OperationalError("given up") from GivenUp()
        return lock(ids)

    monkeypatch.setattr(verdicts, "lock_threads", give_up_once)
    if decided:
        decide(people.decider, [asked.given()], channel="form")
    else:
        with pytest.raises(OperationalError):
            decide(people.decider, [asked.given()], channel="form")
    assert (len(calls), Decision.objects.count()) == ((2, 1) if decided else (1, 0))
    assert audit.verify().ok
