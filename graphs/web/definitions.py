"""What the pages know of graph definitions: names for people, and the shape of the picture."""

from __future__ import annotations

from typing import Any

from graphs.library import registry
from graphs.models import Thread


def shape(graph_id: str) -> dict[str, Any]:
    """Nodes and edges of a registered graph; empty where it is not registered any more."""
    try:
        return dict(registry.get(graph_id).shape())
    except registry.UnknownGraph:
        return {"nodes": [], "edges": []}


def labels(thread: Thread) -> dict[str, str]:
    """Node path to the name its author gave it, and the bare node id where that says which one is meant."""
    found: dict[str, str] = {}
    for node in shape(thread.graph_id)["nodes"]:
        label = str(node.get("label") or node["id"])
        found[node["path"]] = label
        found.setdefault(node["id"], label)
    return found


def title(graph_id: str) -> str:
    """A graph's own title, else its id."""
    try:
        return registry.get(graph_id).title or graph_id
    except registry.UnknownGraph:
        return graph_id
