"""Nodes that tests run as children or wire into workflows."""

from __future__ import annotations

from typing import Any

from graphs.engine.functions import FunctionNode
from graphs.engine.outputs import RequestInput
from tests.engine.runs import Calls


def counted(calls: Calls, name: str) -> Any:
    def child(node_input: Any) -> Any:
        calls[name] += 1
        return f"{name} of {node_input}"

    return FunctionNode(child, name=name)


def requests(calls: Calls, name: str) -> Any:
    def child(node_input: Any) -> Any:
        calls[name] += 1
        return RequestInput(name, f"{name} of {node_input}?")

    return FunctionNode(child, name=name)
