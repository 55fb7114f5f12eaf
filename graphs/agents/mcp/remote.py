"""One tool of a server, as agents have it. All that the server says of it is untrusted text."""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from graphs.agents.tool_context import ToolContext
from graphs.agents.tools import Tool
from graphs.engine import schemas
from graphs.engine.errors import SchemaError

if TYPE_CHECKING:
    from mcp.types import Tool as Listed

logger = logging.getLogger(__name__)

#: Longer words about a tool are cut: they go into every prompt.
MAX_DESCRIPTION = 4_000
#: What models take as a name; servers may have dots in theirs.
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")

#: Calls a tool of the server: its name there, the arguments, and the call that it is for.
Caller = Callable[[str, Mapping[str, Any], ToolContext], Awaitable[Any]]


class RemoteTool(Tool):
    """A tool of an MCP server. `name` is what models and `approve` know it by, `remote` what its server does."""

    def __init__(self, name: str, listed: Listed, schema: Mapping[str, Any], call: Caller, **options: Any) -> None:
        async def run(arguments: Mapping[str, Any], call_of: ToolContext) -> Any:
            return await call(listed.name, arguments, call_of)

        super().__init__(run, name=name, description=(listed.description or "")[:MAX_DESCRIPTION], **options)
        self.remote = listed.name
        self._schema = schema

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of its arguments, from the server."""
        return dict(self._schema)

    def bind(self, arguments: Mapping[str, Any], call: ToolContext | None = None) -> dict[str, Any]:
        """The arguments as they stand. Raises ValueError naming what does not fit the schema."""
        problems = schemas.validate(self._schema, dict(arguments))
        if problems:
            raise ValueError("; ".join(f"{path or 'the arguments'}: {told}" for path, told in problems[:5]))
        return {"arguments": dict(arguments), "call_of": call or ToolContext()}


def remote_tools(
    listed: Sequence[Listed], call: Caller, *, server: str, prefix: str, confirm_destructive: bool, crash: str
) -> list[RemoteTool]:
    """The usable ones of what a server lists; the others are left out with a warning."""
    found: dict[str, RemoteTool] = {}
    for one in listed:
        name = f"{prefix}{one.name}".replace(".", "_")
        schema, wrong = _checked(name, one, found)
        if wrong:
            logger.warning("the tool %.100r of the MCP server %s is left out: %.300s", name, server, wrong)
            continue
        # A server may make a call ask, where it says that it destroys something; no word of it lets a call through.
        asks = confirm_destructive and one.annotations is not None and one.annotations.destructive_hint is True
        found[name] = RemoteTool(name, one, schema, call, crash=crash, require_confirmation=asks)
    return list(found.values())


def _checked(name: str, listed: Listed, taken: Mapping[str, Any]) -> tuple[Mapping[str, Any], str]:
    """The schema of its arguments, and what is wrong with the tool; empty where nothing is."""
    if not _NAME.fullmatch(name):
        return {}, "models take names of 1 to 64 letters, digits, underscores and hyphens"
    if name in taken:
        return {}, "the server lists another one of that name"
    schema = plain_schema(listed.input_schema)
    try:
        schemas.check(schema)
    except SchemaError as error:
        return {}, f"the schema of its arguments cannot be used: {error}"
    return schema, ""


def plain_schema(given: Mapping[str, Any]) -> dict[str, Any]:
    """A server's schema such that it can stand inside another one, as in the question before a gated call."""
    schema = {name: value for name, value in given.items() if name not in ("$schema", "$id")}
    # References count from the root: what holds some is not put inside another schema, and `$defs` is what says so.
    return {**schema, "$defs": schema.get("$defs", {})} if _refers(schema) else schema


def _refers(schema: Any) -> bool:
    if isinstance(schema, Mapping):
        return "$ref" in schema or any(_refers(one) for one in schema.values())
    return isinstance(schema, list) and any(_refers(one) for one in schema)
