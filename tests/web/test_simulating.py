"""The editor tries a policy on past decisions: what differs, with links, and nothing written."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from graphs.actions.decisions import decide
from graphs.models import QueuePolicy
from tests.actions.conftest import Asked
from tests.people import People
from tests.records import question
from tests.web.conftest import SignedIn, text_of
from tests.web.test_policies import sent

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_policy_is_tried_on_what_was_decided(people: People, signed_in: SignedIn, asked: Asked) -> None:
    decide(people.decider, [asked.given()], channel="form")
    with CaptureQueriesContext(connection) as captured:
        answer = sent(signed_in, people, "simulate", p__quorum="2", p__reason="2", p__note="")
    page = text_of(answer)
    assert answer.status_code == 200 and "1 too few votes 1 a reason missing" in page
    assert "One more vote would be needed. A reason would be needed." in page and "decider" in page
    assert f'href="/review/{asked.row().pk}"' in answer.content.decode()
    words = {query["sql"].split()[0].upper() for query in captured.captured_queries if "graphs_" in query["sql"]}
    assert not words & {"INSERT", "UPDATE", "DELETE"} and not QueuePolicy.objects.exists()
    assert 'value="2"' in answer.content.decode() and "Why it changes" in page


def test_it_says_so_where_nothing_differs_or_nothing_was_decided(
    people: People, signed_in: SignedIn, asked: Asked
) -> None:
    assert "nothing to try it on" in text_of(sent(signed_in, people, "simulate", p__quorum="2"))
    decide(people.decider, [asked.given(comment="fine")], channel="form")
    same = sent(signed_in, people, "simulate", p__reason="2")
    assert "The last decision would have come about just the same." in text_of(same)


def test_what_cannot_be_a_policy_is_not_tried(people: People, signed_in: SignedIn) -> None:
    answer = sent(signed_in, people, "simulate", p__due_minutes="900", p__expire_minutes="5")
    assert answer.status_code == 422 and "say what counts when the time is up" in text_of(answer)


def test_s02_only_who_administers_the_queue_tries_one(people: People, signed_in: SignedIn) -> None:
    answer = signed_in(people.decider).post("/queues/finance/policy", {"act": "simulate", "base": "0"})
    assert answer.status_code == 403


def test_it_takes_as_many_queries_for_many_decisions_as_for_one(people: People, signed_in: SignedIn) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            assert sent(signed_in, people, "simulate", p__quorum="2").status_code == 200
        return len(captured)

    asked = Asked(people, *(question(key=f"ask-{number}") for number in range(5)))
    decide(people.decider, [asked.given()], channel="form")
    one = queries()
    for number in range(1, 5):
        decide(people.decider, [asked.given(number=number)], channel="form")
    assert queries() == one
