"""Whole numbers for parameters that are floats stay as they are written, as in what a reviewer is shown."""

from __future__ import annotations

from typing import Any

from graphs import InMemoryCheckpointer, Runner
from graphs.agents.tools import Tool
from tests.engine.runs import one


def test_a_node_and_a_tool_see_a_whole_number_as_it_was_given() -> None:
    def node(amount: float) -> Any:
        return f"${amount}"

    assert Runner.run_graph(one(node), {"amount": 25}, hooks=[InMemoryCheckpointer()]).output == "$25"
    assert Runner.run_graph(one(node), {"amount": 2.5}, hooks=[InMemoryCheckpointer()]).output == "$2.5"
    assert repr(Tool(node).bind({"amount": 25})) == "{'amount': 25}"
    assert repr(Tool(node).bind({"amount": "25"})) == "{'amount': 25.0}"
