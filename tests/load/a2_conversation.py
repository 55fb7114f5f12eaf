"""A2: the job that resumes an agent with 1,000 or 100 earlier messages, against one with 10 (flat is 1)."""

from __future__ import annotations

import itertools
from typing import Any

from graphs.agents.agent import Agent
from graphs.agents.models import ScriptedModel, ToolCall
from graphs.agents.tools import tool
from graphs.engine.messages import Message
from graphs.engine.ports import random_id
from graphs.engine.runner import GraphRunner
from graphs.engine.statuses import Outcome
from graphs.engine.workflow import compiled
from tests.load import ground
from tests.load.measure import Body, Row, alternate, table, timed

ROUNDS = 7
WINDOW = 40


@tool(require_confirmation=True)
def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


def agent() -> Agent:
    replies = itertools.cycle([ToolCall("pay", {"amount": 5}), "It is paid."])
    said: Any = lambda messages: next(replies)  # noqa: E731 - a script that does not depend on what was said
    return Agent("payer", ScriptedModel([said] * 2_000), tools=[pay], window=WINDOW)


def earlier(count: int) -> list[Message]:
    """A conversation of so many messages, about as long as people's are."""
    words = "word " * 40
    return [
        Message.text_message(f"Message {index}: {words}", "assistant" if index % 2 else "user")
        for index in range(count)
    ]


def run(kind: str) -> None:
    ground.prepare(kind)
    from asgiref.sync import async_to_sync

    from graphs.actions.actors import System
    from graphs.actions.decisions import Given, decide
    from graphs.actions.supersteps import DjangoCheckpointer
    from graphs.jobs.threads import advance
    from graphs.library import registry
    from graphs.models import Interrupt, Thread

    graph = compiled(agent())
    registry.entries = lambda: (registry.Entry("payer", "tests", graph),)  # type: ignore[assignment]

    def resuming(count: int) -> Body:
        async def wait(name: str) -> None:
            run = GraphRunner().graph(graph).hook(DjangoCheckpointer()).new_thread(name)
            assert (await run.state({"messages": earlier(count)}).arun("pay")).paused

        def body() -> float:
            name = random_id()
            async_to_sync(wait)(name)
            asked = Interrupt.objects.get(thread__thread_id=name)
            given = Given(str(asked.pk), asked.version, asked.digest, Outcome.APPROVED, {"approved": True})
            decide(System("system:load"), [given], channel="api")
            seconds = timed(advance)
            assert Thread.objects.get(thread_id=name).output == "It is paid."
            return seconds

        return body

    rows = [
        Row(f"resume after {more} messages; after {less}", alternate(resuming(more), resuming(less), ROUNDS), "1")
        for more, less in ((100, 10), (1000, 10))
    ]
    table(f"A2 the job that resumes, by length of the conversation, window {WINDOW} ({kind})", rows)
