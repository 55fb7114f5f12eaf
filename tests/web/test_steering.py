"""Operating a thread on its page: each act says what it will do, is a POST, and tells why where it cannot be done."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from graphs.actions import forks, threads
from graphs.actions.errors import NotPossible
from graphs.engine.context import Context
from graphs.engine.graph import CompiledGraph, Graph
from graphs.engine.state import StateView
from graphs.engine.statuses import ThreadStatus
from graphs.models import AuditEntry, Interrupt, Thread
from tests.actions import graphs
from tests.actions.conftest import Asked
from tests.people import People
from tests.web.conftest import SignedIn, form_of, text_of

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("redis")]
STEERING = ("suspend", "resume", "retry", "cancel")


@pytest.fixture
def paused(people: People, monkeypatch: pytest.MonkeyPatch) -> Thread:
    graphs.register(monkeypatch, graphs.order())
    threads.start(people.requester, "order", {"amount": 180})
    graphs.run()
    return Thread.objects.get()


@pytest.fixture
def done(people: People, paused: Thread) -> Thread:
    graphs.answer(people.decider, paused)
    graphs.run()
    return Thread.objects.get()


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


# --- checkpoints and forks


def test_checkpoints_are_listed_with_what_each_of_them_was(done: Thread, people: People, signed_in: SignedIn) -> None:
    answer = signed_in(people.operator).get(f"/threads/{done.uid}?tab=checkpoints")
    rows = answer.context["checkpoints"]
    assert [(row.step, row.status) for row in rows] == [
        (4, "completed"), (3, "running"), (2, "interrupted"), (1, "running"), (0, "ready")
    ]  # fmt: skip
    assert [row.nodes for row in rows] == [["pay"], ["agree"], [], ["read"], []]
    assert rows[2].asked == ["agree"] and rows[4].note == "The thread began."
    page = answer.content.decode()
    assert f"/threads/{done.uid}/fork?step=2" in page and f"/threads/{done.uid}/fork?step=4" not in page
    viewer = signed_in(people.viewer).get(f"/threads/{done.uid}?tab=checkpoints").content.decode()
    assert "/fork?step" not in viewer
    for odd in ("before=x", "before=" + "9" * 30, "before=1"):
        assert signed_in(people.operator).get(f"/threads/{done.uid}?tab=checkpoints&{odd}").status_code == 200


def test_the_fork_page_says_what_will_happen(done: Thread, people: People, signed_in: SignedIn) -> None:
    answer = signed_in(people.operator).get(f"/threads/{done.uid}/fork?step=2")
    page = text_of(answer)
    assert "runs agree next" in page and "This thread stays as it is." in page
    assert "from before it" not in page
    assert "2 effects took place here after this checkpoint." in page
    assert "hold of agree, transfer of pay" in page
    assert json.loads(answer.context["text"]) == {"price": 180}
    later = text_of(signed_in(people.operator).get(f"/threads/{done.uid}/fork?step=3"))
    assert "It goes on with the one decision from before it." in later
    assert "This thread goes on by itself" not in page
    Thread.objects.update(status=ThreadStatus.RUNNING)
    assert "goes on by itself" in text_of(signed_in(people.operator).get(f"/threads/{done.uid}/fork?step=2"))
    end = text_of(signed_in(people.operator).get(f"/threads/{done.uid}/fork"))
    assert "Nothing can begin here" in end and "Fork the thread" not in end


def test_e25_a_thread_is_forked_with_edited_state_from_its_page(
    done: Thread, people: People, signed_in: SignedIn
) -> None:
    client = signed_in(people.operator)
    form = {"step": "1", "key": "b" * 32, "state": '{"price": 5, "extra": [1]}'}
    answer = client.post(f"/threads/{done.uid}/fork", form)
    child = Thread.objects.get(parent=done)
    assert (answer.status_code, answer["Location"]) == (303, f"/threads/{child.uid}")
    assert client.post(f"/threads/{done.uid}/fork", form)["Location"] == f"/threads/{child.uid}"
    state = dict(client.get(f"/threads/{child.uid}?tab=state").context["state"].channels)
    assert state == {"price": "5", "extra": "[\n  1\n]"}
    page = text_of(client.get(f"/threads/{child.uid}"))
    assert "Forked from order, 180 at checkpoint 1." in page
    parent = client.get(f"/threads/{done.uid}?tab=checkpoints")
    assert "Forked at checkpoint 1" in text_of(parent)
    assert [len(row.forks) for row in parent.context["checkpoints"]] == [0, 0, 0, 1, 0]
    audited = text_of(client.get(f"/threads/{done.uid}?tab=audit"))
    assert "operator fork thread" in audited


@pytest.mark.parametrize(
    ("state", "said"),
    [
        ("{", "This is not JSON"),
        ("[1]", "a JSON object"),
        ('{"a|b": 1}', "a|b: 'a|b' names no channel"),
        ('{"x": NaN}', "NaN"),
        ('{"x": "\x00"}', "Invalid control character at line 1"),
        (f'{{"x": {"9" * 5000}}}', "A number in this JSON is too large."),
        ('{"\\ud800": 1}', "lone surrogate"),
        ('{"\\u0000": 1}', "NUL"),
        ('{"log": "a text"}', "the channel 'log' is appended to, so it takes a list"),
        ('{"sums": [1]}', "the channel 'sums' is merged into, so it takes an object"),
        ('{"count": true}', "the channel 'count' is added to, so it takes a number"),
    ],
)
def test_a_state_that_cannot_be_read_is_kept_and_explained(
    state: str, said: str, done: Thread, people: People, signed_in: SignedIn
) -> None:
    answer = signed_in(people.operator).post(f"/threads/{done.uid}/fork", {"step": "1", "state": state})
    assert answer.status_code == 422 and said in text_of(answer)
    assert answer.context["text"] == state and not Thread.objects.filter(parent=done).exists()


def test_a_channel_that_is_too_large_for_a_form_is_left_out_of_it_and_keeps_its_value(
    people: People, signed_in: SignedIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(value: Any, state: StateView) -> None:
        state.update({"letter": "x" * 3_000_000, "price": 3})

    graph = (
        Graph.new("large", state={"letter": "last"}).node("read", read).node("end", lambda state: len(state["letter"]))
    )
    graphs.register(monkeypatch, graph.edge("read", "end").entry("read").terminal("end").compile())
    threads.start(people.requester, "large", None)
    graphs.run()
    thread = Thread.objects.get()
    client = signed_in(people.operator)
    page = client.get(f"/threads/{thread.uid}/fork?step=1")
    assert page.context["text"] == '{\n  "price": 3\n}' and len(page.content) < 100_000
    assert "A channel that you leave out keeps its value, as letter does, too large to show here." in text_of(page)
    assert client.post(f"/threads/{thread.uid}/fork", {"step": "1", "state": page.context["text"]}).status_code == 303
    graphs.run()
    assert Thread.objects.get(parent=thread).output == 3_000_000


def test_effects_of_one_name_are_counted_and_not_listed_again_and_again(
    people: People, signed_in: SignedIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    def pay(ctx: Context) -> list[Any]:
        return [ctx.once("transfer", lambda: 1) for _ in range(3)]

    graphs.register(monkeypatch, Graph.new("often").node("pay", pay).entry("pay").terminal("pay").compile())
    threads.start(people.requester, "often", None)
    graphs.run()
    page = text_of(signed_in(people.operator).get(f"/threads/{Thread.objects.get().uid}/fork?step=0"))
    assert "3 effects took place here" in page and "transfer of pay (3 times)." in page


def test_only_the_changed_channels_are_sent(done: Thread, people: People, signed_in: SignedIn) -> None:
    client = signed_in(people.operator)
    for text in ("", "{}", '{"price": 180}', '{"price": 180.0}'):
        client.post(f"/threads/{done.uid}/fork", {"step": "1", "state": text})
    digests = {entry.data["state"] for entry in AuditEntry.objects.filter(action="fork")}
    assert Thread.objects.filter(parent=done).count() == 4 and len(digests) == 1


def test_forks_are_for_those_who_may_and_of_what_there_is(done: Thread, people: People, signed_in: SignedIn) -> None:
    for user, status in ((people.stranger, 404), (people.decider, 403), (people.requester, 403)):
        assert signed_in(user).get(f"/threads/{done.uid}/fork?step=1").status_code == status
        assert signed_in(user).post(f"/threads/{done.uid}/fork", {"step": "1"}).status_code == status
    for step in ("99", "x", "-1", "9" * 30, "%D9%A3"):
        assert signed_in(people.operator).get(f"/threads/{done.uid}/fork?step={step}").status_code == 404
    assert signed_in(people.operator).post(f"/threads/{done.uid}/fork", {"step": "4"}).status_code == 409
    assert not Thread.objects.filter(parent=done).exists()


def test_a_link_to_a_relative_is_only_for_those_who_may_see_it(
    done: Thread, people: People, signed_in: SignedIn
) -> None:
    child = forks.fork(people.operator, done, 0)
    # The finance team was asked in the parent, and not yet in the fork.
    page = signed_in(people.decider).get(f"/threads/{done.uid}").content.decode()
    assert str(child.uid) not in page
    assert str(child.uid) in signed_in(people.requester).get(f"/threads/{done.uid}").content.decode()


def test_the_picture_of_a_fork_shows_what_was_done_before_it(done: Thread, people: People, signed_in: SignedIn) -> None:
    child = forks.fork(people.operator, done, 2)
    graphs.run()
    picture = signed_in(people.operator).get(f"/threads/{child.uid}").context["picture"]
    states = {node["path"]: node["state"] for node in picture["nodes"]}
    assert states == {"read": "before", "agree": "waiting", "pay": "idle"}
    assert "done before the fork" in text_of(signed_in(people.operator).get(f"/threads/{child.uid}"))


# --- the state of a structural pause


def campaign() -> CompiledGraph:
    """plan → send, with a stop before the second."""

    def plan(state: StateView) -> str:
        state.update({"audience": "all", "budget": 10, "live": False, "channels": ["mail"], "note": None})
        return "planned"

    def send(state: StateView, ctx: Context) -> Any:
        return dict(state)

    graph = Graph.new("campaign", queue="finance", state={"untouched": "last", "channels": "append"})
    graph.node("plan", plan).node("send", send).edge("plan", "send").entry("plan").terminal("send")
    return graph.compile(interrupt_before=["send"])


@pytest.fixture
def stopped(people: People, monkeypatch: pytest.MonkeyPatch) -> Interrupt:
    graphs.register(monkeypatch, campaign())
    threads.start(people.requester, "campaign", {"name": "x"})
    graphs.run()
    return Interrupt.objects.select_related("thread", "task").get()


def fields(page: Any) -> dict[str, str]:
    """What the state's form shows, by channel."""
    return {field.key: field.text for field in page.context["card"].form.children}


def test_t17_the_review_page_shows_the_state_and_takes_edits_of_it(
    stopped: Interrupt, people: People, signed_in: SignedIn
) -> None:
    client = signed_in(people.decider)
    page = client.get(f"/review/{stopped.pk}")
    assert "State it goes on with" in text_of(page) and "The graph stops before this node" in text_of(page)
    shown = fields(page)
    assert shown == {
        "audience": "all", "budget": "10", "live": "1", "channels": '[\n  "mail"\n]', "note": "null",
        "untouched": "null",
    }  # fmt: skip
    posted = {f"f/{name}": text for name, text in shown.items()}
    edits = {"f/audience": "some\r\nof them", "f/budget": "12.5", "f/live": "0", "f/note": '{"by": "ana"}'}
    step = page.context["card"].step
    answer = client.post(f"/review/{stopped.pk}", form_of(stopped, "approve", state_step=step, **{**posted, **edits}))
    assert answer.status_code == 303
    decision = stopped.decisions.get()
    wanted = {"audience": "some\nof them", "budget": 12.5, "live": True, "note": {"by": "ana"}}
    assert (decision.outcome, decision.value) == ("approved", {"state": wanted})
    graphs.run()
    thread = Thread.objects.get()
    assert thread.status == ThreadStatus.COMPLETED and thread.output == {"channels": ["mail"], **wanted}


def test_t17_inside_a_nested_graph_it_is_that_graphs_state(
    people: People, signed_in: SignedIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = campaign()
    outer = Graph.new("outer", queue="finance", state={"other": "last"}).node("box", inner).entry("box").terminal("box")
    graphs.register(monkeypatch, outer.compile())
    threads.start(people.requester, "outer", {"name": "x"})
    graphs.run()
    row = Interrupt.objects.get()
    client = signed_in(people.decider)
    page = client.get(f"/review/{row.pk}")
    shown = fields(page)
    assert shown["audience"] == "all" and "other" not in shown
    posted = {f"f/{name}": text for name, text in shown.items()} | {"f/audience": "few"}
    client.post(f"/review/{row.pk}", form_of(row, "approve", state_step=page.context["card"].step, **posted))
    graphs.run()
    assert Thread.objects.get().output["audience"] == "few"


def test_t17_what_nobody_changed_is_not_sent(stopped: Interrupt, people: People, signed_in: SignedIn) -> None:
    client = signed_in(people.decider)
    page = client.get(f"/review/{stopped.pk}")
    posted = {f"f/{name}": text for name, text in fields(page).items()}
    client.post(f"/review/{stopped.pk}", form_of(stopped, "approve", state_step=page.context["card"].step, **posted))
    assert stopped.decisions.get().value is None


def test_t17_an_edit_that_cannot_be_read_stays_on_the_page(
    stopped: Interrupt, people: People, signed_in: SignedIn
) -> None:
    client = signed_in(people.decider)
    posted = {f"f/{name}": text for name, text in fields(client.get(f"/review/{stopped.pk}")).items()}
    wrong = {**posted, "f/channels": "[1,", "f/audience": "kept"}
    answer = client.post(f"/review/{stopped.pk}", form_of(stopped, "approve", **wrong))
    assert answer.status_code == 422 and "This is not JSON" in text_of(answer)
    assert fields(answer)["channels"] == "[1," and fields(answer)["audience"] == "kept"
    assert not stopped.decisions.exists()
    assert client.post(f"/review/{stopped.pk}", form_of(stopped, "reject", **wrong)).status_code == 303
    graphs.run()
    assert Thread.objects.get().status == ThreadStatus.REJECTED


def test_t17_an_edit_that_the_next_write_would_garble_is_refused_beside_its_field(
    stopped: Interrupt, people: People, signed_in: SignedIn
) -> None:
    client = signed_in(people.decider)
    page = client.get(f"/review/{stopped.pk}")
    posted = {f"f/{name}": text for name, text in fields(page).items()} | {"f/channels": '{"mail": true}'}
    form = form_of(stopped, "approve", state_step=page.context["card"].step, **posted)
    answer = client.post(f"/review/{stopped.pk}", form)
    assert answer.status_code == 422 and not stopped.decisions.exists()
    assert "The channel 'channels' is appended to, so it takes a list." in text_of(answer)
    assert fields(answer)["channels"] == '{"mail": true}'


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
