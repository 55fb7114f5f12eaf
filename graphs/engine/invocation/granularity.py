"""How much of a run its caller is told, and in what kinds of chunks a stream tells it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class ResponseGranularity(StrEnum):
    """LOW: messages and meta. PARTIAL: context and summary too. FULL: the whole state too."""

    LOW = "low"
    PARTIAL = "partial"
    FULL = "full"


class StreamEvent(StrEnum):
    """What a chunk carries: a message, the state after a superstep, an update of the run's course, or an error."""

    MESSAGE = "message"
    STATE = "state"
    UPDATES = "updates"
    ERROR = "error"


_LOW = frozenset({StreamEvent.MESSAGE, StreamEvent.ERROR})
_PARTIAL = _LOW | {StreamEvent.STATE}
#: The kinds of chunks that each level sends, and no others (T22).
KINDS: Mapping[ResponseGranularity, frozenset[StreamEvent]] = {
    ResponseGranularity.LOW: _LOW,
    ResponseGranularity.PARTIAL: _PARTIAL,
    ResponseGranularity.FULL: _PARTIAL | {StreamEvent.UPDATES},
}


@dataclass(frozen=True, slots=True)
class StreamChunk:
    """One piece of a stream.

    `data` is by `event`: a `Message` (or `{"delta": …}` as text comes), the state's mapping, an update with its
    `status` (invoked, finished, failed, tool_started, tool_finished, interrupted), or the error. `meta` is empty but in
    the last chunk, which says in every level how the thread stands and what is open, as `invoke` does (Z26).
    """

    event: StreamEvent
    data: Mapping[str, Any]
    thread_id: str
    meta: Mapping[str, Any] = field(default_factory=dict)
