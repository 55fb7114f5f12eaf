"""What is new of single questions: who looks at them, what became of those that left, and who may know."""

from __future__ import annotations

from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.test import Client

from graphs import presence, queue
from graphs.actions.decisions import decide
from graphs.engine.statuses import Outcome
from tests.actions.conftest import Asked
from tests.people import People
from tests.records import statements
from tests.web.conftest import SignedIn, text_of

pytestmark = pytest.mark.django_db(transaction=True)


def look(asked: Asked, *people: User) -> None:
    for one in people:
        presence.arrive(asked.row().pk, one.pk, "socket")


def news(client: Client, *ids: object) -> str:
    return text_of(client.get("/inbox/news", {"id": [str(one) for one in ids]}))


def test_the_others_who_look_are_named_on_row_page_and_piece(
    redis: str, asked: Asked, people: People, signed_in: SignedIn
) -> None:
    look(asked, people.decider, people.viewer, people.inactive)
    client = signed_in(people.decider)
    review, inbox = client.get(f"/review/{asked.row().pk}"), client.get("/inbox")
    for text in (text_of(review), text_of(inbox), news(client, asked.row().pk)):
        assert "viewer is looking" in text
        assert "decider is looking" not in text and "inactive is looking" not in text
    # It warns and blocks nothing.
    assert 'data-act="approve"' in review.content.decode()


def test_more_than_three_are_counted(redis: str, asked: Asked, people: People, signed_in: SignedIn) -> None:
    look(asked, people.viewer, people.administrator, people.grouped, people.operator, people.requester)
    told = news(signed_in(people.decider), asked.row().pk)
    assert told.count("is looking") == 3 and "and 2 more" in told


@pytest.mark.parametrize("reader", ["stranger", "other_team"])
def test_s02_of_what_one_may_not_see_there_is_no_piece(
    reader: str, redis: str, asked: Asked, people: People, signed_in: SignedIn
) -> None:
    look(asked, people.decider)
    client = signed_in(getattr(people, reader))
    foreign = client.get("/inbox/news", {"id": [str(asked.row().pk)]})
    missing = client.get("/inbox/news", {"id": [str(uuid4())]})
    assert (foreign.status_code, foreign.content) == (missing.status_code, missing.content)
    assert b"data-about" not in foreign.content


def test_what_became_of_a_question_that_left_the_list(
    redis: str, asked: Asked, people: People, signed_in: SignedIn
) -> None:
    client, pk = signed_in(people.viewer), asked.row().pk
    assert "No longer in this list" in news(client, pk)
    look(asked, people.decider)
    decide(people.decider, [asked.given(Outcome.REJECTED)], channel="form")
    told = news(client, pk)
    assert "rejected" in told and "by decider" in told
    # Of a closed question nobody is said to look.
    assert "is looking" not in told


def test_nonsense_is_left_out(asked: Asked, people: People, signed_in: SignedIn) -> None:
    client = signed_in(people.decider)
    assert "No longer" in news(client, "x", "", asked.row().pk, "9" * 5000)
    assert client.get("/inbox/news").status_code == 200


def test_without_redis_the_pages_are_whole(
    asked: Asked, people: People, signed_in: SignedIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(queue.quiet, "until", float("inf"))
    client = signed_in(people.decider)
    for address in ("/inbox", f"/review/{asked.row().pk}", f"/inbox/news?id={asked.row().pk}"):
        assert client.get(address).status_code == 200


def test_a15_names_take_one_query_however_many_look(
    redis: str, asked: Asked, people: People, signed_in: SignedIn
) -> None:
    client, counts = signed_in(people.decider), []
    for more in ((), (people.viewer,), (people.grouped, people.operator)):
        look(asked, *more)
        with statements() as sent:
            client.get("/inbox")
        counts.append(len(sent))
    assert counts[1] == counts[2] == counts[0] + 1
