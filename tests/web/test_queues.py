from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from graphs.models import ApprovalQueue, QueueMembership, QueuePolicy, Right
from graphs.policies import wording
from tests.actions.conftest import Asked
from tests.people import People
from tests.web.conftest import SignedIn, text_of

pytestmark = pytest.mark.django_db(transaction=True)


def test_s02_a_list_has_the_queues_of_its_reader_and_no_other(
    people: People, signed_in: SignedIn, asked: Asked
) -> None:
    page = text_of(signed_in(people.viewer).get("/queues"))
    assert "Finance" in page and "1 open question" in page and "controllers (group)" in page and "Legal" not in page
    assert "Legal" in text_of(signed_in(people.operator).get("/queues"))
    assert "You are in no queue" in text_of(signed_in(people.stranger).get("/queues"))
    assert "Nothing matches" in text_of(signed_in(people.viewer).get("/queues?q=legal"))


def test_s02_a_queue_is_there_for_whoever_may_view_it(people: People, signed_in: SignedIn) -> None:
    for user in (people.viewer, people.grouped, people.operator):
        assert signed_in(user).get("/queues/finance").status_code == 200
    for user in (people.stranger, people.other_team, people.requester):
        assert signed_in(user).get("/queues/finance").status_code == 404
    assert signed_in(people.viewer).post("/queues/finance").status_code == 405


def test_a_long_list_has_pages_and_a_constant_number_of_queries(people: People, signed_in: SignedIn) -> None:
    browser = signed_in(people.operator)
    with CaptureQueriesContext(connection) as few:
        browser.get("/queues")
    for number in range(30):
        queue = ApprovalQueue.objects.create(slug=f"q{number:02}", title=f"Team {number:02}")
        QueueMembership.objects.create(queue=queue, user=people.viewer, right=Right.VIEW)
    with CaptureQueriesContext(connection) as many:
        first = browser.get("/queues")
    assert len(many) == len(few)
    assert "Team 22" in text_of(first) and "Team 29" not in text_of(first) and "after=q22" in first.content.decode()
    assert "Team 29" in text_of(browser.get("/queues?after=q22"))


def test_s01_a_queue_that_nobody_can_decide_in_says_so(people: People, signed_in: SignedIn) -> None:
    browser = signed_in(people.viewer)
    assert "Nobody can decide" not in text_of(browser.get("/queues/finance"))
    ApprovalQueue.objects.filter(slug="finance").update(policy_version=1, policy_spec={"quorum": 9})
    assert "It takes 9 votes that agree, and only 3 people may decide." in text_of(browser.get("/queues/finance"))


def test_two_versions_show_what_they_differ_in(people: People, signed_in: SignedIn) -> None:
    QueuePolicy.objects.create(queue=people.finance, version=1, spec={"quorum": 2}, note="two <b>eyes</b>")
    QueuePolicy.objects.create(queue=people.finance, version=2, spec={"quorum": 2, "reason": "always"})
    browser = signed_in(people.viewer)
    page = browser.get("/queues/finance?from=1&to=2")
    assert "reason never always" in text_of(page) and "quorum" not in text_of(page).split("What Before After")[1]
    assert "<b>eyes" not in page.content.decode()
    for address in ("?from=0&to=1", "?from=77&to=2", "?from=x&to=\x00", "?from=" + "9" * 400):
        assert browser.get("/queues/finance" + address).status_code == 200


def test_a_policy_in_words_and_its_differences_are_what_it_means() -> None:
    told = dict(wording.worded({"quorum": 2, "expire_minutes": 1440, "expire_outcome": "rejected", "due_minutes": 90}))
    assert told["Yes"] == "2 people that agree" and told["Expiry"] == "counts as rejected after 1 day"
    assert told["Decided"] == "within 90 minutes"
    assert wording.differences(None, {"quorum": 1, "risk": []}) == []
    assert wording.differences({"quorum": 2}, {"trust": False}) == [("quorum", 2, 1), ("trust", True, False)]
