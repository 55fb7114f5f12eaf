"""Operating a thread on its page: each act says what it will do, is a POST, and tells why where it cannot be done."""

from __future__ import annotations

import re

import pytest

from graphs.actions import threads
from graphs.actions.errors import NotPossible
from graphs.engine.graph import Graph
from graphs.engine.state import StateView
from graphs.engine.statuses import ThreadStatus
from graphs.models import AuditEntry, Interrupt, Thread
from tests.actions import graphs
from tests.actions.conftest import Asked
from tests.people import People
from tests.web.conftest import SignedIn, text_of

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("redis")]
STEERING = ("suspend", "resume", "retry", "cancel")


# --- suspend, resume, retry, cancel


@pytest.mark.parametrize("act", STEERING)
def test_each_act_is_the_requesters_and_the_operators(
    act: str, asked: Asked, people: People, signed_in: SignedIn
) -> None:
    before = {"suspend": "interrupted", "resume": "suspended", "retry": "failed", "cancel": "interrupted"}[act]
    after = {"suspend": "suspended", "resume": "ready", "retry": "ready", "cancel": "cancelled"}[act]
    for user, status in ((people.stranger, 404), (people.other_team, 404), (people.decider, 403), (people.viewer, 403)):
        Thread.objects.update(status=before)
        assert signed_in(user).post(f"/threads/{asked.pen.thread.uid}/{act}").status_code == status
        assert Thread.objects.get().status == before
    assert not AuditEntry.objects.filter(action=act).exists()
    for user in (people.requester, people.operator):
        Thread.objects.update(status=before, suspend_at=None, cancel_at=None)
        assert signed_in(user).get(f"/threads/{asked.pen.thread.uid}/{act}").status_code == 405
        assert signed_in(user).post(f"/threads/{asked.pen.thread.uid}/{act}").status_code == 303
        assert Thread.objects.get().status == after
    assert list(AuditEntry.objects.filter(action=act).values_list("channel", flat=True)) == ["form", "form"]


def test_every_act_says_what_it_will_do_before_it_does_it(paused: Thread, people: People, signed_in: SignedIn) -> None:
    page = text_of(signed_in(people.requester).get(f"/threads/{paused.uid}"))
    assert "No further node starts until somebody resumes it." in page and "Suspend the thread" in page
    assert "Ends the thread for good. Its 1 open question is withdrawn." in page and "Cancel the thread" in page
    assert "Retry: Nothing has failed." in page and "Fork: Only operators may do this" in page
    Thread.objects.update(status=ThreadStatus.RUNNING)
    page = text_of(signed_in(people.requester).get(f"/threads/{paused.uid}"))
    assert "The node that runs now still finishes." in page and "may still finish what it does outside" in page


def test_who_suspended_it_when_and_why_is_on_the_page(paused: Thread, people: People, signed_in: SignedIn) -> None:
    client = signed_in(people.operator)
    client.post(f"/threads/{paused.uid}/suspend", {"reason": "wait for the audit"})
    page = text_of(client.get(f"/threads/{paused.uid}"))
    assert re.search(r"Suspended by operator \S+( \S+)? ?(ago)? wait for the audit", page)
    assert "Resume the thread" in page and "Suspend the thread" not in page
    assert "Pay it?" in page and "Answers that come meanwhile are recorded" in page
    graphs.answer(people.decider, paused)
    review = text_of(signed_in(people.decider).get(f"/review/{Interrupt.objects.get().pk}"))
    assert "Suspended by operator" in review and "used when somebody resumes it" in review
    theirs = text_of(signed_in(people.requester).get(f"/threads/{paused.uid}"))
    assert "Resume: It was suspended by somebody else; operators may do this." in theirs
    Thread.objects.update(status=ThreadStatus.RUNNING)
    page = text_of(client.get(f"/threads/{paused.uid}"))
    assert "Being suspended. The node that runs now finishes, and no other starts." in page and "Resume" in page


def test_what_was_refused_is_said_beside_the_act_and_the_reason_is_kept(
    paused: Thread, people: People, signed_in: SignedIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads.suspend(people.operator, paused)
    client = signed_in(people.requester)
    answer = client.post(f"/threads/{paused.uid}/suspend", {"reason": "mind <the> gap"})
    page = text_of(answer)
    assert answer.status_code == 409 and "Suspend: this was not done This thread is suspended already" in page
    assert "What you had typed mind <the> gap" in page
    Thread.objects.update(status=ThreadStatus.FAILED, suspend_at=None)
    monkeypatch.setattr(threads, "cancel", refuses)
    answer = client.post(f"/threads/{paused.uid}/cancel", {"reason": "mind <the> gap"})
    page = text_of(answer)
    assert answer.status_code == 409 and "Cancel: this was not done It has just gone on." in page
    assert "What you had typed" not in page
    assert 'rows="2" maxlength="250" data-grow>mind &lt;the&gt; gap</textarea>' in answer.content.decode()


def refuses(*_: object) -> None:
    raise NotPossible("It has just gone on.")


def test_those_who_may_only_read_are_told_so_once(paused: Thread, people: People, signed_in: SignedIn) -> None:
    answer = signed_in(people.decider).get(f"/threads/{paused.uid}")
    assert text_of(answer).count("Only the requester and operators may do this.") == 1
    assert "Cancel the thread" not in text_of(answer)
    assert answer.content.decode().count(" disabled") == 4


# --- where a thread stands, and the ways on


def test_a_failed_thread_names_its_node_error_and_retry(paused: Thread, people: People, signed_in: SignedIn) -> None:
    error = {"type": "ConnectError", "message": "no answer", "path": "agree"}
    Thread.objects.update(status=ThreadStatus.FAILED, error=error)
    paused.tasks.filter(path="agree").update(status="failed")
    page = text_of(signed_in(people.requester).get(f"/threads/{paused.uid}"))
    assert "Failed at agree ConnectError: no answer" in page and "then retry: agree runs again" in page
    assert "Runs what failed once more." in page


def test_z20_a_thread_that_waits_for_its_version_names_the_node_and_the_ways_out(
    paused: Thread, people: People, signed_in: SignedIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    graphs.register(monkeypatch, graphs.order(names=("fetch", "review", "pay")))
    graphs.answer(people.decider, paused)
    graphs.run()
    page = text_of(signed_in(people.requester).get(f"/threads/{paused.uid}"))
    assert "Waiting for a version: node read does not fit" in page
    assert "Node 'read' is gone; this thread has run it or waits in it." in page
    assert "Register version read of order beside the new one" in page
    assert "manage.py migrate_threads order --map read=<its new path>" in page


def test_a_quarantined_thread_says_why_and_what_to_do(paused: Thread, people: People, signed_in: SignedIn) -> None:
    error = {"type": "Quarantined", "message": "It was taken up 5 times in a row."}
    Thread.objects.update(status=ThreadStatus.QUARANTINED, error=error)
    page = text_of(signed_in(people.operator).get(f"/threads/{paused.uid}"))
    assert "Set aside It was taken up 5 times in a row." in page and "Lets workers take it up again" in page


# --- starting another one like it


def test_a_thread_is_started_again_with_its_input_by_the_same_form(
    people: People, signed_in: SignedIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {"order": "A-1", "amount": 12.5, "reason": "late"}
    properties = {
        "order": {"type": "string"},
        "amount": {"type": "number"},
        "reason": {"type": "string", "default": "?"},
    }
    note = {"type": "object", "properties": {"by": {"type": "string"}}}
    schema = {"type": "object", "properties": {**properties, "note": note}, "required": ["order"]}
    graph = Graph.new("echo", input_schema=schema).node("say", lambda inp: inp).entry("say").terminal("say").compile()
    graphs.register(monkeypatch, graph)
    first = threads.start(people.requester, "echo", given)
    client = signed_in(people.operator)
    link = f"/launch/echo?like={first.uid}"
    assert f'href="{link}"' in client.get(f"/threads/{first.uid}").content.decode()
    page = client.get(link)
    assert "it asks and does everything anew" in text_of(page) and Thread.objects.count() == 1
    shown = {field.name: field.text for field in page.context["form"].walk() if field.widget != "group"}
    assert shown == {"f/order": "A-1", "f/amount": "12.5", "f/reason": "late", "f/note/by": ""}
    answer = client.post("/launch/echo", {"key": page.context["key"], **shown})
    again = Thread.objects.exclude(pk=first.pk).get()
    assert answer.headers["Location"] == f"/threads/{again.uid}" and again.input == given
    assert (again.conversation.requester, again.parent) == (people.operator, None)


def test_the_input_of_a_thread_that_one_may_not_see_is_shown_to_nobody(
    paused: Thread, people: People, signed_in: SignedIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    for user, status in (
        (people.requester, 200),
        (people.decider, 200),
        (people.stranger, 404),
        (people.other_team, 404),
    ):
        assert signed_in(user).get(f"/launch/order?like={paused.uid}").status_code == status
    client = signed_in(people.requester)
    for like in ("", "x", "00000000-0000-4000-8000-000000000000", "%00"):
        assert client.get(f"/launch/order?like={like}").status_code == 404
    graphs.register(monkeypatch)
    assert "Start again: Its graph is not registered any more." in text_of(client.get(f"/threads/{paused.uid}"))


def test_the_picture_of_a_thread_that_was_set_aside_shows_what_runs_next(
    paused: Thread, people: People, signed_in: SignedIn
) -> None:
    graphs.answer(people.decider, paused)
    Thread.objects.update(status=ThreadStatus.QUARANTINED)
    page = text_of(signed_in(people.operator).get(f"/threads/{paused.uid}"))
    assert re.search(r"\bagree next\b", page)


# --- the state at a checkpoint


def test_the_state_is_read_at_each_checkpoint_with_what_it_changed(
    people: People, signed_in: SignedIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    def first(state: StateView) -> None:
        state.update({"log": ["one"], "price": 1, "who": {"name": "Jo", "age": 3}, "letter": "x" * 900})

    def second(state: StateView) -> None:
        state.update({"log": ["two", "three"], "price": 2.5, "who": {"name": "Jo", "town": "<b>"}})

    graph = Graph.new("two", state={"log": "append"}).node("first", first).node("second", second)
    graphs.register(monkeypatch, graph.edge("first", "second").entry("first").terminal("second").compile())
    threads.start(people.requester, "two", None)
    graphs.run()
    address = f"/threads/{Thread.objects.get().uid}?tab=state"
    client = signed_in(people.requester)
    assert [(one.place, one.word, one.before, one.after) for one in client.get(address).context["state"].changes] == [
        ("log / 2", "added", "", '"two"'),
        ("log / 3", "added", "", '"three"'),
        ("price", "changed", "1", "2.5"),
        ("who / age", "removed", "3", ""),
        ("who / town", "added", "", '"<b>"'),
    ]
    earlier = client.get(f"{address}&step=1")
    page = text_of(earlier)
    assert "As checkpoint 1 left it." in page and "Checkpoint 0" in page and "Checkpoint 2" in page
    assert "… (902 characters)" in page and "two" not in [one.after for one in earlier.context["state"].changes]
    began = text_of(client.get(f"{address}&step=0"))
    assert "As checkpoint 0 left it." in began and "What this checkpoint changed" not in began
    for odd in ("99", "x", "-1", "%D9%A3", "9" * 30):
        assert "the newest" in text_of(client.get(f"{address}&step={odd}"))
    assert "State at checkpoint 1" in text_of(client.get(address.replace("state", "checkpoints")))
    assert "superstep committed checkpoint 2" in text_of(client.get(address.replace("state", "timeline")))
