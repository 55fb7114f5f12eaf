"""A decision's diff: what was proposed, what was decided, what ran; and what changed since it was asked before."""

from __future__ import annotations

from typing import Any

import pytest

from graphs.actions import decisions
from graphs.engine.statuses import Outcome
from graphs.engine.trust import GATE
from graphs.models import Interrupt, JournalEntry
from graphs.web import differences
from tests.actions.conftest import Asked
from tests.people import People
from tests.records import question
from tests.web.conftest import SignedIn, text_of

PROPOSED = {"amount": 10, "to": {"city": "Utrecht"}, "code": "old secret"}
EDITED = {"amount": 12, "to": {"city": "Delft"}, "code": "new secret"}
SCHEMA = {
    "type": "object",
    "properties": {
        "approved": {"type": "boolean"},
        "arguments": {"type": "object", "properties": {"code": {"type": "string", "format": "password"}}},
    },
}


def gate(**more: Any) -> Any:
    metadata = {"agent": "clerk", "tool": "pay", "arguments": PROPOSED}
    return question(
        key="tool:0.0/approve", name="pay", kind=GATE, style="tool", metadata=metadata, response_schema=SCHEMA, **more
    )


@pytest.fixture
def asked(people: People) -> Asked:
    return Asked(people, gate())


def approve(asked: Asked, people: People, arguments: dict[str, Any]) -> Interrupt:
    value = {"approved": True, "arguments": arguments}
    decisions.decide(people.decider, [asked.given(Outcome.APPROVED, value)], channel="form")
    return asked.row()


def ran(row: Interrupt, arguments: dict[str, Any]) -> None:
    result = {"status": "success", "content": "", "arguments": arguments}
    JournalEntry.objects.create(task=row.task, key="tool:0.0/call", ordinal=0, state="done", value=result)


def rows(row: Interrupt) -> list[tuple[str, str, str, str, bool]]:
    found = differences.of_decision(row, row.verdict())
    assert found is not None
    return [(one.label, one.before, one.after, one.ran, one.astray) for one in found.rows]


def test_proposed_and_decided_stand_side_by_side_before_it_runs(asked: Asked, people: People) -> None:
    row = approve(asked, people, {**PROPOSED, "amount": 12, "to": {"city": "Delft"}})
    assert rows(row) == [("Amount", "10", "12", "", False), ("To · City", "Utrecht", "Delft", "", False)]


def test_what_ran_is_read_from_the_journal_and_another_thing_stands_out(asked: Asked, people: People) -> None:
    row = approve(asked, people, {**PROPOSED, "amount": 12})
    ran(row, {**PROPOSED, "amount": 13})
    assert rows(row) == [("Amount", "10", "12", "13", True)]


def test_a_secret_is_said_to_have_changed_and_no_more(asked: Asked, people: People, signed_in: SignedIn) -> None:
    row = approve(asked, people, EDITED)
    ran(row, EDITED)
    assert ("Code", "•••• (set)", "•••• (set)", "•••• (set)", False) in rows(row)
    page = text_of(signed_in(people.grouped).get(f"/review/{row.pk}"))
    assert "3 fields were changed" in page and "Delft" in page
    assert "new secret" not in page


def test_who_decides_next_sees_what_was_changed_last(people: People, signed_in: SignedIn) -> None:
    first, again = Asked(people, gate()), Asked(people, gate())
    approve(first, people, {**PROPOSED, "amount": 12})
    page = text_of(signed_in(people.grouped).get(f"/review/{again.row().pk}"))
    assert "What decider changed in the last one like this" in page
    assert signed_in(people.other_team).get(f"/review/{again.row().pk}").status_code == 404


def test_a_revision_shows_what_it_asks_otherwise(asked: Asked, people: People) -> None:
    old = asked.row()
    new = Interrupt(
        task_id=old.task_id, key=old.key, ordinal=old.ordinal, revision=old.revision + 1, payload={"a": 1, "b": 2}
    )
    before = Interrupt(
        task_id=old.task_id, key=old.key, ordinal=old.ordinal, revision=old.revision, payload={"a": 1, "c": 3}
    )
    found = differences.of_revision(new, [before])
    assert found is not None
    assert [(one.label, one.before, one.after) for one in found.rows] == [("C", "3", "—"), ("B", "—", "2")]
    assert differences.of_revision(before, [new]) is None
