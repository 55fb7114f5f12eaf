"""How a server is reached: a process that is started for the call, or an address; and the SDK's session with it."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

from graphs.engine.errors import DefinitionError

if TYPE_CHECKING:
    from mcp import ClientSession

logger = logging.getLogger(__name__)


def quiet(record: logging.LogRecord) -> bool:
    """Leave out of the log that a server still said something to a session that was over: at each question that ends a
    call in the middle, that is as it should be."""
    error = record.exc_info[1] if isinstance(record.exc_info, tuple) else None
    return type(error).__name__ not in ("BrokenResourceError", "ClosedResourceError")


logging.getLogger("mcp.client.streamable_http").addFilter(quiet)

#: The SDK's callback for what a server asks: it is given a context and what is asked, and gives the answer.
Elicited = Callable[[Any, Any], Awaitable[Any]]


class Connection(Protocol):
    """A way to a server."""

    @property
    def called(self) -> str:
        """A name for it."""

    @property
    def where(self) -> str:
        """How messages say where it is: without secrets."""

    def hidden(self, words: str) -> str:
        """What an error says, without the secrets that are known here."""

    def streams(self) -> Any:
        """A context manager of the two streams of messages."""


@dataclass(frozen=True, slots=True)
class Process:
    """A server that is started for each session and speaks over its standard input and output."""

    command: str
    args: Sequence[str] = ()
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    cwd: str | None = None

    @property
    def called(self) -> str:
        """The program's own name."""
        return PurePath(self.command).name

    @property
    def where(self) -> str:
        """The program, without its arguments: those may hold keys."""
        return f"the program {self.command!r}"

    def hidden(self, words: str) -> str:
        """The words as they are: no arguments and no environment get into them."""
        return words

    @asynccontextmanager
    async def streams(self) -> AsyncIterator[Any]:
        """Start it; it is stopped behind."""
        from mcp import StdioServerParameters, stdio_client

        given = StdioServerParameters(
            command=self.command, args=list(self.args), env=dict(self.env) or None, cwd=self.cwd
        )
        async with stdio_client(given, errlog=sys.__stderr__ or subprocess.DEVNULL) as pair:  # type: ignore[arg-type]
            yield pair


@dataclass(frozen=True, slots=True)
class Address:
    """A server that runs by itself and speaks streamable HTTP; `seconds` bound connecting and each write."""

    url: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    seconds: float = 60.0

    @property
    def called(self) -> str:
        """The host."""
        return urlsplit(self.url).hostname or self.where

    @property
    def where(self) -> str:
        """Host and port: user, path and query may all hold keys."""
        parts = urlsplit(self.url)
        port = f":{parts.port}" if parts.port else ""
        return f"{parts.scheme}://{parts.hostname}{port}"

    def hidden(self, words: str) -> str:
        """With `where` in place of the address: HTTP errors name it in full."""
        return words.replace(self.url, self.where)

    @asynccontextmanager
    async def streams(self) -> AsyncIterator[Any]:
        """Connect; the session is ended on the server too."""
        import httpx2
        from mcp.client.streamable_http import streamable_http_client

        # No bound on reading: while a person is asked the server is rightly silent, and the caller keeps the time.
        limits = httpx2.Timeout(self.seconds, read=None)
        hooks = {"response": [refuse_failure]}
        async with (
            httpx2.AsyncClient(headers=dict(self.headers), timeout=limits, event_hooks=hooks) as client,
            streamable_http_client(self.url, http_client=client) as pair,
        ):
            yield pair


class RefusedByHTTP(Exception):
    """What answered at the address did not let the request through to a server of tools."""


async def refuse_failure(response: Any) -> None:
    """Raise the status of a failed request: the SDK says no more than that there was one."""
    status = response.status_code
    told = response.headers.get("content-type", "").lower().startswith("application/json")
    if response.request.method == "POST" and (status in (401, 403, 429) or status >= 500) and not told:
        raise RefusedByHTTP(f"{status} {response.reason_phrase}".strip())


@asynccontextmanager
async def session_with(connection: Connection, elicited: Elicited) -> AsyncIterator[ClientSession]:
    """A session that has shaken hands; raises whatever the SDK and its transports do.

    The handshake of 2025-11-25 comes first: under the later protocol servers cannot ask in the middle of a call, and
    tools that were written to do so fail there.
    """
    from mcp import ClientSession, Implementation, MCPError
    from mcp.types import METHOD_NOT_FOUND, UNSUPPORTED_PROTOCOL_VERSION

    callback: Any = elicited  # the SDK's type names the parameters too
    async with connection.streams() as (read, write):
        session = ClientSession(
            dispatcher=dispatcher(read, write),
            elicitation_callback=callback,
            client_info=Implementation(name="sayso", version=version("sayso")),
        )
        async with session:
            try:
                await session.initialize()
            except MCPError as error:
                if error.code not in (METHOD_NOT_FOUND, UNSUPPORTED_PROTOCOL_VERSION):
                    raise
                await session.discover()
            yield session


def dispatcher(read: Any, write: Any) -> Any:
    """The SDK's dispatcher, but for listings of tools: one tool that breaks the protocol costs that tool alone."""
    from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher

    class Sifting(JSONRPCDispatcher[Any]):
        """Leaves out of each listing what is no tool."""

        async def send_raw_request(self, method: str, *args: Any, **options: Any) -> dict[str, Any]:
            raw = await super().send_raw_request(method, *args, **options)
            if method == "tools/list" and isinstance(raw.get("tools"), list):
                raw = {**raw, "tools": [one for one in raw["tools"] if sound(one)]}
            return raw

    return Sifting(read, write)


def sound(listed: Any) -> bool:
    """Whether one tool of a listing is what the protocol says; else it is left out, with a warning."""
    from mcp_types.methods import validate_server_result
    from pydantic import ValidationError

    try:
        validate_server_result("tools/list", "2025-11-25", {"tools": [listed]})
    except ValidationError as error:
        named = listed.get("name") if isinstance(listed, Mapping) else listed
        logger.warning("a tool %.100r is left out: %.300s", named, error.errors()[0]["msg"])
        return False
    return True


def need_sdk() -> None:
    """Raises `DefinitionError` where the extra is not installed."""
    # Looked for, not imported: it takes half a second, and many a process that reads a definition runs no agent.
    if find_spec("mcp") is None:
        raise DefinitionError("tools of MCP servers need the mcp client: pip install 'sayso[mcp]'")
