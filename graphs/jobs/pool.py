"""Where a job's synchronous nodes run: bounded threads that keep no database connection."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.db import connections

from graphs.engine.pool import ThreadPool


class ClosingPool(ThreadPool):
    """A node that queries opens a connection of its thread's own; left open, each thread would hold one for good."""

    async def run(self, call: Callable[[], Any]) -> Any:
        """The result of `call()`, whose connections are closed by then."""

        def closing() -> Any:
            try:
                return call()
            finally:
                connections.close_all()

        return await super().run(closing)


NODES = ClosingPool()
