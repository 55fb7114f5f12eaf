from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from graphs.actions.actors import System
from graphs.actions.decisions import decide
from graphs.actions.errors import InputInvalid
from graphs.actions.sessions import DjangoSessionManager
from graphs.agents.agent import Agent
from graphs.agents.teams.swarm import Swarm
from graphs.engine.blocking import blocking
from graphs.engine.runner import GraphRunner
from graphs.models import Decision, Interrupt, Thread
from tests.actions.graphs import given
from tests.agents.files import DELETE, Disk, Gate, keeper, responses


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
