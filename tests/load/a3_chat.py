"""A3: the page of a conversation of 2,000 messages, and an earlier part of it, against one of 20 (flat is 1)."""

from __future__ import annotations

from typing import Any

from graphs.agents.agent import Agent
from graphs.agents.models import ScriptedModel
from graphs.engine.workflow import compiled
from tests.load import ground
from tests.load.measure import Body, Row, alternate, table, timed

ROUNDS = 9
LONG, SHORT = 1_000, 10
WORDS = "word " * 30


def agent() -> Agent:
    return Agent("talker", ScriptedModel([f"Reply {number}: {WORDS}" for number in range(LONG)]))


def run(kind: str) -> None:
    ground.prepare(kind)
    from django.test import Client
    from django.urls import reverse

    from graphs.library import registry
    from graphs.web import talk

    registry.entries = lambda: (registry.Entry("talker", "tests", compiled(agent())),)  # type: ignore[assignment]
    client = Client(headers={"host": "localhost"})
    client.force_login(ground.person())
    long, short = spoken(LONG), spoken(SHORT)

    def page(thread: Any, before: str = "") -> Body:
        address = reverse("thread", args=[thread.uid]) + before

        def body() -> float:
            got: list[Any] = []
            seconds = timed(lambda: got.append(client.get(address)))
            assert b"bubble-node" in got[0].content, got[0].content[:500]
            return seconds

        return body

    middle = talk.read(long).first
    rows = [
        Row(f"{2 * LONG} messages, newest; {2 * SHORT} messages", alternate(page(long), page(short), ROUNDS), "1"),
        Row("the part before those; 20 messages", alternate(page(long, f"?before={middle}"), page(short), ROUNDS), "1"),
    ]
    table(f"A3 page of a conversation ({kind})", rows)


def spoken(turns_: int) -> Any:
    """A conversation of so many turns, each a message and a reply."""
    from graphs.actions import threads, turns
    from graphs.jobs.threads import advance
    from graphs.models import Thread

    thread = threads.start(ground.person(), "talker", f"Message 0: {WORDS}")
    for number in range(turns_):
        if number:
            turns.say(ground.person(), Thread.objects.get(pk=thread.pk), f"Message {number}: {WORDS}")
        advance()
    found = Thread.objects.get(pk=thread.pk)
    assert found.status == "completed", found.status
    return found
