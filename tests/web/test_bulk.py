"""Deciding several questions in one go: each stands alone, and none that came later is among them."""

from __future__ import annotations

import re
from typing import Any

import pytest

from graphs.actions.decisions import decide
from graphs.models import Decision, Interrupt
from tests.actions.conftest import Asked
from tests.people import People
from tests.records import question, statements
from tests.web.conftest import SignedIn, text_of

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def several(people: People) -> Asked:
    return Asked(
        people,
        *(
            question(key=f"k{n}", question=f"Refund {n}?", style="approval", value={"amount": 10 + n, "to": "Ana"})
            for n in range(4)
        ),
    )


def ids(asked: Asked, *numbers: int) -> list[str]:
    return [str(asked.row(number).pk) for number in numbers]


def sent(page: Any, act: str, **fields: Any) -> dict[str, Any]:
    """The sheet's form as a browser would send it: every hidden field and what is ticked."""
    html = page.content.decode()
    hidden = dict(re.findall(r'type="hidden" name="(seen\.[^"]+|key)" value="([^"]*)"', html))
    kept = re.findall(r'name="keep" value="([^"]+)" checked', html)
    every = re.findall(r'type="hidden" name="id" value="([^"]+)"', html)
    return {**hidden, "id": every, "keep": kept, "act": act, "comment": "", **fields}


def test_the_sheet_lists_every_row_with_what_differs(several: Asked, people: People, signed_in: SignedIn) -> None:
    page = signed_in(people.decider).get("/inbox/bulk", {"id": ids(several, 0, 1)})
    sheet = page.context["sheet"]
    assert sheet.columns == ["Amount"] and [cells for _, cells in sheet.table] == [["10"], ["11"]]
    assert sheet.shared == [("To", "Ana")] and not sheet.why_not
    assert "Approve what is kept" in text_of(page) and "Refund 1?" in text_of(page)


def test_each_stands_alone_and_tells_what_came_of_it(several: Asked, people: People, signed_in: SignedIn) -> None:
    client = signed_in(people.decider)
    form = sent(client.get("/inbox/bulk", {"id": ids(several, 0, 1, 2)}), "approve")
    decide(people.grouped, [several.given(number=1)], channel="form")
    Interrupt.objects.filter(pk=several.row(2).pk).update(version=2)
    page = client.post("/inbox/bulk", form)
    told = [line.outcome for line in page.context["sheet"].lines]
    assert told == ["approved", "already approved by grouped", "changed meanwhile, nothing was done"]
    assert [several.row(number).status for number in range(3)] == ["closed", "closed", "open"]
    assert Decision.objects.get(interrupt=several.row(0)).channel == "bulk"
    # Sent twice it is recorded once.
    assert client.post("/inbox/bulk", form).context["sheet"].lines[0].outcome == "approved"
    assert Decision.objects.filter(interrupt=several.row(0)).count() == 1


def test_a07_what_came_later_is_not_included(several: Asked, people: People, signed_in: SignedIn) -> None:
    client = signed_in(people.decider)
    form = sent(client.get("/inbox/bulk", {"id": ids(several, 0, 1)}), "approve")
    client.post("/inbox/bulk", form)
    assert [several.row(number).status for number in range(4)] == ["closed", "closed", "open", "open"]


def test_rows_can_be_dropped_and_rejecting_needs_a_reason(several: Asked, people: People, signed_in: SignedIn) -> None:
    client = signed_in(people.decider)
    form = sent(client.get("/inbox/bulk", {"id": ids(several, 0, 1)}), "reject", keep=ids(several, 0))
    again = client.post("/inbox/bulk", form)
    assert again.status_code == 422 and "Say why you reject them" in text_of(again)
    page = client.post("/inbox/bulk", form | {"comment": "not today"})
    assert "dropped" in text_of(page) and several.row(1).status == "open"
    assert Decision.objects.get().comment == "not today"
    nothing = client.post("/inbox/bulk", form | {"keep": []})
    assert nothing.status_code == 422


def test_only_what_is_alike_and_not_risky_is_approved_together(
    several: Asked, people: People, signed_in: SignedIn
) -> None:
    client = signed_in(people.decider)
    form = sent(client.get("/inbox/bulk", {"id": ids(several, 0, 1)}), "approve")
    Interrupt.objects.filter(pk=several.row(1).pk).update(risk=2)
    page = client.get("/inbox/bulk", {"id": ids(several, 0, 1)})
    assert "high or critical risk" in page.context["sheet"].why_not and 'value="approve"' not in page.content.decode()
    assert client.post("/inbox/bulk", form).status_code == 422 and several.row(0).status == "open"
    Interrupt.objects.filter(pk=several.row(1).pk).update(risk=1, name="other")
    assert "different tools" in client.get("/inbox/bulk", {"id": ids(several, 0, 1)}).context["sheet"].why_not


def test_s02_a_sheet_shows_and_decides_nothing_of_others(several: Asked, people: People, signed_in: SignedIn) -> None:
    form = sent(signed_in(people.decider).get("/inbox/bulk", {"id": ids(several, 0)}), "approve")
    assert not signed_in(people.stranger).get("/inbox/bulk", {"id": ids(several, 0)}).context["sheet"].lines
    assert signed_in(people.stranger).post("/inbox/bulk", form).status_code == 422
    viewer = signed_in(people.viewer)
    assert "for the members of Finance" in text_of(viewer.get("/inbox/bulk", {"id": ids(several, 0)}))
    assert viewer.post("/inbox/bulk", form | {"act": "approve"}).status_code == 422
    told = viewer.post("/inbox/bulk", form | {"act": "reject", "comment": "no"}).context["sheet"].lines[0].outcome
    assert told == "not allowed" and several.row(0).status == "open"


def test_odd_ids_are_dropped_and_a_hundred_is_the_most(several: Asked, people: People, signed_in: SignedIn) -> None:
    client = signed_in(people.decider)
    page = client.get("/inbox/bulk", {"id": ["nonsense", *ids(several, 0)]})
    assert len(page.context["sheet"].lines) == 1
    few, all_of_them = ids(several, 0), ids(several, 0, 1, 2, 3)
    with statements() as one:
        client.get("/inbox/bulk", {"id": few})
    with statements() as four:
        client.get("/inbox/bulk", {"id": all_of_them})
    assert len(one) == len(four)
