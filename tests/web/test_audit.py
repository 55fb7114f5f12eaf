from __future__ import annotations

import csv
import hashlib
import io
import json
import re
import zipfile
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.db import connection, transaction
from django.http import HttpResponse
from django.test.utils import CaptureQueriesContext

from graphs.actions import audit, sealing
from graphs.actions.actors import System
from graphs.actions.decisions import decide
from graphs.models import AuditEntry, Interrupt
from graphs.web import exports
from tests.actions.conftest import Asked
from tests.actions.test_audit import grow, tamper
from tests.people import People
from tests.web.conftest import SignedIn, form_of, text_of

pytestmark = pytest.mark.django_db(transaction=True)

#: Where the acts of these tests come from.
BROWSER = {"origin": {"ip": "127.0.0.1", "agent": ""}}


@pytest.fixture
def auditor(db: None) -> User:
    user = User.objects.create_user("auditor")
    user.user_permissions.add(Permission.objects.get(codename="view_auditentry"))
    return User.objects.get(pk=user.pk)


def entry(action: str = "act", actor: str = "clock", object_type: str = "thing", data: Any = None) -> AuditEntry:
    with transaction.atomic():
        return audit.record(System(actor), action, object_type, "1", data, "test")


def body(answer: HttpResponse) -> zipfile.ZipFile:
    return zipfile.ZipFile(io.BytesIO(b"".join(answer)))


def rows_of(answer: HttpResponse) -> list[int]:
    return [int(one) for one in re.findall(r'id="entry-(\d+)"', answer.content.decode())]


def test_s08_the_chain_is_for_auditors_and_operators_alone(
    people: People, signed_in: SignedIn, auditor: User, asked: Asked
) -> None:
    decide(people.decider, [asked.given()], channel="form")
    for user in (auditor, people.operator):
        page = signed_in(user).get("/audit")
        assert page.status_code == 200 and "decide" in text_of(page)
        assert 'href="/audit"' in page.content.decode()
    for user in (people.decider, people.administrator, people.requester, people.stranger):
        for method, path in (("get", "/audit"), ("post", "/audit/verify"), ("post", "/audit/export")):
            assert getattr(signed_in(user), method)(path).status_code == 403
        assert 'href="/audit"' not in signed_in(user).get("/inbox").content.decode()
    assert not AuditEntry.objects.filter(object_type="audit").exists()


def test_an_auditor_reads_and_decides_nothing(signed_in: SignedIn, auditor: User, asked: Asked) -> None:
    browser, row = signed_in(auditor), asked.row()
    assert browser.post(f"/review/{row.pk}", form_of(row, "approve")).status_code == 404
    assert browser.post(f"/threads/{asked.pen.thread.uid}/cancel").status_code == 404
    assert f"/review/{row.pk}" not in browser.get("/audit").content.decode()
    assert asked.row().status == "open"


def test_a_row_tells_who_did_what_by_whose_right_and_what_it_was_before_and_after(
    signed_in: SignedIn, auditor: User
) -> None:
    facts = {"digest": "b" * 64, "value": "a" * 64, "on_behalf_of": "Ana <i>"}
    made = entry("decide", data=facts)
    page = signed_in(auditor).get("/audit")
    text = text_of(page)
    assert "clock for Ana <i>" in text and f"{made.at:%Y-%m-%d %H:%M:%S} UTC" in text
    assert "before bbbbbbbbbbbb → after aaaaaaaaaaaa" in text and made.digest[:12] in text
    assert "Ana <i>" not in page.content.decode()


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("actor=CLO", [3, 2, 1]),
        ("actor=timeout", [4]),
        ("action=start", [2]),
        ("object=thread", [2]),
        ("object=1", [4, 3, 2, 1]),
        ("object=2", []),
        ("channel=form", []),
        ("channel=test&action=act&actor=clock", [3, 1]),
        ("since=2000-01-01&until=9000-01-01", [4, 3, 2, 1]),
        ("until=2000-01-01", []),
        ("since=9000-01-01", []),
        ("since=nonsense", [4, 3, 2, 1]),
        ("queue=nowhere", []),
        ("after=%00&actor=%00&verified=x", [4, 3, 2, 1]),
    ],
)
def test_a14_filters_narrow_and_odd_ones_are_said(
    query: str, found: list[int], signed_in: SignedIn, auditor: User
) -> None:
    entry(), entry("start", object_type="thread"), entry(), entry("expire", "system:timeout")
    page = signed_in(auditor).get(f"/audit?{query}")
    assert rows_of(page) == found
    assert ("This is no day" in text_of(page)) == ("nonsense" in query)
    assert ("No entry matches" in text_of(page)) == (not found)


def test_a_queue_has_its_own_entries_and_those_of_its_questions_and_threads(
    people: People, signed_in: SignedIn, auditor: User, asked: Asked
) -> None:
    decide(people.decider, [asked.given()], channel="form")
    with transaction.atomic():
        audit.record(people.operator, "cancel", "thread", asked.pen.thread.uid)
        audit.record(people.operator, "admit", "queue", "finance")
        audit.record(people.operator, "admit", "queue", "legal")
        audit.record(people.operator, "cancel", "thread", "00000000-0000-0000-0000-000000000000")
    page = signed_in(auditor).get("/audit?queue=finance")
    told = AuditEntry.objects.filter(seq__in=rows_of(page)).order_by("seq")
    assert [(one.object_type, one.action) for one in told] == [
        ("interrupt", "decide"), ("thread", "cancel"), ("queue", "admit")
    ]  # fmt: skip
    assert Interrupt.objects.count() == 1


def test_a13_pages_follow_each_other_with_a_constant_number_of_queries(signed_in: SignedIn, auditor: User) -> None:
    browser = signed_in(auditor)
    entry()
    with CaptureQueriesContext(connection) as few:
        browser.get("/audit")
    grow(60)
    with CaptureQueriesContext(connection) as many:
        first = browser.get("/audit?actor=clock")
    assert len(many) == len(few)
    more = re.search(r'href="(/audit\?[^"]*after=[^"]*)"', first.content.decode())
    assert more is not None and "actor=clock" in more[1]
    second = browser.get(more[1].replace("&amp;", "&"))
    assert rows_of(first) + rows_of(second) == list(range(61, 0, -1))


def test_verifying_is_an_entry_and_says_that_the_chain_holds(signed_in: SignedIn, auditor: User) -> None:
    grow(3)
    answer = signed_in(auditor).post("/audit/verify")
    assert answer.status_code == 303
    page = signed_in(auditor).get(answer["Location"])
    assert "The chain holds 3 entries were checked." in text_of(page)
    last = AuditEntry.objects.latest("seq")
    told = {"ok": True, "checked": 3, **BROWSER}
    assert (last.action, last.actor_name, last.data) == ("verify_chain", "auditor", told)


def test_verifying_names_the_first_bad_entry(signed_in: SignedIn, auditor: User) -> None:
    grow(4)
    tamper("UPDATE graphs_auditentry SET action = 'x' WHERE seq = 3")
    page = signed_in(auditor).get(signed_in(auditor).post("/audit/verify")["Location"])
    assert "The chain is broken at entry 3" in text_of(page) and "entry 3 was altered" in text_of(page)


def test_entries_that_others_append_during_the_walk_are_no_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    grow(3)
    heads, real = iter([False, True]), audit.head

    def head() -> audit.Head:
        if next(heads):
            grow(2)
        return real()

    monkeypatch.setattr(audit, "head", head)
    assert audit.verify() == audit.Verdict(True, 3)


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_an_export_has_what_matches_and_a_file_that_proves_it(kind: str, signed_in: SignedIn, auditor: User) -> None:
    grow(2)
    entry("start", data={"on_behalf_of": "=1+1", "ü": [None]})
    answer = signed_in(auditor).post("/audit/export", {"format": kind, "actor": "clock"})
    assert answer["Content-Type"] == "application/zip" and "attachment" in answer["Content-Disposition"]
    pack = body(answer)
    content, told = pack.read(f"audit.{kind}"), json.loads(pack.read("verification.json"))
    assert told["sha256"] == hashlib.sha256(content).hexdigest() == told["files"][f"audit.{kind}"]
    assert (told["count"], told["first_seq"], told["last_seq"]) == (3, 1, 3)
    assert told["last_hash"] == AuditEntry.objects.get(seq=3).digest and told["filter"] == {"actor": "clock"}
    if kind == "csv":
        found = list(csv.DictReader(io.StringIO(content.decode())))
        assert found[2]["on_behalf_of"] == "'=1+1" and json.loads(found[2]["data"])["ü"] == [None]
    else:
        lines = [json.loads(line) for line in content.splitlines()]
        assert [line["digest"] for line in lines] == list(
            AuditEntry.objects.filter(seq__lt=4).order_by("seq").values_list("digest", flat=True)
        )
    noted = AuditEntry.objects.get(seq=told["entry"])
    assert (noted.action, noted.actor_name) == ("export_audit", "auditor")
    assert noted.data == {"format": kind, "filter": {"actor": "clock"}, **BROWSER}


def test_an_altered_export_is_known_by_its_file(signed_in: SignedIn, auditor: User) -> None:
    grow(2)
    pack = body(signed_in(auditor).post("/audit/export", {"format": "jsonl"}))
    whole, forged = io.BytesIO(), io.BytesIO()
    for target, change in ((whole, b"act"), (forged, b"pay")):
        with zipfile.ZipFile(target, "w") as copy:
            for name in pack.namelist():
                copy.writestr(name, pack.read(name).replace(b"act", change) if "audit" in name else pack.read(name))
    assert sealing.fault(whole) == ""
    assert sealing.fault(forged) == "audit.jsonl was altered"


def test_an_export_that_cannot_be_meant_so_is_refused(signed_in: SignedIn, auditor: User) -> None:
    grow(1)
    for sent in ({"since": "31.12.", "actor": "clo"}, {"format": "exe"}):
        answer = signed_in(auditor).post("/audit/export", sent)
        assert answer.status_code == 422
    page = signed_in(auditor).post("/audit/export", {"since": "31.12.", "actor": "clo"})
    assert "31.12.: This is no day" in text_of(page) and 'value="clo"' in page.content.decode()
    assert not AuditEntry.objects.filter(action="export_audit").exists()


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(1)", "\t=1", "\r=1"])
def test_s05_no_cell_is_a_formula(text: str) -> None:
    assert exports.harmless(text) == f"'{text}"
    assert exports.harmless(f"a{text}") == f"a{text}" and exports.harmless(None) == ""


async def test_the_asynchronous_server_gets_an_asynchronous_body() -> None:
    found = [chunk async for chunk in exports.awaited(iter([b"a", b"", b"b"]))]
    assert found == [b"a", b"", b"b"]
