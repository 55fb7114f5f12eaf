"""What somebody who listens to an agent hears: `callback_handler` and `stream_async`."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping
from contextlib import aclosing, contextmanager
from typing import Any

from graphs.agents.sessions import AgentInput, Session, events_of
from graphs.engine import events
from graphs.engine.ports import Emit
from graphs.engine.results import GraphRunResult

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


async def heard(
    session: Session,
    given: AgentInput,
    invocation_state: Mapping[str, Any],
    result_of: Callable[[GraphRunResult], Awaitable[Any]],
) -> AsyncGenerator[tuple[Mapping[str, Any], dict[str, Any]]]:
    """One call as a listener hears it, each thing with the event behind it; at the end `{"result": …}`."""
    # Closed with its reader: what is left to the collector goes on until that comes by.
    async with aclosing(events_of(session, given, invocation_state=invocation_state)) as run_events:
        async for event in run_events:
            if "type" not in event:
                yield event, {"result": await result_of(event["result"])}
            elif (told := spoken(event)) is not None:
                yield event, told


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
