from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.db import connection, transaction

from graphs import store
from graphs.models import OutboxMessage
from graphs.store import sql

pytestmark = pytest.mark.django_db(transaction=True)


def durability() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SHOW synchronous_commit" if connection.vendor == "postgresql" else "PRAGMA synchronous")
        return str(cursor.fetchone()[0])


@pytest.fixture(autouse=True)
def durable(db: None) -> Iterator[None]:
    """The test server need not wait for its disk; here it is told to."""
    if connection.vendor == "postgresql":
        sql.execute("SET synchronous_commit = 'on'", [])
    yield
    connection.close()


def test_a_mark_that_need_not_last_loosens_nothing_that_comes_after_it() -> None:
    usual = durability()
    assert usual in ("2", "on")
    with transaction.atomic():
        store.insert_messages([OutboxMessage(kind="hint", payload={"groups": [], "data": {}}) for _ in range(3)])
    said, unsaid, other = OutboxMessage.objects.order_by("pk")
    store.mark_said([said.pk])
    store.mark_unsaid([unsaid.pk])
    assert durability() == usual
    for message in (said, unsaid, other):
        message.refresh_from_db()
    assert [one.published_at is not None for one in (said, unsaid, other)] == [True, False, False]
    assert [one.attempts for one in (said, unsaid, other)] == [0, 1, 0]


def test_within_a_transaction_it_stays_as_durable_as_the_rest() -> None:
    usual = durability()
    with transaction.atomic(), sql.unhurried() as condition:
        assert condition == "1 = 1"
        assert durability() == usual
