"""What an agent keeps beside its conversation: `agent.state`, JSON by name, changed from hooks and tools."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from graphs.engine import canonical, effects
from graphs.engine.errors import PayloadError
from graphs.engine.ports import JournalEntry, Json
from graphs.engine.scopes import Scope
from graphs.engine.state import StateView

#: Where the changes of the hook or tool that runs are noted, to be stored with what it gave.
_noting: ContextVar[list[Json] | None] = ContextVar("sayso_agent_state", default=None)


def state_channel(name: str) -> str:
    """The state channel in which an agent's own state is kept."""
    return f"agent_state:{name}"


def kept_state(state: StateView, name: str) -> Mapping[str, Any]:
    """What a thread holds of an agent's own state."""
    found = state.get(state_channel(name))
    return found if isinstance(found, Mapping) else {}


class AgentValues:
    """JSON values by name. Each change is stored with the hook or tool that made it, so a re-fire finds it again."""

    def __init__(self, values: Mapping[str, Any] | None = None, *, copied: bool = False) -> None:
        self._values: dict[str, Json] = canonical.encode(dict(values or {}), "state")
        self.changed = False
        #: Whether it is only shown: nothing would store a change, so one raises RuntimeError.
        self.copied = copied

    def get(self, key: str | None = None) -> Any:
        """The value of `key`, or None where there is none; without a key a copy of all values."""
        return canonical.copy(dict(self._values) if key is None else self._values.get(key))

    def set(self, key: str, value: Any) -> None:
        """Set one value. Raises `PayloadError` where it is not JSON or the key is no text."""
        if not isinstance(key, str) or not key:
            raise PayloadError(f"a key is text that is not empty, not {key!r}", "state")
        self._change([key, canonical.encode(value, f"state/{key}")])

    def delete(self, key: str) -> None:
        """Remove one value, where there is one."""
        self._change([key])

    def replay(self, changes: Iterable[Json]) -> None:
        """Make changes that the journal holds."""
        for change in changes:
            self._make(change)

    def _change(self, change: list[Json]) -> None:
        if self.copied:
            raise RuntimeError(
                f"agent.state outside of a call is a copy, so {change[0]!r} would be lost: change it in a hook "
                "(event.agent.state) or a tool (tool_context.agent.state), or begin with Agent(state={…})"
            )
        noted = _noting.get()
        if noted is not None:
            noted.append(change)
        self._make(change)

    def _make(self, change: Json) -> None:
        self.changed = True
        if len(change) == 2:
            self._values[change[0]] = change[1]
        else:
            self._values.pop(change[0], None)


def replayed(values: AgentValues, journal: Iterable[JournalEntry]) -> None:
    """Make all changes that a task's journal holds."""
    for entry in journal:
        if isinstance(entry.value, Mapping):
            values.replay(entry.value.get("state", ()))


@contextmanager
def noted() -> Iterator[list[Json]]:
    """Note the changes that the caller and what it starts make, in their order."""
    changes: list[Json] = []
    token = _noting.set(changes)
    try:
        yield changes
    finally:
        _noting.reset(token)


async def settled(
    values: AgentValues | None,
    scope: Scope,
    key: str,
    work: Callable[[], Awaitable[dict[str, Json]]],
    mode: str = effects.IDEMPOTENT,
    ordinal: int = 0,
    *,
    harmless: bool = True,
) -> Any:
    """What some work gave, from the journal where it is done already, and with it the changes it made to the state."""
    ran = False

    async def run() -> dict[str, Json]:
        nonlocal ran
        ran = True
        with noted() as changes:
            given = await work()
        return {**given, "state": changes} if changes else given

    found = await effects.settle(scope, key, run, mode, ordinal, harmless=harmless)
    if not ran and values is not None and isinstance(found, dict):
        values.replay(found.get("state", ()))
    return found
