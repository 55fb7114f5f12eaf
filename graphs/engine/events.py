"""The names of what a run tells while it runs, and which of them the store keeps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

GRAPH_START = "graph.start"
SUPERSTEP_START = "graph.superstep_start"
NODE_START = "graph.node_start"
NODE_STREAM = "graph.node_stream"
NODE_END = "graph.node_end"
NODE_ERROR = "graph.node_error"
SUPERSTEP_END = "graph.superstep_end"
NODE_INTERRUPT = "graph.node_interrupt"
TOOL_START = "graph.tool_start"
TOOL_END = "graph.tool_end"
GRAPH_END = "graph.end"

#: What a thread's timeline keeps; the rest is told to whoever streams, and forgotten.
STORED = frozenset({GRAPH_START, SUPERSTEP_END, NODE_END, NODE_ERROR, NODE_INTERRUPT, GRAPH_END})


def words_of(delta: Any) -> str | None:
    """The words of one piece of streamed output: a text, or an agent's piece of one; None for anything else."""
    if isinstance(delta, Mapping):
        delta = delta.get("text")
    return delta if isinstance(delta, str) else None
