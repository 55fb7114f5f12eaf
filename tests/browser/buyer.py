"""An agent whose tool waits for a person, with arguments that are worth changing; loaded through SAYSO_GRAPHS."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel

from graphs.agents.agent import Agent
from graphs.agents.models import ModelReply, ScriptedModel, ToolCall
from graphs.agents.tools import tool
from graphs.engine.messages import Message


class Line(BaseModel):
    """One line of an order."""

    sku: str
    count: int


@tool(require_confirmation=True)
def order(lines: list[Line], note: str = "", fast: bool = False) -> str:
    """Order goods."""
    return f"ordered {len(lines)} lines, {note}, {'fast' if fast else 'slow'}"


def reply(messages: Sequence[Message]) -> ModelReply | str:
    if messages[-1].tool_results:
        return "It is ordered."
    lines = [{"sku": "AB-1", "count": 2}, {"sku": "AB-2", "count": 5}]
    return ModelReply("I order it.", (ToolCall("order", {"lines": lines, "note": "as always", "fast": False}),))


root_agent = Agent("buyer", ScriptedModel([reply] * 1_000), tools=[order], queue="payments")
root_agent.title = "Buyer"
