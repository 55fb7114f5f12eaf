"""The state of a structural pause, shown and edited on the review page (T17)."""

from __future__ import annotations

from typing import Any

import pytest

from graphs.actions import threads
from graphs.engine.context import Context
from graphs.engine.graph import CompiledGraph, Graph
from graphs.engine.state import StateView
from graphs.engine.statuses import ThreadStatus
from graphs.models import Interrupt, Thread
from tests.actions import graphs
from tests.people import People
from tests.web.conftest import SignedIn, form_of, text_of

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("redis")]


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
