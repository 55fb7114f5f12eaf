"""Whose questions an agent's are: the queue it names, and else that of the graph it works in."""

from __future__ import annotations

from typing import Any

from graphs.agents.agent import Agent
from graphs.agents.models import ScriptedModel, ToolCall
from graphs.agents.teams.swarm import Swarm
from graphs.engine.checkpointers.memory import InMemoryCheckpointer
from graphs.engine.graph import Graph
from graphs.engine.inspection.linting import pauses
from graphs.engine.workflow import compiled
from tests.agents.files import DELETE, Disk
from tests.engine.runs import start


def guarded(name: str = "keeper", **options: Any) -> Agent:
    return Agent(name, ScriptedModel([DELETE, "Done."]), tools=[Disk().delete], approve=["delete"], **options)


async def test_an_agent_by_itself_asks_its_own_queue() -> None:
    agent = guarded(queue="desk")
    assert [one.queue for one in (await agent.invoke_async("tidy")).interrupts] == ["desk"]
    assert compiled(agent).queue == "desk" and {one.queue for one in pauses(compiled(agent))} == {"desk"}


async def test_an_agent_in_a_graph_asks_its_own_queue_and_else_the_graph_s() -> None:
    graph = Graph.new("both", queue="graph").node("a", guarded("a", queue="desk")).node("b", guarded("b"))
    asked = (await start(graph.entry("a").entry("b").compile(), InMemoryCheckpointer())).interrupts
    assert [(one.node_id, one.queue) for one in asked] == [("a", "desk"), ("b", "graph")]
    assert {(one.path, one.queue) for one in pauses(graph.compile())} == {("a:delete", "desk"), ("b:delete", "graph")}


async def test_a_swarm_s_queue_is_its_members_and_an_agent_as_a_tool_keeps_its_own() -> None:
    swarm = Swarm([guarded()], queue="team")
    assert [one.queue for one in (await swarm.invoke_async("tidy")).interrupts] == ["team"]
    calls = [ToolCall("keeper", {"input": "tidy"}), "Done."]
    outer = Agent("outer", ScriptedModel(calls), tools=[guarded(queue="desk")], queue="outer")
    assert [one.queue for one in (await outer.invoke_async("go")).interrupts] == ["desk"]
