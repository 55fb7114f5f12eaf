"""A graph as Mermaid text: what is drawn, and that no name can break it."""

from __future__ import annotations

import re
from typing import Any

import pytest

from graphs import Graph, ask, interrupt, mermaid
from graphs.agents.agent import Agent
from graphs.agents.tools import tool
from graphs.library import moderation, refund, release, time_off
from tests.engine.runs import chain, fan

#: Every line that a drawing may consist of; labels hold nothing that could end them.
_LABEL = r'"(?:[^"#%&<>`|\\]|#\d+;)*"'
_NODE = rf"n\d+(?:\[{_LABEL}\]|\{{\{{{_LABEL}\}}\}}|\[\[{_LABEL}\]\])(?::::\w+)?"
_EDGE = rf"(?:n\d+|start) (?:-->|-\.->)(?:\|{_LABEL}\|)? (?:n\d+|finish)"
_LINE = re.compile(
    rf'---|title: ".*"|flowchart TD|start\(\[start\]\)|finish\(\[end\]\)|{_NODE}|{_EDGE}|subgraph n\d+\[{_LABEL}\]|end'
    r"|classDef \w+ [\w:#,]+"
)


def drawn(graph: Any) -> list[str]:
    lines = [line.strip() for line in mermaid(graph).splitlines()]
    for line in lines:
        assert _LINE.fullmatch(line), line
    assert lines.count("end") == len([line for line in lines if line.startswith("subgraph")])
    return lines


@pytest.mark.parametrize("graph", [refund.app, moderation.app, release.app, time_off.app], ids=lambda graph: graph.id)
def test_the_shipped_graphs_are_drawn_with_all_nodes_and_edges(graph: Any) -> None:
    lines = drawn(graph)
    shape = graph.shape()
    assert len([line for line in lines if re.match(r"n\d+[\[{]", line)]) == len(shape["nodes"])
    between = [line for line in lines if re.match(r"n\d+ -.*n\d+$", line)]
    assert len(between) == len(shape["edges"])


def test_routes_joins_and_pauses_are_marked() -> None:
    lines = drawn(release.app)
    assert 'n1{{"Ask for a review (asks)"}}:::asks' in lines
    assert 'n3{{"Roll out (pauses before)"}}:::gated' in lines
    assert 'n1 -.->|"rejected"| n2' in lines and "n2 --> n1" in lines
    assert 'n4["Conclude (joins)"]' in drawn(moderation.app)


def test_joins_say_how_they_fire() -> None:
    bodies = {"left": lambda: 1, "right": lambda: 2}
    assert 'n3["join (joins any)"]' in drawn(fan(dict(bodies), lambda x: x, kind="any"))
    assert 'n3["join (joins all)"]' in drawn(fan(dict(bodies), lambda x: x, kind="all"))


def test_nested_graphs_are_subgraphs_and_agents_have_a_frame_of_their_own() -> None:
    inner = chain([("ask", lambda: ask("Go?").approved), ("done", lambda: 1)])

    @tool
    def look(what: str) -> str:
        return str(interrupt(message=f"May I look at {what}?"))

    outer = Graph.new("outer", title="Outer").node("sub", inner, label="Inside").node("plain", Agent("a"))
    outer.node("asking", Agent("b", tools=[look])).edge("sub", "plain").edge("plain", "asking", when="x", label="on")
    lines = drawn(outer.edge("plain", "plain", default=True).entry("sub").terminal("asking").compile())
    assert lines[4:] == [
        "start([start])",
        'subgraph n0["Inside"]',
        'n1{{"ask (asks)"}}:::asks',
        'n2["done"]',
        "end",
        'n3[["plain"]]',
        'n4{{"asking (asks)"}}:::asks',
        "finish([end])",
        "start --> n0",
        "n1 --> n2",
        "n0 --> n3",
        'n3 -.->|"on"| n4',
        'n3 -.->|"otherwise"| n3',
        "n4 --> finish",
        "classDef asks fill:#fff3bf,stroke:#e67700,color:#212529",
    ]


@pytest.mark.parametrize(
    "name", ['a"]; click n0 "javascript:x"', "end", "<b>x</b>", "`md`", "#35;", "a & b", "%%{init}%%"]
)
def test_no_name_breaks_the_drawing(name: str) -> None:
    id = name.replace("/", "_").replace("#", "_").replace("|", "_")
    graph = Graph.new(id, title=name).node(id, lambda: 1, label=name).node("b", lambda: 2)
    lines = drawn(graph.edge(id, "b", when="x", label=name).entry(id).terminal("b").compile())
    escaped = re.sub(r"[\"#%&<>`|\\]", lambda one: f"#{ord(one[0])};", name)
    assert f'n0["{escaped}"]' in lines and f'n0 -.->|"{escaped}"| n1' in lines


def test_a_compiled_graph_draws_itself() -> None:
    assert refund.app.mermaid() == mermaid(refund.app)
