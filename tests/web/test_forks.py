"""Forking a thread on its pages: from which checkpoint, with which state, and what it will do again."""

from __future__ import annotations

import json
from typing import Any

import pytest

from graphs.actions import forks, threads
from graphs.engine.context import Context
from graphs.engine.graph import Graph
from graphs.engine.state import StateView
from graphs.engine.statuses import ThreadStatus
from graphs.models import AuditEntry, Thread
from tests.actions import graphs
from tests.people import People
from tests.web.conftest import SignedIn, text_of

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("redis")]


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
