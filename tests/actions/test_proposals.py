"""Four eyes: what one administrator proposes, another one confirms; the author never does."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User

from graphs.actions import policies, proposals
from graphs.actions.errors import InputInvalid, NotAllowed, NotFound, NotPossible, Overtaken
from graphs.models import ApprovalQueue, AuditEntry, PolicyProposal, QueuePolicy, Right
from tests.actions.conftest import Asked
from tests.actions.policies import enforce
from tests.actions.test_policies import edited
from tests.people import People, member

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def second(people: People) -> User:
    """Another administrator, and a policy that asks for both of them."""
    user = member("second", people.finance, Right.ADMINISTER)
    enforce(people.finance, four_eyes=True)
    return user


def proposed(people: People, **spec: Any) -> PolicyProposal:
    made = policies.save(people.administrator, people.finance, edited(1, four_eyes=True, **spec))
    assert isinstance(made, PolicyProposal)
    return made


def in_force(people: People) -> Any:
    return ApprovalQueue.objects.get(pk=people.finance.pk).policy_spec


def test_a_change_waits_until_another_administrator_confirms_it(people: People, second: User, asked: Asked) -> None:
    made = proposed(people, due_minutes=60)
    assert in_force(people) == {"four_eyes": True} and QueuePolicy.objects.count() == 1
    version = proposals.confirm(second, made.pk)
    assert in_force(people) == {"four_eyes": True, "due_minutes": 60}
    assert (version.version, version.author_name, version.note) == (2, "administrator", "why")
    made.refresh_from_db()
    assert (made.state, made.closed_by_name) == ("confirmed", "second") and asked.row().due_at is not None
    acts = AuditEntry.objects.about("queue", "finance").values_list("action", "actor_name")
    assert list(acts) == [("propose_policy", "administrator"), ("change_policy", "second")]
    assert AuditEntry.objects.get(action="change_policy").data["proposed_by"] == "administrator"


def test_s01_its_author_cannot_confirm_it_and_may_take_it_back(people: People, second: User) -> None:
    made = proposed(people, quorum=2)
    with pytest.raises(NotAllowed, match="another administrator"):
        proposals.confirm(people.administrator, made.pk)
    assert proposals.refuse(people.administrator, made.pk) == "withdrawn"
    with pytest.raises(NotPossible, match="administrator has withdrawn"):
        proposals.confirm(second, made.pk)
    assert in_force(people) == {"four_eyes": True}


def test_four_eyes_end_only_by_four_eyes(people: People, second: User) -> None:
    made = policies.save(people.administrator, people.finance, edited(1, quorum=2))
    assert isinstance(made, PolicyProposal) and in_force(people) == {"four_eyes": True}
    proposals.confirm(second, made.pk)
    assert in_force(people) == {"quorum": 2}
    assert isinstance(policies.save(second, people.finance, edited(2, quorum=3)), QueuePolicy)


def test_one_proposal_waits_at_a_time_and_a_refused_one_makes_room(people: People, second: User) -> None:
    made = proposed(people, quorum=2)
    with pytest.raises(NotPossible, match="administrator has proposed a change already"):
        policies.save(second, people.finance, edited(1, four_eyes=True, quorum=3))
    assert proposals.refuse(second, made.pk) == "refused"
    assert isinstance(policies.save(second, people.finance, edited(1, four_eyes=True, quorum=3)), PolicyProposal)


def test_s02_only_who_administers_the_queue_answers_one(people: People, second: User) -> None:
    made = proposed(people, quorum=2)
    for act in (proposals.confirm, proposals.refuse):
        for user in (people.decider, people.viewer, people.operator):
            with pytest.raises(NotAllowed):
                act(user, made.pk)
        for user in (people.stranger, people.other_team):
            with pytest.raises(NotFound):
                act(user, made.pk)
        with pytest.raises(NotFound):
            act(second, made.pk + 1)
    assert PolicyProposal.objects.get().state == "waiting"
    seen = PolicyProposal.objects.visible_to
    assert seen(second).exists() and not seen(people.decider).exists() and not seen(people.inactive).exists()


def test_f21_one_made_from_another_version_is_not_confirmed(people: People, second: User) -> None:
    made = proposed(people, quorum=2)
    enforce(people.finance, four_eyes=True, quorum=3)
    with pytest.raises(Overtaken):
        proposals.confirm(second, made.pk)
    assert PolicyProposal.objects.get().state == "waiting" and in_force(people)["quorum"] == 3


def test_s01_what_nobody_could_decide_by_any_more_is_not_confirmed(people: People, second: User) -> None:
    made = proposed(people, quorum=4)
    people.finance.memberships.exclude(right="administer").delete()
    with pytest.raises(InputInvalid, match="only 2 people may decide"):
        proposals.confirm(second, made.pk)
    assert PolicyProposal.objects.get().state == "waiting"


def test_four_eyes_need_two_people(people: People) -> None:
    with pytest.raises(InputInvalid, match="nobody could confirm"):
        policies.save(people.administrator, people.finance, edited(four_eyes=True))
    User.objects.create_superuser("root")
    assert policies.save(people.administrator, people.finance, edited(four_eyes=True))
