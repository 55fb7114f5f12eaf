from __future__ import annotations

import json
import re

import pytest

from graphs.actions import threads as actions
from graphs.actions.decisions import decide
from graphs.engine.ports import Delta
from graphs.engine.statuses import Outcome, ThreadStatus
from graphs.models import Comment, Thread, ThreadEvent
from graphs.web import talk
from tests.actions.conftest import Asked
from tests.people import People, requested_by
from tests.records import Pen, event, statements
from tests.web.conftest import SignedIn, text_of

pytestmark = pytest.mark.django_db(transaction=True)

TABS = ["conversation", "timeline", "state", "questions", "audit"]


@pytest.fixture
def refund(people: People) -> Thread:
    """A thread of a graph that ships, just started."""
    order = {"order": "A-1", "amount": 180, "currency": "EUR", "customer": "jo@example.org"}
    return actions.start(people.requester, "refund", order)


@pytest.mark.parametrize("tab", TABS)
def test_every_tab_works_without_a_script(tab: str, asked: Asked, people: People, signed_in: SignedIn) -> None:
    decide(people.decider, [asked.given(comment="go")], channel="form")
    page = signed_in(people.requester).get(f"/threads/{asked.pen.thread.uid}?tab={tab}")
    assert page.status_code == 200
    shown = {"conversation": "go", "timeline": "All", "state": "checkpoint 1", "questions": "no. ", "audit": "decide"}
    assert shown[tab] in text_of(page)


def test_the_list_shows_what_one_may_see(asked: Asked, people: People, signed_in: SignedIn) -> None:
    for user, count in ((people.requester, 1), (people.decider, 1), (people.operator, 1), (people.stranger, 0)):
        assert len(signed_in(user).get("/threads").context["rows"]) == count
    client = signed_in(people.requester)
    assert len(client.get("/threads?show=waiting").context["rows"]) == 1
    assert len(client.get("/threads?show=failed").context["rows"]) == 0
    assert len(client.get("/threads?q=graph").context["rows"]) == 1
    assert len(client.get("/threads?q=zzz").context["rows"]) == 0
    for odd in ("show=x", "before=x", "before=%D9%A3", "before=" + "9" * 40, "q=%00", "q=%25"):
        assert client.get(f"/threads?{odd}").status_code == 200


def test_the_picture_is_data_and_a_list_of_words(refund: Thread, people: People, signed_in: SignedIn) -> None:
    page = signed_in(people.requester).get(f"/threads/{refund.uid}")
    found = re.search(r'<script id="picture-data" type="application/json">(.*?)</script>', page.content.decode())
    assert found is not None
    picture = json.loads(found[1])
    assert [node["path"] for node in picture["nodes"]] == ["assess", "review", "pay", "decline"]
    assert {"source": "assess", "target": "pay"}.items() <= picture["edges"][0].items()
    states = {node["path"]: node["state"] for node in picture["nodes"]}
    assert states["review"] == "idle" and states["assess"] in ("next", "idle")
    assert "Ask the payments team" in text_of(page) and "not reached" in text_of(page)


def test_a_graph_that_is_gone_has_no_picture_but_a_page(asked: Asked, people: People, signed_in: SignedIn) -> None:
    page = signed_in(people.requester).get(f"/threads/{asked.pen.thread.uid}")
    assert "not registered any more" in text_of(page)


def test_cancel_and_retry_are_the_requesters(asked: Asked, people: People, signed_in: SignedIn) -> None:
    uid = asked.pen.thread.uid
    page = text_of(signed_in(people.decider).get(f"/threads/{uid}"))
    assert "Only the requester and operators may do this." in page
    assert signed_in(people.decider).post(f"/threads/{uid}/cancel").status_code in (403, 404)
    assert signed_in(people.requester).post(f"/threads/{uid}/retry").status_code == 409
    assert signed_in(people.requester).get(f"/threads/{uid}/cancel").status_code == 405
    assert Thread.objects.get().status == ThreadStatus.INTERRUPTED
    assert signed_in(people.requester).post(f"/threads/{uid}/cancel").status_code == 303
    assert Thread.objects.get().status == ThreadStatus.CANCELLED
    assert "The thread is cancelled already." in text_of(signed_in(people.requester).get(f"/threads/{uid}"))


def test_a_comment_changes_nothing_of_the_thread(asked: Asked, people: People, signed_in: SignedIn) -> None:
    uid = asked.pen.thread.uid
    answer = signed_in(people.requester).post(f"/threads/{uid}/comments", {"text": "Any news?"})
    assert answer.status_code == 303 and Comment.objects.get().text == "Any news?"
    assert "Any news?" in text_of(signed_in(people.decider).get(f"/threads/{uid}"))
    assert Thread.objects.get().status == ThreadStatus.INTERRUPTED


def test_the_timeline_filters_by_kind_and_pages(asked: Asked, people: People, signed_in: SignedIn) -> None:
    thread = asked.pen.thread
    ThreadEvent.objects.bulk_create(
        ThreadEvent(thread=thread, seq=seq, type=event(seq)["type"], data={"step": seq}) for seq in range(1000, 1300)
    )
    client = signed_in(people.requester)
    page = client.get(f"/threads/{thread.uid}?tab=timeline&kind=graph.superstep_end")
    assert len(page.context["events"]) == 200 and page.context["before"] == 1100
    rest = client.get(f"/threads/{thread.uid}?tab=timeline&kind=graph.superstep_end&before=1100")
    assert [one.seq for one, _, _ in rest.context["events"]][:2] == [1099, 1098]
    assert client.get(f"/threads/{thread.uid}?tab=timeline&kind=nonsense&before=x").status_code == 200


def test_the_page_of_a_long_thread_asks_as_little(asked: Asked, people: People, signed_in: SignedIn) -> None:
    client = signed_in(people.requester)
    counts = []
    for extra in (0, 60):
        for index in range(extra):
            Comment.objects.create(thread=asked.pen.thread, author_name="x", text=f"{index}")
        with statements() as sent:
            client.get(f"/threads/{asked.pen.thread.uid}")
        counts.append(len(sent))
    assert counts[0] == counts[1] <= 20


def test_u23_everything_is_there_after_a_reload(asked: Asked, people: People, signed_in: SignedIn) -> None:
    for index in range(10):
        Comment.objects.create(thread=asked.pen.thread, author_name="mia", text=f"Message {index}")
    page = text_of(signed_in(people.decider).get(f"/review/{asked.row().pk}"))
    assert all(f"Message {index}" in page for index in range(10)) and "May I?" in page


def test_failed_threads_say_where(asked: Asked, people: People, signed_in: SignedIn) -> None:
    thread = asked.pen.thread
    error = {"type": "ConnectError", "message": "no answer"}
    Thread.objects.filter(pk=thread.pk).update(status=ThreadStatus.FAILED, error=error)
    thread.tasks.update(status="failed")
    page = text_of(signed_in(people.requester).get(f"/threads/{thread.uid}"))
    assert "Failed at a" in page and "ConnectError: no answer" in page
    decide(people.decider, [asked.given(Outcome.APPROVED)], channel="form")
    assert signed_in(people.requester).post(f"/threads/{thread.uid}/retry").status_code == 303
    assert Thread.objects.get().status == ThreadStatus.READY


def test_the_state_is_read_from_a_whole_checkpoint_and_from_large_values_too(
    people: People, signed_in: SignedIn
) -> None:
    pen = Pen(cells={"channel:|small": 1, "channel:|large": "x" * 70_000})
    requested_by(pen.thread, people.requester)
    page = signed_in(people.requester).get(f"/threads/{pen.thread.uid}?tab=state")
    assert [name for name, _ in page.context["state"].channels] == ["large", "small"]
    pen.claim()
    pen.write(1, delta=Delta(set={"channel:|small": 2}, append={"channel:|tail": ["y" * 70_000]}))
    page = signed_in(people.requester).get(f"/threads/{pen.thread.uid}?tab=state")
    channels = dict(page.context["state"].channels)
    assert list(channels) == ["large", "small", "tail"] and channels["small"] == "2"
    assert page.context["state"].rest == []


def test_the_audit_names_the_verdict_and_leads_to_the_question(
    asked: Asked, people: People, signed_in: SignedIn
) -> None:
    decide(people.decider, [asked.given(Outcome.REJECTED)], channel="form")
    page = signed_in(people.requester).get(f"/threads/{asked.pen.thread.uid}?tab=audit")
    assert "decide rejected" in text_of(page) and f'href="/review/{asked.row().pk}"' in page.content.decode()


def test_a_result_is_read_before_its_json(refund: Thread, people: People, signed_in: SignedIn) -> None:
    Thread.objects.update(
        status=ThreadStatus.COMPLETED, output={"order": "A-1", "amount": 120.0}, title="Refund an order, A-1"
    )
    page = signed_in(people.requester).get(f"/threads/{refund.uid}")
    assert [(fact.label, fact.text) for fact in page.context["result"].facts] == [("Order", "A-1"), ("Amount", "120")]
    assert "As JSON" in text_of(page) and "Order number A-1" in text_of(page)
    # The title begins with the graph's, which is not said again below it.
    assert page.context["beside"] == ""


@pytest.mark.parametrize(("known", "fenced"), [(frozenset({"a"}), True), (frozenset(), False), (None, True)])
def test_only_an_agents_words_are_fenced(
    known: frozenset[str] | None,
    fenced: bool,
    asked: Asked,
    people: People,
    signed_in: SignedIn,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked.pen.thread.tasks.update(status="finished", output="All is well.")
    monkeypatch.setattr(talk, "agents", lambda graph_id: known)
    page = text_of(signed_in(people.requester).get(f"/threads/{asked.pen.thread.uid}"))
    assert "All is well." in page and ("unchecked" in page) == fenced
