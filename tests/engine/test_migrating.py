"""Moving a thread's state to another definition: what is renamed, and what does not fit."""

from __future__ import annotations

from itertools import pairwise

import pytest

from graphs.engine.errors import CannotMigrate
from graphs.engine.graph import CompiledGraph, Graph
from graphs.engine.machine import Machine
from graphs.engine.migrating import difference, migrated, moved_path
from graphs.engine.ports import Cells, TaskKey
from graphs.engine.superstep import begin, compatible


def nothing() -> None:
    """A node that does nothing."""


def line(*names: str, version: str = "1", **options: object) -> CompiledGraph:
    graph = Graph.new("line", version=version, state={"n": "add"}, **options)
    for name in names:
        graph.node(name, nothing)
    for source, target in pairwise(names):
        graph.edge(source, target)
    return graph.entry(names[0]).terminal(names[-1]).compile()


def waiting(graph: CompiledGraph) -> Cells:
    """Its first node is done and its second one waits."""
    cells = begin(graph, "go").cells
    first, second = list(graph.nodes)[:2]
    machine = Machine(graph, cells)
    machine.remove(machine.tasks[TaskKey(first, 1)])
    machine.schedule(machine.root, second, "x")
    machine.wait(machine.tasks[TaskKey(second, 1)], ("q",))
    return machine.cells


def test_z44_a_renamed_node_keeps_its_task_and_its_question() -> None:
    old, new = line("read", "ask", "write"), line("fetch", "review", "write", version="2")
    before = waiting(old)
    assert "'read' is gone" in compatible(new, before)
    after = migrated(new, before, {"read": "fetch", "ask": "review"})
    assert compatible(new, after) == ""
    assert after["wait:review#1"] == ["q"] and after["task:review#1"] == {"i": "x"}
    assert [str(key.path) for key in Machine(new, dict(after)).tasks] == ["review"]
    delta = difference(before, after)
    again = dict(before)
    delta.apply(again)
    assert again == after


def test_z44_what_has_no_place_is_refused_by_name() -> None:
    before = waiting(line("read", "ask", "write"))
    with pytest.raises(CannotMigrate, match="'ask' is not in version '2'; map it"):
        migrated(line("read", "review", "write", version="2"), before, {})
    with pytest.raises(CannotMigrate, match="'ask' is still under way"):
        migrated(line("read", "review", "write", version="2"), before, {"ask": ""})
    with pytest.raises(CannotMigrate, match="both become 'review"):
        migrated(line("review", "write", version="2"), before, {"ask": "review", "read": "review"})
    rewired = Graph.new("line", state={"n": "add"}).node("read", nothing).node("check", nothing).node("ask", nothing)
    rewired.edge("read", "check").edge("read", "ask").edge("check", "ask").entry("read").terminal("ask")
    with pytest.raises(CannotMigrate, match="'ask' has other inputs"):
        migrated(rewired.compile(), before, {})
    other = Graph.new("line", state={"n": "merge"}).node("read", nothing).node("ask", nothing).edge("read", "ask")
    with pytest.raises(CannotMigrate, match="channel 'n'"):
        migrated(other.entry("read").terminal("ask").compile(), before, {})


def test_a_node_that_is_done_and_gone_can_be_given_up() -> None:
    before = waiting(line("read", "ask", "write"))
    target = line("ask", "write", version="2")
    with pytest.raises(CannotMigrate, match="'ask' has other inputs"):
        migrated(target, before, {"read": ""})
    target = Graph.new("line", state={"n": "add"}).node("start", nothing).node("ask", nothing).edge("start", "ask")
    after = migrated(target.entry("start").terminal("ask").compile(), before, {"read": "start"})
    assert "visit:start" in after and "visit:read" not in after


def test_nested_graphs_move_with_all_that_is_inside_them() -> None:
    inner = line("a", "b")
    outer = Graph.new("outer").node("box", inner).entry("box").terminal("box").compile()
    target = Graph.new("outer", version="2").node("case", inner).entry("case").terminal("case").compile()
    before = begin(outer, "go").cells
    assert before["task:box/a#1"]["f"] == "box#1"
    after = migrated(target, {**before, "channel:box#1|n": 3, "join:box#1|b|a": [1]}, {"box": "case"})
    assert after["task:case/a#1"]["f"] == "case#1" and after["channel:case#1|n"] == 3
    assert after["join:case#1|b|a"] == [1] and after["nest:case#1"] is True
    assert set(Machine(target, dict(after)).tasks) == {TaskKey("case", 1), TaskKey("case/a", 1)}
    flat = line("case", "z", version="3")
    with pytest.raises(CannotMigrate, match="'case' has other inputs, or is of another kind"):
        migrated(flat, before, {"box": "case"})


def test_two_nodes_may_change_their_names_with_each_other() -> None:
    names = {"a": "b", "b": "a"}
    assert [moved_path(path, names) for path in ("a", "b", "a/x", "c")] == ["b", "a", "b/x", "c"]
