"""What a run gives back: its stored status, its output, its open questions and its state."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from graphs.engine.blocking import iterated
from graphs.engine.interrupts import Interrupt
from graphs.engine.ports import Emit, Json
from graphs.engine.statuses import ThreadStatus

#: The statuses of a run are those of its thread.
GraphRunStatus = ThreadStatus


@dataclass(frozen=True, slots=True)
class GraphState:
    """A thread as its store has it: outputs by node, the first open question of each node, the state channels.

    A nested graph's questions stand under its outer node's id; its inner nodes' outputs under their path.
    """

    node_results: Mapping[str, Json] = field(default_factory=dict)
    pending_interrupts: Mapping[str, Interrupt] = field(default_factory=dict)
    values: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GraphRunResult:
    """How a run stands. `interrupts` are all open questions in node order; `status` is the stored one (Z25)."""

    status: ThreadStatus
    thread_id: str
    output: Json = None
    interrupts: tuple[Interrupt, ...] = ()
    state: GraphState | None = None
    error: Mapping[str, Json] | None = None

    @property
    def paused(self) -> bool:
        """Whether a person must answer before it goes on (Z26)."""
        return bool(self.interrupts)


_END = object()
_log = logging.getLogger(__name__)
#: Runs whose events are told: a loop itself keeps no task from being collected once its reader has gone.
_unread: set[asyncio.Future[Any]] = set()


def _tell_unread(driver: asyncio.Future[Any]) -> None:
    """Say what a run died of that nobody reads any more; its thread can be resumed like any that was cut off."""
    if not driver.cancelled() and (error := driver.exception()) is not None:
        _log.error("a run whose events nobody reads any more broke off", exc_info=error)


class GraphRunResultStreaming:
    """A run that tells its events while it runs; what `GraphRunResult` has is there once they are drained (G19)."""

    def __init__(self, thread_id: str, drive: Callable[[Emit], Coroutine[Any, Any, GraphRunResult]]) -> None:
        self.thread_id = thread_id
        self._drive = drive
        self._begun = False
        self._result: GraphRunResult | None = None
        self._driver: asyncio.Future[GraphRunResult] | None = None

    async def stream_events(self) -> AsyncIterator[Mapping[str, Any]]:
        """The events as they come. Whoever stops reading loses nothing: the run goes on to its pause or end (T21).
        RuntimeError where they were read before, which would run the thread once more."""
        if self._begun:
            raise RuntimeError("the events of a run are told once; run or resume the thread again for others")
        self._begun = True
        events: asyncio.Queue[Any] = asyncio.Queue()
        driver = self._driver = asyncio.ensure_future(self._run(events.put_nowait))
        _unread.add(driver)
        driver.add_done_callback(_unread.discard)
        try:
            while (event := await events.get()) is not _END:
                yield event
        except BaseException:
            driver.add_done_callback(_tell_unread)
            raise
        self._result = await driver

    async def stop(self) -> None:
        """Cancel a run that is under way, and wait until nothing of it runs; its thread can be resumed."""
        if self._driver is not None and not self._driver.done():
            self._driver.cancel()
            await asyncio.wait({self._driver})

    def events(self) -> Iterator[Mapping[str, Any]]:
        """The same for code without an event loop; the run has a thread of its own."""
        return iterated(self.stream_events())

    async def _run(self, put: Callable[[Any], None]) -> GraphRunResult:
        try:
            return await self._drive(put)
        finally:
            put(_END)

    @property
    def result(self) -> GraphRunResult:
        """The result; RuntimeError before the events are drained."""
        if self._result is None:
            raise RuntimeError("drain stream_events() first: the result is known when the run has paused or ended")
        return self._result

    @property
    def status(self) -> ThreadStatus:
        """The stored status."""
        return self.result.status

    @property
    def output(self) -> Json:
        """The output of the terminals that fired."""
        return self.result.output

    @property
    def interrupts(self) -> tuple[Interrupt, ...]:
        """All open questions in node order."""
        return self.result.interrupts

    @property
    def state(self) -> GraphState | None:
        """The thread as its store has it."""
        return self.result.state

    @property
    def error(self) -> Mapping[str, Json] | None:
        """What went wrong, where the status is failed."""
        return self.result.error
