"""Tools that do what they must not are error results that the model sees (T13)."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

import pytest

from graphs.agents.agent import Agent
from graphs.agents.models import ModelReply
from graphs.agents.tool_node import ToolNode
from graphs.engine.asking import interrupt
from graphs.engine.graph import Graph
from graphs.engine.messages import Message
from graphs.engine.runner import Runner


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise ValueError


async def cancels() -> None:
    task = asyncio.ensure_future(asyncio.sleep(60))
    task.cancel()
    await task


async def leaves() -> None:
    raise SystemExit(3)


def unspeakable() -> None:
    raise Unspeakable


class Abort(BaseException):
    pass


def aborts() -> None:
    raise Abort("stop")


async def aborts_within() -> None:
    raise Abort("stop")


def groups() -> None:
    raise BaseExceptionGroup("several", [KeyboardInterrupt(), Abort("stop")])


def exits() -> None:
    raise GeneratorExit


async def exits_within() -> None:
    raise GeneratorExit


def holds_nul() -> None:
    raise RuntimeError("the server said a\0b")


def holds_surrogate() -> None:
    raise RuntimeError("no file a\udcff")


def goes_on_and_on() -> None:
    raise RuntimeError("y" * 20_000_000)


ODD = [
    (cancels, "awaited something"),
    (unspeakable, "Unspeakable"),
    (leaves, "SystemExit(3)"),
    (aborts, "Abort(stop)"),
    (aborts_within, "Abort(stop)"),
    (groups, "BaseExceptionGroup(several"),
    (exits, "GeneratorExit"),
    (exits_within, "GeneratorExit"),
    (holds_nul, "a\\0b"),
    (holds_surrogate, "a\\udcff"),
    (goes_on_and_on, "yyy"),
]


@pytest.mark.parametrize(("body", "told"), ODD)
async def test_t13_a_tool_fails_alone_whatever_it_raises(body: Any, told: str) -> None:
    def fine() -> int:
        return 5

    calls = Message.tool_call_message({"name": body.__name__}, {"name": "fine"})
    graph = Graph.new("shop").node("talk", lambda: calls).node("tools", ToolNode([body, fine])).edge("talk", "tools")
    response = await graph.entry("talk").compile().ainvoke({"messages": ["go"]})
    failed, good = Message(response["meta"]["output"]).tool_results
    assert (failed["status"], good["status"]) == ("error", "success")
    assert told in failed["content"][0]["text"]


@pytest.mark.parametrize("body", [aborts, aborts_within, groups, exits, exits_within])
async def test_a_node_that_raises_what_is_no_exception_fails_like_any_other(body: Any) -> None:
    graph = Graph.new("shop").node("work", body).entry("work").compile()
    result = await Runner.arun_graph(graph, "go")
    assert result.status == "failed" and result.error is not None and result.error["type"] == "RuntimeError"


async def test_an_on_error_that_raises_what_is_no_exception_fails_its_node() -> None:
    def breaks() -> None:
        raise ValueError

    def handle(error: ValueError) -> None:
        raise Abort("stop")

    graph = Graph.new("shop").node("work", breaks, on_error=handle).entry("work").compile()
    result = await Runner.arun_graph(graph, "go")
    assert result.status == "failed" and result.error is not None and "Abort(stop)" in str(result.error["message"])


@pytest.mark.parametrize("reply", [None, "text", ModelReply("x", usage={"tokens": "many"})])  # type: ignore[dict-item]
async def test_a_model_that_answers_wrongly_is_named_and_asked_again_by_a_retry(reply: Any) -> None:
    class Broken:
        async def complete(self, *_: Any) -> Any:
            replies.append(reply)
            return ModelReply("mended") if len(replies) > 1 else reply

    replies: list[Any] = []
    graph = Graph.new("shop").node("clerk", Agent("clerk", Broken())).entry("clerk").compile()
    response = await graph.ainvoke({"messages": ["go"]}, {"thread_id": "1"})
    told = response["meta"]["error"]["message"]
    assert "agent 'clerk'" in told or "usage/tokens" in told
    assert graph.checkpointer is not None
    result = await Runner.aretry_graph(graph, checkpointer=graph.checkpointer, thread_id="1")
    assert result.output == "mended"


async def test_a_call_that_asked_beside_one_that_took_too_long_is_reported_nowhere_else() -> None:
    async def slow() -> None:
        await asyncio.sleep(60)

    async def asks() -> Any:
        return interrupt("Go?")

    reported: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, details: reported.append(details))
    calls = Message.tool_call_message({"name": "slow"}, {"name": "asks"})
    graph = Graph.new("shop").node("talk", lambda: calls).edge("talk", "tools").entry("talk")
    response = await graph.node("tools", ToolNode([slow, asks]), timeout=0.01).compile().ainvoke({"messages": ["go"]})
    assert response["meta"]["error"]["type"] == "node_timeout"
    assert [one["value"] for one in response["meta"]["interrupts"]] == ["Go?"]
    gc.collect()
    await asyncio.sleep(0)
    assert reported == []
