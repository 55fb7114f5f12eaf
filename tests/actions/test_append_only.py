from __future__ import annotations

import pytest
from django.db import DatabaseError, connection, transaction

from graphs.actions.decisions import decide
from graphs.models import AuditEntry, Decision
from graphs.models.append_only import AppendOnlyError
from tests.actions.conftest import Asked
from tests.people import People

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def decided(people: People, asked: Asked) -> None:
    decide(people.decider, [asked.given()], channel="form")


@pytest.mark.parametrize("table", ["graphs_decision", "graphs_auditentry"])
@pytest.mark.parametrize("statement", ["UPDATE {} SET channel = 'x'", "DELETE FROM {}"])
def test_the_database_refuses_to_change_or_remove_a_row(table: str, statement: str) -> None:
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement.format(table))
    assert Decision.objects.get().channel == "form"


@pytest.mark.parametrize("kind", [Decision, AuditEntry])
def test_the_model_refuses_it_before_the_database_does(kind: type[Decision | AuditEntry]) -> None:
    row = kind.objects.first()
    assert row is not None
    for attempt in (
        row.save,
        row.delete,
        kind.objects.all().delete,
        lambda: kind.objects.update(channel="x"),
        lambda: kind.objects.bulk_update([row], ["channel"]),
        lambda: kind.objects.update_or_create(pk=row.pk, defaults={"channel": "x"}),
    ):
        with pytest.raises(AppendOnlyError):
            attempt()
