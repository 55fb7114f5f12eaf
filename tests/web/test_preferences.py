"""What a person chose for their own pages: the zone of times, what opens after a decision, and that it is theirs."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from graphs.actions import preferences
from graphs.models import Decision, Interrupt
from tests.actions.conftest import Asked
from tests.actions.policies import enforce
from tests.people import People
from tests.records import question
from tests.web.conftest import SignedIn, form_of, text_of

DUE = datetime(2026, 10, 25, 0, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("zone", "told"),
    [
        ("Pacific/Auckland", "25 Oct 2026, 13:30:00 NZDT"),
        ("America/Los_Angeles", "24 Oct 2026, 17:30:00 PDT"),
        # An hour before the clocks go back, and not the hour after.
        ("Europe/Amsterdam", "25 Oct 2026, 02:30:00 CEST"),
        ("", "25 Oct 2026, 00:30:00 UTC"),
    ],
)
def test_u26_a_deadline_is_told_in_the_readers_zone(
    zone: str, told: str, asked: Asked, people: People, signed_in: SignedIn
) -> None:
    Interrupt.objects.filter(pk=asked.row().pk).update(due_at=DUE, expires_at=DUE)
    client = signed_in(people.decider)
    assert client.post("/preferences", {"zone": zone}).status_code == 303
    page = client.get(f"/review/{asked.row().pk}").content.decode()
    assert told in page and ("data-zone" in page) is bool(zone)
    # Nobody else's pages change.
    assert "25 Oct 2026, 00:30:00 UTC" in signed_in(people.grouped).get(f"/review/{asked.row().pk}").content.decode()


def test_a_zone_lasts_past_the_session(people: People, signed_in: SignedIn) -> None:
    preferences.choose_zone(people.decider, "Asia/Kolkata")
    assert 'data-zone="Asia/Kolkata"' in signed_in(people.decider).get("/inbox").content.decode()


def test_a_zone_that_there_is_not_is_kept_in_its_field(people: People, signed_in: SignedIn) -> None:
    client = signed_in(people.decider)
    answer = client.post("/preferences", {"zone": "Mars/Olympus", "density": "compact"})
    assert answer.status_code == 422 and "Mars/Olympus" in answer.content.decode()
    assert "there is no such time zone" in text_of(answer)
    assert "data-zone" not in client.get("/inbox").content.decode()
    assert client.post("/preferences", {"density": "huge"}).status_code == 422


def test_the_page_shows_what_was_chosen(people: People, signed_in: SignedIn) -> None:
    client = signed_in(people.decider)
    client.post("/preferences", {"zone": "Asia/Kolkata", "advance": "on", "density": "compact", "keys": "off"})
    page = client.get("/preferences?saved")
    html = page.content.decode()
    for name, value in (("advance", "on"), ("density", "compact"), ("keys", "off")):
        assert f'name="{name}" value="{value}" checked' in html
    assert "Saved." in text_of(page) and 'value="Asia/Kolkata"' in html


def two(people: People) -> Asked:
    return Asked(people, question(key="one", question="First?"), question(key="two", question="Second?"))


def test_the_next_question_opens_by_itself_where_one_chose_so(people: People, signed_in: SignedIn) -> None:
    asked, client = two(people), signed_in(people.decider)
    enforce(people.finance, hold_seconds=60)
    preferences.choose(people.decider, "advance", "on")
    sent = form_of(asked.row(0), "approve", policy="1")
    answer = client.post(f"/review/{asked.row(0).pk}", sent, follow=True)
    assert answer.request["PATH_INFO"] == f"/review/{asked.row(1).pk}"
    assert "You approved “First?”." in text_of(answer) and f"/review/{asked.row(0).pk}/undo" in answer.content.decode()
    # After the last one there is nothing to go on to.
    last = client.post(f"/review/{asked.row(1).pk}", form_of(asked.row(1), "approve", policy="1"))
    assert last["Location"] == f"/review/{asked.row(1).pk}"


def test_s02_what_somebody_else_decided_is_not_told_by_an_address(people: People, signed_in: SignedIn) -> None:
    asked = two(people)
    signed_in(people.decider).post(f"/review/{asked.row(0).pk}", form_of(asked.row(0), "approve"))
    assert Decision.objects.count() == 1
    for after in (str(asked.row(0).pk), "nonsense", "0" * 36):
        page = signed_in(people.grouped).get(f"/review/{asked.row(1).pk}", {"after": after})
        assert page.status_code == 200 and page.context["just"] is None
