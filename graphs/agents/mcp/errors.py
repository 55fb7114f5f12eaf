"""What can go wrong with a server of tools."""

from __future__ import annotations

from graphs.engine.errors import SaysoError


class ToolServerUnavailable(SaysoError):
    """An MCP server cannot be reached, or it ended or fell silent before it had answered; the message names it."""


class ToolFailed(SaysoError):
    """A tool of an MCP server gave an error, or a result that a person's answer had no part in."""
