"""A draft of an answer is kept for its author, comes back with the page, and holds no secret."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from graphs.actions import decisions, drafts
from graphs.actions.errors import NoLongerOpen
from graphs.engine.statuses import Outcome
from graphs.models import Draft, Interrupt
from tests.actions.conftest import Asked
from tests.people import People
from tests.records import question
from tests.web.conftest import SignedIn, form_of, text_of

SCHEMA = {
    "type": "object",
    "properties": {
        "amount": {"type": "number", "title": "Amount", "minimum": 1},
        "code": {"type": "string", "format": "password", "title": "Code"},
        "rows": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"a": {"type": "string"}, "b": {"type": "string", "format": "password"}},
            },
        },
    },
}

TYPED = {"f/amount": "-3 or so", "f/rows": "0", "f/rows/0/a": "kept", "comment": "because"}
HIDDEN = {"f/code": "s3cret", "f/rows/0/b": "s3cret too", "password": "a long enough one", "typed_word": "yes"}


@pytest.fixture
def asked(people: People) -> Asked:
    return Asked(people, question(response_schema=SCHEMA))


def address(row: Interrupt) -> str:
    return f"/review/{row.pk}/draft"


def keep(client: Client, row: Interrupt, **more: Any) -> int:
    return client.post(address(row), {**form_of(row, ""), **TYPED, **HIDDEN, **more}).status_code


def test_a_draft_comes_back_as_it_was_typed_and_is_nobody_elses(
    asked: Asked, people: People, signed_in: SignedIn
) -> None:
    row = asked.row()
    mine = signed_in(people.decider)
    assert keep(mine, row) == 204
    page = mine.get(f"/review/{row.pk}")
    for text in ("-3 or so", "kept", "because", "Your draft, saved"):
        assert text in page.content.decode()
    # It is a draft: nothing of it is judged before it is sent.
    assert "to mend" not in text_of(page)
    theirs = signed_in(people.grouped).get(f"/review/{row.pk}").content.decode()
    assert "-3 or so" not in theirs and "because" not in theirs


def test_no_secret_is_in_a_draft(asked: Asked, people: People, signed_in: SignedIn) -> None:
    row = asked.row()
    assert keep(signed_in(people.decider), row) == 204
    fields = Draft.objects.get().fields
    assert fields["f/rows/0/a"] == "kept"
    assert not any("s3cret" in text or "long enough" in text for text in fields.values())
    assert not {"password", "typed_word", "act", "key", "digest", "csrfmiddlewaretoken"} & set(fields)


def test_a_sent_answer_leaves_no_draft_and_a_late_one_is_not_kept(
    asked: Asked, people: People, signed_in: SignedIn
) -> None:
    row = asked.row()
    mine = signed_in(people.decider)
    keep(mine, row)
    assert mine.post(f"/review/{row.pk}", form_of(row, "approve", **{"f/amount": "3"})).status_code == 303
    assert not Draft.objects.exists()
    assert keep(mine, row) == 409
    with pytest.raises(NoLongerOpen):
        drafts.keep(people.decider, row, 1, {})
    assert not Draft.objects.exists()


def test_u10_a_draft_survives_as_text_where_somebody_else_decided(
    asked: Asked, people: People, signed_in: SignedIn
) -> None:
    row = asked.row()
    mine = signed_in(people.decider)
    keep(mine, row)
    given = decisions.Given(str(row.pk), row.version, row.digest, Outcome.ANSWERED, {"amount": 2})
    decisions.decide(people.grouped, [given], channel="form")
    text = text_of(mine.get(f"/review/{row.pk}"))
    assert "You had written a draft" in text and "-3 or so" in text
    assert mine.post(address(row), {"discard": "1"}).status_code == 303
    assert "You had written a draft" not in text_of(mine.get(f"/review/{row.pk}"))


def test_s02_a_stranger_keeps_no_draft_and_who_only_sees_neither(
    asked: Asked, people: People, signed_in: SignedIn
) -> None:
    row = asked.row()
    assert keep(signed_in(people.stranger), row) == 404
    assert keep(signed_in(people.viewer), row) == 403
    assert not Draft.objects.exists()


def test_a_draft_has_a_bound(asked: Asked, people: People, signed_in: SignedIn) -> None:
    row = asked.row()
    assert keep(signed_in(people.decider), row, comment="x" * (drafts.MOST + 1)) == 422
    assert not Draft.objects.exists()
