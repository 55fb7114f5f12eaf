"""Sockets that ask the same of the database in one moment share one answer: that of a look begun after they asked."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from channels.db import database_sync_to_async

T = TypeVar("T")

#: How long a look waits for others who ask the same (seconds).
MOMENT = 0.005
asked: dict[Hashable, asyncio.Task[Any]] = {}


async def together(question: Hashable, look: Callable[[], T]) -> T:
    """The answer of `look`, which reads and writes nothing. A hint rings hundreds of sockets at once, and those of one
    person need not each open the database. Raises what `look` raises, to all who share it."""
    task = asked.get(question)
    if task is None:
        task = asked[question] = asyncio.create_task(soon(question, look))
    # One socket that closes takes the answer from none of the others.
    found: T = await asyncio.shield(task)
    return found


async def soon(question: Hashable, look: Callable[[], T]) -> T:
    try:
        await asyncio.sleep(MOMENT)
    finally:
        # Whoever asks from now on may know of a change that this look no longer sees.
        asked.pop(question, None)
    found: T = await database_sync_to_async(look)()
    return found
