"""A graph as data for pictures and lists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graphs.engine.graph import CompiledGraph, Edge


def draw(graph: CompiledGraph) -> dict[str, list[dict[str, Any]]]:
    """Nodes and edges, those of nested graphs by path."""
    nodes: list[dict[str, Any]] = []
    edges: list[dict[str, Any]] = []
    _draw(graph, "", nodes, edges)
    return {"nodes": nodes, "edges": edges}


def _draw(graph: CompiledGraph, prefix: str, nodes: list[dict[str, Any]], edges: list[dict[str, Any]]) -> None:
    for node in graph.nodes.values():
        path = f"{prefix}{node.id}"
        nodes.append(
            {
                "id": node.id,
                "path": path,
                "label": node.label,
                "kind": node.kind,
                "entry": node.id in graph.entries,
                "terminal": node.id in graph.terminals,
                "parent": prefix.rstrip("/") or None,
            }
        )
        if node.kind == "graph":
            _draw(node.body, f"{path}/", nodes, edges)
    for one in graph.edges:
        ends = {"source": f"{prefix}{one.source}", "target": f"{prefix}{one.target}"}
        edges.append({**ends, "label": edge_label(one), "conditional": one.conditional})


def edge_label(edge: Edge) -> str:
    """What a person reads beside an edge: its label, its route, its predicate's name, or "otherwise"."""
    if edge.label:
        return edge.label
    if edge.default:
        return "otherwise"
    if edge.when is None:
        return ""
    name = getattr(edge.when, "__name__", "") if callable(edge.when) else str(edge.when)
    return "" if name == "<lambda>" else name
