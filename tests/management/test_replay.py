"""`replay` says whether what is stored follows from the logs, names where it does not, and changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.core.management import CommandError, call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from graphs.actions.supersteps import DjangoCheckpointer
from graphs.library import registry
from graphs.models import Checkpoint, Task, Thread
from tests.engine.shapes import SHAPES, Shape, World, act

pytestmark = pytest.mark.django_db(transaction=True)
BY_NAME = {shape.name: shape for shape in SHAPES if shape.name != "watched"}


@pytest.fixture(autouse=True)
def definitions(monkeypatch: pytest.MonkeyPatch) -> None:
    """The shapes as the installation knows them: with nodes that raise where they are run."""

    def get(graph_id: str) -> Any:
        if graph_id not in BY_NAME:
            raise registry.UnknownGraph(f"graph {graph_id!r} is not installed")
        return BY_NAME[graph_id].build(World(alive=False))

    monkeypatch.setattr(registry, "get", get)


@pytest.fixture
def play() -> Callable[[str], Thread]:
    async def story(shape: Shape) -> None:
        world, store = World(), DjangoCheckpointer()
        graph = shape.build(world)
        for number in range(len(shape.story)):
            await act(shape, graph, store, number, world)

    def played(name: str) -> Thread:
        async_to_sync(story)(BY_NAME[name])
        return Thread.objects.get(graph_id=name)

    return played


def replay(*arguments: str) -> str:
    output = StringIO()
    call_command("replay", *arguments, stdout=output)
    return output.getvalue()


def refused(*arguments: str) -> tuple[str, CommandError]:
    output = StringIO()
    with pytest.raises(CommandError) as caught:
        call_command("replay", *arguments, stdout=output)
    assert caught.value.returncode == 1
    return output.getvalue(), caught.value


def test_every_shape_agrees_and_nothing_is_written(play: Callable[[str], Thread]) -> None:
    threads = [play(name) for name in BY_NAME]
    with CaptureQueriesContext(connection) as queries:
        said = replay("--all")
    assert (
        said
        == f"{sum(thread.step for thread in threads)} checkpoints of {len(threads)} threads agree with their logs.\n"
    )
    assert all(query["sql"].startswith("SELECT") for query in queries.captured_queries)


def test_one_thread_is_named_by_uid_or_by_graph_and_id(play: Callable[[str], Thread]) -> None:
    thread = play("chain")
    assert replay(str(thread.uid)) == replay(f"chain/{thread.thread_id}")
    assert "of 1 threads agree" in replay(str(thread.uid))
    for unknown in ("chain/nobody", "nonsense", "00000000-0000-4000-8000-000000000000"):
        assert "There is no thread" in str(refused(unknown)[1])


def test_what_was_tampered_with_is_named(play: Callable[[str], Thread]) -> None:
    play("loop")
    thread = play("fan")
    row = Checkpoint.objects.get(thread=thread, step=2)
    row.data["set"]["channel:|sum"] = 500
    Checkpoint.objects.filter(pk=row.pk).update(data=row.data)
    said, error = refused("--all")
    assert "fan/run-1: step 2, channel:|sum: the log gives 5, stored is 500\n" in said
    assert str(error) == "1 of 2 threads do not."


def test_a_task_that_is_gone_is_named(play: Callable[[str], Thread]) -> None:
    thread = play("fan")
    Task.objects.filter(thread=thread, path="b").delete()
    assert "fan/run-1: step 2, b#1: step 2 applied the result of 'b#1', and there is none" in refused("--all")[0]


def test_a_thread_from_before_the_log_says_where_it_can_be_replayed_from(play: Callable[[str], Thread]) -> None:
    thread = play("chain")
    Checkpoint.objects.filter(thread=thread, step__lt=3).update(log=None)
    assert replay("--all") == (
        "chain/run-1: cannot be replayed before step 2: it was written without a log, or moved to another definition"
        f" there\n{thread.step - 2} checkpoints of 1 threads agree with their logs.\n"
    )


def test_a_graph_that_is_not_installed_is_a_problem(
    play: Callable[[str], Thread], monkeypatch: pytest.MonkeyPatch
) -> None:
    play("chain")
    monkeypatch.delitem(BY_NAME, "chain")
    assert refused("--all")[0].startswith("chain/run-1: graph 'chain' is not installed")


def test_it_wants_one_thread_or_all() -> None:
    for arguments in ((), ("chain/x", "--all")):
        with pytest.raises(CommandError, match="Name one thread, or say --all"):
            call_command("replay", *arguments)
