"""A1: one turn of an agent (a model call and a tool call, each an entry of the journal), against the bare two calls."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Any

from graphs.agents.agent import Agent
from graphs.agents.models import ScriptedModel, ToolCall
from graphs.agents.tools import tool
from graphs.engine.checkpointers.memory import InMemoryCheckpointer
from graphs.engine.checkpointers.sqlite import SQLiteCheckpointer
from graphs.engine.messages import Message
from graphs.engine.ports import random_id
from graphs.engine.runner import Runner
from tests.load import ground
from tests.load.measure import Body, Row, alternate, table, timed

TURNS, ROUNDS = 20, 7


@tool
def look(path: str) -> str:
    """Look at a file."""
    return f"{path} is old"


def model() -> ScriptedModel:
    return ScriptedModel([*(ToolCall("look", {"path": f"file-{turn}"}) for turn in range(TURNS)), "Done."])


def ours(store: Any) -> Body:
    """All turns of one agent on a store."""
    from asgiref.sync import async_to_sync

    agent = Agent("looker", model(), tools=[look], max_turns=TURNS + 1)

    async def run() -> None:
        await Runner.arun_graph(agent, "look", checkpointer=store, thread_id=random_id())

    return lambda: timed(async_to_sync(run))


def bare() -> float:
    """The same calls of the same model and the same tool, and nothing around them."""
    said = [Message.text_message("look")]
    scripted = model()

    async def run() -> None:
        for _ in range(TURNS):
            reply = await scripted.complete(said, [look.spec], "")
            said.append(Message.tool_call_message({"name": "look", "input": reply.tool_calls[0].input}))
            look(**reply.tool_calls[0].input)
        await scripted.complete(said, [look.spec], "")

    return timed(lambda: asyncio.run(run()))


def run(kind: str) -> None:
    ground.prepare(kind)
    from graphs.actions.supersteps import DjangoCheckpointer

    with tempfile.TemporaryDirectory() as folder:
        stores = {
            "memory": InMemoryCheckpointer(),
            "a SQLite file": SQLiteCheckpointer(Path(folder) / "threads.sqlite3"),
            f"the tables on {kind}": DjangoCheckpointer(),
        }
        rows = [
            Row(f"{TURNS} turns in {name}; bare calls", alternate(ours(store), bare, ROUNDS))
            for name, store in stores.items()
        ]
    table(f"A1 overhead of {TURNS} agent turns ({kind})", rows)
    for row in rows:
        print(f"{row.name:52} {(row.pair.ours - row.pair.other) / TURNS * 1000:10.2f} ms more a turn")
