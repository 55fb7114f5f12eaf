"""Short ways to call graphs in tests, as seed 001 does."""

from __future__ import annotations

from typing import Any

from graphs.engine.asking import interrupt
from graphs.engine.graph import CompiledGraph, Graph
from graphs.engine.invocation.granularity import ResponseGranularity
from graphs.engine.messages import Message

Store = Any
FULL, PARTIAL, LOW = ResponseGranularity.FULL, ResponseGranularity.PARTIAL, ResponseGranularity.LOW
CONFIG = {"thread_id": "desk-7"}
HELLO = {"messages": [Message.text_message("Ship the crate")]}
SCHEMA = {"type": "object", "properties": {"go": {"type": "boolean"}}, "required": ["go"]}


def single(body: Any, store: Store, **options: Any) -> CompiledGraph:
    return Graph.new("desk").node("work", body).entry("work").terminal("work").compile(checkpointer=store, **options)


def fork(store: Store, **bodies: Any) -> CompiledGraph:
    graph = Graph.new("fork").node("root", lambda: "root").entry("root")
    for name, body in bodies.items():
        graph.node(name, body).edge("root", name).terminal(name)
    return graph.compile(checkpointer=store)


def asking(value: Any = None, **details: Any) -> Any:
    return lambda: interrupt(value, **details)


async def paused(graph: CompiledGraph, input: Any = HELLO) -> Any:
    return await graph.ainvoke(input, CONFIG, FULL)


async def answered(graph: CompiledGraph, value: Any, level: Any = FULL, **more: Any) -> Any:
    return await graph.ainvoke({"resume": value, **more}, CONFIG, level)
