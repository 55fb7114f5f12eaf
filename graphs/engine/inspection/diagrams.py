"""A graph as Mermaid flowchart text: nested graphs, joins, routes, and where it can pause."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from graphs.engine.graph import CompiledGraph, Place
from graphs.engine.inspection.linting import pauses
from graphs.engine.workflow import compiled

#: Around a label by what a node is: `asks` can pause, `gated` always does, `agent` runs a model's loop.
_FRAMES = {"asks": ("{{", "}}"), "gated": ("{{", "}}"), "agent": ("[[", "]]"), "node": ("[", "]")}
_CLASSES = {
    "asks": "fill:#fff3bf,stroke:#e67700,color:#212529",
    "gated": "fill:#ffe3e3,stroke:#c92a2a,color:#212529",
}
_JOINS = {"merge": "joins", "all": "joins all", "any": "joins any"}


def mermaid(graph: Any) -> str:
    """A graph, workflow or agent as a `flowchart`, to paste wherever Mermaid is drawn.

    Nodes that can ask are hexagons, agents have double sides, an edge that is not taken every time is dashed and
    carries its route. Ids are numbers, so that no name can be a word of Mermaid's own; labels are escaped.
    """
    return "\n".join(_Diagram(compiled(graph)).lines()) + "\n"


class _Diagram:
    def __init__(self, graph: CompiledGraph) -> None:
        self.graph = graph
        self.shape = graph.shape()
        self.ids = {one["path"]: f"n{number}" for number, one in enumerate(self.shape["nodes"])}
        self.asking = {_node_of(pause.path, self.ids) for pause in pauses(graph) if pause.style != "effect"}
        self.used: set[str] = set()

    def lines(self) -> Iterator[str]:
        yield "---"
        # Mermaid looks for its own directives (%%{…}%%) in the whole text, YAML or not.
        yield f"title: {json.dumps(self.graph.title, ensure_ascii=False)}".replace("%", "\\u0025")
        yield "---"
        yield "flowchart TD"
        yield "    start([start])"
        yield from self._inside(None, "    ")
        yield "    finish([end])"
        yield from self._edges()
        yield from (f"    classDef {name} {_CLASSES[name]}" for name in _CLASSES if name in self.used)

    def _inside(self, parent: str | None, indent: str) -> Iterator[str]:
        for one in self.shape["nodes"]:
            if one["parent"] != parent:
                continue
            if one["kind"] == "graph":
                yield f"{indent}subgraph {self.ids[one['path']]}[{_quoted(self._label(one))}]"
                yield from self._inside(one["path"], f"{indent}    ")
                yield f"{indent}end"
            else:
                yield indent + self._node(one)

    def _node(self, one: Mapping[str, Any]) -> str:
        kind = self._kind(one)
        before, after = _FRAMES[kind]
        text = f"{self.ids[one['path']]}{before}{_quoted(self._label(one))}{after}"
        if kind not in _CLASSES:
            return text
        self.used.add(kind)
        return f"{text}:::{kind}"

    def _kind(self, one: Mapping[str, Any]) -> str:
        place = self.graph.places[one["path"]]
        if place.gated_before or place.gated_after:
            return "gated"
        if one["path"] in self.asking:
            return "asks"
        return "agent" if one["kind"] == "agent" else "node"

    def _label(self, one: Mapping[str, Any]) -> str:
        place = self.graph.places[one["path"]]
        marks = ["pauses before"] if place.gated_before else []
        marks += ["asks"] if one["path"] in self.asking and one["kind"] != "graph" and not marks else []
        marks += ["pauses after"] if place.gated_after else []
        if _joins(place):
            marks.append(_JOINS[place.node.join])
        return f"{one['label']} ({', '.join(marks)})" if marks else str(one["label"])

    def _edges(self) -> Iterator[str]:
        for one in self.shape["nodes"]:
            if one["entry"] and one["parent"] is None:
                yield f"    start --> {self.ids[one['path']]}"
        for edge in self.shape["edges"]:
            arrow = "-.->" if edge["conditional"] else "-->"
            text = f"|{_quoted(edge['label'])}|" if edge["label"] else ""
            yield f"    {self.ids[edge['source']]} {arrow}{text} {self.ids[edge['target']]}"
        for one in self.shape["nodes"]:
            if one["terminal"] and one["parent"] is None:
                yield f"    {self.ids[one['path']]} --> finish"


def _joins(place: Place) -> bool:
    """Whether a node brings branches together; the way back of a loop is none."""
    graph, node = place.graph, place.node
    ahead = [id for id in graph.sources[node.id] if not graph.reach[node.id] >> graph.nodes[id].order & 1]
    return len(ahead) > 1


def _node_of(path: str, known: Mapping[str, str]) -> str:
    """The drawn node that a pause belongs to: its own, or that which runs it as a tool or a child."""
    while path and path not in known:
        path = path.rpartition(":")[0] if ":" in path.rpartition("/")[2] else path.rpartition("/")[0]
    return path


def _quoted(text: str) -> str:
    """A label as Mermaid takes it: whatever could end it, or mean something in it, by its number."""
    escaped = re.sub(r"[\"#%&<>`|\\]", lambda one: f"#{ord(one[0])};", text)
    return f'"{escaped}"'
