from __future__ import annotations

from dataclasses import fields

import pytest
from django.contrib.auth.models import AnonymousUser, User

from graphs import permissions
from graphs.models import Comment, Decision, Interrupt, Thread
from tests.actions.conftest import Asked
from tests.people import People

pytestmark = pytest.mark.django_db(transaction=True)

TEAM = {"decider", "viewer", "administrator", "grouped"}
SEES = TEAM | {"requester", "operator"}
EVERYONE = SEES | {"other_team", "stranger", "inactive", "anonymous"}

MATRIX = {
    ("view", "interrupt"): SEES,
    ("view", "thread"): SEES,
    ("comment", "interrupt"): SEES,
    ("comment", "thread"): SEES,
    ("decide", "interrupt"): {"decider", "administrator", "grouped"},
    ("cancel", "thread"): {"requester", "operator"},
    ("suspend", "thread"): {"requester", "operator"},
    ("resume", "thread"): {"requester", "operator"},
    ("retry", "thread"): {"requester", "operator"},
    ("fork", "thread"): {"operator"},
    ("migrate", "thread"): {"operator"},
    ("administer", "queue"): {"administrator"},
    ("view", "queue"): TEAM | {"operator"},
    ("operate", "nothing"): {"operator"},
    ("start", "nothing"): EVERYONE - {"inactive", "anonymous"},
    # What is no question cannot be decided, whoever asks.
    ("decide", "thread"): set(),
    ("cancel", "interrupt"): set(),
    ("migrate", "interrupt"): set(),
    ("view", "nothing"): set(),
}


def everyone(people: People) -> dict[str, User | AnonymousUser]:
    users = {one.name: getattr(people, one.name) for one in fields(people)}
    return {name: user for name, user in users.items() if isinstance(user, User)} | {"anonymous": AnonymousUser()}


@pytest.mark.parametrize(("action", "subject"), MATRIX, ids=[" ".join(key) for key in MATRIX])
def test_each_may_exactly_what_the_matrix_says(people: People, asked: Asked, action: str, subject: str) -> None:
    row = asked.row()
    subjects = {"interrupt": row, "thread": row.thread, "queue": people.finance, "nothing": None}
    may = {name for name, user in everyone(people).items() if permissions.can(user, action, subjects[subject])}
    assert may == MATRIX[action, subject]


def test_lists_show_exactly_what_may_be_seen(people: People, asked: Asked) -> None:
    thread = asked.pen.thread
    Comment.objects.create(thread=thread, author_name="x", text="x")
    Decision.objects.create(interrupt=asked.row(), outcome="approved", channel="test", digest="")
    for kind in (Interrupt, Thread, Comment, Decision):
        seen = {name for name, user in everyone(people).items() if kind.objects.visible_to(user).exists()}
        assert seen == SEES, kind


def test_a_superuser_may_everything(people: People, asked: Asked) -> None:
    root = User.objects.create_superuser("root")
    row = asked.row()
    for action, subject in (("decide", row), ("cancel", row.thread), ("administer", people.finance), ("operate", None)):
        assert permissions.can(root, action, subject)


def test_a_member_who_leaves_sees_nothing_any_more(people: People, asked: Asked) -> None:
    people.decider.queuemembership_set.all().delete()
    assert not permissions.can(people.decider, "view", asked.row())


def test_a_membership_without_a_person_gives_nobody_anything(people: People, asked: Asked) -> None:
    people.finance.memberships.update(user=None)
    assert not permissions.can(people.stranger, "view", asked.row())
