"""Who may open what, and that looking changes nothing."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import URLPattern, reverse

from graphs.web.urls import urlpatterns
from tests.actions.conftest import Asked
from tests.people import People
from tests.web.conftest import SignedIn, form_of

pytestmark = pytest.mark.django_db(transaction=True)

OPEN_TO_ALL = {"favicon", "login", "theme", "words"}
ATTENTION = {"claim", "release", "assign", "escalate", "snooze", "watch"}
STEERED = {"thread_cancel", "thread_retry", "thread_suspend", "thread_resume", "thread_say"}
AUDITED = {"audit_verify", "audit_export"}
VIEWS = {"view_change", "view_delete"}
REVIEWED = {"review_comment", "review_undo", "review_look", "review_draft", "attach", "review_evidence"}
POSTED = (
    STEERED
    | ATTENTION
    | VIEWS
    | REVIEWED
    | AUDITED
    | {
        "view_save",
        "queue_grant",
        "queue_dismiss",
        "queue_proposal",
        "delegation_end",
        "trust_revoke",
        "thread_comment",
        "theme",
        "logout",
    }
)
#: Files of a question, which the one asked here has none of.
FILES = {"attachment", "embedded"}
#: Pages of one object, which strangers must not tell from a missing one.
OF_ONE = (
    STEERED
    | ATTENTION
    | VIEWS
    | REVIEWED
    | FILES
    | {
        "trust_revoke",
        "review",
        "review_payload",
        "thread",
        "thread_fork",
        "thread_words",
        "thread_comment",
        "queue",
        "queue_policy",
        "queue_proposal",
        "queue_grant",
        "queue_dismiss",
        "review_why",
        "delegation_end",
    }
)
#: Pages for fewer people than may see their object.
FOR_FEW = {"thread_fork", "audit", "insights", "insights_csv", "queue_policy"}


def address(pattern: URLPattern, asked: Asked | None = None) -> str:
    thread = asked.pen.thread.uid if asked else uuid4()
    question = asked.row().pk if asked else uuid4()
    path = str(pattern.pattern)
    return "/" + path.replace("<uuid:interrupt_id>", str(question)).replace("<uuid:uid>", str(thread)).replace(
        "<str:graph_id>", "refund"
    ).replace("<slug:slug>", "finance" if asked else "nowhere").replace("<uuid:pk>", str(uuid4())).replace(
        "<int:pk>", "4321"
    )


def test_every_page_is_in_this_table() -> None:
    named = {pattern.name for pattern in urlpatterns}
    assert named >= OPEN_TO_ALL | POSTED | OF_ONE
    assert reverse("inbox") == "/inbox"


@pytest.mark.parametrize("pattern", urlpatterns, ids=lambda pattern: str(pattern.name))
def test_s07_nobody_sees_a_page_without_signing_in(pattern: URLPattern, asked: Asked) -> None:
    for method in ("get", "post"):
        answer = getattr(Client(), method)(address(pattern, asked))
        if pattern.name in OPEN_TO_ALL or pattern.name == "logout":
            assert answer.status_code in (200, 302, 303, 405)
        else:
            assert answer.status_code == 302 and answer["Location"].startswith("/accounts/login/")


@pytest.mark.parametrize("pattern", [one for one in urlpatterns if one.name in OF_ONE], ids=lambda one: str(one.name))
def test_s02_what_one_may_not_see_is_not_there(
    pattern: URLPattern, asked: Asked, people: People, signed_in: SignedIn
) -> None:
    method = "post" if pattern.name in POSTED else "get"
    for user in (people.stranger, people.other_team):
        foreign = getattr(signed_in(user), method)(address(pattern, asked), {"text": "x"})
        missing = getattr(signed_in(user), method)(address(pattern), {"text": "x"})
        assert foreign.status_code == missing.status_code == 404
    posted = signed_in(people.other_team).post(f"/review/{asked.row().pk}", form_of(asked.row(), "approve"))
    assert posted.status_code == 404
    assert asked.row().status == "open"


@pytest.mark.parametrize("pattern", urlpatterns, ids=lambda pattern: str(pattern.name))
def test_looking_writes_nothing(pattern: URLPattern, asked: Asked, people: People, signed_in: SignedIn) -> None:
    client = signed_in(people.decider)
    for method in ("get", "head"):
        with CaptureQueriesContext(connection) as captured:
            answer = getattr(client, method)(address(pattern, asked), {"act": "approve", "version": "1"})
        missing = (404,) if pattern.name in FILES else (200, 302)
        expected = (405,) if pattern.name in POSTED else (403,) if pattern.name in FOR_FEW else missing
        assert answer.status_code in expected
        words = {query["sql"].split()[0].upper() for query in captured.captured_queries}
        assert not words & {"INSERT", "UPDATE", "DELETE"}
    assert asked.row().status == "open"


@pytest.mark.parametrize("pattern", urlpatterns, ids=lambda pattern: str(pattern.name))
def test_posts_without_a_token_are_refused(pattern: URLPattern, asked: Asked, people: People) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(people.decider)
    assert strict.post(address(pattern, asked), form_of(asked.row(), "approve")).status_code in (403, 405)
    assert asked.row().status == "open"


def test_pages_carry_the_policy_and_are_not_kept(asked: Asked, people: People, signed_in: SignedIn) -> None:
    answer = signed_in(people.decider).get(f"/review/{asked.row().pk}")
    policy = answer["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy
    assert answer["Cache-Control"] == "no-store"
    assert answer["X-Frame-Options"] == "DENY" and answer["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize("target", ["//evil.example", "https:evil.example", "\\evil.example", "http://evil.example/"])
def test_no_address_of_others_is_followed(target: str, people: People, signed_in: SignedIn) -> None:
    answer = Client().post("/theme", {"theme": "dark", "next": target})
    assert answer["Location"] == "/" and answer.cookies["sayso_theme"].value == "dark"
    people.decider.set_password("a long enough one")
    people.decider.save()
    signed = Client().post("/accounts/login/", {"username": "decider", "password": "a long enough one", "next": target})
    # A backslash is quoted, so it stays a path of ours.
    assert signed.status_code == 303 and signed["Location"] in ("/", "%5Cevil.example")
    page = signed_in(people.decider).get("/inbox", {"from": target})
    links = re.findall(r'(?:href|action)="([^"]*)"', page.content.decode())
    assert links and all(link.startswith(("/", "#")) and not link.startswith("//") for link in links)


def test_the_theme_is_in_the_first_byte() -> None:
    client = Client()
    client.post("/theme", {"theme": "dark", "next": "/accounts/login/"})
    assert 'data-bs-theme="dark"' in client.get("/accounts/login/").content.decode()
    client.post("/theme", {"theme": "system"})
    assert 'data-theme="system"' in client.get("/accounts/login/").content.decode()


def test_the_first_login_is_hinted_at_while_it_is_there(db: None, settings: Any, tmp_path: Path) -> None:
    settings.SAYSO_VAR = tmp_path
    assert "first-login" not in Client().get("/accounts/login/").content.decode()
    (tmp_path / "first-login").write_text("admin\nsecret word\n")
    page = Client().get("/accounts/login/").content.decode()
    assert f"{tmp_path.name}/first-login" in page and "secret word" not in page


def test_the_password_page_tells_its_rules_and_what_broke_them(people: People, signed_in: SignedIn) -> None:
    people.decider.set_password("an old long one")
    people.decider.save()
    client = signed_in(people.decider)
    assert "at least 8 characters" in client.get("/accounts/password/").content.decode()
    given = {"old_password": "an old long one", "new_password1": "1234", "new_password2": "1234"}
    page = client.post("/accounts/password/", given).content.decode()
    assert "The password was not changed" in page and "too short" in page and 'aria-invalid="true"' in page
    answer = client.post(
        "/accounts/password/", given | {"new_password1": "new and long", "new_password2": "new and long"}
    )
    assert answer.status_code == 303


def test_every_page_has_its_icon_and_the_admin_its_name(people: People, signed_in: SignedIn) -> None:
    assert Client().get("/favicon.ico")["Location"].endswith("icon.svg")
    people.operator.is_staff = True
    people.operator.save()
    page = signed_in(people.operator).get("/admin/").content.decode()
    assert 'rel="icon"' in page and "Django administration" not in page and "Sayso" in page
