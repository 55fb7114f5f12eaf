"""Where synchronous nodes run: a bounded pool of threads, each call with a copy of its caller's context."""

from __future__ import annotations

import asyncio
import contextvars
import os
from collections.abc import Callable
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
    except (StopIteration, SystemExit, KeyboardInterrupt) as error:
        # These would end the future, the loop or the worker instead of the task that raised them.
        raise RuntimeError(f"a node raised {type(error).__name__}({error})") from error


SHARED = ThreadPool()
