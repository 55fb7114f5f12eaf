from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, transaction

from graphs.actions import audit
from graphs.actions.actors import System
from graphs.models import AuditEntry, Counter

pytestmark = pytest.mark.django_db(transaction=True)


def grow(many: int = 5) -> None:
    for number in range(many):
        with transaction.atomic():
            audit.record(System("clock"), "act", "thing", number, {"n": number, "text": "ü"}, "test")


def tamper(statement: str, *parameters: Any) -> None:
    """What somebody with the database's own rights could do: lift the guard, change a row, put it back."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("ALTER TABLE graphs_auditentry DISABLE TRIGGER USER")
            cursor.execute(statement, parameters)
            cursor.execute("ALTER TABLE graphs_auditentry ENABLE TRIGGER USER")
            return
        cursor.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'graphs_auditentry'")
        triggers = cursor.fetchall()
        for name, _ in triggers:
            cursor.execute(f"DROP TRIGGER {name}")
        cursor.execute(statement, parameters)
        for _, sql in triggers:
            cursor.execute(sql)


def test_an_untouched_chain_holds() -> None:
    assert audit.verify() == audit.Verdict(True, 0)
    grow()
    assert audit.verify() == audit.Verdict(True, 5)
    assert audit.verify(audit.head()).ok


def test_an_entry_is_part_of_its_callers_transaction() -> None:
    with pytest.raises(AssertionError):
        audit.record(System("clock"), "act", "thing", 1)
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        audit.record(System("clock"), "act", "thing", 1)
        raise ZeroDivisionError
    grow(1)
    assert list(AuditEntry.objects.values_list("seq", flat=True)) == [1]


@pytest.mark.parametrize(
    "column",
    ["at", "actor_id", "actor_name", "action", "object_type", "object_id", "channel", "data", "previous", "digest"],
)
def test_an_altered_entry_is_named(column: str) -> None:
    grow()
    changed = {"at": "2020-01-01 00:00:00+00:00", "actor_id": 7}.get(column, '{"n": 9}')
    tamper(f"UPDATE graphs_auditentry SET {column} = %s WHERE seq = 3", changed)
    verdict = audit.verify()
    assert (verdict.ok, verdict.bad_seq) == (False, 3)


def test_a_deleted_entry_is_named() -> None:
    grow()
    tamper("DELETE FROM graphs_auditentry WHERE seq = 3")
    assert audit.verify() == audit.Verdict(False, 2, 3, "entry 3 is missing: the next one is 4")


def test_swapped_entries_are_named() -> None:
    grow()
    for old, new in ((2, 99), (4, 2), (99, 4)):
        tamper(f"UPDATE graphs_auditentry SET seq = {new} WHERE seq = {old}")
    assert (audit.verify().ok, audit.verify().bad_seq) == (False, 2)


def test_a_forged_entry_is_named() -> None:
    grow()
    last = AuditEntry.objects.get(seq=5)
    AuditEntry.objects.create(
        seq=6, at=last.at, actor_name="x", action="act", object_type="thing", object_id="6",
        previous=last.digest, digest="0" * 64,
    )  # fmt: skip
    assert (audit.verify().ok, audit.verify().bad_seq) == (False, 6)


def test_a_chain_cut_off_at_its_end_is_seen_by_its_head_row() -> None:
    grow()
    tamper("DELETE FROM graphs_auditentry WHERE seq > 3")
    assert audit.verify() == audit.Verdict(False, 3, 4, "entries 4 to 5 are missing")


def test_a_chain_cut_off_together_with_its_head_row_is_seen_by_the_exported_head() -> None:
    grow()
    exported = audit.head()
    tamper("DELETE FROM graphs_auditentry WHERE seq > 3")
    Counter.objects.filter(pk="audit").update(value=3, text=AuditEntry.objects.get(seq=3).digest)
    assert audit.verify().ok
    assert audit.verify(exported) == audit.Verdict(False, 3, 4, "entries 4 to 5, the exported head, are missing")
    # Grown again past that number it is another chain all the same.
    grow()
    assert (audit.verify(exported).ok, audit.verify(exported).bad_seq) == (False, 5)


def test_another_key_signs_another_chain(settings: Any) -> None:
    grow()
    settings.SAYSO_AUDIT_KEY = "another"
    assert audit.verify().bad_seq == 1


def test_the_command_says_what_holds_and_exits_with_one_where_it_does_not(tmp_path: Path) -> None:
    grow()
    out, head = StringIO(), tmp_path / "head"
    call_command("verify_audit", "--export-head", str(head), stdout=out)
    assert "5 entries" in out.getvalue()
    assert json.loads(head.read_text())["seq"] == 5
    call_command("verify_audit", "--head", str(head), stdout=out)
    tamper("UPDATE graphs_auditentry SET action = 'x' WHERE seq = 2")
    with pytest.raises(CommandError, match="entry 2") as error:
        call_command("verify_audit", "--head", str(head))
    assert error.value.returncode == 1
    head.write_text("{}")
    with pytest.raises(CommandError):
        call_command("verify_audit", "--head", str(head))
