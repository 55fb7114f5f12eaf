"""Files beside a question and inside of its value are listed, looked at safely and taken along whole."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpResponse
from django.test import Client

from graphs.actions import attachments, audit
from graphs.actions.errors import InputInvalid
from graphs.models import Attachment, AuditEntry
from graphs.policies.file_types import type_of
from tests.actions.conftest import Asked
from tests.people import People
from tests.records import question
from tests.web.conftest import SignedIn, text_of

PICTURE = b"\x89PNG\r\n\x1a\n" + b"0" * 40
SCRIPT = b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>"
HELD = {
    "scan": "data:image/png;base64," + base64.b64encode(PICTURE).decode(),
    "notes": ["data:text/plain;base64,aGVsbG8="],
}


@pytest.fixture
def asked(people: People) -> Asked:
    return Asked(people, question(value=HELD))


def attach(client: Client, asked: Asked, content: bytes, name: str = "a.png", **more: Any) -> HttpResponse:
    posted = {"file": SimpleUploadedFile(name, content, content_type="image/png"), **more}
    return client.post(f"/review/{asked.row().pk}/files", posted)


def address(asked: Asked) -> str:
    return f"/review/{asked.row().pk}/files/{Attachment.objects.get().pk}"


def test_a_file_is_put_beside_the_question_and_taken_along(asked: Asked, people: People, signed_in: SignedIn) -> None:
    asker, decider = signed_in(people.requester), signed_in(people.decider)
    assert attach(asker, asked, PICTURE).status_code == 303
    page = decider.get(f"/review/{asked.row().pk}")
    assert "a.png" in text_of(page) and f"{address(asked)}?show" in page.content.decode()
    answer = decider.get(address(asked))
    assert answer.content == PICTURE and answer["Content-Disposition"].startswith("attachment")
    shown = decider.get(address(asked), {"show": ""})
    assert shown["Content-Type"] == "image/png" and "sandbox" in shown["Content-Security-Policy"]
    assert AuditEntry.objects.filter(action="attach").count() == 1 and audit.verify().ok


def test_s05_what_a_browser_might_run_is_only_ever_downloaded(
    asked: Asked, people: People, signed_in: SignedIn
) -> None:
    client = signed_in(people.decider)
    attach(client, asked, SCRIPT, "picture.png")
    answer = client.get(address(asked), {"show": ""})
    assert answer["Content-Type"] == "application/octet-stream"
    assert answer["Content-Disposition"].startswith("attachment") and answer["X-Content-Type-Options"] == "nosniff"
    page = client.get(f"/review/{asked.row().pk}").content.decode()
    assert "<script>alert(1)" not in page and "&lt;script&gt;alert(1)" in page


def test_a_name_is_a_name_and_no_path_or_header(asked: Asked, people: People, signed_in: SignedIn) -> None:
    made = attachments.attach(people.decider, asked.row(), "..\\..\\etc/pass\r\nX: 1\u202egnp.exe", PICTURE)
    assert made.name == "passX: 1gnp.exe"
    made = attachments.attach(people.decider, asked.row(), 'Größe "1".txt', b"x")
    answer = signed_in(people.decider).get(f"/review/{asked.row().pk}/files/{made.pk}")
    assert "filename=\"Gr__e _1_.txt\"; filename*=UTF-8''Gr%C3%B6%C3%9Fe" in answer["Content-Disposition"]


@pytest.mark.parametrize("content", [b"", b"x" * (attachments.MOST_BYTES + 1)], ids=["empty", "large"])
def test_a_file_that_cannot_be_kept_is_refused_in_words(
    content: bytes, asked: Asked, people: People, signed_in: SignedIn
) -> None:
    answer = attach(signed_in(people.decider), asked, content)
    assert answer.status_code == 422 and "file" in text_of(answer)
    assert not Attachment.objects.exists()


def test_one_file_too_many_is_refused(asked: Asked, people: People) -> None:
    for number in range(attachments.MOST_FILES):
        attachments.attach(people.decider, asked.row(), f"{number}", b"x")
    with pytest.raises(InputInvalid):
        attachments.attach(people.decider, asked.row(), "more", b"x")


def test_s02_strangers_neither_attach_nor_read(asked: Asked, people: People, signed_in: SignedIn) -> None:
    stranger = signed_in(people.stranger)
    assert attach(stranger, asked, PICTURE).status_code == 404
    attach(signed_in(people.decider), asked, PICTURE)
    assert stranger.get(address(asked)).status_code == 404
    assert stranger.get(f"/review/{asked.row().pk}/embedded", {"at": "/scan"}).status_code == 404


def test_nothing_is_put_beside_a_closed_question(asked: Asked, people: People, signed_in: SignedIn) -> None:
    from graphs.actions import decisions

    decisions.decide(people.decider, [asked.given()], channel="form")
    assert attach(signed_in(people.decider), asked, PICTURE).status_code == 409


def test_u05_files_of_the_value_are_files_and_not_walls_of_letters(
    asked: Asked, people: People, signed_in: SignedIn
) -> None:
    client = signed_in(people.decider)
    text = text_of(client.get(f"/review/{asked.row().pk}"))
    assert "image/png, 48 bytes" in text and "Notes 1" in text and "hello" in text
    answer = client.get(f"/review/{asked.row().pk}/embedded", {"at": "/scan"})
    assert answer.content == PICTURE
    for at in ("/nothing", "", "/notes"):
        assert client.get(f"/review/{asked.row().pk}/embedded", {"at": at}).status_code == 404


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (PICTURE, "image/png"),
        (b"%PDF-1.7", "application/pdf"),
        ("Größe".encode(), "text/plain"),
        (b"a\x00b", "application/octet-stream"),
        (b"\xff\xfe", "application/octet-stream"),
        (SCRIPT, "text/plain"),
    ],
)
def test_a_type_follows_from_the_bytes(content: bytes, kind: str) -> None:
    assert type_of(content) == kind
