"""Pages speak the language that their reader chose, or the browser's; what scripts say comes along."""

from __future__ import annotations

import pytest
from django.test import Client

from graphs.actions import preferences
from tests.people import People
from tests.web.conftest import SignedIn


def language_of(client: Client, **more: str) -> str:
    return client.get("/preferences", **more).content.decode().split('<html lang="')[1].split('"')[0]


@pytest.mark.parametrize(
    ("header", "language"), [("de-CH,de;q=0.9,en;q=0.8", "de"), ("en-GB", "en"), ("eo", "en"), ("", "en")]
)
def test_without_a_choice_the_browser_says_it(header: str, language: str, people: People, signed_in: SignedIn) -> None:
    assert language_of(signed_in(people.decider), HTTP_ACCEPT_LANGUAGE=header) == language


def test_a_choice_counts_more_than_the_browser_and_lasts(people: People, signed_in: SignedIn) -> None:
    client = signed_in(people.decider)
    assert client.post("/preferences", {"language": "de"}).status_code == 303
    assert language_of(client, HTTP_ACCEPT_LANGUAGE="en") == "de"
    assert language_of(signed_in(people.decider)) == "de"
    assert language_of(signed_in(people.grouped)) == "en"
    client.post("/preferences", {"language": ""})
    assert language_of(client, HTTP_ACCEPT_LANGUAGE="en") == "en"


def test_a_language_that_there_is_not_is_refused(people: People, signed_in: SignedIn) -> None:
    client = signed_in(people.decider)
    assert client.post("/preferences", {"language": "xx"}).status_code == 422
    assert language_of(client) == "en"


def test_the_words_of_scripts_come_in_the_same_language(people: People, signed_in: SignedIn) -> None:
    preferences.choose_language(people.decider, "de")
    client = signed_in(people.decider)
    assert "/words.js?de" in client.get("/preferences").content.decode()
    answer = client.get("/words.js?de")
    assert answer.status_code == 200 and "gettext" in answer.content.decode()
    assert "public" not in answer["Cache-Control"]
