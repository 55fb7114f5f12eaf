from __future__ import annotations

import pytest
from django.db import OperationalError
from django.http import HttpRequest, HttpResponse
from django.test import Client

from graphs.actions import comments
from graphs.actions.errors import Busy, NotAllowed, NotPossible
from graphs.web import listing
from tests.actions.conftest import Asked
from tests.people import People
from tests.web.conftest import SignedIn, text_of

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_missing_page_is_styled_with_and_without_a_person(people: People, signed_in: SignedIn) -> None:
    for client in (Client(), signed_in(people.stranger)):
        answer = client.get("/nonsense")
        assert answer.status_code == 404 and "There is nothing here" in text_of(answer)


def test_a_stale_form_is_told_how_to_go_on() -> None:
    answer = Client(enforce_csrf_checks=True).post("/theme", {"theme": "dark"})
    assert answer.status_code == 403 and "Load the page again" in text_of(answer)


@pytest.mark.parametrize("error", [NotAllowed("not yours"), NotPossible("not now"), Busy("in a moment")])
def test_a_refusal_has_its_page(
    error: Exception, asked: Asked, people: People, signed_in: SignedIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise error

    monkeypatch.setattr(comments, "add", refuse)
    answer = signed_in(people.decider).post(f"/review/{asked.row().pk}/comments", {"text": "x"})
    assert answer.status_code == (403 if isinstance(error, NotAllowed) else 409) and str(error) in text_of(answer)


@pytest.mark.parametrize(
    ("error", "status", "words"),
    [
        (OperationalError("disk I/O error at /secret/path"), 503, "The database is not answering"),
        (RuntimeError("secret"), 500, "Something went wrong"),
    ],
)
def test_a_fault_tells_no_secret_and_says_what_is_safe(
    error: Exception,
    status: int,
    words: str,
    people: People,
    signed_in: SignedIn,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(request: HttpRequest) -> HttpResponse:
        raise error

    monkeypatch.setattr(listing, "counted_queues", broken)
    client = signed_in(people.decider)
    client.raise_request_exception = False
    answer = client.get("/inbox")
    assert answer.status_code == status and words in text_of(answer)
    assert "secret" not in answer.content.decode() and "Traceback" not in answer.content.decode()
