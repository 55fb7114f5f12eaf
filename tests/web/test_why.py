"""Who can decide, and why can't I: the same words as the one permission function."""

from __future__ import annotations

import pytest

from graphs.actions.decisions import decide
from graphs.permissions import ruling
from tests.actions.conftest import Asked
from tests.actions.policies import enforce
from tests.people import People
from tests.web.conftest import SignedIn, text_of

pytestmark = pytest.mark.django_db(transaction=True)


def test_everybody_reads_why_they_may_and_may_not(people: People, signed_in: SignedIn, asked: Asked) -> None:
    row = asked.row()
    for user in (people.viewer, people.decider, people.requester, people.operator, people.administrator):
        page = text_of(signed_in(user).get(f"/review/{row.pk}/why"))
        for verb in ("decide", "assign", "trust", "comment"):
            assert ruling(user, verb, row).reason in page, (user, verb)
        assert "decider A member of Finance who may decide." in page
    assert f"/review/{row.pk}/why" in signed_in(people.viewer).get(f"/review/{row.pk}").content.decode()


def test_s02_the_page_is_there_for_whoever_sees_the_question(people: People, signed_in: SignedIn, asked: Asked) -> None:
    for user in (people.stranger, people.other_team):
        assert signed_in(user).get(f"/review/{asked.row().pk}/why").status_code == 404
        assert signed_in(user).get(f"/review/{asked.row().pk}/why?user=decider").status_code == 404


def test_only_operators_and_administrators_ask_it_of_others(people: People, signed_in: SignedIn, asked: Asked) -> None:
    address = f"/review/{asked.row().pk}/why"
    for user in (people.viewer, people.decider, people.requester):
        assert signed_in(user).get(f"{address}?user=stranger").status_code == 403
        assert signed_in(user).get(f"{address}?user={user.username}").status_code == 200
    for user in (people.administrator, people.operator):
        page = text_of(signed_in(user).get(f"{address}?user=stranger"))
        assert "What stranger may do" in page and "It is in no queue or thread of theirs." in page
        assert "This account is deactivated." in text_of(signed_in(user).get(f"{address}?user=inactive"))
        unknown = signed_in(user).get(f"{address}?user=%3Cb%3Enobody%00")
        assert unknown.status_code == 422 and "Nobody is called <b>nobody" in text_of(unknown)
        assert "<b>nobody" not in unknown.content.decode()


def test_s01_ones_own_request_says_so(people: People, signed_in: SignedIn, asked: Asked) -> None:
    enforce(people.finance, self_approval=False)
    people.finance.memberships.create(user=people.requester, right="decide")
    page = text_of(signed_in(people.requester).get(f"/review/{asked.row().pk}/why"))
    assert "You asked for this yourself, and in Finance somebody else has to decide." in page


def test_what_speaks_against_it_beside_the_right_is_told(people: People, signed_in: SignedIn, asked: Asked) -> None:
    enforce(people.finance, quorum=2)
    address = f"/review/{asked.row().pk}/why"
    decide(people.decider, [asked.given()], channel="form")
    assert "You have voted on it already" in text_of(signed_in(people.decider).get(address))
    assert "They have voted on it already" in text_of(signed_in(people.operator).get(f"{address}?user=decider"))
    decide(people.grouped, [asked.given()], channel="form")
    page = text_of(signed_in(people.viewer).get(address))
    assert "It is closed, so nobody decides it any more" in page and "Undo its decision" in page


def test_s01_a_queue_without_deciders_says_whom_to_ask(people: People, signed_in: SignedIn, asked: Asked) -> None:
    people.finance.memberships.exclude(right="view").delete()
    page = text_of(signed_in(people.viewer).get(f"/review/{asked.row().pk}/why"))
    assert "Nobody at the moment" in page
