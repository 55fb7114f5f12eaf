"""Which way of an edited node an execution goes (`ctx.patched`): chosen once, kept in the task's journal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from types import CodeType
from typing import Any

from graphs.engine import canonical
from graphs.engine.errors import PayloadError
from graphs.engine.journal import Journal
from graphs.engine.ports import JournalEntry

_KEY = "patched:"
_BEGAN = "patched"


class Patches:
    """The ways that one task has chosen. What is chosen is stored at the next boundary, since asking cannot wait.

    A task that had settled or asked something when its pass began goes the old way, unless the code that it began under
    knew the edit already: the first thing it stores says which edits that code names.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._fresh = journal.empty
        self._chosen: dict[str, bool] = {}
        self._pending: list[JournalEntry] = []

    def known_to(self, fn: Callable[..., Any]) -> None:
        """Note, at the beginning of a fresh execution, which edits its code names."""
        code = getattr(fn, "__code__", None)
        if not self._fresh or self._pending or not isinstance(code, CodeType):
            return
        if (names := _names(code)) and self._journal.effect(_BEGAN, 0) is None:
            self._pending.append(JournalEntry(_BEGAN, 0, "done", list(names)))

    def chosen(self, id: str) -> bool:
        """The task's way at the edit `id`. Raises `PayloadError` for an id that is no short text."""
        if not isinstance(id, str) or not id or len(id) > canonical.MAX_NAME:
            raise PayloadError(f"an edit's id is text of 1 to {canonical.MAX_NAME} characters", "patched")
        entry = self._journal.effect(f"{_KEY}{id}", 0)
        if entry is not None:
            return bool(entry.value)
        if id not in self._chosen:
            began = self._journal.effect(_BEGAN, 0)
            self._chosen[id] = self._fresh or (began is not None and id in began.value)
            self._pending.append(JournalEntry(f"{_KEY}{id}", 0, "done", self._chosen[id]))
        return self._chosen[id]

    def take(self) -> list[JournalEntry]:
        """What is to be stored now."""
        taken, self._pending = self._pending, []
        return taken


@lru_cache(maxsize=1024)
def _names(code: CodeType) -> tuple[str, ...]:
    """The texts in a function's code that may be ids of edits; none where it does not call `patched`."""
    codes = list(_codes(code))
    if not any("patched" in one.co_names for one in codes):
        return ()
    texts = (constant for one in codes for constant in one.co_consts if isinstance(constant, str))
    return tuple(sorted({text for text in texts if 0 < len(text) <= canonical.MAX_NAME and " " not in text}))


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)
