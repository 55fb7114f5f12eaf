"""Where the running code of a task stands: the stretch that counts its own questions and effects."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING

from graphs.engine import canonical
from graphs.engine.errors import AmbiguousQuestion, PayloadError
from graphs.engine.journal import is_note
from graphs.engine.ports import Json

if TYPE_CHECKING:
    from graphs.engine.context import Context


@dataclass(frozen=True, slots=True)
class ToolCallInfo:
    """The tool call that a scope belongs to; questions asked inside carry it (T03, G28)."""

    call_id: str
    details: Mapping[str, Json]


class Scope:
    """A stretch of a task that counts its own questions and effects: the node, one effect, one hook, one tool call."""

    def __init__(self, task: Context, prefix: str = "", effect: str = "", call: ToolCallInfo | None = None) -> None:
        self.task = task
        self.prefix = prefix
        self.effect = effect
        self.call = call
        self.attempt = task.attempt
        self._counts: Counter[str] = Counter()
        self._asker: tuple[int, object] | None = None

    def place(self, key: str) -> tuple[str, int]:
        """The next place under `key` in this scope. Raises RuntimeError in a flow that outlived its attempt, and
        `PayloadError` for a key that is too long or the engine's own."""
        if self.attempt != self.task.attempt or self.task.over:
            # A timed-out thread cannot be stopped; what it asks or settles now would be mixed into a later attempt, and
            # what a branch does that its node has left behind at a pause would be written after the pause's commit.
            raise RuntimeError(f"this attempt of node {self.task.node_id!r} is over")
        if not self.prefix and is_note(key):
            raise PayloadError(f"the engine keeps what it needs of a node under {key!r}; take another key", "key")
        full = f"{self.prefix}{key}"
        if len(full) > canonical.MAX_PLACE:
            raise PayloadError(f"with those around it this key has more than {canonical.MAX_PLACE} characters", "key")
        ordinal = self._counts[full]
        self._counts[full] += 1
        return full, ordinal

    def pass_on(self) -> None:
        """Let another flow ask here from now on: the one that did so far has ended."""
        self._asker = None

    def claim(self) -> None:
        """Refuse un-keyed questions from two flows at once, whose order nobody could repeat: `AmbiguousQuestion`."""
        asker = (threading.get_ident(), _asyncio_task())
        if self._asker is None:
            self._asker = asker
        elif self._asker[0] != asker[0] or self._asker[1] is not asker[1]:
            fault = AmbiguousQuestion(
                f"node {self.task.node_id!r} asks two questions at the same time; give each a key"
            )
            self.task.fault = fault
            raise fault


def _asyncio_task() -> object:
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None


_current: ContextVar[Scope | None] = ContextVar("sayso_scope", default=None)


def current_scope(what: str) -> Scope:
    """The scope of the node or tool that is running, or RuntimeError saying where `what` may be called (T10)."""
    scope = _current.get()
    if scope is None:
        raise RuntimeError(f"{what}() can only be called while a graph node or tool is running")
    return scope


def running_scope(task: Context) -> Scope:
    """The scope of `task` that the caller runs in, or else the task's outermost one."""
    scope = _current.get()
    return scope if scope is not None and scope.task is task else task.scope


def running_task() -> Context | None:
    """The task that the caller runs in, or None outside of one."""
    scope = _current.get()
    return None if scope is None else scope.task


@contextmanager
def entered(scope: Scope) -> Iterator[Scope]:
    """Make `scope` the current one for the caller and what it starts."""
    token = _current.set(scope)
    try:
        yield scope
    finally:
        _current.reset(token)
