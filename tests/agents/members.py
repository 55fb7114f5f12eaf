"""The members of the teams of family H, how they hand over, and what they are answered."""

from __future__ import annotations

from typing import Any

from graphs.agents.agent import Agent
from graphs.agents.models import ScriptedModel, ToolCall
from graphs.agents.results import MultiAgentResult
from graphs.agents.teams.builder import GraphBuilder
from graphs.agents.tool_context import ToolContext
from graphs.agents.tools import tool
from graphs.engine.hooks import BeforeNodeCallEvent, HookRegistry


class NodeGate:
    """Asks before these nodes run."""

    def __init__(self, *nodes: str) -> None:
        self.nodes = nodes

    def register_hooks(self, registry: HookRegistry) -> None:
        registry.add_callback(BeforeNodeCallEvent, self.ask)

    def ask(self, event: BeforeNodeCallEvent) -> None:
        if event.node_id in self.nodes and event.interrupt("node", reason={"node": event.node_id}) != "y":
            event.cancel_node = f"{event.node_id} was not wanted."


def says(name: str, *replies: Any, **options: Any) -> Agent:
    return Agent(name, ScriptedModel(list(replies)), **options)


def hands(to: str, message: str = "go on", id: str = "hand-1", **more: Any) -> ToolCall:
    return ToolCall("handoff_to_agent", {"agent_name": to, "message": message, **more}, id)


@tool
def note(text: str) -> str:
    """Note something."""
    return f"noted {text}"


def asking(name: str) -> Agent:
    """An agent whose tool asks."""

    @tool(context=True)
    def check(tool_context: ToolContext) -> str:
        """Check."""
        return str(tool_context.interrupt(f"{name}-question"))

    return says(name, ToolCall("check"), lambda said: f"{name} heard {said[-1].text()}", tools=[check])


def respond(result: MultiAgentResult, answer: Any, *names: str) -> list[dict[str, Any]]:
    return [
        {"interruptResponse": {"interruptId": one.id, "response": answer}}
        for one in result.interrupts
        if not names or one.name in names
    ]


def text(result: MultiAgentResult, name: str) -> str:
    return str(result.results[name].result.message["content"][0]["text"])


def wide() -> GraphBuilder:
    """a and b ask, c does not, and all lead to a join."""
    builder = GraphBuilder("wide")
    for agent in (says("root", "begun"), asking("a"), asking("b"), says("c", "c is done")):
        builder.add_node(agent)
    builder.add_node(says("join", lambda said: said[-1].text()))
    for name in "abc":
        builder.add_edge("root", name).add_edge(name, "join")
    return builder.set_entry_point("root")
