"""What the pages know of graph definitions: names for people, and the shape of the picture."""

from __future__ import annotations

from typing import Any

from graphs.library import registry
from graphs.models import Thread
from graphs.web.forms import build


def shape(thread: Thread) -> dict[str, Any]:
    """Nodes and edges of the version that the thread runs on; empty where it is not registered any more."""
    try:
        return dict(registry.pinned(thread.graph_id, thread.fingerprint).shape())
    except registry.UnknownGraph:
        return {"nodes": [], "edges": []}


def labels(thread: Thread) -> dict[str, str]:
    """Node path to the name its author gave it, and the bare node id where that says which one is meant."""
    found: dict[str, str] = {}
    for node in shape(thread)["nodes"]:
        label = str(node.get("label") or node["id"])
        found[node["path"]] = label
        found.setdefault(node["id"], label)
    return found


def is_registered(graph_id: str) -> bool:
    """Whether threads of it can be started."""
    try:
        registry.get(graph_id)
    except registry.UnknownGraph:
        return False
    return True


def title(graph_id: str) -> str:
    """A graph's own title, else its id."""
    try:
        return registry.get(graph_id).title or graph_id
    except registry.UnknownGraph:
        return graph_id


def agents(thread: Thread) -> frozenset[str] | None:
    """The paths of nodes that are agents, whose words nobody has checked; None where nothing is known of the graph."""
    nodes = shape(thread)["nodes"]
    return frozenset(node["path"] for node in nodes if node.get("kind") == "agent") if nodes else None


def titles(graph_id: str) -> dict[str, str]:
    """The names that a graph's input schema gives its values, by JSON pointer, as its launch form shows them."""
    try:
        schema = registry.get(graph_id).input_schema
    except registry.UnknownGraph:
        return {}
    return {field.pointer: field.label for field in build(schema).walk()} if schema else {}
