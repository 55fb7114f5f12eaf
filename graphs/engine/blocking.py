"""The twins of async calls for code without an event loop: what each does is done by the async one."""

from __future__ import annotations

import asyncio
import contextvars
import queue
import threading
from collections.abc import AsyncIterator, Coroutine, Iterator
from typing import Any, TypeVar

T = TypeVar("T")
_END = object()


def blocking(call: Coroutine[Any, Any, T]) -> T:
    """What the coroutine returns, or raises; on a loop of its own, in a thread of its own where this one has a loop."""
    if not _within_loop():
        return asyncio.run(call)
    outcome: list[T] = []
    failure: list[BaseException] = []

    def work() -> None:
        try:
            outcome.append(asyncio.run(call))
        except BaseException as error:  # noqa: BLE001 - raised again in the caller's thread
            failure.append(error)

    _begin(work, "graph-run").join()
    if failure:
        raise failure[0]
    return outcome[0]


def _within_loop() -> bool:
    # Run outside of the `except`: what the coroutine raises would else be told as raised while another was handled.
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def iterated(items: AsyncIterator[T]) -> Iterator[T]:
    """The items as they come, read in a thread of its own. Where the reader stops, they are read on to their end."""
    told: queue.Queue[Any] = queue.Queue()
    failure: list[BaseException] = []

    async def pump() -> None:
        async for item in items:
            told.put(item)

    def work() -> None:
        try:
            asyncio.run(pump())
        except BaseException as error:  # noqa: BLE001 - raised again where the items are read
            failure.append(error)
        finally:
            told.put(_END)

    _begin(work, "graph-stream")
    while (item := told.get()) is not _END:
        yield item
    if failure:
        raise failure[0]


def _begin(work: Any, name: str) -> threading.Thread:
    context = contextvars.copy_context()
    thread = threading.Thread(target=lambda: context.run(work), name=name, daemon=True)
    thread.start()
    return thread
