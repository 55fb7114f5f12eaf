"""Definitions that change under waiting threads: a deploy is asked about first, and threads are moved by renaming."""

from __future__ import annotations

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from graphs.actions import audit, definitions, forks, threads
from graphs.actions.errors import NotAllowed, NotFound, NotPossible
from graphs.engine.graph import CompiledGraph, Graph
from graphs.engine.statuses import InterruptStatus, Outcome, ThreadStatus
from graphs.models import AuditEntry, Checkpoint, Interrupt, Task, Thread
from tests.actions import graphs
from tests.people import People, invite

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("redis")]
RENAMED = ("fetch", "review", "pay")
MAP = ["read=fetch", "agree=review"]


@pytest.fixture
def people(db: None) -> People:
    return invite()


@pytest.fixture
def old(monkeypatch: pytest.MonkeyPatch) -> CompiledGraph:
    found = graphs.order()
    graphs.register(monkeypatch, found)
    return found


@pytest.fixture
def paused(people: People, old: CompiledGraph) -> Thread:
    threads.start(people.requester, "order", {"amount": 180})
    graphs.run()
    return Thread.objects.get()


def nothing() -> None:
    """A node that does nothing."""


def said(command: str, *arguments: str, **options: Any) -> str:
    output = StringIO()
    call_command(command, *arguments, stdout=output, stderr=output, **options)
    return output.getvalue()


def fails(command: str, *arguments: str, **options: Any) -> tuple[str, str]:
    output = StringIO()
    with pytest.raises(CommandError) as failure:
        call_command(command, *arguments, stdout=output, stderr=output, **options)
    assert failure.value.returncode == 1
    return output.getvalue(), str(failure.value)


def test_a_deploy_that_strands_nobody_is_fine(
    paused: Thread, old: CompiledGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "can go on" in said("check_graphs")
    assert json.loads(said("check_graphs", "--json")) == []
    # Another version beside the old one, and one that only adds what no thread has come to.
    graphs.register(monkeypatch, old, graphs.order(names=RENAMED))
    assert "can go on" in said("check_graphs")


def test_f26_a_deploy_that_strands_threads_is_told_which_node_and_how_many(
    paused: Thread, people: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads.start(people.operator, "order", {"amount": 3})
    graphs.run()
    graphs.register(monkeypatch, graphs.order(names=RENAMED))
    lines, why = fails("check_graphs")
    assert "order version read: 2 threads: node 'read' is gone" in lines and "2 threads would be stranded" in why
    assert ", ".join(Thread.objects.order_by("pk").values_list("thread_id", flat=True)) in lines
    assert "migrate_threads order --map read=<new node>" in why
    monkeypatch.setattr(definitions, "NAMED", 1)
    assert f"  {paused.thread_id} and 1 more\n" in fails("check_graphs")[0]
    found = json.loads(fails("check_graphs", "--json")[0])
    assert [(one["graph_id"], one["node"], one["count"]) for one in found] == [("order", "read", 2)]
    graphs.register(monkeypatch)
    assert "No graph is registered as 'order'" in fails("check_graphs")[0]
    Thread.objects.update(status=ThreadStatus.CANCELLED)
    assert "can go on" in said("check_graphs")


def test_z20_e26_an_answer_under_a_changed_graph_waits_for_its_version_and_the_old_one_can_still_finish_it(
    paused: Thread, people: People, old: CompiledGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    new = graphs.order(names=RENAMED)
    graphs.register(monkeypatch, new)
    assert Interrupt.objects.get().status == InterruptStatus.OPEN
    graphs.answer(people.decider, paused)
    graphs.run()
    paused.refresh_from_db()
    assert paused.status == ThreadStatus.WAITING_VERSION
    assert "node 'read' is gone" in paused.error["message"] and "version ('read')" in paused.error["message"]
    assert set(Task.objects.values_list("path", flat=True)) == {"read", "agree"}
    graphs.register(monkeypatch, old, new)
    threads.retry(people.requester, paused)
    graphs.run()
    paused.refresh_from_db()
    assert (paused.status, paused.output) == (ThreadStatus.COMPLETED, {"paid": 180})


def test_z44_a_waiting_thread_is_moved_by_renaming_its_nodes(
    paused: Thread, people: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    new = graphs.order(names=RENAMED)
    graphs.register(monkeypatch, new)
    step, question = paused.step, Interrupt.objects.get()
    assert "would be moved" in said("migrate_threads", "order", map=MAP, dry_run=True)
    paused.refresh_from_db()
    assert paused.step == step and not AuditEntry.objects.filter(action="migrate").exists()
    told = said("migrate_threads", "order", map=MAP)
    assert "read to fetch" in told and "1 moved to version fetch" in told
    paused.refresh_from_db()
    assert (paused.status, paused.fingerprint, paused.graph_version, paused.step) == (
        ThreadStatus.INTERRUPTED, new.fingerprint, "fetch", step + 1
    )  # fmt: skip
    assert Checkpoint.objects.get(step=step + 1).log == {"kind": "migrate", "map": {"read": "fetch", "agree": "review"}}
    moved = Interrupt.objects.get()
    assert (moved.pk, moved.version, moved.digest, moved.node_id) == (
        question.pk, question.version, question.digest, "review"
    )  # fmt: skip
    assert set(Task.objects.values_list("path", flat=True)) == {"fetch", "review"}
    entry = AuditEntry.objects.get(action="migrate")
    assert (entry.actor_name, entry.channel, entry.data["to"]) == (
        "system:migrate_threads", "command", new.fingerprint
    )  # fmt: skip
    graphs.answer(people.decider, paused)
    graphs.run()
    paused.refresh_from_db()
    assert (paused.status, paused.output) == (ThreadStatus.COMPLETED, {"paid": 180})
    assert audit.verify().ok
    assert "0 moved" in said("migrate_threads", "order", map=MAP)


def test_a_thread_that_waits_for_its_version_goes_on_when_it_is_moved(
    paused: Thread, people: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    graphs.register(monkeypatch, graphs.order(names=RENAMED))
    graphs.answer(people.decider, paused)
    graphs.run()
    said("migrate_threads", "order", map=MAP)
    graphs.run()
    paused.refresh_from_db()
    assert (paused.status, paused.output, paused.error) == (ThreadStatus.COMPLETED, {"paid": 180}, None)


def test_a_thread_that_somebody_has_just_moved_is_not_moved_back(
    paused: Thread, people: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    new = graphs.order(names=("agree", "read", "pay"))
    graphs.register(monkeypatch, new)
    swap = {"read": "agree", "agree": "read"}
    both = list(definitions.movable("order", new)), list(definitions.movable("order", new))
    definitions.migrate(people.operator, both[0][0], new, swap)
    with pytest.raises(NotPossible, match="on that definition already"):
        definitions.migrate(people.operator, both[1][0], new, swap)
    assert dict(Task.objects.values_list("path", "status")) == {"agree": "finished", "read": "waiting"}
    assert AuditEntry.objects.filter(action="migrate").count() == 1


def test_a_thread_is_replayed_with_the_version_that_it_runs_on(
    paused: Thread, people: People, old: CompiledGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    new = graphs.order(names=RENAMED)
    graphs.register(monkeypatch, old, new)
    assert said("replay", "--all") == f"{paused.step} checkpoints of 1 threads agree with their logs.\n"
    said("migrate_threads", "order", map=MAP)
    assert f"cannot be replayed before step {paused.step + 1}" in said("replay", "--all")


def test_two_nodes_that_change_names_keep_their_own_tasks(
    paused: Thread, people: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    graphs.register(monkeypatch, graphs.order(names=("agree", "read", "pay")))
    said("migrate_threads", "order", map=["read=agree", "agree=read"])
    assert dict(Task.objects.values_list("path", "status")) == {"agree": "finished", "read": "waiting"}
    graphs.answer(people.decider, paused)
    graphs.run()
    assert Thread.objects.get().output == {"paid": 180}


def test_z44_what_does_not_fit_is_refused_by_name_and_stays(paused: Thread, monkeypatch: pytest.MonkeyPatch) -> None:
    before = Thread.objects.filter(pk=paused.pk).values().get()
    graphs.register(monkeypatch, graphs.order(names=RENAMED))
    lines, why = fails("migrate_threads", "order", map=["read=fetch"])
    assert "node 'agree' is not in version 'fetch'; map it" in lines and "1 of them do not fit" in why
    rewired = Graph.new("order", version="9", state={"price": "last"}).node("read", nothing).node("agree", nothing)
    rewired.node("check", nothing).edge("read", "agree").edge("read", "check").edge("check", "agree")
    graphs.register(monkeypatch, rewired.entry("read").terminal("agree").compile())
    assert "'agree' has other inputs" in fails("migrate_threads", "order")[0]
    assert Thread.objects.filter(pk=paused.pk).values().get() == before
    assert Task.objects.filter(path="agree").exists() and not AuditEntry.objects.filter(action="migrate").exists()


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["nothing"], "No graph 'nothing' is registered; there are order"),
        (["order", "--to", "77"], "No graph 'order' of version 77"),
        (["order", "--map", "read"], "write it as OLD=NEW"),
        (["order", "--map", "read=pay", "--map", "read=agree"], "read is mapped already"),
        (["order", "--map", "read=pay", "--map", "read =agree"], "read is mapped already"),
        (["order", "--map", "read=nowhere"], "has no node 'nowhere'"),
    ],
)
def test_a_wrong_call_says_what_is_wrong_and_does_nothing(paused: Thread, arguments: list[str], problem: str) -> None:
    with pytest.raises(CommandError, match=problem):
        call_command("migrate_threads", *arguments, stdout=StringIO(), stderr=StringIO())


def test_an_older_version_that_is_registered_can_be_moved_to(
    paused: Thread, old: CompiledGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    new = graphs.order(names=RENAMED)
    graphs.register(monkeypatch, old, new)
    said("migrate_threads", "order", map=MAP)
    said("migrate_threads", "order", map=["fetch=read", "review=agree"], to="read")
    paused.refresh_from_db()
    assert paused.fingerprint == old.fingerprint
    assert set(Task.objects.values_list("path", flat=True)) == {"read", "agree"}


def test_only_operators_move_threads(paused: Thread, people: People, monkeypatch: pytest.MonkeyPatch) -> None:
    new = graphs.order(names=RENAMED)
    graphs.register(monkeypatch, new)
    names = {"read": "fetch", "agree": "review"}
    for user, refusal in ((people.requester, NotAllowed), (people.decider, NotAllowed), (people.stranger, NotFound)):
        with pytest.raises(refusal):
            definitions.migrate(user, paused, new, names)
    definitions.migrate(people.operator, paused, new, names)
    Thread.objects.update(status=ThreadStatus.COMPLETED)
    with pytest.raises(NotPossible, match="Only a waiting thread"):
        definitions.migrate(people.operator, paused, new, names)


def test_a_moved_a_forked_and_a_suspended_thread_can_be_replayed(
    paused: Thread, people: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    forks.fork(people.operator, paused, 1, {"price": 3})
    graphs.run()
    threads.suspend(people.requester, paused)
    threads.resume(people.requester, paused)
    graphs.run()
    graphs.register(monkeypatch, graphs.order(names=RENAMED))
    assert "2 moved" in said("migrate_threads", "order", map=MAP)
    child = Thread.objects.get(parent=paused)
    graphs.answer(people.decider, paused)
    graphs.answer(people.decider, child, outcome=Outcome.ANSWERED, value={"do": "again"})
    graphs.run()
    graphs.answer(people.decider, child)
    graphs.run()
    assert {one.status for one in Thread.objects.all()} == {ThreadStatus.COMPLETED}
    assert Thread.objects.get(pk=child.pk).output == {"paid": 3}
    said("replay", "--all")
