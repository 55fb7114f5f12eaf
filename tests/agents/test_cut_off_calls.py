"""Calls of an agent that were cut off: `retry()` goes on from where each stopped, what finished is not run again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from graphs.agents.agent import Agent
from graphs.agents.models import ScriptedModel, ToolCall
from graphs.agents.sessions import FileSessionManager
from graphs.engine.checkpointers.sqlite import SQLiteCheckpointer
from graphs.engine.errors import AnswerMismatch, ThreadBusy
from graphs.engine.ports import JournalEntry, TaskKey, ThreadRef

REPLIES: list[Any] = [ToolCall("note", {"text": "first"}), ToolCall("hold", {}), "Done.", "Hello."]


class Desk:
    """A tool that ends, and one that goes on until it is let."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.holds = 0
        self.held = asyncio.Event()
        self.free = asyncio.Event()

    def note(self, text: str) -> str:
        self.notes.append(text)
        return text

    async def hold(self) -> str:
        self.holds += 1
        self.held.set()
        await self.free.wait()
        return "held"

    def agent(self, **options: Any) -> Agent:
        return Agent("keeper", ScriptedModel(REPLIES), tools=[self.note, self.hold], **options)


async def cancelled(agent: Agent, desk: Desk) -> None:
    call = asyncio.ensure_future(agent.invoke_async("go"))
    await desk.held.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call


def at_hold(event: Mapping[str, Any]) -> bool:
    return bool(event.get("current_tool_use", {}).get("name") == "hold")


async def left(agent: Agent, desk: Desk) -> None:
    async for event in agent.stream_async("go"):
        if at_hold(event):
            await desk.held.wait()
            break


async def closed(agent: Agent, desk: Desk) -> None:
    stream: AsyncIterator[Mapping[str, Any]] = agent.stream_async("go")
    async with aclosing(stream) as told:  # type: ignore[type-var]
        async for event in told:
            if at_hold(event):
                await desk.held.wait()
                break


async def goes_on(agent: Agent, desk: Desk) -> None:
    desk.free.set()
    assert str(await agent.retry_async()) == "Done."
    # Where the stream was only left, its call may come to its end before it is stopped.
    assert desk.notes == ["first"] and desk.holds in (1, 2)
    assert str(await agent.invoke_async("hello")) == "Hello."


@pytest.mark.parametrize("cut", [cancelled, left, closed])
@pytest.mark.parametrize("listens", [False, True])
async def test_a_call_that_was_cancelled_or_left_goes_on_by_a_retry(cut: Any, listens: bool) -> None:
    desk = Desk()
    agent = desk.agent(callback_handler=lambda **_: None) if listens else desk.agent()
    await cut(agent, desk)
    await goes_on(agent, desk)


async def test_what_is_said_to_a_call_that_was_cut_off_is_refused_with_the_way_on() -> None:
    desk = Desk()
    agent = desk.agent()
    await cancelled(agent, desk)
    with pytest.raises(ThreadBusy, match=r"cut off.*retry\(\)"):
        await agent.invoke_async("hello")
    with pytest.raises(AnswerMismatch, match=r"retry\(\)"):
        await agent.invoke_async([{"interruptResponse": {"interruptId": "x", "response": 1}}])
    await goes_on(agent, desk)


async def test_a_retry_waits_for_the_call_that_is_under_way_and_runs_nothing_beside_it() -> None:
    desk = Desk()
    agent = desk.agent()
    call = asyncio.ensure_future(agent.invoke_async("go"))
    await desk.held.wait()
    with pytest.raises(ThreadBusy, match="under way"):
        await agent.invoke_async("hello")
    retry = asyncio.ensure_future(agent.retry_async())
    await asyncio.sleep(0)
    call.cancel()
    desk.free.set()
    assert str(await retry) == "Done." and (desk.notes, desk.holds) == (["first"], 2)


class Killed(BaseException):
    pass


async def test_h23_a_process_that_was_killed_is_followed_by_one_that_retries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = Desk()
    desk.free.set()
    record = SQLiteCheckpointer.record_effect

    async def dies(self: Any, ref: ThreadRef, task: TaskKey, entry: JournalEntry) -> None:
        if desk.holds:
            raise Killed
        await record(self, ref, task, entry)

    with monkeypatch.context() as patch:
        patch.setattr(SQLiteCheckpointer, "record_effect", dies)
        with pytest.raises(BaseException) as broken:
            await desk.agent(session_manager=FileSessionManager("s", tmp_path)).invoke_async("go")
    assert "Killed" in repr(broken.value)
    await goes_on(desk.agent(session_manager=FileSessionManager("s", tmp_path)), desk)
