"""Time: reminders, escalation, expiry by policy, and policies that change under open questions (U26)."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from graphs.actions import audit, clocks, deadlines, judging, sweeping
from graphs.actions.decisions import decide
from graphs.engine.statuses import InterruptStatus, Outcome
from graphs.models import AuditEntry, Counter, Decision, Interrupt, OutboxMessage
from graphs.policies.levels import Level
from tests.actions.conftest import Asked
from tests.actions.policies import acts, enforce, past
from tests.people import People
from tests.records import question

pytestmark = pytest.mark.django_db(transaction=True)

LARGE = {
    "risk": [{"name": "Over 100", "level": "high", "when": [{"path": "/payload/amount", "op": ">", "value": 100}]}],
    "amount_path": "/amount",
}


def seq_of(queue: Any) -> int:
    row = Counter.objects.filter(pk=f"queue:{queue.pk}").first()
    return row.value if row else 0


def test_a_question_is_judged_when_it_opens(people: People) -> None:
    enforce(people.finance, **LARGE, look_minutes=5, due_minutes=60, remind_minutes_before=15)
    row = Asked(people, question(value={"amount": 180})).row()
    assert (row.queue, row.risk, row.risk_rules, row.amount) == (people.finance, Level.HIGH, ["Over 100"], 180)
    assert row.policy_version == 1 and row.expires_at is None and row.expiry_outcome == "expired"
    passed = [(at - row.created_at) / timedelta(minutes=1) for at in (row.look_by, row.due_at, row.remind_at) if at]
    assert passed == [5, 60, 45]


def test_a_question_goes_where_it_says_or_where_the_rules_bring_it(people: People) -> None:
    when = [{"path": "/payload/kind", "op": "=", "value": "contract"}]
    enforce(people.legal, routes=[{"name": "Contracts", "priority": 5, "when": when}], **LARGE)
    contract = {"kind": "contract", "amount": 500}
    by_rule = Asked(people, question(value=contract)).row()
    named = Asked(people, question(value=contract, queue="finance")).row()
    other = Asked(people, question(value={"kind": "refund"})).row()
    assert [by_rule.queue, named.queue, other.queue] == [people.legal, people.finance, people.finance]
    assert (by_rule.risk, named.risk) == (Level.HIGH, Level.LOW)


def test_a_reminder_is_said_once_however_long_nobody_ran(people: People, asked: Asked) -> None:
    past(asked.row(), remind_at=3000, due_at=2900)
    before = seq_of(people.finance)
    assert [deadlines.remind_due() for _ in range(3)] == [1, 0, 0]
    row = asked.row()
    assert row.remind_at is None and row.reminded_at is not None
    assert acts(row).count("remind") == 1
    assert row.seq == seq_of(people.finance) == before + 1
    groups = {group for message in OutboxMessage.objects.filter(kind="hint") for group in message.payload["groups"]}
    assert f"queue.{people.finance.pk}" in groups


def test_what_is_not_due_or_no_longer_open_is_left_alone(people: People, asked: Asked) -> None:
    past(asked.row(), remind_at=-5, escalate_at=-5)
    assert deadlines.remind_due() == deadlines.escalate_due() == 0
    past(asked.row(), remind_at=5, escalate_at=5)
    decide(people.decider, [asked.given()], channel="form")
    assert deadlines.remind_due() == deadlines.escalate_due() == 0


def test_an_escalated_question_moves_to_the_next_queue_and_is_nobodys(people: People, asked: Asked) -> None:
    enforce(people.finance, escalate_minutes=60, escalate_to="legal", due_minutes=30)
    enforce(people.legal, look_minutes=10, **LARGE)
    deadlines.refresh_judged()
    due = asked.row().due_at
    Interrupt.objects.update(assignee=people.decider, assignee_name="decider")
    past(asked.row(), escalate_at=1)
    old, new = seq_of(people.finance), seq_of(people.legal)
    assert [deadlines.escalate_due() for _ in range(2)] == [1, 0]
    row = asked.row()
    assert (row.queue, row.assignee, row.assignee_name) == (people.legal, None, "")
    assert row.escalated_at and row.escalate_at is None and row.due_at == due and row.look_by
    entry = AuditEntry.objects.about("interrupt", str(row.pk)).get(action="escalate")
    assert entry.data == {"from": "finance", "to": "legal", "assignee": "decider"}
    assert (seq_of(people.finance), seq_of(people.legal), row.seq) == (old + 1, new + 1, new + 1)
    decide(people.other_team, [asked.given()], channel="form")
    assert audit.verify().ok


@pytest.mark.parametrize("target", ["", "gone", "finance"])
def test_without_another_queue_it_is_marked_and_stays(target: str, people: People, asked: Asked) -> None:
    enforce(people.finance, escalate_minutes=60, **({"escalate_to": target} if target else {}))
    deadlines.refresh_judged()
    past(asked.row(), escalate_at=1)
    assert [deadlines.escalate_due() for _ in range(2)] == [1, 0]
    row = asked.row()
    assert row.queue == people.finance and row.escalated_at is not None
    assert acts(row).count("escalate") == 1


@pytest.mark.parametrize("outcome", ["rejected", "cancelled"])
def test_a_policys_end_is_a_decision_of_the_system(outcome: str, people: People) -> None:
    enforce(people.finance, expire_minutes=60, expire_outcome=outcome, quorum=3, hold_seconds=60)
    asked = Asked(people)
    row = asked.row()
    assert row.expiry_outcome == outcome and row.expires_at == row.created_at + timedelta(minutes=60)
    assert deadlines.expire_due() == 0
    past(row, expires_at=1)
    assert [deadlines.expire_due() for _ in range(2)] == [1, 0]
    decision = Decision.objects.get()
    assert (decision.outcome, decision.reviewer_name, decision.comment) == (outcome, "system:timeout", "expired")
    assert asked.row().status == InterruptStatus.CLOSED


def test_a_question_that_offers_no_way_to_be_rejected_is_cancelled(people: People) -> None:
    enforce(people.finance, expire_minutes=60, expire_outcome="rejected")
    schema = {"type": "object", "properties": {"size": {"type": "integer"}}, "required": ["size"]}
    asked = Asked(people, question(style="request_input", response_schema=schema))
    past(asked.row(), expires_at=1)
    assert deadlines.expire_due() == 1
    assert Decision.objects.get().outcome == "cancelled"


def test_a_deadline_that_the_author_named_is_not_the_policys(people: People) -> None:
    enforce(people.finance, expire_minutes=60, expire_outcome="rejected")
    own = timezone.now() + timedelta(days=3)
    asked = Asked(people, question(expires_at=own))
    assert (asked.row().expires_at, asked.row().expiry_outcome) == (own, "expired")
    enforce(people.finance, expire_minutes=30, expire_outcome="cancelled")
    assert deadlines.refresh_judged() == 1
    assert (asked.row().expires_at, asked.row().expiry_outcome) == (own, "expired")


def test_a_changed_policy_reaches_open_questions_without_an_act(people: People) -> None:
    asked = Asked(people, question(value={"amount": 180}))
    before = AuditEntry.objects.count()
    enforce(people.finance, **LARGE, due_minutes=60, expire_minutes=90, expire_outcome="rejected")
    assert [deadlines.refresh_judged() for _ in range(2)] == [1, 0]
    row = asked.row()
    assert (row.risk, row.risk_rules, row.policy_version, row.version) == (Level.HIGH, ["Over 100"], 1, 1)
    assert row.due_at == row.created_at + timedelta(minutes=60) and row.expiry_outcome == "rejected"
    enforce(people.finance)
    assert deadlines.refresh_judged() == 1
    row = asked.row()
    assert (row.risk, row.due_at, row.expires_at, row.expiry_outcome) == (Level.LOW, None, None, "expired")
    assert AuditEntry.objects.count() == before


def test_a_change_of_the_policy_repeats_nothing(people: People, asked: Asked) -> None:
    enforce(people.finance, due_minutes=60, remind_minutes_before=30, escalate_minutes=70)
    deadlines.refresh_judged()
    past(asked.row(), remind_at=1, escalate_at=1)
    assert deadlines.remind_due() == deadlines.escalate_due() == 1
    enforce(people.finance, due_minutes=50, remind_minutes_before=49, escalate_minutes=51)
    assert deadlines.refresh_judged() == 1
    row = asked.row()
    assert row.remind_at is None and row.escalate_at is None
    assert deadlines.remind_due() == deadlines.escalate_due() == 0


def test_a_sweep_judges_at_most_so_many(people: People, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(3):
        Asked(people)
    enforce(people.finance, due_minutes=5)
    monkeypatch.setattr(deadlines, "AT_ONCE", 2)
    assert [deadlines.refresh_judged() for _ in range(3)] == [2, 1, 0]


def test_while_information_is_asked_for_the_clock_stands_still(people: People) -> None:
    enforce(people.finance, due_minutes=60, escalate_minutes=70, expire_minutes=90, expire_outcome="rejected")
    asked = Asked(people)
    row = asked.row()
    Interrupt.objects.filter(pk=row.pk).update(status=InterruptStatus.NEEDS_INFO, **clocks.stopped())
    past(row, paused_at=120, expires_at=1, escalate_at=1, remind_at=1)
    assert deadlines.expire_due() == deadlines.escalate_due() == deadlines.remind_due() == 0
    stopped = asked.row()
    assert stopped.paused_at is not None
    fields = clocks.going_on(stopped, stopped.paused_at + timedelta(hours=2))
    Interrupt.objects.filter(pk=row.pk).update(status=InterruptStatus.OPEN, **fields)
    gone_on = asked.row()
    assert gone_on.due_at == row.due_at + timedelta(hours=2)  # type: ignore[operator]
    assert gone_on.paused_at is None and gone_on.paused_seconds == 7200
    # A new policy counts from when it was asked, and again without the time that did not pass for it.
    again = judging.judged_again(Interrupt.objects.select_related("queue", "thread__conversation").get(pk=row.pk))
    assert again["due_at"] == gone_on.due_at and again["expires_at"] == row.expires_at + timedelta(hours=2)  # type: ignore[operator]


def test_u26_a_deadline_over_a_change_of_the_clock_is_one_instant(
    people: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    hours = {"zone": "America/Los_Angeles", "days": {"fri": [["09:00", "17:00"]], "mon": [["09:00", "17:00"]]}}
    enforce(people.finance, expire_minutes=120, expire_outcome="rejected", hours=hours)
    friday = datetime.fromisoformat("2026-10-30T16:00:00-07:00")
    monkeypatch.setattr(timezone, "now", lambda: friday)
    row = Asked(people).row()
    assert row.expires_at == datetime.fromisoformat("2026-11-02T10:00:00-08:00")
    assert row.expires_at == datetime.fromisoformat("2026-11-03T07:00:00+13:00")


def test_after_a_long_downtime_what_ends_a_question_comes_before_what_only_speaks_of_it(
    redis: str, people: People
) -> None:
    enforce(
        people.finance,
        due_minutes=30,
        remind_minutes_before=10,
        escalate_minutes=40,
        escalate_to="legal",
        expire_minutes=60,
        expire_outcome="rejected",
    )
    asked = Asked(people)
    past(asked.row(), remind_at=10_000, escalate_at=9_000, due_at=9_500, expires_at=8_000)
    swept = sweeping.sweep()
    assert (swept.expired, swept.reminded, swept.escalated) == (1, 0, 0)
    assert acts(asked.row()) == ["decide"]


def test_a_person_and_the_clock_do_not_both_decide(people: People) -> None:
    enforce(people.finance, expire_minutes=60, expire_outcome="rejected")
    asked = Asked(people)
    past(asked.row(), expires_at=1)
    (stale,) = Interrupt.objects.expired_by_policy()
    decide(people.decider, [asked.given(Outcome.APPROVED)], channel="form")
    assert not deadlines.expire(stale)
    assert Decision.objects.get().outcome == "approved"


def test_a_held_verdict_wakes_its_thread_when_the_hold_has_passed(redis: str, people: People, asked: Asked) -> None:
    enforce(people.finance, hold_seconds=1)
    deadlines.refresh_judged()
    decide(people.decider, [asked.given()], channel="form")
    assert asked.pen.thread.status == "interrupted"
    held = Decision.objects.get()
    end = timezone.now() + timedelta(seconds=30)
    while sweeping.revive_answered() == 0 and timezone.now() < end:
        pass
    assert asked.pen.thread.status == "ready"
    assert timezone.now() >= held.effective_at
