"""Who administers a queue lets people and groups in and out of it, and cannot lock everybody out."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client

from graphs.actions import assignments
from graphs.models import AuditEntry, Interrupt, QueueMembership, Right
from tests.actions.conftest import Asked
from tests.actions.policies import enforce
from tests.people import People
from tests.web.conftest import SignedIn, text_of


@pytest.fixture
def client(people: People, signed_in: SignedIn) -> Client:
    return signed_in(people.administrator)


def held(people: People) -> dict[str, str]:
    rows = QueueMembership.objects.filter(queue=people.finance).select_related("user", "group")
    return {str(row.user or row.group): row.right for row in rows}


def member(name: str) -> QueueMembership:
    return QueueMembership.objects.get(user__username=name)


def test_a_person_and_a_group_are_let_in_and_get_another_right(people: People, client: Client) -> None:
    Group.objects.create(name="auditors")
    for posted in (
        {"kind": "user", "name": "stranger", "right": "decide"},
        {"kind": "group", "name": "auditors", "right": "view"},
        {"kind": "user", "name": "stranger", "right": "view"},
    ):
        assert client.post("/queues/finance/members", posted).status_code == 303
    assert held(people)["stranger"] == held(people)["auditors"] == Right.VIEW
    assert AuditEntry.objects.filter(action="admit", channel="form").count() == 3
    assert "auditors (group)" in text_of(client.get("/queues/finance"))


def test_who_goes_hands_back_what_they_claimed_and_keeps_their_name(
    people: People, asked: Asked, client: Client
) -> None:
    assignments.claim(people.decider, str(asked.row().pk))
    assert client.post(f"/queues/finance/members/{member('decider').pk}").status_code == 303
    row = Interrupt.objects.get(pk=asked.row().pk)
    assert (row.assignee, row.assignee_name) == (None, "")
    entry = AuditEntry.objects.get(action="release")
    assert (entry.data["from"], entry.data["because"]) == ("decider", "left the queue")


def test_nobody_is_locked_out(people: People, client: Client) -> None:
    answer = client.post(f"/queues/finance/members/{member('administrator').pk}")
    assert answer.status_code == 422 and "nobody would administer" in text_of(answer)
    answer = client.post("/queues/finance/members", {"kind": "user", "name": "administrator", "right": "decide"})
    assert answer.status_code == 422
    assert held(people)["administrator"] == Right.ADMINISTER


def test_s01_a_policy_stays_decidable(people: People, client: Client) -> None:
    able = {"decider", "grouped", "administrator"}
    enforce(people.finance, quorum=len(able))
    answer = client.post(f"/queues/finance/members/{member('decider').pk}")
    assert answer.status_code == 422 and "decider" in held(people)


@pytest.mark.parametrize(
    ("posted", "told"),
    [
        ({"kind": "user", "name": "nobody at all", "right": "view"}, "nobody is called nobody at all"),
        ({"kind": "group", "name": "none", "right": "view"}, "there is no group none"),
        ({"kind": "user", "name": "stranger", "right": "rule"}, "choose one of the rights"),
        ({"kind": "user", "name": "inactive", "right": "view"}, "nobody is called inactive"),
    ],
)
def test_what_cannot_be_is_told_and_kept(posted: dict[str, str], told: str, people: People, client: Client) -> None:
    before = held(people)
    answer = client.post("/queues/finance/members", posted)
    assert answer.status_code == 422 and told in text_of(answer)
    assert f'value="{posted["name"]}"' in answer.content.decode()
    assert held(people) == before


@pytest.mark.parametrize(("who", "status"), [("decider", 403), ("viewer", 403), ("stranger", 404), ("other_team", 404)])
def test_s02_only_who_administers_it_may(who: str, status: int, people: People, signed_in: SignedIn) -> None:
    other: User = getattr(people, who)
    posted = {"kind": "user", "name": "stranger", "right": "administer"}
    before = held(people)
    assert signed_in(other).post("/queues/finance/members", posted).status_code == status
    assert signed_in(other).post(f"/queues/finance/members/{member('viewer').pk}").status_code == status
    assert held(people) == before


def test_s02_a_membership_of_another_queue_is_not_there(people: People, client: Client) -> None:
    foreign = QueueMembership.objects.get(queue=people.legal, user=people.other_team)
    assert client.post(f"/queues/finance/members/{foreign.pk}").status_code == 404
    assert QueueMembership.objects.filter(pk=foreign.pk).exists()
