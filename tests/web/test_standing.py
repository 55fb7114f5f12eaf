"""What the pages of a thread say while it stands still: suspended, cancelled, failed, or stranded by a deploy."""

from __future__ import annotations

import re
from typing import Any

import pytest

from graphs.actions import definitions, threads
from graphs.engine.asking import ask
from graphs.engine.graph import Graph
from graphs.engine.statuses import TaskStatus
from graphs.management import checkup
from graphs.models import Interrupt, Task, Thread
from tests.actions import graphs
from tests.people import People
from tests.web.conftest import SignedIn, text_of

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("redis")]
RENAMED = ("fetch", "review", "pay")


@pytest.fixture
def paused(people: People, monkeypatch: pytest.MonkeyPatch) -> Thread:
    graphs.register(monkeypatch, graphs.order())
    threads.start(people.requester, "order", {"amount": 180})
    graphs.run()
    return Thread.objects.get()


# --- a definition that changed while people are asked


def test_a_stranded_thread_says_so_before_anyone_answers(
    paused: Thread, people: People, signed_in: SignedIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = text_of(signed_in(people.operator).get(f"/threads/{paused.uid}"))
    assert "does not fit" not in page
    graphs.register(monkeypatch, graphs.order(names=RENAMED))
    page = text_of(signed_in(people.operator).get(f"/threads/{paused.uid}"))
    assert "Waiting for a person" in page and "Its graph changed: node read does not fit" in page
    assert "Register version read of order beside the new one" in page
    assert "manage.py migrate_threads order --map read=<its new path>" in page
    review = text_of(signed_in(people.decider).get(f"/review/{Interrupt.objects.get().pk}"))
    assert "This thread waits for its version" in review and "Your answer is kept, and used when" in review
    monkeypatch.setattr(definitions.registry, "entries", lambda: ())
    page = text_of(signed_in(people.operator).get(f"/threads/{paused.uid}"))
    assert "Its graph is not installed, and it cannot go on as it is" in page


def test_doctor_counts_the_stranded_threads(paused: Thread, monkeypatch: pytest.MonkeyPatch) -> None:
    assert [one.good for one in checkup.threads()] == [True]
    graphs.register(monkeypatch, graphs.order(names=RENAMED))
    found = list(checkup.threads())
    assert [one.good for one in found] == [False] and "check_graphs" in found[0].mend
    assert "1 waiting thread of order cannot go on: node 'read' is gone" in found[0].text
    assert checkup.threads in checkup.NEED_DATABASE


# --- suspended


def test_a_reviewer_reads_that_the_thread_is_suspended_before_deciding(
    paused: Thread, people: People, signed_in: SignedIn
) -> None:
    address = f"/review/{Interrupt.objects.get().pk}"
    assert "suspended" not in text_of(signed_in(people.decider).get(address))
    threads.suspend(people.operator, paused, "wait for the audit")
    answer = signed_in(people.decider).get(address, headers={"X-Parts": "1"})
    page = text_of(answer)
    assert "This thread is suspended" in page and "wait for the audit by operator" in page
    assert "used when somebody resumes the thread" in page and "Approve" in page
    # A part of its own, so that it comes without a reload and leaves what is typed into the card alone.
    assert 'data-part="hold"' in answer.content.decode()


def test_nothing_turns_or_runs_in_a_suspended_thread(paused: Thread, people: People, signed_in: SignedIn) -> None:
    threads.suspend(people.operator, paused)
    graphs.answer(people.decider, paused)
    Task.objects.filter(path="pay").update(status=TaskStatus.RUNNING)
    for address in (f"/threads/{paused.uid}", f"/review/{Interrupt.objects.get().pk}"):
        assert "is-live" not in signed_in(people.operator).get(address).content.decode()
    picture = signed_in(people.operator).get(f"/threads/{paused.uid}").context["picture"]
    states = {node["path"]: node["state"] for node in picture["nodes"]}
    assert states == {"read": "finished", "agree": "next", "pay": "idle"}


# --- cancelled


def test_after_cancel_nothing_waits_and_who_did_it_is_said_once(
    paused: Thread, people: People, signed_in: SignedIn
) -> None:
    threads.cancel(people.operator, paused)
    answer = signed_in(people.operator).get(f"/threads/{paused.uid}")
    assert "Cancelled by operator" in text_of(answer) and "Cancelled cancelled" not in text_of(answer)
    states = {node["path"]: node["state"] for node in answer.context["picture"]["nodes"]}
    assert states["agree"] == "cancelled"


# --- failed


def mend(value: Any) -> Any:
    raise ValueError("no such order")


@pytest.fixture
def failed(people: People, monkeypatch: pytest.MonkeyPatch) -> Thread:
    graph = Graph.new("order", queue="finance").node("agree", lambda: ask("Go on?").outcome).node("mend", mend)
    graphs.register(monkeypatch, graph.edge("agree", "mend").entry("agree").terminal("mend").compile())
    begun = threads.start(people.requester, "order", {"amount": 180})
    graphs.run()
    graphs.answer(people.decider, begun)
    graphs.run()
    return Thread.objects.get()


def test_a_failed_thread_names_the_line_of_its_own_code_to_those_who_may_mend_it(
    failed: Thread, people: People, signed_in: SignedIn
) -> None:
    line = mend.__code__.co_firstlineno + 1
    for user in (people.requester, people.operator):
        page = text_of(signed_in(user).get(f"/threads/{failed.uid}"))
        assert "Failed at mend" in page and "ValueError: no such order" in page
        assert (f"In {__file__} , line {line}, in mend" in page) is (user == people.operator)
        assert "Code that is mended on disk is read when Sayso starts: restart it before you retry." in page
    page = text_of(signed_in(people.viewer).get(f"/threads/{failed.uid}"))
    assert "no such order" in page and __file__ not in page


# --- what stands beside the parts


def test_the_counts_come_with_the_parts_of_a_page(paused: Thread, people: People, signed_in: SignedIn) -> None:
    client = signed_in(people.decider)
    for address in (f"/threads/{paused.uid}", "/threads", "/launch", f"/review/{Interrupt.objects.get().pk}"):
        parts = client.get(address, headers={"X-Parts": "1"}).content.decode()
        assert re.search(r'<span class="count" data-part="badge" data-open-count>1</span>', parts)
    assert '<span class="count" data-part="asked">1</span>' in client.get(f"/threads/{paused.uid}").content.decode()
    for headers in ({"X-Parts": "1", "HX-Target": "pane"}, {"HX-Request": "true"}):
        pane = client.get(f"/review/{Interrupt.objects.get().pk}", headers=headers).content.decode()
        assert 'data-part="badge"' not in pane
