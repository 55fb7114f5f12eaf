"""For the tests of graph authors: says which node caught a pause that it had to let through (T09)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphs.engine.errors import PauseSwallowed
from graphs.engine.results import GraphRunResult, GraphRunResultStreaming


def assert_no_pause_swallowed(result: GraphRunResult | GraphRunResultStreaming | Mapping[str, Any]) -> None:
    """AssertionError naming the node, where a run failed because `except BaseException` caught its pause.

    `result` is what a run or a call of a graph gave back, at any level.
    """
    error = result["meta"].get("error") if isinstance(result, Mapping) else result.error
    if error is not None and error.get("type") == PauseSwallowed.code():
        node = error.get("path", "")
        raise AssertionError(f"node {node!r} swallowed a pause: {error['message']}")
