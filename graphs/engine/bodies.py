"""What something that is not written as a graph is by itself."""

from __future__ import annotations

from typing import Any

from graphs.engine.graph import CompiledGraph, NodeBody


def own_graph(body: Any) -> CompiledGraph | None:
    """The graph that a body is by itself, such as a team of agents; None for any other."""
    found = getattr(body, "graph", None) if isinstance(body, NodeBody) else None
    return found if isinstance(found, CompiledGraph) else None
