"""What somebody who listens to an agent hears: `callback_handler` and `stream_async`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from graphs.engine import events
from graphs.engine.ports import Emit

#: Called with one thing at a time, by name: `data`, `current_tool_use`, `tool_result`.
Listener = Callable[..., Any]


def spoken(event: Mapping[str, Any]) -> dict[str, Any] | None:
    """An event of a run as a listener hears it; None for those that say nothing of an agent."""
    kind = event.get("type")
    if kind == events.NODE_STREAM:
        delta = event.get("delta")
        said = events.words_of(delta)
        return {"data": delta if said is None else said}
    if kind == events.TOOL_START:
        use = {"toolUseId": event["tool_call_id"], "name": event["tool"], "input": event["arguments"]}
        return {"current_tool_use": use}
    if kind == events.TOOL_END:
        return {"tool_result": {"toolUseId": event["tool_call_id"], "name": event["tool"], "status": event["result"]}}
    return None


@contextmanager
def told_to(listener: Listener | None) -> Iterator[Emit | None]:
    """What a run is told to, for a listener; None where nobody listens."""
    if listener is None:
        yield None
        return

    def emit(event: Mapping[str, Any]) -> None:
        told = spoken(event)
        if told is not None:
            listener(**told)

    yield emit
