"""A run's events as the chunks of a stream, in the kinds that its level sends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from graphs.engine import events, messages
from graphs.engine.cells import channel
from graphs.engine.invocation.granularity import KINDS, ResponseGranularity, StreamChunk, StreamEvent
from graphs.engine.invocation.responses import as_json, channels_of, meta_of, said, state_of
from graphs.engine.messages import Message
from graphs.engine.ports import Cells
from graphs.engine.results import GraphRunResult
from graphs.engine.statuses import ThreadStatus

_STATUS = {
    events.NODE_START: "invoked",
    events.NODE_END: "finished",
    events.NODE_ERROR: "failed",
    events.TOOL_START: "tool_started",
    events.TOOL_END: "tool_finished",
    events.NODE_INTERRUPT: "interrupted",
}
_ENVELOPE = frozenset({"type", "graph_path", "thread_id", "seq", "status", "interrupt"})


class Teller:
    """Tells one stream. `before` messages are older than the call, or its input, and are not told again."""

    def __init__(self, level: ResponseGranularity, thread_id: str, before: int) -> None:
        self._level = level
        self._kinds = KINDS[level]
        self._thread_id = thread_id
        self._before = self._told = before

    def needs_state(self, event: Mapping[str, Any]) -> bool:
        """Whether the chunks of this event need the cells that its step has left."""
        return bool(event["type"] == events.SUPERSTEP_END)

    def chunks(self, event: Mapping[str, Any], cells: Cells | None) -> Iterator[StreamChunk]:
        """The chunks of one event."""
        for kind, data in self._of(event, cells):
            if kind in self._kinds:
                yield StreamChunk(kind, data, self._thread_id)

    def last(self, result: GraphRunResult) -> StreamChunk:
        """The closing chunk: an error, the state, or (LOW) a message, empty where nothing is left to say."""
        meta = meta_of(result)
        if result.status is ThreadStatus.FAILED:
            return StreamChunk(StreamEvent.ERROR, dict(result.error or {}), self._thread_id, meta)
        if StreamEvent.STATE in self._kinds:
            return StreamChunk(StreamEvent.STATE, state_of(result), self._thread_id, meta)
        rest = said(result, self._before) if self._told == self._before else []
        closing = rest[-1] if rest else Message(role="assistant", content=[])
        return StreamChunk(StreamEvent.MESSAGE, closing, self._thread_id, meta)

    def _of(self, event: Mapping[str, Any], cells: Cells | None) -> Iterator[tuple[StreamEvent, Mapping[str, Any]]]:
        kind = event["type"]
        if kind == events.NODE_STREAM:
            yield StreamEvent.MESSAGE, _delta(event)
        elif kind in _STATUS:
            yield StreamEvent.UPDATES, _update(event)
        elif cells is not None:
            yield from self._after_step(cells)

    def _after_step(self, cells: Cells) -> Iterator[tuple[StreamEvent, Mapping[str, Any]]]:
        prefix = channel("", "")
        values = {name.removeprefix(prefix): value for name, value in cells.items() if name.startswith(prefix)}
        known = messages.read(values.get("messages"))
        for message in known[self._told :]:
            yield StreamEvent.MESSAGE, message
        self._told = max(self._told, len(known))
        yield StreamEvent.STATE, channels_of(values)


def _delta(event: Mapping[str, Any]) -> Message:
    delta = event["delta"]
    said = events.words_of(delta)
    content = [] if said is None else [{"text": said}]
    return Message(role="assistant", content=content, delta=delta, node_id=event["node_id"])


def _update(event: Mapping[str, Any]) -> dict[str, Any]:
    told = {"status": _STATUS[event["type"]], **{name: value for name, value in event.items() if name not in _ENVELOPE}}
    return {**told, "interrupt": as_json(event["interrupt"])} if "interrupt" in event else told
