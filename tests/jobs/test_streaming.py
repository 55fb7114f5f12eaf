"""Words under way: in one row a task while a job writes them, gone with the reply that has them (DESIGN 4.9)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from graphs import outbox
from graphs.actions import sweeping, threads
from graphs.actions.mainthread import off_the_loop
from graphs.actions.streaming import Streaming
from graphs.agents.agent import Agent
from graphs.agents.models import ModelReply, ToolCall
from graphs.agents.tools import tool
from graphs.engine.ports import TaskKey
from graphs.engine.workflow import compiled
from graphs.jobs.threads import advance
from graphs.models import JournalEntry, Lease, StreamedText, Thread
from tests.actions import graphs

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("redis")]

DEADLINE_SECONDS = 30


def look(read: Callable[[], Any]) -> Any:
    with off_the_loop():
        return read()


async def until(read: Callable[[], Any]) -> Any:
    """What it reads, as soon as that is something."""
    async with asyncio.timeout(DEADLINE_SECONDS):
        while not (found := look(read)):
            await asyncio.sleep(0.01)
    return found


def words() -> list[str]:
    return list(StreamedText.objects.order_by("path", "visit").values_list("text", flat=True))


class Slow:
    """Says a word, and goes on only when that word can be read."""

    def __init__(self, *replies: ModelReply) -> None:
        self.replies = replies
        self.seen: list[list[str]] = []
        self.failing = 0

    async def complete(self, messages: Sequence[Any], tools: Sequence[Any], system_prompt: str) -> ModelReply:
        raise AssertionError("it streams")

    async def stream(self, messages: Sequence[Any], tools: Sequence[Any], prompt: str) -> AsyncIterator[Any]:
        reply = self.replies[sum(one["role"] == "assistant" for one in messages)]
        said = ""
        for word in reply.text.split():
            said += f"{word} "
            yield f"{word} "
            self.seen.append(await until(lambda said=said: words() if said in words() else None))  # type: ignore[misc]
            if self.failing:
                self.failing -= 1
                raise ConnectionError("it broke off")
        yield reply


def begin(root: User, monkeypatch: pytest.MonkeyPatch, model: Slow, *tools: Any) -> Thread:
    graphs.register(monkeypatch, compiled(Agent("writer", model, tools=list(tools))))
    return threads.start(root, "writer", "Write")


def test_words_are_readable_while_they_come_and_gone_with_their_reply(
    root: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    @tool
    def note(text: str) -> str:
        """Take a note."""
        return text

    model = Slow(ModelReply("One two.", (ToolCall("note", {"text": "x"}),)), ModelReply("Three."))
    thread = begin(root, monkeypatch, model, note)
    held = []
    monkeypatch.setattr(outbox, "send", lambda groups, data: held.append((groups[0], data["topic"])) or True)
    advance()
    assert [one[-1] for one in model.seen] == ["One ", "One two. ", "Three. "]
    assert words() == [] and JournalEntry.objects.filter(key="model").count() == 2
    group = f"thread.{thread.uid.hex}"
    assert (group, "words") in held and (group, "thread") in held
    thread.refresh_from_db()
    assert thread.output == "Three."


def test_a_reply_that_is_asked_for_again_begins_anew(root: User, monkeypatch: pytest.MonkeyPatch) -> None:
    model = Slow(ModelReply("One two."))
    model.failing = 1
    thread = begin(root, monkeypatch, model)
    advance()
    thread.refresh_from_db()
    assert thread.status == "failed" and words() == []
    threads.retry(root, thread)
    advance()
    assert [one[-1] for one in model.seen] == ["One ", "One ", "One two. "]


def test_what_a_dead_job_left_is_nobodys_word_and_swept(root: User, monkeypatch: pytest.MonkeyPatch) -> None:
    thread = begin(root, monkeypatch, Slow(ModelReply("x")))
    Thread.objects.update(status="running")
    token = Lease.objects.get().token
    row = StreamedText.objects.create(thread=thread, path="writer", visit=1, token=token, text="I was")
    assert list(StreamedText.objects.of(thread)) == [row]
    Lease.objects.update(token=token + 1)
    assert not StreamedText.objects.of(thread).exists()
    Lease.objects.update(token=token)
    Thread.objects.update(status="interrupted")
    assert not StreamedText.objects.of(thread).exists()
    sweeping.tidy()
    assert StreamedText.objects.exists()
    StreamedText.objects.update(at=timezone.now() - timedelta(hours=1))
    sweeping.tidy()
    assert not StreamedText.objects.exists()


def test_a_reply_takes_only_its_own_words_away(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[str] = []
    streaming = Streaming(lambda said: written.extend(one.text for one in said.values()))
    place = {"type": "graph.node_stream", "path": "outer", "visit": 1}

    def says(agent: str, text: str, at: int) -> None:
        streaming.hear({**place, "delta": {"text": text, "agent": agent, "turn": 0, "at": at}})

    says("b", "Dear customer, ", 0)
    says("a", "short", 0)
    assert streaming.forget(TaskKey("outer", 1), "short and done") is True
    says("b", "bye", 15)
    monkeypatch.setattr("graphs.actions.streaming.LEAST_SECONDS", -1.0)
    says("b", ".", 18)
    assert written[-1] == "Dear customer, bye."
