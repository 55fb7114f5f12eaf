"""Handing over deciding for a while: to whom, in which queue, between when, and how it ends."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from graphs import permissions
from graphs.actions import assignments, delegations, handing_back
from graphs.actions.errors import InputInvalid, NotAllowed, NotFound, NotPossible
from graphs.models import ApprovalQueue, AuditEntry, Delegation
from tests.actions.conftest import Asked
from tests.people import People

pytestmark = pytest.mark.django_db(transaction=True)
HOUR = timedelta(hours=1)


def wanted(to: str, *, after: float = 0, hours: float = 8, **more: Any) -> delegations.Wanted:
    """From so many hours from now, for so many."""
    start = timezone.now() + after * HOUR
    given = {"queue": "finance", "starts_at": start, "ends_at": start + hours * HOUR} | more
    return delegations.Wanted(receiver=to, **given)


def refused(user: User, asked_for: delegations.Wanted) -> list[str]:
    with pytest.raises(InputInvalid) as caught:
        delegations.give(user, asked_for)
    return [place for place, _ in caught.value.problems]


def test_n14_the_receiver_decides_in_the_givers_place_until_it_ends(people: People, asked: Asked) -> None:
    row = asked.row()
    assert not permissions.can(people.stranger, "view", row)
    made = delegations.give(people.decider, wanted("stranger", note=" away "))
    ruling = permissions.ruling(people.stranger, "decide", row)
    assert ruling and ruling.on_behalf_of == "decider" and permissions.can(people.stranger, "view", row)
    entry = AuditEntry.objects.get(action="delegate")
    assert entry.data["receiver"] == people.stranger.pk
    assert (entry.actor_name, entry.data["to"], entry.data["queue"], made.note) == (
        "decider", "stranger", "finance", "away"
    )  # fmt: skip
    ended = delegations.end(people.decider, made.pk)
    assert ended.ended_at is not None and not permissions.can(people.stranger, "view", row)
    assert AuditEntry.objects.get(action="end_delegation").object_id == str(made.pk)
    with pytest.raises(NotPossible):
        delegations.end(people.decider, made.pk)


def test_n14_one_that_begins_later_opens_nothing_yet(people: People, asked: Asked) -> None:
    delegations.give(people.decider, wanted("stranger", after=2))
    assert not permissions.can(people.stranger, "decide", asked.row())


def test_n14_one_of_all_queues_hands_over_what_the_giver_may_and_no_more(people: People, asked: Asked) -> None:
    made = delegations.give(people.decider, wanted("stranger", queue=""))
    assert made.queue is None and permissions.can(people.stranger, "decide", asked.row())
    assert list(ApprovalQueue.objects.of(people.stranger)) == [people.finance]


def test_n14_a_begun_one_never_begins_before_it_was_made(people: People) -> None:
    made = delegations.give(people.decider, wanted("stranger", after=-5))
    assert made.starts_at >= timezone.now() - timedelta(minutes=1)


def test_n14_nobody_hands_over_to_themselves_or_to_nobody(people: People) -> None:
    assert refused(people.decider, wanted("decider")) == ["/receiver"]
    assert refused(people.decider, wanted("")) == refused(people.decider, wanted("inactive")) == ["/receiver"]
    assert not Delegation.objects.exists() and not AuditEntry.objects.exists()


def test_s02_only_ones_own_right_is_handed_over(people: People) -> None:
    assert refused(people.decider, wanted("stranger", queue="legal")) == ["/queue"]
    assert refused(people.decider, wanted("stranger", queue="nowhere")) == ["/queue"]
    assert refused(people.viewer, wanted("stranger")) == ["/queue"]
    assert refused(people.viewer, wanted("stranger", queue="")) == ["/queue"]
    delegations.give(people.decider, wanted("other_team"))
    assert refused(people.other_team, wanted("stranger")) == ["/queue"]
    assert delegations.give(people.grouped, wanted("stranger"))


def test_times_have_to_be_in_order_and_ahead(people: People) -> None:
    assert refused(people.decider, wanted("stranger", hours=-1, after=5)) == ["/ends_at"]
    assert refused(people.decider, wanted("stranger", after=-9)) == ["/ends_at"]
    assert refused(people.decider, wanted("stranger", hours=24 * 400)) == ["/ends_at"]
    assert refused(people.decider, wanted("stranger", starts_at=None, ends_at=None)) == ["/starts_at", "/ends_at"]
    assert refused(people.decider, wanted("stranger", note="x" * 301)) == ["/note"]


def test_n14_it_does_not_go_in_circles(people: People) -> None:
    delegations.give(people.decider, wanted("administrator"))
    assert refused(people.administrator, wanted("decider")) == ["/receiver"]
    assert refused(people.administrator, wanted("decider", queue="")) == ["/receiver"]
    delegations.give(people.administrator, wanted("grouped", queue=""))
    assert refused(people.grouped, wanted("decider", after=4)) == ["/receiver"]
    assert delegations.give(people.grouped, wanted("decider", after=9))


def test_the_same_is_handed_over_once(people: People) -> None:
    delegations.give(people.decider, wanted("stranger"))
    assert refused(people.decider, wanted("stranger", after=1)) == ["/receiver"]
    assert delegations.give(people.decider, wanted("stranger", after=9))
    assert delegations.give(people.decider, wanted("viewer"))


def test_s02_who_may_end_one(people: People) -> None:
    made = delegations.give(people.decider, wanted("stranger"))
    everywhere = delegations.give(people.decider, wanted("stranger", queue=""))
    with pytest.raises(NotAllowed):
        delegations.end(people.stranger, made.pk)
    for user in (people.viewer, people.other_team, people.operator):
        with pytest.raises(NotFound):
            delegations.end(user, made.pk)
    with pytest.raises(NotFound):
        delegations.end(people.administrator, everywhere.pk)
    assert delegations.end(people.administrator, made.pk).ended_at is not None


def test_n14_what_was_in_hand_goes_along_and_comes_back(people: People, asked: Asked) -> None:
    assignments.claim(people.decider, str(asked.row().pk))
    made = delegations.give(people.decider, wanted("stranger", move_open=True))
    assert handing_back.begin_delegations() == 1 and asked.row().assignee == people.stranger
    delegations.end(people.decider, made.pk)
    assert asked.row().assignee == people.decider
