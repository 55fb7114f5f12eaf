"""MCP servers in the `tools` of an agent or a tool node."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from graphs.agents.mcp.connection import Address, Connection, Elicited, Process, RefusedByHTTP, need_sdk
from graphs.agents.mcp.content import content_of, text_of
from graphs.agents.mcp.elicitation import ACCEPT, ElicitationCallback, Elicitations
from graphs.agents.mcp.errors import PagesFirst, ToolFailed, ToolServerUnavailable
from graphs.agents.mcp.exchange import Answer, Broken, FellSilent, SessionEnded, Work, exchange
from graphs.agents.mcp.remote import RemoteTool, remote_tools
from graphs.agents.tool_context import ToolContext
from graphs.engine.effects import IDEMPOTENT, MODES
from graphs.engine.errors import DefinitionError, SaysoError

if TYPE_CHECKING:
    from mcp import ClientSession, MCPError
    from mcp.types import CallToolResult
    from mcp.types import Tool as ListedTool

#: A server lists its tools in pages, and asks for input in rounds; one that never ends is left.
MAX_PAGES = MAX_ROUNDS = 50
#: How many pages a server may send a person to before one call.
MAX_ASKED = 10
#: How much of a server's own words an error holds.
MAX_WORDS = 2_000
#: Under which key of a call's `_meta` a server finds the key that is the same each time this very call is made.
IDEMPOTENCY_KEY = "sayso/idempotency-key"


class MCPServer:
    """The tools of one server: `Agent(tools=[MCPServer(["notes-server", "--root", "/srv"]), MCPServer(url="https://…")])`.

    `command`, a program or a list of it and its arguments, with `args` behind it, is started for each call and each
    listing (with `env` beside a few plain variables, in `cwd`); `url` is an address that speaks streamable HTTP (with
    `headers`). One session serves one call, so nothing stays open between calls, over a pause or over a restart. The
    tools are listed when an agent first runs, and then kept.

    `name` is how people read of it; `prefix` is put before the names of its tools as models know them (with `_` for a
    dot); `approve` knows them by the server's names too. `timeout` bounds in seconds how long the server is waited for
    in one call. What a server asks in a call goes to `elicitation` first, and where that is missing or gives None to a
    person, who has `expires_in` to answer; then **the tool starts anew**, with the same arguments. With
    `confirm_destructive` a person agrees to calls of tools that the server calls destructive. `crash` is how its calls
    survive one, as for `tool`; servers find the call's idempotency key in its `_meta`.

    Raises `DefinitionError` without the extra `[mcp]`, and for options that do not go together.
    """

    def __init__(
        self,
        command: str | Sequence[str] = "",
        *,
        url: str = "",
        args: Sequence[str] = (),
        name: str = "",
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        headers: Mapping[str, str] | None = None,
        prefix: str = "",
        timeout: float = 60.0,
        elicitation: ElicitationCallback | None = None,
        expires_in: timedelta | float | None = None,
        confirm_destructive: bool = True,
        crash: str = IDEMPOTENT,
    ) -> None:
        need_sdk()
        line = [*([command] if isinstance(command, str) else command), *args]
        self.connection: Connection = _connection(line, url, env or {}, cwd, headers or {}, timeout)
        if crash not in MODES:
            raise DefinitionError(f"MCPServer: crash is one of {', '.join(sorted(MODES))}, not {crash!r}")
        self.name = name or self.connection.called
        self.prefix = prefix
        self.timeout = timeout
        self.elicitation = elicitation
        self.expires_in = expires_in
        self.confirm_destructive = confirm_destructive
        self.crash = crash
        self._tools: list[RemoteTool] | None = None

    def __repr__(self) -> str:
        return f"MCPServer({self.name!r})"  # never with headers, arguments or environment

    async def list_tools(self) -> list[RemoteTool]:
        """Its tools, asked for once. Raises `ToolServerUnavailable`; it is asked again then."""
        if self._tools is None:
            try:
                listed = await self._exchange(_listing, _nobody, "listed its tools")
            except ToolFailed as error:
                raise ToolServerUnavailable(str(error)) from error
            self._tools = remote_tools(
                listed,
                self._call,
                server=self.name,
                prefix=self.prefix,
                confirm_destructive=self.confirm_destructive,
                crash=self.crash,
            )
        return list(self._tools)

    async def _call(self, tool: str, arguments: Mapping[str, Any], call: ToolContext) -> Any:
        """What the tool gives. Raises the pause of what the server asks, `ToolFailed`, `ToolServerUnavailable`."""
        asked = Elicitations(self.name, tool, arguments, self.elicitation, self.expires_in)
        meta = {IDEMPOTENCY_KEY: call.context.idempotency_key} if call.context is not None else None

        async def work(session: ClientSession, elicited: Elicited) -> CallToolResult:
            return await _called(session, elicited, tool, dict(arguments), meta)

        try:
            result: CallToolResult = await self._exchange(work, asked.answer, f"ran {tool}")
        except PagesFirst as wanted:
            for page in wanted.pages:
                if (await asked.answer(page)).action != ACCEPT:
                    raise
            result = await self._exchange(work, asked.answer, f"ran {tool}")
        asked.check_used(text_of(result))
        if result.is_error:
            raise ToolFailed(text_of(result) or f"{tool} failed without a word")
        return content_of(result)

    async def _exchange(self, work: Work, answer: Answer, doing: str) -> Any:
        try:
            return await exchange(self.connection, work, answer, self.timeout)
        except FellSilent:
            raise ToolServerUnavailable(
                f"the MCP server {self.name} did not answer within {self.timeout:g} s while it {doing}"
            ) from None
        except Broken as broken:
            raise self._told(broken.error, doing) from broken.error

    def _told(self, error: BaseException, doing: str) -> SaysoError:
        """What broke, as ours: which server, in what, and the server's own words, cut."""
        from mcp import MCPError
        from mcp.types import CONNECTION_CLOSED, URL_ELICITATION_REQUIRED
        from pydantic import ValidationError

        if isinstance(error, SaysoError):
            return error
        words = self.connection.hidden(f"{error}")[:MAX_WORDS] or type(error).__name__
        if isinstance(error, MCPError) and error.code == URL_ELICITATION_REQUIRED:
            return _pages_first(error, f"the MCP server {self.name} wants a person to visit a page: {words}")
        if isinstance(error, MCPError) and error.code != CONNECTION_CLOSED:
            return ToolFailed(f"the MCP server {self.name} refused while it {doing}: {words}")
        if isinstance(error, (RuntimeError, ValidationError)):
            return ToolFailed(f"the MCP server {self.name} broke the protocol while it {doing}: {words}")
        if isinstance(error, (MCPError, SessionEnded)):
            return ToolServerUnavailable(f"the MCP server {self.name} ended while it {doing} ({self.connection.where})")
        if isinstance(error, RefusedByHTTP):
            return ToolServerUnavailable(f"the MCP server {self.name} answered {words} while it {doing}")
        kind = type(error).__name__
        return ToolServerUnavailable(
            f"the MCP server {self.name} cannot be reached at {self.connection.where}: {kind}: {words}"
        )


async def _listing(session: ClientSession, elicited: Elicited) -> list[ListedTool]:
    """All pages of what a server lists."""
    from mcp.types import PaginatedRequestParams

    page = await session.list_tools()
    found = list(page.tools)
    for _ in range(MAX_PAGES):
        if not page.next_cursor:
            break
        page = await session.list_tools(params=PaginatedRequestParams(cursor=page.next_cursor))
        found += page.tools
    return found


async def _called(
    session: ClientSession, elicited: Elicited, tool: str, arguments: dict[str, Any], meta: Any
) -> CallToolResult:
    """One call, in as many rounds as the server wants: under the later protocol it asks by giving the call back."""
    from mcp.types import CallToolResult, ElicitRequest, InputResponses

    replies: InputResponses | None = None
    state: str | None = None
    for round in range(MAX_ROUNDS):
        given = await session.call_tool(
            tool, arguments, meta=meta, input_responses=replies, request_state=state, allow_input_required=True
        )
        if isinstance(given, CallToolResult):
            return given
        asked = given.input_requests or {}
        others = [one.method for one in asked.values() if not isinstance(one, ElicitRequest)]
        if others:
            raise ToolFailed(f"{tool} wants {others[0]}, which is not offered to servers here")
        replies = {key: await elicited(None, one.params) for key, one in asked.items()} or None
        state = given.request_state
        if not asked:
            await asyncio.sleep(min(0.05 * 2**round, 1.0))  # it works on, and wants to be asked again
    raise ToolFailed(f"{tool} gave the call back {MAX_ROUNDS} times")


def _pages_first(error: MCPError, told: str) -> SaysoError:
    """The pages that a person is to visit before a call."""
    from mcp import UrlElicitationRequiredError
    from pydantic import ValidationError

    try:
        return PagesFirst(told, UrlElicitationRequiredError.from_error(error.error).elicitations[:MAX_ASKED])
    except ValidationError:
        return ToolFailed(told)


async def _nobody(params: Any) -> Any:
    raise ToolFailed("a server that lists its tools asks nobody anything")


def _connection(
    line: Sequence[str],
    url: str,
    env: Mapping[str, str],
    cwd: str | None,
    headers: Mapping[str, str],
    timeout: float,
) -> Connection:
    """The way to a server. Raises `DefinitionError` for options that do not go together."""
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or not 0 < timeout < math.inf:
        raise DefinitionError(f"MCPServer: timeout is a number of seconds above 0, not {timeout!r}")
    started = bool(line and line[0])
    if started == bool(url):
        raise DefinitionError("MCPServer: give a command, which is started, or a url; one of the two")
    if url and (len(line) > 1 or env or cwd):
        raise DefinitionError("MCPServer: args, env and cwd are for a command that is started, not for a url")
    if started and headers:
        raise DefinitionError("MCPServer: headers are for a url; a command that is started is given env")
    if url and urlsplit(url).scheme not in ("http", "https"):
        raise DefinitionError("MCPServer: url is an address that begins with http:// or https://")
    return Address(url, headers, timeout) if url else Process(line[0], line[1:], env, cwd)
