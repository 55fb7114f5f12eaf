from __future__ import annotations

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User

from graphs.actions import threads
from graphs.actions.actors import System
from graphs.actions.decisions import decide
from graphs.actions.errors import InputInvalid, NotAllowed, NotFound
from graphs.actions.sessions import DjangoSessionManager
from graphs.agents.agent import Agent
from graphs.agents.results import Status
from graphs.agents.teams.swarm import Swarm
from graphs.agents.teams.team import Team
from graphs.engine.blocking import blocking
from graphs.engine.runner import GraphRunner
from graphs.engine.statuses import Outcome
from graphs.models import ApprovalQueue, Decision, Interrupt, Right, Thread
from tests.actions.graphs import given
from tests.agents.files import DELETE, Disk, Gate, keeper, responses
from tests.agents.members import NodeGate, respond, wide
from tests.people import member


@pytest.fixture
def chief(db: None) -> User:
    return User.objects.create_superuser("chief")


def asker(disk: Disk, chief: User) -> Agent:
    manager = DjangoSessionManager("desk", chief)
    return keeper(disk, [DELETE, "Done.", "Hello."], Gate(), session_manager=manager)


@pytest.mark.django_db(transaction=True)
def test_h23_a_new_process_answers_from_python_and_its_next_prompt_goes_on(chief: User) -> None:
    disk = Disk()
    paused = asker(disk, chief)("tidy")
    assert Thread.objects.get().conversation.requester == chief
    assert str(asker(disk, chief)(responses(paused, "y"))) == "Done." and disk.deleted == ["old/a.txt"]
    assert Decision.objects.get().reviewer_id == chief.pk
    assert str(asker(disk, chief)("hello")) == "Hello."


@pytest.mark.django_db(transaction=True)
def test_h36_what_a_member_of_a_swarm_asks_stands_in_the_inbox_and_is_answered_there(chief: User) -> None:
    disk = Disk()
    member = keeper(disk, [DELETE, "Done."], Gate())
    swarm = Swarm([member], session_manager=DjangoSessionManager("team"))
    swarm("tidy")
    row = Interrupt.objects.waiting().get()
    decide(System("desk"), [given(row)], channel="form")
    session = Swarm([keeper(disk, [DELETE, "Done."], Gate())], session_manager=DjangoSessionManager("team")).session
    run = GraphRunner().graph(session.graph).resume_from(session.checkpointer, "team")
    assert blocking(run.arun()).status == "completed" and disk.deleted == ["old/a.txt"]


@pytest.mark.parametrize("name", ["", "x" * 201, "a\nb"])
def test_a_session_s_id_is_one_that_a_thread_can_have(name: str) -> None:
    with pytest.raises(InputInvalid):
        DjangoSessionManager(name)


@pytest.mark.django_db(transaction=True)
def test_a_conversation_that_was_cancelled_on_its_page_goes_on_with_what_was_said(chief: User) -> None:
    disk = Disk()
    asker(disk, chief)("tidy")
    threads.cancel(chief, Thread.objects.get(), "Not now")
    agent = asker(disk, chief)
    assert str(agent("hello")) == "Done."
    said = [one.text() for one in agent.model.seen[-1]]  # type: ignore[union-attr]
    assert said[0] == "tidy" and said[2:] == [
        "Not called: the turn was cancelled before.",
        "(This turn was cancelled before it ended.)",
        "hello",
    ]
    assert disk.deleted == [] and [one.text() for one in agent.messages] == [*said, "Done."]


@pytest.mark.django_db(transaction=True)
def test_h31_h33_h36_a_graph_of_agents_is_paused_and_answered_by_objects_that_are_made_anew(chief: User) -> None:
    def built() -> Team:
        gated = wide().set_hook_providers([NodeGate("c")])
        return gated.set_session_manager(DjangoSessionManager("wide", chief)).build()

    paused = built()("go")
    assert [(one.name, one.node_id) for one in paused.interrupts] == [
        ("a-question", "a"), ("b-question", "b"), ("node", "c")
    ]  # fmt: skip
    assert Interrupt.objects.waiting().count() == 3 and Thread.objects.get().conversation.requester == chief
    half = built()(respond(paused, "yes", "a-question"))
    assert [one.name for one in half.interrupts] == ["b-question", "node"]
    # One is answered in the inbox, the other by a response.
    decide(chief, [given(Interrupt.objects.waiting().get(name="b-question"), Outcome.ANSWERED, "no")], channel="form")
    done = built()(respond(half, "y", "node"))
    assert (done.status, done.execution_order[-1]) == (Status.COMPLETED, "join")
    assert all(part in str(done.output) for part in ("a heard yes", "b heard no", "c is done"))


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("answer", ["y", "n"])
def test_h27_h36_a_swarm_s_member_waits_for_the_answer_of_an_object_that_is_made_anew(chief: User, answer: str) -> None:
    disk = Disk()

    def built() -> Swarm:
        member = keeper(disk, [DELETE, "Done."], Gate())
        return Swarm([member], hooks=[NodeGate("keeper")], session_manager=DjangoSessionManager("team", chief))

    result = built()("tidy")
    assert (result.status, [one.name for one in result.interrupts]) == (Status.INTERRUPTED, ["node"])
    while result.interrupts:
        result = built()(respond(result, answer))
    if answer == "y":
        assert (result.status, disk.deleted) == (Status.COMPLETED, ["old/a.txt"])
    else:
        assert (result.status, disk.deleted) == (Status.CANCELLED, [])


@pytest.mark.django_db(transaction=True)
def test_nobody_goes_on_in_or_reads_a_conversation_of_somebody_else(chief: User) -> None:
    disk = Disk()
    asker(disk, chief)("tidy")
    stranger = asker(disk, User.objects.create_user("stranger"))
    calls: list[Callable[[], object]] = [lambda: stranger("hello"), stranger.retry, lambda: stranger.messages]
    for call in calls:
        with pytest.raises(NotFound):
            call()
    for read in ("history", "log", "grants", "journals"):
        with pytest.raises(NotFound):
            blocking(getattr(stranger.session.checkpointer, read)(stranger.session.ref))
    assert disk.deleted == []


@pytest.mark.django_db(transaction=True)
def test_who_may_see_a_conversation_but_not_steer_it_reads_it_and_is_not_let_on(chief: User) -> None:
    disk = Disk()
    paused = asker(disk, chief)("tidy")
    viewer = member("viewer", ApprovalQueue.objects.get(pk=Interrupt.objects.get().queue_id), Right.VIEW)
    agent = asker(disk, viewer)
    assert agent.messages == asker(disk, chief).messages != []
    calls: list[Callable[[], object]] = [lambda: agent(responses(paused, "y")), agent.retry]
    for call in calls:
        with pytest.raises(NotAllowed):
            call()
    assert disk.deleted == [] and not Decision.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_requester_who_may_not_decide_is_told_so_and_not_that_it_was_decided() -> None:
    disk, requester = Disk(), User.objects.create_user("requester")
    paused = asker(disk, requester)("tidy")
    with pytest.raises(NotAllowed, match="not decide"):
        asker(disk, requester)(responses(paused, "y"))
    assert disk.deleted == [] and Interrupt.objects.waiting().count() == 1


@pytest.mark.django_db(transaction=True)
def test_a_person_who_was_shut_out_begins_no_conversation(chief: User) -> None:
    User.objects.filter(pk=chief.pk).update(is_active=False)
    with pytest.raises(NotAllowed):
        asker(Disk(), User.objects.get(pk=chief.pk))("tidy")
    assert not Thread.objects.exists()
