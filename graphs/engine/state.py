"""Named state channels and their reducers: how several writes become one value, always in node order."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from graphs.engine import canonical
from graphs.engine.errors import DefinitionError, PayloadError
from graphs.engine.ports import Json

Reducer = Callable[[Any, Any], Any]
#: A write to `=name` sets the channel whatever its reducer is: what a reviewer's edit of the state does (T17).
SET = "="
_NAMED = frozenset({"last", "append", "add", "merge", "messages"})
_CHOICE = f"one of {', '.join(sorted(_NAMED))}"


@dataclass(frozen=True, slots=True)
class Channel:
    """One piece of state: `reducer` is last, append, add, merge, messages or a dotted name; `default` comes first.

    With `each_turn` it begins with its default again in each turn of a conversation; the others go on.
    """

    reducer: str = "last"
    default: Json = None
    function: Reducer | None = None
    each_turn: bool = False

    @property
    def appends(self) -> bool:
        """True where a write only ever adds to the end, so that a commit stores the tail alone."""
        return self.reducer in ("append", "messages")


LAST = Channel()
MESSAGES = Channel("messages")


def rule(declared: Mapping[str, Channel], name: str) -> Channel:
    """How writes to a channel become its value; where nobody declared it, `messages` grows and others are replaced."""
    return declared.get(name) or (MESSAGES if name == "messages" else LAST)


def plain_name(name: Any, where: str = "state") -> str:
    """The name itself, where a channel can have it. Raises `PayloadError`: a name that begins with `=` would set the
    channel past its reducer."""
    if not isinstance(name, str) or not name or "|" in name or name.startswith(SET):
        raise PayloadError(f"{name!r} names no channel; a name is text without | and without {SET} before it", where)
    return name


def encoded(values: Any, where: str = "state") -> dict[str, Json]:
    """Values by channel, as JSON. Raises `PayloadError` with the place of what is no mapping, name or JSON."""
    if not isinstance(values, Mapping):
        raise PayloadError(f"a mapping from channels to values, not {values!r:.100}", where)
    for name in values:
        plain_name(name, f"{where}/{name}")
    given: dict[str, Json] = canonical.encode(dict(values), where)
    return given


def channels(declared: Mapping[str, Any] | None) -> dict[str, Channel]:
    """The channels of a graph's `state=`: values are reducer names, dotted names, module functions or `Channel`s."""
    found = {}
    for name, given in (declared or {}).items():
        if not isinstance(name, str) or not name or "|" in name or name.startswith(SET):
            raise DefinitionError(f"state channel {name!r} needs a plain name")
        found[name] = _channel(name, given)
    return found


def _channel(name: str, given: Any) -> Channel:
    channel = given if isinstance(given, Channel) else Channel(_reducer_name(name, given))
    if channel.reducer in _NAMED:
        return channel
    return replace(channel, function=_imported(name, channel.reducer))


def _reducer_name(name: str, given: Any) -> str:
    if isinstance(given, str):
        return given
    if callable(given) and "<" not in getattr(given, "__qualname__", "<"):
        return f"{given.__module__}:{given.__qualname__}"
    raise DefinitionError(
        f"state channel {name!r}: a reducer is {_CHOICE} or a function that a module has under its name, not {given!r}"
    )


def _imported(name: str, dotted: str) -> Reducer:
    module, _, attribute = dotted.partition(":") if ":" in dotted else dotted.rpartition(".")
    try:
        found: Any = importlib.import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, ValueError) as error:
        raise DefinitionError(
            f"state channel {name!r}: no reducer {dotted!r} ({error}); it is {_CHOICE}, or module:function"
        ) from error
    if not callable(found):
        raise DefinitionError(f"state channel {name!r}: {dotted!r} is not a function")
    return found  # type: ignore[no-any-return]


def reduce(channel: Channel, current: Json, value: Json) -> Json:
    """The channel's value after one write. Never changes `current` in place."""
    if channel.function is not None:
        return canonical.encode(channel.function(canonical.copy(current), canonical.copy(value)), channel.reducer)
    if channel.reducer == "last":
        return value
    if channel.appends:
        return [*(current or []), *tail(value)]
    if channel.reducer == "merge":
        return {**(current or {}), **value}
    return value if current is None else current + value


def _reduced(channel: Channel, name: str, current: Json, value: Json) -> Json:
    try:
        return reduce(channel, current, value)
    except TypeError as error:
        raise PayloadError(f"the reducer {channel.reducer!r} cannot take this: {error}", f"state/{name}") from error


def misfit(declared: Mapping[str, Channel], name: str, value: Json) -> str:
    """Why a person cannot set a channel to this: the next write would be reduced into it, and fail or garble it; empty
    where it fits. What a reducer of the author's own takes only that reducer knows."""
    channel = rule(declared, name)
    if value is None or channel.function is not None or channel.reducer == "last":
        return ""
    if channel.appends:
        return "" if isinstance(value, list) else f"the channel {name!r} is appended to, so it takes a list"
    if channel.reducer == "merge":
        return "" if isinstance(value, dict) else f"the channel {name!r} is merged into, so it takes an object"
    if type(channel.default) not in (int, float) or type(value) in (int, float):
        return ""
    return f"the channel {name!r} is added to, so it takes a number"


def edited(declared: Mapping[str, Channel], values: Any, where: str = "/state") -> dict[str, Json]:
    """What a person sets channels to, as JSON. Raises `PayloadError` with the place of what is no name or no JSON, or
    what the next write could not be reduced into."""
    given = encoded(values, where)
    for name, value in given.items():
        if why := misfit(declared, name, value):
            raise PayloadError(why, f"{where}/{name}")
    return given


def tail(value: Json) -> list[Json]:
    """What one write adds to an appending channel: a list adds its items, anything else itself."""
    return value if isinstance(value, list) else [value]


class StateView(MutableMapping[str, Any]):
    """The state as one task sees it: what was committed before its superstep, and its own writes over it.

    A value read is a private copy; assigning is what writes. Writes apply to the thread when the task finishes.
    """

    def __init__(
        self, declared: Mapping[str, Channel], read: Callable[[str], Json], names: Callable[[], Sequence[str]]
    ) -> None:
        self._declared = declared
        self._read = read
        self._names = names
        self._seen: dict[str, Any] = {}
        self.writes: list[tuple[str, Json]] = []

    def __getitem__(self, name: str) -> Any:
        if name not in self._seen:
            value = self._read(name)
            if value is None and name not in self._names():
                declared = self._declared.get(name)
                if declared is None or declared.default is None:
                    raise KeyError(name)
                value = declared.default
            self._seen[name] = canonical.copy(value)
        return self._seen[name]

    def __setitem__(self, name: str, value: Any) -> None:
        """Write one channel through its reducer; raises `PayloadError` for what is no name or not JSON."""
        self.write(plain_name(name), canonical.encode(value, f"state/{name}"))

    def write(self, name: str, value: Json) -> None:
        """Record one write that is JSON already, and see it at once."""
        self.writes.append((name, value))
        self.see(name, value)

    def see(self, name: str, value: Json) -> None:
        """Show a write to this task without recording it (state that an earlier pass journaled)."""
        plain = name.removeprefix(SET)
        channel = LAST if name.startswith(SET) else rule(self._declared, plain)
        self._seen[plain] = canonical.copy(_reduced(channel, plain, self.get(plain), value))

    def beneath(self) -> StateView:
        """A view for a child of this task: it sees this one, and what it writes is its own until it has finished."""
        return StateView(self._declared, self.get, lambda: list(self))

    def __delitem__(self, name: str) -> None:
        raise TypeError("a channel cannot be deleted; write None")

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys([*self._names(), *self._seen]))

    def __len__(self) -> int:
        return len(set(self._names()) | set(self._seen))
