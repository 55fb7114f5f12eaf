"""Threads of one graph can be told apart by their titles."""

from __future__ import annotations

from typing import Any

import pytest

from graphs import Graph
from graphs.actions.titles import title_of

SCHEMA = {"type": "object", "properties": {"key": {"type": "string", "format": "password"}, "name": {"type": "string"}}}


@pytest.mark.parametrize(
    ("given", "title"),
    [
        ({"order": "A-1", "amount": 2}, "Refund, A-1"),
        ({"urgent": True, "amount": 2}, "Refund, 2"),
        ({"key": "hunter2", "name": "Ana"}, "Refund, Ana"),
        ({"lines": ["a"]}, "Refund"),
        ("two\nlines", "Refund, two lines"),
        (None, "Refund"),
        ({"text": "x" * 90}, f"Refund, {'x' * 59}…"),
    ],
)
def test_a_title_is_the_graph_and_the_first_plain_fact_of_the_input(given: Any, title: str) -> None:
    graph = (
        Graph.new("refund", title="Refund", input_schema=SCHEMA)
        .node("n", lambda inp: inp)
        .entry("n")
        .terminal("n")
        .compile()
    )
    assert title_of(graph, given) == title
