"""Forks: a new thread from any checkpoint of another one; the other one stays as it is, and effects ask again."""

from __future__ import annotations

from typing import Any

import pytest

from graphs.engine.asking import ask
from graphs.engine.checkpointers.memory import InMemoryCheckpointer
from graphs.engine.context import Context
from graphs.engine.effects import aonce
from graphs.engine.errors import CannotFork, DefinitionChanged, PayloadError, ThreadExists, UnknownThread
from graphs.engine.forking import afork, fork
from graphs.engine.graph import CompiledGraph, Graph
from graphs.engine.interrupts import GraphResume
from graphs.engine.ports import ThreadRef
from graphs.engine.runner import Runner
from graphs.engine.state import StateView
from graphs.engine.statuses import ThreadStatus
from tests.engine.runs import Calls, one, resume, start

Store = Any
PARENT = ThreadRef("shop", "run-1")


def shop(calls: Calls) -> CompiledGraph:
    """price → agree (asks) → charge; each of the three has an effect of its own mode."""

    async def price(state: StateView) -> Any:
        state["price"] = await aonce("look_up", lambda: count("look_up", 10), mode="pure")
        return "priced"

    async def agree(state: StateView) -> Any:
        await aonce("hold", lambda: count("hold", "held"))
        decision = ask("Buy it?", payload={"price": state["price"]})
        return decision.approved

    async def charge(value: Any, state: StateView, ctx: Context) -> Any:
        if not value:
            return "not bought"
        receipt = await aonce("charge", lambda: count("charge", f"receipt {ctx.idempotency_key}"), mode="at_most_once")
        return {"price": state["price"], "receipt": receipt}

    def count(name: str, result: Any) -> Any:
        calls[name] += 1
        return result

    graph = Graph.new("shop", state={"price": "last"})
    graph.node("price", price).node("agree", agree).node("charge", charge)
    return graph.edge("price", "agree").edge("agree", "charge").entry("price").terminal("charge").compile()


async def bought(graph: CompiledGraph, store: Store) -> Any:
    await start(graph, store)
    return await resume(graph, store, {"agree": True})


async def go(graph: CompiledGraph, store: Store, thread_id: str, replies: dict[str, Any] | None = None) -> Any:
    given = GraphResume(replies or {}, {})
    return await Runner.arun_graph_from_checkpoint(graph, checkpointer=store, thread_id=thread_id, resume=given)


async def test_e25_a_fork_asks_again_and_leaves_its_parent_alone(store: Store) -> None:
    calls = Calls()
    graph = shop(calls)
    parent = await bought(graph, store)
    before = (await store.load(PARENT), await store.history(PARENT))
    child = await afork(graph, store, "run-1", 2, new_thread_id="fork")
    paused = await go(graph, store, child)
    assert paused.status is ThreadStatus.INTERRUPTED
    assert paused.interrupts[0].message.startswith("“hold” took place in the thread")
    assert paused.interrupts[0].value == {"effect": "hold", "result": "held", "forked_from": "run-1"}
    paused = await go(graph, store, child, {"agree": {"do": "take"}})
    assert [one.message for one in paused.interrupts] == ["Buy it?"]
    given = GraphResume({}, {"agree": "too dear"})
    ended = await Runner.arun_graph_from_checkpoint(graph, checkpointer=store, thread_id=child, resume=given)
    assert (ended.status, ended.output) == (ThreadStatus.COMPLETED, "not bought")
    assert calls == Calls(look_up=1, hold=1, charge=1)
    after = (await store.load(PARENT), await store.history(PARENT))
    assert after == before and parent.output["price"] == 10


@pytest.mark.parametrize("do", ["take", "again"])
async def test_e25_an_effect_is_taken_over_or_done_again_as_a_person_says(store: Store, do: str) -> None:
    calls = Calls()
    graph = shop(calls)
    parent = await bought(graph, store)
    child = await afork(graph, store, "run-1", 2, new_thread_id="fork")
    await go(graph, store, child)
    await go(graph, store, child, {"agree": {"do": "again"}})
    paused = await go(graph, store, child, {"agree": True})
    assert paused.interrupts[0].value["effect"] == "charge" and paused.interrupts[0].style == "effect"
    ended = await go(graph, store, child, {"charge": {"do": do}})
    assert ended.status is ThreadStatus.COMPLETED
    assert calls == Calls(look_up=1, hold=2, charge=1 if do == "take" else 2)
    # Done again it has a key of its own, so that no receiver takes it for a repetition.
    same = ended.output["receipt"] == parent.output["receipt"]
    assert same == (do == "take") and ("fork" in ended.output["receipt"]) == (do == "again")


async def test_e25_a_pure_effect_gives_its_stored_result_without_asking(store: Store) -> None:
    calls = Calls()
    graph = shop(calls)
    await bought(graph, store)
    child = await afork(graph, store, "run-1", 0)
    paused = await go(graph, store, child)
    assert calls["look_up"] == 1 and [one.value["effect"] for one in paused.interrupts] == ["hold"]


async def test_a_fork_goes_on_with_the_edited_state(store: Store) -> None:
    calls = Calls()
    graph = shop(calls)
    await bought(graph, store)
    child = await afork(graph, store, "run-1", 1, state={"price": 7}, new_thread_id="fork")
    await go(graph, store, child)
    paused = await go(graph, store, child, {"agree": {"do": "take"}})
    assert paused.interrupts[0].value == {"price": 7}
    parent = await store.load_step(PARENT, 1)
    assert parent is not None and parent["channel:|price"] == 10


async def test_e19_a_step_that_was_answered_is_asked_again_from_before_it(store: Store) -> None:
    """Retrying from before a pause is a fork from there: the old answer is the parent's, and stays in its history."""
    graph = shop(Calls())
    await bought(graph, store)
    child = await afork(graph, store, "run-1", 1, new_thread_id="fork")
    await go(graph, store, child)
    paused = await go(graph, store, child, {"agree": {"do": "take"}})
    assert [one.message for one in paused.interrupts] == ["Buy it?"]


async def test_a_fork_of_a_fork_asks_for_what_took_place_before_both(store: Store) -> None:
    calls = Calls()
    graph = shop(calls)
    await bought(graph, store)
    child = await afork(graph, store, "run-1", 1, new_thread_id="fork")
    await go(graph, store, child)
    grandchild = await afork(graph, store, child, 0, new_thread_id="fork of fork")
    await go(graph, store, grandchild)
    await go(graph, store, grandchild, {"agree": {"do": "take"}})
    paused = await go(graph, store, grandchild, {"agree": True})
    assert paused.interrupts[0].value == {
        "effect": "charge", "result": "receipt shop/run-1/charge/1/charge/0", "forked_from": "run-1"
    }  # fmt: skip
    assert calls["charge"] == 1


async def test_forks_refuse_what_they_cannot_begin_with(store: Store) -> None:
    calls = Calls()
    graph = shop(calls)
    await bought(graph, store)
    with pytest.raises(UnknownThread):
        await afork(graph, store, "nobody", 0)
    with pytest.raises(CannotFork, match="no checkpoint 99"):
        await afork(graph, store, "run-1", 99)
    newest = (await store.history(PARENT))[0].step
    with pytest.raises(CannotFork, match="nothing would run"):
        await afork(graph, store, "run-1", newest)
    with pytest.raises(PayloadError, match="/state/price"):
        await afork(graph, store, "run-1", 1, state={"price": float("nan")})
    with pytest.raises(PayloadError):
        await afork(graph, store, "run-1", 1, state={"a|b": 1})
    with pytest.raises(ThreadExists):
        await afork(graph, store, "run-1", 1, new_thread_id="run-1")
    other = Graph.new("shop").node("pay", lambda: 1).entry("pay").terminal("pay").compile()
    with pytest.raises(DefinitionChanged, match="'price' is gone"):
        await afork(other, store, "run-1", 1)


async def test_a_fork_forgets_what_it_inherited_with_each_task_that_ends(store: Store) -> None:
    graph = shop(Calls())
    await bought(graph, store)
    child = await afork(graph, store, "run-1", 2, new_thread_id="fork")
    first = await store.load_step(ThreadRef("shop", child), 0)
    assert first is not None and {name for name in first if name.startswith("inherited:")} == {
        "inherited:agree#1", "inherited:charge#1"
    }  # fmt: skip
    await go(graph, store, child)
    await go(graph, store, child, {"agree": {"do": "take"}})
    await go(graph, store, child, {"agree": True})
    await go(graph, store, child, {"charge": {"do": "take"}})
    snapshot = await store.load(ThreadRef("shop", child))
    assert not [name for name in snapshot.cells if name.startswith("inherited:")]


def test_a_fork_is_made_without_an_event_loop_too() -> None:
    graph, store = shop(Calls()), InMemoryCheckpointer()
    Runner.run_graph(graph, "go", hooks=[store], thread_id="run-1")
    assert fork(graph, store, "run-1", 1, state={"price": 3}, new_thread_id="fork") == "fork"
    paused = Runner.run_graph_from_checkpoint(graph, checkpointer=store, thread_id="fork")
    assert paused.interrupts[0].value["effect"] == "hold"


async def test_e25_an_effect_whose_key_begins_like_a_note_of_the_engine_asks_in_a_fork_too(store: Store) -> None:
    calls = Calls()

    async def node() -> Any:
        await aonce("state:charge", lambda: calls.update(["charge"]))
        return ask("Go on?").approved

    graph = one(node)
    await start(graph, store)
    await afork(graph, store, "run-1", 0, new_thread_id="fork")
    result = await Runner.arun_graph_from_checkpoint(graph, checkpointer=store, thread_id="fork")
    assert [question.reason for question in result.interrupts] == ["effect_in_parent"]
    assert calls == {"charge": 1}
