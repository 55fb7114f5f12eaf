"""A proposed policy on its queue's page."""

from __future__ import annotations

import pytest

from graphs.models import ApprovalQueue, PolicyProposal, QueuePolicy, Right
from tests.actions.policies import enforce
from tests.people import People, member
from tests.web.conftest import SignedIn, text_of
from tests.web.test_policies import sent

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_change_is_proposed_shown_and_confirmed(people: People, signed_in: SignedIn) -> None:
    second = member("second", people.finance, Right.ADMINISTER)
    enforce(people.finance, four_eyes=True)
    answer = sent(signed_in, people, p__quorum="2", p__note="<b>safer</b>")
    assert answer.status_code == 303 and answer["Location"] == "/queues/finance#proposal"
    made = PolicyProposal.objects.get()
    own, other = signed_in(people.administrator), signed_in(second)
    assert "Take it back" in text_of(own.get("/queues/finance"))
    assert "Confirm it" not in text_of(own.get("/queues/finance"))
    page = other.get("/queues/finance")
    assert "quorum 1 2" in text_of(page) and "Confirm it" in text_of(page) and "<b>safer" not in page.content.decode()
    assert "has proposed a change that waits" in text_of(other.get("/queues/finance/policy"))
    assert "waits for a second" not in text_of(signed_in(people.decider).get("/queues/finance"))
    address = f"/queues/finance/proposals/{made.pk}"
    assert own.post(address, {"act": "confirm"}).status_code == 403
    assert signed_in(people.decider).post(address, {"act": "confirm"}).status_code == 403
    assert other.post(address, {"act": "nonsense"}).status_code == 303 and not QueuePolicy.objects.filter(version=2)
    assert other.post(address, {"act": "confirm"})["Location"] == "/queues/finance?from=1&to=2#history"
    assert ApprovalQueue.objects.get(slug="finance").policy_spec == {"four_eyes": True, "quorum": 2}
    assert other.post(address, {"act": "refuse"}).status_code == 409


def test_s02_a_proposal_is_found_only_in_its_own_queue(people: People, signed_in: SignedIn) -> None:
    made = PolicyProposal.objects.create(queue=people.finance, spec={"quorum": 2}, base=0)
    for address in (f"/queues/legal/proposals/{made.pk}", "/queues/finance/proposals/99999999999"):
        assert signed_in(people.operator).post(address, {"act": "refuse"}).status_code == 404
    assert PolicyProposal.objects.get().state == "waiting"
