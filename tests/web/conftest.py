from __future__ import annotations

import re
from collections.abc import Callable
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.template.loader import render_to_string
from django.test import Client

from graphs.actions import threads
from graphs.models import Interrupt as InterruptRow
from graphs.models import Thread
from graphs.web.forms import Field
from graphs.web.forms.changing import changes
from tests.actions import graphs
from tests.actions.conftest import Asked
from tests.people import People, invite

SignedIn = Callable[[User], Client]


@pytest.fixture
def people(db: None) -> People:
    return invite()


@pytest.fixture
def asked(people: People) -> Asked:
    return Asked(people)


@pytest.fixture
def signed_in(db: None) -> SignedIn:
    def client(user: User) -> Client:
        browser = Client()
        browser.force_login(user)
        return browser

    return client


@pytest.fixture
def paused(people: People, monkeypatch: pytest.MonkeyPatch) -> Thread:
    graphs.register(monkeypatch, graphs.order())
    threads.start(people.requester, "order", {"amount": 180})
    graphs.run()
    return Thread.objects.get()


@pytest.fixture
def done(people: People, paused: Thread) -> Thread:
    graphs.answer(people.decider, paused)
    graphs.run()
    return Thread.objects.get()


def text_of(answer: HttpResponse) -> str:
    """What a person reads of a page: tags away, entities as they show."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", answer.content.decode())).split())


def form_of(row: InterruptRow, act: str, **fields: Any) -> dict[str, Any]:
    """A decision form as the page would send it."""
    return {"act": act, "version": row.version, "digest": row.digest, "key": "a" * 32, "comment": "", **fields}


def html_of(form: Field, **more: Any) -> str:
    """A form as its page shows it."""
    return render_to_string("forms/_body.html", {"field": form, "changes": changes(form), **more})
