"""Small edits of a node under threads that wait in it: `ctx.patched`."""

from __future__ import annotations

from typing import Any

import pytest

from graphs.engine import failpoints
from graphs.engine.asking import interrupt
from graphs.engine.context import Context
from graphs.engine.effects import once
from graphs.engine.failpoints import Crash
from graphs.engine.runner import Runner
from tests.engine.runs import one, resume, retry, start

Store = Any


def before(ctx: Context) -> Any:
    first = interrupt("first?")
    return ["old", first, interrupt("second?")]


def edited_first(ctx: Context) -> Any:
    way = "new" if ctx.patched("tidy") else "old"
    return [way, interrupt("first?"), interrupt("second?")]


def edited_later(ctx: Context) -> Any:
    first = interrupt("first?")
    way = "new" if ctx.patched("tidy") else "old"
    return [way, first, interrupt("second?")]


@pytest.mark.parametrize("edited", [edited_first, edited_later])
async def test_an_execution_that_had_asked_before_the_edit_goes_the_old_way_to_its_end(
    store: Store, restarted: Any, edited: Any
) -> None:
    await start(one(before), store)
    await resume(one(edited), store, {"ask": 1})
    assert (await resume(one(edited), restarted(store), {"ask": 2})).output == ["old", 1, 2]


@pytest.mark.parametrize("edited", [edited_first, edited_later])
async def test_an_execution_that_begins_after_the_edit_goes_the_new_way(
    store: Store, restarted: Any, edited: Any
) -> None:
    await start(one(edited), store)
    await resume(one(edited), store, {"ask": 1})
    assert (await resume(one(edited), restarted(store), {"ask": 2})).output == ["new", 1, 2]


async def test_an_edit_made_later_is_told_from_one_that_was_there_at_the_beginning(store: Store) -> None:
    def once_more_edited(ctx: Context) -> Any:
        ways = [ctx.patched("tidy"), interrupt("first?")]
        return [*ways, ctx.patched("tidier"), interrupt("second?")]

    await start(one(edited_first), store)
    await resume(one(once_more_edited), store, {"ask": 1})
    assert (await resume(one(once_more_edited), store, {"ask": 2})).output == [True, 1, False, 2]


async def test_the_way_is_stored_before_the_next_effect(
    store: Store, restarted: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def old() -> str:
        return once("work", lambda: "done") + " old"

    def edited(ctx: Context) -> str:
        new = ctx.patched("tidy")
        return f"{once('work', lambda: 'done')} {new} {ctx.patched('tidy')}"

    for body, told in ((old, "done False False"), (edited, "done True True")):
        monkeypatch.setenv("SAYSO_FAILPOINT", "before_commit:raise")
        failpoints.reset()
        graph, thread = one(body), f"thread-{told}"
        run = Runner.configure().hook(store).thread(thread)
        with pytest.raises(Crash):
            await run.graph(graph).arun("go")
        monkeypatch.delenv("SAYSO_FAILPOINT")
        failpoints.reset()
        result = await Runner.configure().graph(one(edited)).resume_from(restarted(store), thread).arun()
        assert result.output == told


async def test_a_failed_attempt_keeps_the_way_it_chose(store: Store) -> None:
    tries: list[bool] = []

    def fails_once(ctx: Context) -> str:
        once("work", lambda: 1)
        tries.append(ctx.patched("tidy"))
        if len(tries) == 1:
            raise ValueError("away")
        return "done"

    graph = one(fails_once)
    await start(graph, store)
    assert (await retry(graph, store)).output == "done"
    assert tries == [True, True]


async def test_a_child_has_its_own_ways(store: Store) -> None:
    def child(ctx: Context) -> Any:
        return [ctx.patched("tidy"), interrupt("?")]

    async def was(ctx: Context) -> Any:
        return [await ctx.run_node(lambda: interrupt("first?"), name="first"), await ctx.run_node(child)]

    async def now(ctx: Context) -> Any:
        return [ctx.patched("tidy"), *(await was(ctx))]

    await start(one(was), store)
    await resume(one(now), store, {"ask": 1})
    assert (await resume(one(now), store, {"ask": 2})).output == [False, 1, [True, 2]]


@pytest.mark.parametrize("id", ["", None, "x" * 300])
async def test_an_edit_needs_a_name(store: Store, id: Any) -> None:
    def node(ctx: Context) -> bool:
        return ctx.patched(id)

    assert (await start(one(node), store)).error["type"] == "payload_error"
