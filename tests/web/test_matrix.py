"""Role by verb by state: what the one permission function says is what pages and actions do, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.utils import timezone

from graphs.actions import assignments, comments, decisions, information
from graphs.actions.errors import Refused, status_of
from graphs.models import Delegation, Interrupt
from graphs.permissions import can
from tests.actions.conftest import Asked
from tests.people import People
from tests.web.conftest import SignedIn, form_of

pytestmark = pytest.mark.django_db(transaction=True)

#: In an order in which none gives a right to the next: whoever has claimed a question may hand it over.
VERBS = ("view", "comment", "assign", "claim", "ask_back", "decide")
SEES = {"view", "comment"}
DECIDES = {*SEES, "claim", "ask_back", "decide"}
#: What each person of `People` may do with a question of finance that the requester asked for.
MAY = {
    "decider": DECIDES,
    "grouped": DECIDES,
    "stand_in": DECIDES,
    "administrator": {*DECIDES, "assign"},
    "viewer": SEES,
    "requester": SEES,
    "operator": SEES,
    "other_team": set(),
    "stranger": set(),
}
STATES = ("open", "needs_info", "closed")
CASES = [(role, state) for role in MAY for state in STATES]


def person(people: People, role: str) -> User:
    if role != "stand_in":
        user: User = getattr(people, role)
        return user
    user = User.objects.create_user("stand_in")
    now = timezone.now()
    Delegation.objects.create(
        giver=people.decider, receiver=user, starts_at=now - timedelta(hours=1), ends_at=now + timedelta(hours=1)
    )
    return user


def brought_to(state: str, people: People, asked: Asked) -> Interrupt:
    if state == "needs_info":
        information.ask(people.administrator, str(asked.row().pk), "which one?")
    if state == "closed":
        decisions.decide(people.administrator, [asked.given()], channel="form")
    return asked.row()


def on_page(client: Any, verb: str, row: Interrupt) -> HttpResponse:
    """The verb as a browser sends it."""
    address = f"/review/{row.pk}"
    posts: dict[str, Callable[[], HttpResponse]] = {
        "view": lambda: client.get(address),
        "comment": lambda: client.post(f"{address}/comments", {"text": "a remark"}),
        "claim": lambda: client.post(f"{address}/claim"),
        "assign": lambda: client.post(f"{address}/assign", {"person": "decider"}),
        "ask_back": lambda: client.post(f"{address}/comments", {"text": "which?", "say": "ask"}),
        "decide": lambda: client.post(address, form_of(row, "approve")),
    }
    return posts[verb]()


def in_code(user: User, verb: str, row: Interrupt, asked: Asked) -> int:
    """The status of the same verb where no page is between."""
    acts: dict[str, Callable[[], Any]] = {
        "comment": lambda: comments.add(user, interrupt=row, text="a remark"),
        "claim": lambda: assignments.claim(user, str(row.pk)),
        "assign": lambda: assignments.assign(user, str(row.pk), user),
        "ask_back": lambda: information.ask(user, str(row.pk), "which?"),
        "decide": lambda: decisions.decide(user, [asked.given()], channel="api"),
    }
    try:
        acts[verb]()
    except Refused as error:
        return status_of(error)
    return 200


@pytest.mark.parametrize(("role", "state"), CASES)
def test_s02_a_page_does_what_the_ruling_says(
    role: str, state: str, people: People, signed_in: SignedIn, asked: Asked
) -> None:
    user, row = person(people, role), brought_to(state, people, asked)
    client = signed_in(user)
    for verb in VERBS:
        row.refresh_from_db()
        assert can(user, verb, row) == (verb in MAY[role]), verb
        status = on_page(client, verb, row).status_code
        if "view" not in MAY[role]:
            assert status == 404, verb
        elif verb not in MAY[role]:
            assert status in refusals(state), verb
        else:
            assert status not in (403, 404) and status < 500, (verb, status)


@pytest.mark.parametrize(("role", "state"), CASES)
def test_s02_code_without_a_page_does_the_same(role: str, state: str, people: People, asked: Asked) -> None:
    user, row = person(people, role), brought_to(state, people, asked)
    for verb in VERBS[1:]:
        status = in_code(user, verb, row, asked)
        if "view" not in MAY[role]:
            assert status == 404, verb
        elif verb not in MAY[role]:
            assert status in refusals(state), verb
        else:
            assert status not in (403, 404), (verb, status)


def refusals(state: str) -> tuple[int, ...]:
    """Of what is closed it may be told that it is closed, before anybody asks who they are to act on it."""
    return (403, 409) if state == "closed" else (403,)


@pytest.mark.parametrize("role", [role for role in MAY if "decide" not in MAY[role]])
def test_s13_nobody_without_the_right_leaves_a_trace_on_a_question(
    role: str, people: People, signed_in: SignedIn, asked: Asked
) -> None:
    user, row = person(people, role), asked.row()
    for verb in ("claim", "assign", "ask_back", "decide"):
        on_page(signed_in(user), verb, row)
        in_code(user, verb, row, asked)
    after = asked.row()
    assert (after.status, after.assignee, after.version) == (row.status, None, row.version)
    assert not after.decisions.exists() and not after.votes.exists()
