"""A person decides what a server asks, on the review page, and the job goes on (H37)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from graphs.actions import threads
from graphs.actions.decisions import Given, decide
from graphs.actions.errors import AnswerRefused
from graphs.agents.models import ToolCall
from graphs.engine.statuses import InterruptStatus, Outcome, ThreadStatus
from graphs.jobs.threads import advance
from graphs.library import registry
from graphs.models import Decision, Interrupt, Thread
from tests.agents.mcp.shops import Shop, buyer, graph_of, told
from tests.jobs.running import Shelf
from tests.web.conftest import form_of, text_of

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def root(db: None) -> User:
    return User.objects.create_superuser("root")


@pytest.fixture
def page(root: User) -> Client:
    client = Client()
    client.force_login(root)
    return client


@pytest.fixture
def shopping(shop: Shop, root: User, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """An agent that has come to a question of the shop."""
    shop.open()
    agent = buyer(shop.served(), ToolCall("order", {"item": "hat"}))
    shelf = Shelf()
    shelf.put(graph_of(agent))
    monkeypatch.setattr(registry, "entries", shelf.entries)
    threads.start(root, "shopping", "go")
    advance()
    yield agent


def asked() -> Interrupt:
    return Interrupt.objects.waiting().get()


def press(page: Client, act: str, **fields: Any) -> Any:
    row = asked()
    return page.post(f"/review/{row.pk}", form_of(row, act, **fields))


def test_h37_the_page_shows_who_asks_and_the_three_ways_to_answer(page: Client, shopping: Any) -> None:
    shown = text_of(page.get(f"/review/{asked().pk}"))
    for words in ("Which size of hat?", "The MCP server shop asks while it runs order.", "From 1 to 9."):
        assert words in shown
    for label in ("Send answer", "Decline", "Cancel"):
        assert label in shown


def test_h37_a_form_that_is_sent_accepts_and_a_wrong_one_is_refused(page: Client, shopping: Any) -> None:
    assert press(page, "answer", **{"f/size": "12"}).status_code == 422
    assert asked().status == InterruptStatus.OPEN and Decision.objects.count() == 0
    assert press(page, "answer", **{"f/size": "3"}).status_code == 303
    advance()
    assert asked().message == "Order size 3?"
    assert press(page, "answer", **{"f/approved": "1"}).status_code == 303
    advance()
    assert Thread.objects.get().status == ThreadStatus.COMPLETED
    assert told(shopping) == ("success", "size 3, sure: accept approved=False")


@pytest.mark.parametrize(
    ("act", "outcome", "action"),
    [("reject", Outcome.REJECTED, "decline"), ("cancel", Outcome.CANCELLED, "cancel")],
)
def test_h37_declining_and_cancelling_need_no_form(
    page: Client, shopping: Any, act: str, outcome: Outcome, action: str
) -> None:
    assert press(page, act, **{"f/size": "many"}).status_code == 303
    assert Decision.objects.get().outcome == outcome
    advance()
    assert Thread.objects.get().status == ThreadStatus.COMPLETED
    assert told(shopping) == ("success", f"size: {action}")


def test_h37_other_channels_are_held_to_the_schema_too(root: User, shopping: Any) -> None:
    row = asked()
    for outcome, value in ((Outcome.APPROVED, None), (Outcome.ANSWERED, {"size": 0})):
        with pytest.raises(AnswerRefused):
            decide(root, [Given(str(row.pk), row.version, row.digest, outcome, value)], channel="api")
    decide(root, [Given(str(row.pk), row.version, row.digest, Outcome.APPROVED, {"size": 5})], channel="api")
    advance()
    assert asked().message == "Order size 5?"
