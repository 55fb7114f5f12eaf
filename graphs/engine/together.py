"""Several coroutines at once, seen through to the end of each: a tool's calls, the nodes of a child's graph."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar

T = TypeVar("T")


async def all_ended(calls: Iterable[Coroutine[Any, Any, T]]) -> list[asyncio.Task[T]]:
    """One ended task for each, in their order, whatever each has ended with; nothing of them is raised here.

    Where the caller is cancelled they are cancelled too, and waited for: what one is recording is recorded to its end.
    """
    running = [asyncio.create_task(one) for one in calls]
    if not running:
        return []
    try:
        await asyncio.wait(running)
    except asyncio.CancelledError:
        for one in running:
            one.cancel()
        await asyncio.wait(running)
        errors_of(running)  # seen, so that nobody reports them as never retrieved
        raise
    return running


def errors_of(ended: Iterable[asyncio.Task[Any]]) -> list[BaseException]:
    """What those raised that did not return, in their order."""
    return [error for one in ended if not one.cancelled() and (error := one.exception()) is not None]
