"""Whoever may decide a question hands it to the queue that its policy names, before its time."""

from __future__ import annotations

import pytest

from graphs.models import AuditEntry
from tests.actions.conftest import Asked
from tests.actions.policies import enforce
from tests.people import People
from tests.web.conftest import SignedIn, text_of


@pytest.fixture
def asked(people: People) -> Asked:
    enforce(people.finance, escalate_to="legal", escalate_minutes=600)
    return Asked(people)


def test_a_question_moves_once_and_says_by_whom(asked: Asked, people: People, signed_in: SignedIn) -> None:
    client, row = signed_in(people.decider), asked.row()
    assert "Escalate to Legal now" in text_of(client.get(f"/review/{row.pk}"))
    assert client.post(f"/review/{row.pk}/escalate").status_code == 303
    now = asked.row()
    assert now.queue.slug == "legal" and now.escalated_at is not None and now.status == "open"
    entry = AuditEntry.objects.get(action="escalate")
    assert (entry.actor_name, entry.channel, entry.data["to"]) == ("decider", "form", "legal")
    # The other team has it now, and the page of the first is gone with it.
    assert "Escalate to" not in text_of(signed_in(people.other_team).get(f"/review/{row.pk}"))
    assert client.post(f"/review/{row.pk}/escalate").status_code == 404


def test_without_a_queue_to_go_to_it_stays(asked: Asked, people: People, signed_in: SignedIn) -> None:
    enforce(people.finance)
    client = signed_in(people.decider)
    assert "Escalate to" not in text_of(client.get(f"/review/{asked.row().pk}"))
    assert client.post(f"/review/{asked.row().pk}/escalate").status_code == 409
    assert asked.row().queue.slug == "finance" and not AuditEntry.objects.filter(action="escalate").exists()


@pytest.mark.parametrize(("who", "status"), [("viewer", 403), ("stranger", 404), ("requester", 403)])
def test_s02_who_may_not_decide_it_may_not_escalate_it(
    who: str, status: int, asked: Asked, people: People, signed_in: SignedIn
) -> None:
    assert signed_in(getattr(people, who)).post(f"/review/{asked.row().pk}/escalate").status_code == status
    assert asked.row().queue.slug == "finance"
