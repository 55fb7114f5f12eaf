"""What a compiled graph can be called with directly: input, answers, edits of the state."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from graphs.engine.invocation.granularity import ResponseGranularity, StreamChunk

if TYPE_CHECKING:
    from graphs.engine.graph import CompiledGraph

Given = Mapping[str, Any] | None
_LOW = ResponseGranularity.LOW


class Invocable:
    """The calls of a graph (seed 001); one that is still being built is compiled at its first call, and stays so.

    `invocation.invoking` does the work and says what each raises.

    `input` is `{"messages": […], other channels …}`, or an answer: `{"resume": value}` where one question is open,
    `{"resume": value, "interrupt_id": id}`, or `{"resume": {name: value, …}}`. A name is a question's id, its
    `interrupt_id`, its task's path or its node. A mapping whose keys all name open questions is answers by name however
    many are open, unless the only open question's schema declares these keys as properties: then it is its value. Keys
    that look like ids and name nothing are refused (T12). With `interrupt_id` beside it any mapping is a value. None
    goes on with a thread that was cut off. `config` holds the `thread_id`; without one the call begins a new thread. A
    mapping under `context` there is what nodes may read beside the input.
    """

    async def ainvoke(
        self, input: Given, config: Given = None, response_granularity: ResponseGranularity | str = _LOW
    ) -> dict[str, Any]:
        """Run until the thread pauses or ends, and return what the level tells: `messages` and `meta`, from PARTIAL on
        `context` and `summary`, in FULL the `state`. Failures of nodes are in `meta` (T23, T24, T31, T32)."""
        from graphs.engine.invocation import invoking

        return await invoking.ainvoke(self._graph, input, config, response_granularity)

    def invoke(
        self, input: Given, config: Given = None, response_granularity: ResponseGranularity | str = _LOW
    ) -> dict[str, Any]:
        """`ainvoke` for code without an event loop."""
        from graphs.engine.invocation import invoking

        return invoking.invoke(self._graph, input, config, response_granularity)

    def astream(
        self, input: Given, config: Given = None, response_granularity: ResponseGranularity | str = _LOW
    ) -> AsyncIterator[StreamChunk]:
        """The same, told chunk by chunk; the last one carries `meta`. A pause is stored before its chunk (T20), and
        whoever stops reading loses nothing (T21)."""
        from graphs.engine.invocation import invoking

        return invoking.astream(self._graph, input, config, response_granularity)

    def stream(
        self, input: Given, config: Given = None, response_granularity: ResponseGranularity | str = _LOW
    ) -> Iterator[StreamChunk]:
        """`astream` for code without an event loop; the run has a thread of its own."""
        from graphs.engine.invocation import invoking

        return invoking.stream(self._graph, input, config, response_granularity)

    async def aupdate_state(self, config: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
        """Set state channels, whole, while the thread is paused before or after a node (T17); returns the channels."""
        from graphs.engine.invocation import invoking

        return await invoking.aupdate_state(self._graph, config, values)

    def update_state(self, config: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
        """`aupdate_state` for code without an event loop."""
        from graphs.engine.invocation import invoking

        return invoking.update_state(self._graph, config, values)

    @property
    def _graph(self) -> CompiledGraph:
        from graphs.engine.workflow import compiled

        return compiled(self)  # of a builder the one graph that it compiles to at its first call
