"""Tools that do what they must not are error results that the model sees (T13)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from graphs.agents.tool_node import ToolNode
from graphs.engine.graph import Graph
from graphs.engine.messages import Message


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise ValueError


async def cancels() -> None:
    task = asyncio.ensure_future(asyncio.sleep(60))
    task.cancel()
    await task


def unspeakable() -> None:
    raise Unspeakable


@pytest.mark.parametrize(("body", "told"), [(cancels, "awaited something"), (unspeakable, "Unspeakable")])
async def test_t13_a_tool_fails_alone_whatever_it_raises(body: Any, told: str) -> None:
    def fine() -> int:
        return 5

    calls = Message.tool_call_message({"name": body.__name__}, {"name": "fine"})
    graph = Graph.new("shop").node("talk", lambda: calls).node("tools", ToolNode([body, fine])).edge("talk", "tools")
    response = await graph.entry("talk").compile().ainvoke({"messages": ["go"]})
    failed, good = Message(response["meta"]["output"]).tool_results
    assert (failed["status"], good["status"]) == ("error", "success")
    assert told in failed["content"][0]["text"]
