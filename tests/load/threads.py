"""Moves threads the way the product does, in this process: start, advance, decide."""

from __future__ import annotations

from collections import deque
from typing import Any

from graphs.actions import decisions
from graphs.actions import threads as acting
from graphs.engine.statuses import Outcome
from graphs.jobs import threads as jobs
from graphs.models import Interrupt, Thread
from tests.load import ground
from tests.load.measure import Body, timed

#: The state that nodes hand on: one kilobyte of JSON.
KILOBYTE = {"text": "x" * 1000}


def start(graph_id: str, given: Any) -> Thread:
    return acting.start(ground.person(), graph_id, given, channel="load")


def advance(thread: Thread) -> Thread:
    """Run the job until the thread rests."""
    while thread.status in ("ready", "running"):
        jobs.advance()
        thread.refresh_from_db(fields=["status", "step"])
    return thread


def open_of(thread: Thread) -> list[Interrupt]:
    """The open questions of the thread, the oldest first."""
    return list(Interrupt.objects.filter(thread=thread).waiting().order_by("created_at", "pk"))


def decide(thread: Thread) -> None:
    """Approve every open question of the thread."""
    decide_these(thread, open_of(thread))


def decide_these(thread: Thread, asked: list[Interrupt]) -> None:
    """Approve these questions of the thread in one request."""
    given = [decisions.Given(str(one.pk), one.version, one.digest, Outcome.APPROVED) for one in asked]
    decisions.decide(ground.person(), given, channel="load")
    thread.refresh_from_db(fields=["status"])


def waiting(graph_id: str, given: Any, count: int) -> deque[Thread]:
    """So many threads that have come to their question."""
    return deque(advance(start(graph_id, given)) for _ in range(count))


def resuming(found: deque[Thread]) -> Body:
    """Answers the next of these threads, and measures how long it then takes to its end."""

    def body() -> float:
        thread = found.popleft()
        decide(thread)
        seconds = timed(lambda: advance(thread))
        assert thread.status == "completed", thread.status
        return seconds

    return body
