from __future__ import annotations

import hashlib
import io
import json
import re
import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import translation

from graphs.actions import audit, comments, looks, sealing
from graphs.actions import evidence as actions
from graphs.actions.decisions import decide
from graphs.actions.errors import NotFound
from graphs.agents.approvals import gate_schema
from graphs.engine.interrupts import Interrupt
from graphs.engine.statuses import Outcome
from graphs.models import Attachment, AuditEntry, Draft
from graphs.web import evidence
from tests.actions.conftest import Asked
from tests.actions.policies import enforce
from tests.people import People
from tests.records import question
from tests.web.conftest import SignedIn

pytestmark = pytest.mark.django_db(transaction=True)

FORM = {
    "type": "object",
    "properties": {
        "amount": {"type": "number"},
        "token": {"type": "string", "format": "password", "default": "hunter2-default"},
    },
}
VALUE = {"amount": 180, "token": "hunter2-proposed", "note": "<b>lamp</b>"}
GIVEN = {"amount": 90, "token": "hunter2-given"}


def refund() -> Interrupt:
    return question(question="Refund?", value=VALUE, response_schema=FORM, default={"token": "hunter2-else"})


@pytest.fixture
def asked(people: People) -> Asked:
    return Asked(people, refund())


@pytest.fixture
def pack(asked: Asked, people: People, signed_in: SignedIn) -> bytes:
    """Everything that can be said of a question, and its evidence as its viewer takes it along."""
    enforce(people.finance, quorum=2, reason="always")
    row = asked.row()
    looks.note(people.decider, row, read_all=True)
    comments.add(people.viewer, interrupt=row, text="Photos are <i>there</i>")
    Draft.objects.create(user=people.decider, interrupt=row, fields={"comment": "a draft of mine"})
    for user in (people.decider, people.grouped):
        decide(user, [asked.given(value=GIVEN, comment="half")], channel="form")
    answer = signed_in(people.viewer).post(f"/review/{row.pk}/evidence")
    assert answer.status_code == 200 and answer["Content-Type"] == "application/zip"
    assert "attachment" in answer["Content-Disposition"] and answer["Cache-Control"] == "no-store"
    return answer.content


def unzipped(pack: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(pack)) as found:
        return {name: found.read(name) for name in found.namelist()}


def rezipped(path: Path, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as made:
        for name, content in files.items():
            made.writestr(name, content)
    return path


def verified(path: Path) -> str:
    try:
        call_command("verify_evidence", str(path), stdout=(out := io.StringIO()))
    except CommandError as error:
        assert error.returncode == 1
        return str(error)
    return out.getvalue()


def test_a_pack_has_what_was_asked_seen_said_and_recorded(pack: bytes, asked: Asked) -> None:
    files = unzipped(pack)
    told: dict[str, Any] = {name: json.loads(text) for name, text in files.items() if name.endswith(".json")}
    assert told["question.json"]["message"] == "Refund?" and told["question.json"]["queue"]["slug"] == "finance"
    assert told["question.json"]["requester"] == "requester" and told["payload.json"]["amount"] == 180
    (decision,) = told["decisions.json"]
    assert (decision["outcome"], decision["reviewer"], decision["comment"]) == ("approved", "grouped", "half")
    assert {"pointer": "/amount", "before": 180, "after": 90} in decision["edits"]
    assert [one["voter"] for one in told["votes.json"]] == ["decider", "grouped"]
    assert told["policy.json"]["versions"][-1]["spec"] == {"quorum": 2, "reason": "always"}
    assert told["looks.json"][0]["person"] == "decider" and told["looks.json"][0]["read_all"] is True
    assert told["comments.json"][0]["text"] == "Photos are <i>there</i>" and told["attachments.json"] == []
    lines = [json.loads(line) for line in files["audit.jsonl"].splitlines()]
    stored = AuditEntry.objects.about("interrupt", str(asked.row().pk)).exclude(action="evidence")
    assert [(one["seq"], one["digest"], one["previous"]) for one in lines] == [
        (one.seq, one.digest, one.previous) for one in stored
    ]


def test_the_card_is_what_the_page_computes_and_its_hash_is_in_the_manifest(pack: bytes) -> None:
    files = unzipped(pack)
    card = files["card.html"].decode()
    assert "<h1>Refund?</h1>" in card and "180" in card and "&lt;b&gt;lamp&lt;/b&gt;" in card
    assert "<form" not in card and "csrf" not in card
    manifest = json.loads(files["manifest.json"])
    assert manifest["files"]["card.html"] == hashlib.sha256(files["card.html"]).hexdigest()
    assert set(manifest["files"]) == set(files) - {"manifest.json"}


def test_a_record_reads_the_same_whatever_language_its_maker_reads(
    people: People, asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    spoken = []
    monkeypatch.setattr(evidence, "card", lambda shown: spoken.append(translation.get_language()) or b"")
    with translation.override("de"):
        evidence.files(people.decider, asked.row())
    assert spoken == ["en"]


def test_s10_no_secret_and_no_draft_is_in_a_pack(pack: bytes) -> None:
    whole = b"".join(unzipped(pack).values())
    assert b"hunter2" not in whole and b"a draft of mine" not in whole
    decision = json.loads(unzipped(pack)["decisions.json"])[0]
    token = next(one for one in decision["edits"] if one["pointer"] == "/token")
    assert "hunter2" not in str(token) and token["before"] == token["after"]


def test_s10_the_secrets_of_a_call_are_masked_in_its_arguments(people: People, signed_in: SignedIn) -> None:
    schema = gate_schema(
        {"type": "object", "properties": {"path": {"type": "string"}, "key": {"type": "string", "writeOnly": True}}}
    )
    call = {"agent": "keeper", "tool": "send", "arguments": {"path": "a", "key": "hunter2"}}
    given = {"style": "tool", "kind": "tool_approval", "name": "send", "metadata": call, "value": call}
    asked = Asked(people, question(question="keeper wants to call send", response_schema=schema, **given))
    answer = {"approved": True, "arguments": {"path": "b", "key": "hunter2-new"}}
    decide(people.decider, [asked.given(value=answer)], channel="form")
    files = unzipped(signed_in(people.decider).post(f"/review/{asked.row().pk}/evidence").content)
    assert b"hunter2" not in b"".join(files.values())
    edits = {one["pointer"]: one for one in json.loads(files["decisions.json"])[0]["edits"]}
    assert (edits["/path"]["before"], edits["/path"]["after"]) == ("a", "b") and "/key" in edits


def test_making_one_is_an_entry_of_the_chain(pack: bytes, asked: Asked) -> None:
    manifest = json.loads(unzipped(pack)["manifest.json"])
    entry = AuditEntry.objects.get(action="evidence")
    assert (entry.actor_name, entry.object_id) == ("viewer", str(asked.row().pk))
    assert manifest["audit_entry"] == {"seq": entry.seq, "digest": entry.digest, "previous": entry.previous}
    assert manifest["made_by"] == "viewer" and manifest["question"] == str(asked.row().pk)
    assert audit.verify().ok


def test_s02_a_pack_is_for_who_may_see_the_question(people: People, signed_in: SignedIn, asked: Asked) -> None:
    path = f"/review/{asked.row().pk}/evidence"
    for user in (people.viewer, people.requester, people.operator):
        assert signed_in(user).post(path).status_code == 200
    for user in (people.stranger, people.other_team):
        assert signed_in(user).post(path).status_code == 404
        with pytest.raises(NotFound):
            actions.seal(user, asked.row(), {})
    assert signed_in(people.viewer).get(path).status_code == 405
    assert AuditEntry.objects.filter(action="evidence").count() == 3


def test_an_open_and_an_undecided_question_have_evidence_too(people: People, signed_in: SignedIn, asked: Asked) -> None:
    files = unzipped(signed_in(people.viewer).post(f"/review/{asked.row().pk}/evidence").content)
    assert json.loads(files["decisions.json"]) == [] and files["audit.jsonl"] == b""
    assert json.loads(files["policy.json"]) == {"queue": "finance", "versions": [{"version": 0, "spec": None}]}


def test_a_file_beside_the_question_is_named_by_its_digest(people: People, signed_in: SignedIn, asked: Asked) -> None:
    fields = {"name": "box.png", "content_type": "image/png", "size": 3, "sha256": "a" * 64, "author_name": "viewer"}
    Attachment.objects.create(interrupt=asked.row(), content=b"png", **fields)
    files = unzipped(signed_in(people.viewer).post(f"/review/{asked.row().pk}/evidence").content)
    (told,) = json.loads(files["attachments.json"])
    assert told.pop("created_at") and told == fields


def test_the_buttons_lead_to_it(people: People, signed_in: SignedIn, asked: Asked) -> None:
    decide(people.decider, [asked.given(Outcome.REJECTED)], channel="form")
    for page in (f"/review/{asked.row().pk}", "/decisions"):
        html = signed_in(people.decider).get(page).content.decode()
        assert re.search(rf'<form method="post" action="/review/{asked.row().pk}/evidence">', html)


def test_the_command_says_that_a_pack_is_intact(pack: bytes, tmp_path: Path) -> None:
    path = tmp_path / "pack.zip"
    path.write_bytes(pack)
    assert "is intact" in verified(path)
    assert "is intact" in verified(rezipped(tmp_path / "again.zip", unzipped(pack)))


@pytest.mark.parametrize("name", ["decisions.json", "card.html", "audit.jsonl", "README.txt"])
def test_the_command_names_a_file_that_was_altered_or_is_gone(name: str, pack: bytes, tmp_path: Path) -> None:
    files = unzipped(pack)
    assert f"{name} was altered" in verified(rezipped(tmp_path / "a.zip", {**files, name: files[name] + b" "}))
    files.pop(name)
    assert f"{name} is missing" in verified(rezipped(tmp_path / "b.zip", files))


def test_the_command_names_what_was_added_and_a_manifest_that_is_not_ours(
    pack: bytes, tmp_path: Path, settings: Any
) -> None:
    files = unzipped(pack)
    assert "more.json was added" in verified(rezipped(tmp_path / "a.zip", {**files, "more.json": b"{}"}))
    manifest = json.loads(files["manifest.json"])
    manifest["made_by"] = "somebody else"
    forged = {**files, "manifest.json": json.dumps(manifest).encode()}
    assert "manifest.json was altered" in verified(rezipped(tmp_path / "b.zip", forged))
    files.pop("manifest.json")
    assert "manifest.json is missing" in verified(rezipped(tmp_path / "c.zip", files))
    (tmp_path / "d.zip").write_bytes(pack)
    settings.SAYSO_AUDIT_KEY = "another"
    assert "the audit key is not the one" in verified(tmp_path / "d.zip")


@pytest.mark.parametrize("damage", [b"", b"no zip", None])
def test_the_command_is_calm_with_broken_files(damage: bytes | None, pack: bytes, tmp_path: Path) -> None:
    path = tmp_path / "pack.zip"
    path.write_bytes(pack[: len(pack) // 2] if damage is None else damage)
    assert "no whole zip file" in verified(path)
    with pytest.raises(CommandError) as error:
        call_command("verify_evidence", str(tmp_path / "nowhere.zip"))
    assert error.value.returncode == 2


def test_every_byte_of_a_pack_counts(pack: bytes, tmp_path: Path) -> None:
    """Flipped bits in the middle of each stored file are found, whatever the zip's own sum says."""
    with zipfile.ZipFile(io.BytesIO(pack)) as found:
        places = [info.header_offset + 30 + len(info.filename) + info.compress_size // 2 for info in found.infolist()]
    for place in places:
        damaged = bytearray(pack)
        damaged[place] ^= 0xFF
        assert sealing.fault(io.BytesIO(bytes(damaged))) != ""
