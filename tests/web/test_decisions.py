from __future__ import annotations

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from graphs.actions import undoing
from graphs.actions.decisions import decide
from graphs.engine.interrupts import Interrupt
from graphs.engine.statuses import Outcome
from graphs.models import QueueMembership
from tests.actions.conftest import Asked
from tests.actions.policies import enforce
from tests.people import People
from tests.records import question
from tests.web.conftest import SignedIn, text_of

pytestmark = pytest.mark.django_db(transaction=True)

FORM = {"type": "object", "properties": {"amount": {"type": "number"}, "note": {"type": "string"}}}


def refund(number: int = 0) -> Interrupt:
    value = {"amount": 180, "note": "lamp"}
    return question(key=f"ask{number}", question=f"Refund {number}?", value=value, response_schema=FORM)


def test_the_list_says_what_was_decided_and_what_came_of_it(people: People, signed_in: SignedIn) -> None:
    asked = Asked(people, refund())
    decide(
        people.decider, [asked.given(value={"amount": 90, "note": "lamp"}, comment="half <b>of</b> it")], channel="form"
    )
    page = signed_in(people.decider).get("/decisions")
    text = text_of(page)
    assert "Refund 0?" in text and "approved" in text and "1 field edited" in text and "via form" in text
    assert "Finance" in text and "queued" in text and "half <b>of</b> it" in text
    assert f'href="/review/{asked.row().pk}"' in page.content.decode()
    assert "<b>of" not in page.content.decode()


def test_s02_a_list_has_the_decisions_of_its_reader_and_those_they_may_see(
    people: People, signed_in: SignedIn, asked: Asked
) -> None:
    decide(people.decider, [asked.given()], channel="form")
    assert "May I?" in text_of(signed_in(people.decider).get("/decisions"))
    for user in (people.viewer, people.requester, people.operator):
        assert "You have decided nothing yet" in text_of(signed_in(user).get("/decisions"))
        assert "May I?" in text_of(signed_in(user).get("/decisions?show=all"))
    for user in (people.other_team, people.stranger):
        assert "May I?" not in text_of(signed_in(user).get("/decisions?show=all"))


def test_u15_who_left_the_team_no_longer_sees_what_they_decided(
    people: People, signed_in: SignedIn, asked: Asked
) -> None:
    decide(people.decider, [asked.given()], channel="form")
    QueueMembership.objects.filter(user=people.decider).delete()
    assert "May I?" not in text_of(signed_in(people.decider).get("/decisions"))


def test_s01_a_vote_that_helped_to_decide_is_a_decision_of_the_voter(
    people: People, signed_in: SignedIn, asked: Asked
) -> None:
    enforce(people.finance, quorum=2)
    for user in (people.decider, people.grouped):
        decide(user, [asked.given()], channel="form")
    for user in (people.decider, people.grouped):
        assert "May I?" in text_of(signed_in(user).get("/decisions"))


def test_u25_a_decision_says_until_when_it_can_be_undone_and_that_it_was(
    people: People, signed_in: SignedIn, asked: Asked
) -> None:
    enforce(people.finance, hold_seconds=600)
    decide(people.decider, [asked.given()], channel="form")
    browser = signed_in(people.decider)
    assert "Undo it on its page" in text_of(browser.get("/decisions"))
    assert "Undo it on its page" not in text_of(signed_in(people.viewer).get("/decisions?show=all"))
    undoing.undo(people.decider, str(asked.row().pk))
    text = text_of(browser.get("/decisions"))
    assert "undone" in text and "Undo it on its page" not in text


def test_every_word_is_looked_for_in_question_reason_and_decider(people: People, signed_in: SignedIn) -> None:
    asked = Asked(people, refund(1), refund(2))
    decide(people.decider, [asked.given(Outcome.REJECTED, number=0, comment="A duplicate")], channel="form")
    decide(people.grouped, [asked.given(number=1, value={"amount": 1})], channel="bulk")
    browser = signed_in(people.viewer)
    assert "Refund 1?" in text_of(browser.get("/decisions?show=all&q=duplicate"))
    assert "Refund 2?" in text_of(browser.get("/decisions?show=all&q=GROUPED"))
    assert "No decision matches" in text_of(browser.get("/decisions?show=all&q=grouped+duplicate"))


def test_a13_a14_pages_follow_each_other_and_odd_cursors_are_dropped(people: People, signed_in: SignedIn) -> None:
    asked = Asked(people, *[refund(number) for number in range(55)])
    browser = signed_in(people.decider)
    decide(people.decider, [asked.given(Outcome.REJECTED, number=0)], channel="form")
    with CaptureQueriesContext(connection) as few:
        browser.get("/decisions")
    for number in range(1, 55):
        decide(people.decider, [asked.given(Outcome.REJECTED, number=number)], channel="form")
    with CaptureQueriesContext(connection) as many:
        first = browser.get("/decisions").content.decode()
    assert len(many) == len(few)
    after = re.search(r"after=([\w-]+)", first)
    assert after is not None
    second = browser.get(f"/decisions?after={after[1]}").content.decode()
    shown = re.findall(r"<h2><a [^>]*>Refund (\d+)\?", first + second)
    assert [int(one) for one in shown] == list(range(54, -1, -1))
    for odd in ("x", "W10", after[1][:-3], "WyIyMDI2LTAxLTAxVDAwOjAwOjAwKzAwOjAwIiwgIi0xIl0", "%00"):
        assert "Refund 54?" in text_of(browser.get(f"/decisions?show=none&after={odd}"))


def test_long_values_are_not_fetched_for_a_list(people: People, signed_in: SignedIn) -> None:
    asked = Asked(people, question(value={"note": "x" * 70_000}, response_schema=FORM))
    decide(people.decider, [asked.given(value={"note": "y" * 70_000})], channel="form")
    with CaptureQueriesContext(connection) as captured:
        page = signed_in(people.decider).get("/decisions")
    assert "edited" in text_of(page)
    assert not any("graphs_blob" in query["sql"] for query in captured.captured_queries)
