"""Where store calls are made: in the job's main thread and on its one connection, between two steps of its loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from asgiref.sync import sync_to_async

T = TypeVar("T")


class Driven(threading.local):
    """The loop that a job drives in this thread, where one does."""

    loop: asyncio.AbstractEventLoop | None = None


driven = Driven()


def drive(call: Coroutine[Any, Any, T]) -> T:
    """Run a job's loop in the calling thread, so that its store calls need no change of threads: two a call are more
    than half of a small superstep's time. Raises whatever `call` raises, RuntimeError where a loop runs here already.
    """
    given: list[T] = []

    # What the loop's own task returns is spelled out by its handling of signals, however large a thread's state is.
    async def keep() -> None:
        given.append(await call)

    outer = driven.loop
    try:
        with asyncio.Runner() as runner:
            driven.loop = runner.get_loop()
            runner.run(keep())
    finally:
        driven.loop = outer
    return given[0]


async def hop(function: Callable[..., T], *arguments: Any) -> T:
    """Make one store call: right here where a job drives the loop, else in the process's thread for synchronous code.

    A job's loop stands still meanwhile, which is a few milliseconds; a web server's must not.
    """
    if driven.loop is None:
        return await sync_to_async(function, thread_sensitive=True)(*arguments)
    with off_the_loop():
        return function(*arguments)


@contextmanager
def off_the_loop() -> Iterator[None]:
    """Let this thread be one without a loop for the length of a synchronous call. Django's guard refuses its database
    to code on a loop, because a query would hold up the loop unawares; a store call does it knowingly. Nodes run
    outside of this block, so that one of them that queries from async code is refused as ever.
    """
    loop = asyncio.get_running_loop()
    asyncio._set_running_loop(None)
    try:
        yield
    finally:
        asyncio._set_running_loop(loop)
