"""The alarm "nobody can decide this", and questions whose assignee is gone (A16, N14)."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from graphs.actions import assignments, deadlines, handing_back, stuck, voting
from graphs.actions.decisions import decide
from graphs.models import AuditEntry, Delegation, Interrupt, QueueMembership, Right
from tests.actions.conftest import Asked
from tests.actions.policies import acts, enforce
from tests.people import People, requested_by

pytestmark = pytest.mark.django_db(transaction=True)


def leave(*people: User) -> None:
    User.objects.filter(pk__in=[one.pk for one in people]).update(is_active=False)


def delegation(people: People, **fields: object) -> Delegation:
    now = timezone.now()
    given = {
        "giver": people.decider,
        "giver_name": "decider",
        "receiver": people.stranger,
        "receiver_name": "stranger",
        "queue": people.finance,
        "starts_at": now - timedelta(hours=1),
        "ends_at": now + timedelta(hours=1),
    }
    return Delegation.objects.create(**{**given, **fields})


def test_a_question_that_nobody_can_decide_is_marked_and_cleared(people: People, asked: Asked) -> None:
    assert stuck.find_stuck() == 0
    leave(people.decider, people.administrator, people.grouped)
    assert [stuck.find_stuck() for _ in range(2)] == [1, 0]
    assert asked.row().stuck_since is not None
    entry = AuditEntry.objects.about("interrupt", str(asked.row().pk)).get(action="stuck")
    assert entry.data == {"because": "Nobody may decide."} and entry.actor_name == "system:clock"
    User.objects.filter(pk=people.grouped.pk).update(is_active=True)
    assert [stuck.find_stuck() for _ in range(2)] == [1, 0]
    assert asked.row().stuck_since is None and acts(asked.row()) == ["stuck", "unstuck"]


def test_too_few_for_the_quorum_are_as_good_as_nobody(people: People, asked: Asked) -> None:
    enforce(people.finance, quorum=3)
    assert stuck.find_stuck() == 0
    decide(people.decider, [asked.given()], channel="form")
    leave(people.decider)
    # The vote of who left still counts.
    assert stuck.find_stuck() == 0
    leave(people.grouped)
    assert stuck.find_stuck() == 1 and asked.row().stuck_since is not None


def test_only_the_requesters_own_question_is_stuck(people: People) -> None:
    enforce(people.finance, self_approval=False)
    leave(people.administrator, people.grouped)
    own, other = Asked(people), Asked(people)
    requested_by(own.pen.thread, people.decider)
    assert stuck.find_stuck() == 1
    assert own.row().stuck_since is not None and other.row().stuck_since is None
    delegation(people, giver=people.grouped)
    assert stuck.find_stuck() == 0, "a giver who is deactivated has nothing to give"
    User.objects.filter(pk=people.grouped.pk).update(is_active=True)
    assert stuck.find_stuck() == 1 and own.row().stuck_since is None


def test_a_stuck_question_goes_to_the_next_queue_where_that_one_can(people: People, asked: Asked) -> None:
    enforce(people.finance, escalate_minutes=600, escalate_to="legal", quorum=4)
    deadlines.refresh_judged()
    assert [stuck.find_stuck() for _ in range(2)] == [1, 0]
    row = asked.row()
    assert row.queue == people.legal and row.escalated_at and row.stuck_since is None
    assert acts(row) == ["escalate"]
    decide(people.other_team, [asked.given()], channel="form")


def test_where_the_next_queue_cannot_either_it_stays_and_is_marked(people: People, asked: Asked) -> None:
    leave(people.other_team)
    enforce(people.finance, escalate_minutes=600, escalate_to="legal", quorum=4)
    assert stuck.find_stuck() == 1
    assert asked.row().queue == people.finance and asked.row().stuck_since is not None


def test_who_may_decide_is_named_by_the_same_function(people: People, asked: Asked) -> None:
    assert "administrator, decider, grouped" in voting.who_may(asked.row())


def test_a16_what_a_deactivated_person_had_is_nobodys_again(people: People, asked: Asked) -> None:
    assignments.claim(people.decider, str(asked.row().pk))
    assert handing_back.release_leavers() == 0
    leave(people.decider)
    assert [handing_back.release_leavers() for _ in range(2)] == [1, 0]
    row = asked.row()
    assert (row.assignee, row.assignee_name, row.claimed_at, row.status) == (None, "", None, "open")
    entry = AuditEntry.objects.about("interrupt", str(row.pk)).get(action="release")
    assert entry.data == {"from": "decider", "because": "deactivated"}


def test_a16_an_account_that_is_gone_leaves_its_name_in_history(people: People, asked: Asked) -> None:
    assignments.claim(people.decider, str(asked.row().pk))
    people.decider.delete()
    assert asked.row().assignee_name == "decider"
    assert [handing_back.release_leavers() for _ in range(2)] == [1, 0]
    assert asked.row().assignee_name == "" and asked.row().queue == people.finance
    assert AuditEntry.objects.get(action="release").data == {"from": "decider", "because": "deleted"}


def test_n14_a_delegation_moves_what_is_open_and_gives_it_back(people: People, asked: Asked) -> None:
    assignments.claim(people.decider, str(asked.row().pk))
    given = delegation(people, move_open=True)
    assert [handing_back.begin_delegations() for _ in range(2)] == [1, 0]
    assert asked.row().assignee == people.stranger
    entry = AuditEntry.objects.about("interrupt", str(asked.row().pk)).get(action="assign")
    assert entry.data == {"from": "decider", "name": "stranger", "delegation": given.pk}
    Delegation.objects.update(ends_at=timezone.now() - timedelta(minutes=5))
    assert [handing_back.end_delegations() for _ in range(2)] == [1, 0]
    assert asked.row().assignee == people.decider
    given.refresh_from_db()
    assert given.ended_at == given.ends_at and given.moved_at is not None


def test_n14_what_is_not_to_be_moved_stays(people: People, asked: Asked) -> None:
    assignments.claim(people.decider, str(asked.row().pk))
    delegation(people)
    delegation(people, move_open=True, starts_at=timezone.now() + timedelta(minutes=10))
    delegation(people, move_open=True, queue=people.legal)
    handing_back.begin_delegations()
    assert asked.row().assignee == people.decider


def test_nobodys_own_request_is_handed_to_them(people: People, asked: Asked) -> None:
    enforce(people.finance, self_approval=False)
    assignments.claim(people.decider, str(asked.row().pk))
    delegation(people, move_open=True, receiver=people.requester)
    handing_back.begin_delegations()
    assert asked.row().assignee == people.decider


def test_what_the_receiver_may_decide_anyway_stays_with_them(people: People, asked: Asked) -> None:
    QueueMembership.objects.create(queue=people.finance, user=people.stranger, right=Right.DECIDE)
    assignments.claim(people.stranger, str(asked.row().pk))
    delegation(people, ends_at=timezone.now() - timedelta(minutes=1))
    assert handing_back.end_delegations() == 1
    assert Interrupt.objects.get().assignee == people.stranger
