"""W10: the review page of a value of 1 MB, and of a question after 2,000 messages, against small ones."""

from __future__ import annotations

from typing import Any

from graphs.agents.agent import Agent
from graphs.agents.models import ScriptedModel, ToolCall
from graphs.agents.tools import tool
from graphs.engine.workflow import compiled
from tests.load import ground
from tests.load.measure import Body, Row, alternate, table, timed

LONG, SHORT = 1_000, 10
WORDS = "word " * 30


@tool(require_confirmation=True)
def send(note: str) -> str:
    """Send a note."""
    return note


def talker(turns: int) -> Any:
    replies = [f"Reply {number}: {WORDS}" for number in range(turns)]
    return compiled(Agent(f"talker_{turns}", ScriptedModel([*replies, ToolCall("send", {"note": "x"})]), tools=[send]))


def run(kind: str) -> None:
    ground.prepare(kind)
    from graphs.library import registry

    graphs = {f"talker_{turns}": talker(turns) for turns in (LONG, SHORT)}
    installed = registry.entries()
    added = tuple(registry.Entry(name, "tests", graph) for name, graph in graphs.items())
    registry.entries = lambda: (*installed, *added)  # type: ignore[assignment]
    large, small = page(of_size(1_000_000)), page(of_size(1_000))
    long, short = page(after(LONG)), page(after(SHORT))
    rows = [
        Row("value of 1 MB; 1 KB", alternate(large, small)),
        Row(f"after {2 * LONG} messages; {2 * SHORT}", alternate(long, short), "1"),
    ]
    table(f"W10 review page ({kind})", rows)


def page(question: Any) -> Body:
    from django.test import Client
    from django.urls import reverse

    client = Client(headers={"host": "localhost"})
    client.force_login(ground.person())
    address = reverse("review", args=[question.pk])

    def body() -> float:
        got: list[Any] = []
        seconds = timed(lambda: got.append(client.get(address)))
        assert b'data-act="approve"' in got[0].content, got[0].content[:500]
        return seconds

    return body


def of_size(size: int) -> Any:
    """An open question whose value is so many bytes, half of them one long text and half of them rows."""
    from graphs.models import Interrupt
    from tests.load import threads

    question = Interrupt.objects.get(thread=threads.advance(threads.start("pause", threads.KILOBYTE)))
    line = {"sku": "A-1", "count": 3, "note": "as always"}
    question.payload = {"letter": "a letter of many words " * (size // 46), "lines": [line] * (size // 100)}
    question.save(update_fields=["payload"])
    return question


def after(turns_: int) -> Any:
    """The question of an agent that has had so many turns of talk before."""
    from graphs.actions import threads, turns
    from graphs.jobs.threads import advance
    from graphs.models import Interrupt, Thread

    thread = threads.start(ground.person(), f"talker_{turns_}", f"Message 0: {WORDS}")
    for number in range(1, turns_ + 1):
        advance()
        turns.say(ground.person(), Thread.objects.get(pk=thread.pk), f"Message {number}: {WORDS}")
    advance()
    return Interrupt.objects.get(thread=thread)
