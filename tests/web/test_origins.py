"""Each act that comes by a request is recorded with its address and the kind of its program, signed with it."""

from __future__ import annotations

import pytest
from django.test import RequestFactory

from graphs.actions import audit, comments
from graphs.models import AuditEntry
from graphs.web import origins
from tests.actions.conftest import Asked
from tests.people import People
from tests.web.conftest import SignedIn, form_of, text_of

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0"


@pytest.mark.parametrize(
    ("text", "family"),
    [
        (FIREFOX, "Firefox on Linux"),
        ("Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/126.0 Safari/537.36 Edg/126.0", "Edge on Windows"),
        ("Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) Version/17.5 Safari/604.1", "Safari on iOS"),
        ("Mozilla/5.0 (Linux; Android 14) AppleWebKit/537.36 Chrome/126.0 Safari/537.36", "Chrome on Android"),
        ("curl/8.5.0", "curl"),
        ("", ""),
    ],
)
def test_a_program_is_told_by_its_family(text: str, family: str) -> None:
    assert origins.agent(text) == family


@pytest.mark.parametrize(("behind", "address"), [(True, "198.51.100.7"), (False, "127.0.0.1")])
def test_only_a_proxy_that_there_is_may_name_another_address(behind: bool, address: str, settings: object) -> None:
    settings.SAYSO_BEHIND_PROXY = behind  # type: ignore[attr-defined]
    request = RequestFactory().get("/", HTTP_X_FORWARDED_FOR="203.0.113.1, 198.51.100.7")
    assert origins.address(request) == address


def test_a_decision_is_recorded_with_its_origin(
    asked: Asked, people: People, signed_in: SignedIn, settings: object
) -> None:
    settings.SAYSO_BEHIND_PROXY = True  # type: ignore[attr-defined]
    client = signed_in(people.decider)
    row = asked.row()
    client.post(
        f"/review/{row.pk}",
        form_of(row, "approve"),
        HTTP_X_FORWARDED_FOR="203.0.113.9",
        HTTP_USER_AGENT=FIREFOX,
    )
    entry = AuditEntry.objects.get(action="decide")
    assert entry.data["origin"] == {"ip": "203.0.113.9", "agent": "Firefox on Linux"}
    assert audit.verify().ok
    page = text_of(signed_in(people.operator).get("/audit"))
    assert "Firefox on Linux" in page and "203.0.113.9" in page


def test_what_no_request_did_has_no_origin(asked: Asked, people: People) -> None:
    comments.add(people.decider, interrupt=asked.row(), text="By hand.")
    assert "origin" not in AuditEntry.objects.get(action="comment").data
