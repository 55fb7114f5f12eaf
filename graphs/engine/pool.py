"""Where synchronous nodes run: a bounded pool of threads, each call with a copy of its caller's context."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import os
import queue
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

#: More than this many synchronous nodes of a process wait for each other.
SIZE = 32


class Pool(Protocol):
    """Runs a blocking call off the loop's thread. A caller with connections of its own closes them around each call."""

    async def run(self, call: Callable[[], Any]) -> Any: ...


class ThreadPool:
    """The usual pool; its threads start with the first call and are not carried over a fork."""

    def __init__(self, size: int = SIZE) -> None:
        self._size = size
        self._executor: ThreadPoolExecutor | None = None
        os.register_at_fork(after_in_child=self._forget)

    async def run(self, call: Callable[[], Any]) -> Any:
        """The result of `call()`, made in a pool thread with the caller's context variables."""
        if self._executor is None:
            self._executor = ThreadPoolExecutor(self._size, thread_name_prefix="node")
        context = contextvars.copy_context()
        return await asyncio.get_running_loop().run_in_executor(self._executor, context.run, _guarded, call)

    def _forget(self) -> None:
        # The parent's threads do not exist in the child; calls handed to them would never return.
        self._executor = None


def _guarded(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except (StopIteration, SystemExit, KeyboardInterrupt, GeneratorExit) as error:
        # These would end the future, the loop or the worker instead of the task that raised them.
        raise RuntimeError(f"a node raised {type(error).__name__}({error})") from error


class LentThread:
    """A pool of the one thread that waits meanwhile: what a synchronous node runs as its children takes no second
    thread of a bounded pool, whose nodes would else wait for each other for ever."""

    def __init__(self) -> None:
        self._calls: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()

    async def run(self, call: Callable[[], Any]) -> Any:
        """The result of `call()`, made in the thread that is in `serve`, with the caller's context variables."""
        future: concurrent.futures.Future[Any] = concurrent.futures.Future()
        context = contextvars.copy_context()

        def work() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(context.run(_guarded, call))
            except BaseException as error:  # noqa: BLE001 - raised again where the call is awaited
                future.set_exception(error)

        self._calls.put(work)
        return await asyncio.wrap_future(future)

    def serve(self, main: Coroutine[Any, Any, Any], loop: asyncio.AbstractEventLoop) -> Any:
        """The result of `main` on the loop; this thread makes the calls of `run` until then."""
        done = asyncio.run_coroutine_threadsafe(main, loop)
        done.add_done_callback(lambda _: self._calls.put(None))
        while True:
            try:
                work = self._calls.get(timeout=1.0)
            except queue.Empty:
                # A loop that was stopped never answers, and this thread would keep its process from ending.
                if loop.is_closed():
                    raise RuntimeError("the event loop was closed") from None
                continue
            if work is None:
                return done.result()
            work()


SHARED = ThreadPool()
