"""What can go wrong with a server of tools."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphs.engine.errors import SaysoError


class ToolServerUnavailable(SaysoError):
    """An MCP server cannot be reached, or it ended or fell silent before it had answered; the message names it."""


class ToolFailed(SaysoError):
    """A tool of an MCP server gave an error, or a result that a person's answer had no part in."""


class PagesFirst(ToolFailed):
    """A tool wants a person to have been at some pages before it is called; `pages` are the SDK's words for them."""

    def __init__(self, message: str, pages: Sequence[Any]) -> None:
        super().__init__(message)
        self.pages = pages
