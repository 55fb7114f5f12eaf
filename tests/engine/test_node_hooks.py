"""Hooks around nodes: asking, cancelling, failing, listening."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from graphs.engine.graph import Graph
from graphs.engine.hooks import AfterNodeCallEvent, BeforeNodeCallEvent, HookRegistry
from graphs.engine.ports import ThreadRef
from graphs.engine.statuses import ThreadStatus
from tests.engine.runs import asks, one, resume, retry, start

Store = Any


class TwoHooks:
    """One asks, the other breaks the first time."""

    def __init__(self) -> None:
        self.breaks = 1

    def register_hooks(self, registry: HookRegistry) -> None:
        registry.add_callback(BeforeNodeCallEvent, self.ask)
        registry.add_callback(BeforeNodeCallEvent, self.fail)

    async def ask(self, event: BeforeNodeCallEvent) -> None:
        event.interrupt("sure", reason="Sure?")

    def fail(self, event: BeforeNodeCallEvent) -> None:
        if self.breaks:
            self.breaks -= 1
            raise ValueError("hook broke")


async def test_z42_a_hook_that_raises_does_not_lose_another_ones_question(store: Store) -> None:
    hooks = TwoHooks()
    graph = one(lambda: "ran")
    failed = await start(graph, store, hooks=[hooks])
    assert failed.status is ThreadStatus.FAILED
    assert [asked.name for asked in failed.interrupts] == ["sure"]
    await resume(graph, store, {"sure": "y"}, hooks=[hooks])
    assert (await retry(graph, store, hooks=[hooks])).output == "ran"


class Cancels:
    """The first hook cancels; the second one's question is then never asked."""

    def register_hooks(self, registry: HookRegistry, **kwargs: Any) -> None:
        registry.add_callback(BeforeNodeCallEvent, self.cancel)
        registry.add_callback(BeforeNodeCallEvent, self.ask)

    def cancel(self, event: BeforeNodeCallEvent) -> None:
        event.cancel_node = True

    def ask(self, event: BeforeNodeCallEvent) -> None:
        event.interrupt("sure")


async def test_z52_after_a_cancellation_nobody_is_asked(store: Store) -> None:
    result = await start(one(lambda: "ran"), store, hooks=[Cancels()])
    assert result.status is ThreadStatus.CANCELLED and "cancelled" in result.output
    assert store.questions(ThreadRef("one", "run-1")) == []


async def test_h12_two_hooks_may_not_ask_under_one_name(store: Store) -> None:
    class Twice:
        def register_hooks(self, registry: HookRegistry) -> None:
            for _ in range(2):
                registry.add_callback(BeforeNodeCallEvent, lambda event: event.interrupt("same"))

    result = await start(one(lambda: "ran"), store, hooks=[Twice()])
    assert result.error["type"] == "duplicate_hook_name" and "same" in result.error["message"]


class Listens:
    def __init__(self) -> None:
        self.heard: list[Any] = []

    def register_hooks(self, registry: HookRegistry) -> None:
        registry.add_callback(AfterNodeCallEvent, self.after)

    def after(self, event: AfterNodeCallEvent) -> None:
        self.heard.append((event.node_id, event.output, type(event.error).__name__))
        with pytest.raises(RuntimeError, match="BeforeNodeCallEvent"):
            event.interrupt("late")


async def test_h42_after_a_node_hooks_hear_of_it_once_and_cannot_ask(store: Store) -> None:
    def fails() -> None:
        raise ValueError("no")

    hooks = Listens()
    graph = Graph.new("g").node("a", asks(Counter(), "a")).node("b", fails).edge("a", "b").entry("a").terminal("b")
    compiled = graph.compile(interrupt_after=["a"])
    await start(compiled, store, hooks=[hooks])
    await resume(compiled, store, {"a": 1}, hooks=[hooks])
    await resume(compiled, store, {"a": True}, hooks=[hooks])
    assert hooks.heard == [("a", {"a": 1}, "NoneType"), ("b", None, "ValueError")]
