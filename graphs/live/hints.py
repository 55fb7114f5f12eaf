"""What goes over a socket: topics and ids, nothing else, so that a frame in the wrong hands tells nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: Keys a frame may have, with the type of each; whatever else a message holds stays here.
KEYS: Mapping[str, type] = {"topic": str, "queue": int, "seq": int, "thread": str, "interrupt": str}
TOPICS = {"inbox", "thread", "words", "presence"}
LONGEST = 64
#: More different hints than this at once say no more than "look again".
MOST_PENDING = 40

Hint = dict[str, Any]


def clean(data: Mapping[str, Any]) -> Hint | None:
    """A hint reduced to its known keys; None for what is none."""
    if data.get("topic") not in TOPICS:
        return None
    kept = {key: data[key] for key, kind in KEYS.items() if type(data.get(key)) is kind}
    return {key: value for key, value in kept.items() if not isinstance(value, str) or len(value) <= LONGEST}


class Pending:
    """Hints that wait for the next frame: of those about the same thing only the last is kept."""

    def __init__(self) -> None:
        self._hints: dict[tuple[Any, ...], Hint] = {}

    def __bool__(self) -> bool:
        return bool(self._hints)

    def add(self, hint: Hint) -> None:
        about = hint.get("interrupt") if hint["topic"] == "presence" else None
        key = (hint["topic"], hint.get("queue"), hint.get("thread"), about)
        if len(self._hints) >= MOST_PENDING and key not in self._hints:
            self._hints = {("inbox",): {"topic": "inbox"}, ("thread",): {"topic": "thread"}}
            return
        self._hints[key] = hint

    def take(self) -> list[Hint]:
        taken, self._hints = list(self._hints.values()), {}
        return taken
