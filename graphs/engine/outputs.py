"""What a node may return or yield, brought into one shape: an output, a route, state, and questions (seed 002)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from graphs.engine import canonical
from graphs.engine.errors import OutputBesideQuestion, PayloadError
from graphs.engine.ports import Json
from graphs.engine.spellings import spelled
from graphs.engine.state import encoded


class _Nothing:
    """The type of `NOTHING`: no output, which is another thing than the output None."""

    def __repr__(self) -> str:
        return "NOTHING"


NOTHING = _Nothing()


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that a node gives: `output` for its successors, a `route` for its edges, `state` for its channels."""

    output: Any = NOTHING
    route: Any = NOTHING
    state: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class RequestInput:
    """A question that a node returns or yields. `interrupt_id` is made up where it is None.

    `response_schema` is a JSON Schema, a Pydantic model or a Python type. Raises `PayloadError` for an empty id (Z57).
    """

    interrupt_id: str | None = None
    message: str | None = None
    payload: Any = None
    response_schema: Any = None

    def __post_init__(self) -> None:
        if self.interrupt_id is not None and (not isinstance(self.interrupt_id, str) or not self.interrupt_id.strip()):
            raise PayloadError("an interrupt_id must be text that is not empty", "interrupt_id")


# Around what the dataclass made, so that the class keeps its signature.
RequestInput.__init__ = spelled("RequestInput", schema="response_schema")(RequestInput.__init__)  # type: ignore[method-assign]


@dataclass(slots=True)
class Collected:
    """What one pass of a node gave so far."""

    output: Json = None
    has_output: bool = False
    route: Json = None
    has_route: bool = False
    states: list[dict[str, Json]] = field(default_factory=list)
    requests: list[RequestInput] = field(default_factory=list)

    def add(self, given: Any) -> dict[str, Json] | None:
        """Take one returned or yielded thing; returns the state that an Event carried, as JSON.

        Raises `PayloadError` for what is not JSON and for a second output, `OutputBesideQuestion` for an answer beside
        a question.
        """
        state = None
        if isinstance(given, RequestInput):
            self._add_request(given)
        elif isinstance(given, Event):
            state = self._add_event(given)
        else:
            self._set_output(given)
        if self.requests and (self.has_output or self.has_route):
            raise OutputBesideQuestion("a node that asks in this pass can give no output or route in it")
        return state

    def _add_request(self, given: RequestInput) -> None:
        if given.interrupt_id and any(one.interrupt_id == given.interrupt_id for one in self.requests):
            raise PayloadError(f"interrupt_id {given.interrupt_id!r} is asked twice in one pass", "interrupt_id")
        self.requests.append(given)

    def _add_event(self, given: Event) -> dict[str, Json] | None:
        if given.output is not NOTHING:
            self._set_output(given.output)
        if given.route is not NOTHING and given.route is not None:
            self.route, self.has_route = _route(given.route), True
        if not given.state:
            return None
        state = encoded(given.state)
        self.states.append(state)
        return state

    def _set_output(self, value: Any) -> None:
        if self.has_output:
            raise PayloadError("a second output in one pass; give one list instead", "output")
        if isinstance(value, (list, tuple)) and any(isinstance(one, (Event, RequestInput)) for one in value):
            raise PayloadError(
                "a list of questions or events, which nobody would be asked; yield each of them", "output"
            )
        self.output, self.has_output = canonical.encode(value, "output"), True


def _route(route: Any) -> Json:
    encoded = canonical.encode(route, "route")
    values = encoded if isinstance(encoded, list) else [encoded]
    if not all(isinstance(value, (str, int)) for value in values):
        raise PayloadError("a route is text, a whole number, a boolean or a list of these", "route")
    return encoded
