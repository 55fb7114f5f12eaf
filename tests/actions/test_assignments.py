"""Claims, hand-overs, snoozes and watches: soft, audited, and never in the way of a decision."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from graphs.actions import assignments
from graphs.actions.decisions import decide
from graphs.actions.errors import InputInvalid, NotAllowed, NotFound, NotPossible
from graphs.models import AuditEntry, OutboxMessage, Snooze, Watch
from tests.actions.conftest import Asked
from tests.people import People

pytestmark = pytest.mark.django_db(transaction=True)


def test_u14_fast_claims_and_releases_end_as_mine_or_nobodys(asked: Asked, people: People) -> None:
    pk = str(asked.row().pk)
    for turn in range(20):
        (assignments.release if turn % 2 else assignments.claim)(people.decider, pk)
    assert asked.row().assignee_id is None
    assignments.claim(people.decider, pk)
    before = AuditEntry.objects.count()
    assert assignments.claim(people.decider, pk).assignee_id == people.decider.pk
    # A second press changes nothing, and says nothing.
    assert AuditEntry.objects.count() == before


def test_a_claim_neither_moves_nor_blocks(asked: Asked, people: People) -> None:
    row, given = asked.row(), asked.given()
    assignments.claim(people.decider, str(row.pk))
    assert asked.row().version == row.version and asked.row().seq > row.seq and asked.row().claimed_at
    with pytest.raises(NotPossible, match="decider has this already"):
        assignments.claim(people.grouped, str(row.pk))
    with pytest.raises(NotAllowed):
        assignments.release(people.grouped, str(row.pk))
    # Soft: whoever may decide still does, with the page that was open before the claim.
    assert decide(people.grouped, [given], channel="form")[0].outcome == "approved"
    with pytest.raises(NotPossible):
        assignments.claim(people.administrator, str(row.pk))


def test_claims_are_for_who_may_decide(asked: Asked, people: People) -> None:
    pk = str(asked.row().pk)
    with pytest.raises(NotAllowed):
        assignments.claim(people.viewer, pk)
    for act in (assignments.claim, assignments.release, assignments.watch):
        with pytest.raises(NotFound):
            act(people.stranger, pk)


def test_assigning_is_for_administrators_and_who_hands_over(asked: Asked, people: People) -> None:
    pk = str(asked.row().pk)
    with pytest.raises(NotAllowed):
        assignments.assign(people.decider, pk, people.grouped)
    assert assignments.assign(people.administrator, pk, people.decider).assignee_id == people.decider.pk
    assert assignments.assign(people.decider, pk, people.grouped).assignee_name == "grouped"
    with pytest.raises(InputInvalid):
        assignments.assign(people.administrator, pk, people.viewer)
    assert assignments.assign(people.administrator, pk, None).assignee_id is None
    entry = AuditEntry.objects.filter(action="assign").last()
    assert entry is not None and entry.object_id == pk


def test_snoozes_and_watches_are_ones_own(asked: Asked, people: People) -> None:
    pk = str(asked.row().pk)
    OutboxMessage.objects.all().delete()
    assignments.snooze(people.decider, pk, timezone.now() + timedelta(hours=1))
    assignments.snooze(people.decider, pk, timezone.now() + timedelta(hours=2))
    assert Snooze.objects.get().user == people.decider
    for moment in (timezone.now() - timedelta(seconds=1), timezone.now() + timedelta(days=400)):
        with pytest.raises(InputInvalid):
            assignments.snooze(people.decider, pk, moment)
    assignments.unsnooze(people.decider, pk)
    assignments.watch(people.viewer, pk)
    assignments.watch(people.viewer, pk)
    assert not Snooze.objects.exists() and Watch.objects.get().user == people.viewer
    assignments.unwatch(people.viewer, pk)
    kinds = list(AuditEntry.objects.filter(object_id=pk).values_list("action", flat=True))
    assert kinds[-5:] == ["snooze", "snooze", "unsnooze", "watch", "unwatch"]
