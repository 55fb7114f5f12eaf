"""One session with a server, for one request. Its own task owns the connection; what the server asks is answered in the
caller's flow, where a pause can be raised."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from graphs.agents.mcp.connection import Connection, Elicited, session_with

if TYPE_CHECKING:
    from mcp import ClientSession

#: How long a server may take over the end of a session, in seconds, before it is left.
CLOSING = 3.0

#: What is done in the session; the second argument asks, for what does not come over the SDK's callback.
Work = Callable[["ClientSession", Elicited], Awaitable[Any]]
Answer = Callable[[Any], Awaitable[Any]]


class FellSilent(Exception):
    """The server did not answer in time."""


class SessionEnded(Exception):
    """There is no session any more, and no other reason is known."""


class Broken(Exception):
    """The request failed in the session: `error` says why."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(str(error))
        self.error = error


@dataclass(frozen=True, slots=True)
class _Asked:
    params: Any
    reply: asyncio.Future[Any]


@dataclass(frozen=True, slots=True)
class _Ended:
    result: Any = None
    error: BaseException | None = None


async def exchange(connection: Connection, work: Work, answer: Answer, timeout: float) -> Any:
    """What `work` gives. Each question that comes meanwhile is put to `answer`, one at a time, here.

    `timeout` bounds in seconds how long the server is waited for; the time that an answer takes does not count. Raises
    `FellSilent`, `Broken`, and what `answer` raises: the session is ended without an answer then.
    """
    return await Exchange(connection).run(work, answer, timeout)


class Exchange:
    """The state of one exchange."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._told: asyncio.Queue[_Asked | _Ended] = asyncio.Queue()
        self._whole: Any = None
        self._calling: Any = None

    async def run(self, work: Work, answer: Answer, timeout: float) -> Any:
        """See `exchange`."""
        owner = asyncio.create_task(self._own(work))
        owner.add_done_callback(self._left)
        left = timeout
        try:
            while True:
                began = asyncio.get_running_loop().time()
                try:
                    told = await asyncio.wait_for(self._told.get(), max(left, 0))
                except TimeoutError:
                    raise FellSilent(f"{timeout} s") from None
                left -= asyncio.get_running_loop().time() - began
                if isinstance(told, _Ended):
                    if told.error is not None:
                        raise Broken(told.error)
                    return told.result
                given = await answer(told.params)
                if not told.reply.done():
                    told.reply.set_result(given)
        finally:
            await self._close(owner)

    async def _own(self, work: Work) -> None:
        import anyio

        with anyio.CancelScope() as self._whole:
            async with session_with(self.connection, self._elicited) as session:
                with anyio.CancelScope() as self._calling:
                    try:
                        self._told.put_nowait(_Ended(await work(session, self._elicited)))
                    except Exception as error:  # noqa: BLE001 - told to the caller, who knows what it means
                        self._told.put_nowait(_Ended(error=error))

    async def _elicited(self, context: Any, params: Any) -> Any:
        """The SDK's callback: it runs in a task of the session's, so it passes the question on and waits."""
        reply: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._told.put_nowait(_Asked(params, reply))
        return await reply

    def _left(self, owner: asyncio.Task[None]) -> None:
        """Tell a caller that still waits why there is no session any more; behind a result nobody reads it."""
        error = asyncio.CancelledError() if owner.cancelled() else owner.exception()
        self._told.put_nowait(_Ended(error=_innermost(error) if error else SessionEnded()))

    async def _close(self, owner: asyncio.Task[None]) -> None:
        """End the session, see its task through, and only then let a cancellation of the caller pass: no process or
        connection outlives the call."""
        import anyio

        if self._whole is None:
            owner.cancel()
        elif self._calling is None:
            self._whole.cancel()
        else:
            # The server is told that the call is given up, and that the session ends; then it is not waited for.
            self._calling.cancel()
            self._whole.deadline = anyio.current_time() + CLOSING
        cancelled = None
        while not owner.done():
            try:
                await asyncio.wait([owner])
            except asyncio.CancelledError as error:
                cancelled = error
        if cancelled is not None:
            raise cancelled


def _innermost(error: BaseException) -> BaseException:
    """The first of a group: what broke the connection."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error if isinstance(error, Exception) else SessionEnded()
