"""What the pages of a thread say while it stands still: suspended, cancelled, failed, or stranded by a deploy."""

from __future__ import annotations

import pytest

from graphs.actions import definitions, threads
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
    assert "This thread is suspended By operator" in page and "wait for the audit" in page
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
