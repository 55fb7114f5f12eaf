"""The page of delegations: handing over, what is wrong beside its field, the list, and ending one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from graphs.models import Delegation, Preference
from tests.people import People
from tests.web.conftest import SignedIn, text_of

pytestmark = pytest.mark.django_db(transaction=True)
SOON = (timezone.now() + timedelta(days=3)).strftime("%Y-%m-%dT09:30")


def typed(**more: Any) -> dict[str, str]:
    return {"receiver": "stranger", "queue": "finance", "ends_at": SOON, "zone": "Europe/Lisbon", "note": ""} | more


def test_n14_deciding_is_handed_over_in_the_readers_zone(people: People, signed_in: SignedIn) -> None:
    browser = signed_in(people.decider)
    assert browser.post("/delegations", typed(zone="Asia/Tokyo", move_open="1")).status_code == 303
    made = Delegation.objects.get()
    assert made.ends_at == datetime.fromisoformat(SOON).replace(tzinfo=ZoneInfo("Asia/Tokyo")).astimezone(UTC)
    assert made.move_open and made.queue == people.finance and made.starts_at <= timezone.now()
    assert "stranger decides in your place in Finance" in text_of(browser.get("/delegations"))
    assert "You decide in the place of decider" in text_of(signed_in(people.stranger).get("/delegations"))
    assert "decider" not in text_of(signed_in(people.viewer).get("/delegations"))
    assert "stranger decides in the place of decider" in text_of(signed_in(people.administrator).get("/delegations"))


def test_what_is_wrong_stands_beside_its_field_with_what_was_typed(people: People, signed_in: SignedIn) -> None:
    browser = signed_in(people.decider)
    for wrong, told in (
        ({"receiver": "decider"}, "that is you"),
        ({"receiver": '<b>"'}, "nobody is called"),
        ({"ends_at": "2001-01-01T00:00"}, "this has passed already"),
        ({"ends_at": "soon"}, "say until when"),
        ({"ends_at": "9999-12-31T23:59", "zone": "America/New_York"}, "say until when"),
        ({"starts_at": "x"}, "say from when"),
        ({"zone": "Mars/Base"}, "must be the name of a time zone"),
        ({"zone": "../../etc/passwd"}, "must be the name of a time zone"),
        ({"queue": "legal"}, "you decide in no such queue"),
    ):
        answer = browser.post("/delegations", typed(note="at the sea\x00", **wrong))
        assert answer.status_code == 422 and told in text_of(answer), wrong
        assert 'value="at the sea"' in answer.content.decode() and "<b>" not in answer.content.decode().split("main")[1]
    assert not Delegation.objects.exists()


def test_s02_who_decides_nowhere_has_nothing_to_hand_over(people: People, signed_in: SignedIn) -> None:
    browser = signed_in(people.viewer)
    assert "You decide in no queue" in text_of(browser.get("/delegations"))
    assert browser.post("/delegations", typed()).status_code == 422 and not Delegation.objects.exists()


def test_one_is_ended_by_its_giver_alone(people: People, signed_in: SignedIn) -> None:
    browser = signed_in(people.decider)
    browser.post("/delegations", typed())
    address = f"/delegations/{Delegation.objects.get().pk}/end"
    assert "End it" not in text_of(signed_in(people.stranger).get("/delegations"))
    assert signed_in(people.stranger).post(address).status_code == 403
    assert signed_in(people.viewer).post(address).status_code == 404
    assert browser.post("/delegations/99999999999/end").status_code == 404
    assert "End it" in text_of(browser.get("/delegations"))
    assert browser.post(address).status_code == 303 and browser.post(address).status_code == 409
    assert "Everybody decides for themselves" in text_of(browser.get("/delegations"))
    assert "stranger decides in your place" in text_of(browser.get("/delegations?show=ended"))


def test_the_list_has_pages_a_search_and_a_constant_number_of_queries(people: People, signed_in: SignedIn) -> None:
    browser = signed_in(people.decider)
    with CaptureQueriesContext(connection) as few:
        assert browser.get("/delegations").status_code == 200
    until = timezone.now() + timedelta(days=1)
    for number in range(60):
        Delegation.objects.create(
            giver=people.decider, giver_name="decider", receiver=people.stranger, receiver_name=f"one-{number:02}",
            starts_at=timezone.now(), ends_at=until + timedelta(minutes=number),
        )  # fmt: skip
    with CaptureQueriesContext(connection) as many:
        first = browser.get("/delegations")
    assert len(many) <= len(few)
    assert "one-59" in text_of(first) and "one-09" not in text_of(first)
    address = first.content.decode().split("show=standing&amp;after=")[1].split('"')[0]
    assert "one-09" in text_of(browser.get(f"/delegations?after={address}"))
    assert "one-07" in text_of(browser.get("/delegations?q=one-07"))
    assert "Nothing matches" in text_of(browser.get("/delegations?q=zzz"))
    assert browser.get("/delegations?after=nonsense&show=x&q=%00").status_code == 200


def test_the_form_begins_with_the_zone_that_its_reader_chose(people: People, signed_in: SignedIn) -> None:
    Preference.objects.create(user=people.decider, zone="America/Lima")
    assert 'value="America/Lima"' in signed_in(people.decider).get("/delegations").content.decode()
    Preference.objects.update(zone="Nowhere")
    assert 'value="UTC"' in signed_in(people.decider).get("/delegations").content.decode()


def test_n14_a_queue_shows_who_is_on_leave_and_who_stands_in(people: People, signed_in: SignedIn) -> None:
    browser = signed_in(people.viewer)
    assert "On leave" not in text_of(browser.get("/queues/finance"))
    signed_in(people.decider).post("/delegations", typed(queue=""))
    assert "On leave stranger decides in the place of decider" in text_of(browser.get("/queues/finance"))
    assert "On leave" not in text_of(signed_in(people.other_team).get("/queues/legal"))
