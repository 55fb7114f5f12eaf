"""Support: an agent that looks up orders and pays refunds; above a limit a person agrees before the money moves."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from graphs.agents.agent import Agent
from graphs.agents.models import ScriptedModel, ToolCall
from graphs.agents.named import configured_or
from graphs.agents.run import AgentRun
from graphs.agents.state import AgentValues
from graphs.agents.tool_context import ToolContext
from graphs.agents.toolbox import SEQUENTIAL
from graphs.agents.tools import tool
from graphs.engine.messages import Message, since_prompt

#: Up to this amount for an order, over a whole conversation, nobody is asked.
LIMIT = 50
#: Stands for the shop's own database.
ORDERS: Mapping[str, dict[str, Any]] = {
    "A-4698": {"item": "Reading light", "paid": 19.9, "status": "delivered late"},
    "A-4721": {"item": "Floor lamp", "paid": 180.0, "status": "delivered"},
    "A-4733": {"item": "Dining table", "paid": 1249.5, "status": "delivered"},
}


@tool
def look_up_order(order: str) -> dict[str, Any]:
    """Look an order up by its number."""
    found = ORDERS.get(order)
    return {"order": order, **found} if found else {"order": order, "unknown": True}


@tool(crash="at_most_once", context=True)
def refund(tool_context: ToolContext, order: str, amount: float) -> str:
    """Pay an amount back for an order, in all no more than was paid for it."""
    state = tool_context.agent.state
    before = repaid(state, order)
    left = ORDERS.get(order, {"paid": 0})["paid"] - before
    if not 0 < amount <= left:
        raise ValueError(f"{left:.2f} is left to pay back for {order}; {amount:.2f} cannot be paid back")
    state.set(f"repaid {order}", before + amount)
    return f"{amount:.2f} was paid back for {order}."


def repaid(state: AgentValues, order: Any) -> float:
    """What was paid back for an order before."""
    return float(state.get(f"repaid {order}") or 0)


def is_large(name: str, arguments: Mapping[str, Any], agent: AgentRun) -> bool:
    """Whether a person must agree to this call: with what was paid back for the order before, so that no large refund
    is paid in small ones. An amount that cannot be read is a large one."""
    amount = arguments.get("amount")
    small = isinstance(amount, (int, float)) and repaid(agent.state, arguments.get("order")) + amount <= LIMIT
    return name == "refund" and not small


def reply(messages: Sequence[Message]) -> str | ToolCall:
    """What is said without a model: looks up the order that was named last, and pays it back where that was wanted."""
    since = since_prompt(messages)
    if len(since) > 1:
        called = since[-2].tool_calls[-1]["name"]
        return f"{since[-1].text()} Can I do anything else?" if called == "refund" else _told(since)
    said = [one.text() for one in messages if one.role == "user" and not one.tool_results]
    number = next((one for text in reversed(said) for one in re.findall(r"\b[A-Z]-\d+\b", text.upper())[-1:]), "")
    if not number:
        return "Which order is it about? Its number looks like A-4721."
    wants = re.search(r"refund|money|pay.* back", said[-1], re.IGNORECASE)
    return _refund(number, said[-1]) if wants and number in ORDERS else ToolCall("look_up_order", {"order": number})


def _refund(number: str, said: str) -> ToolCall:
    amounts = re.findall(r"(?<![\w-])\d+(?:\.\d+)?", said)
    return ToolCall("refund", {"order": number, "amount": float(amounts[-1]) if amounts else ORDERS[number]["paid"]})


def _told(since: Sequence[Message]) -> str:
    number = next(call["input"]["order"] for one in reversed(since) for call in one.tool_calls)
    found = ORDERS.get(number)
    if found is None:
        return f"I cannot find an order {number}. Please check its number."
    return f"Order {number}: {found['item']}, {found['paid']:.2f} paid, {found['status']}. Do you want a refund?"


root_agent = Agent(
    "support",
    configured_or(ScriptedModel(reply, pause=0.02)),
    "You help customers with their orders. Look an order up before you refund it.",
    tools=[look_up_order, refund],
    approve=[is_large],
    # Each refund is decided about with what those before it in the same reply have paid.
    execution=SEQUENTIAL,
    description=f"Looks up orders and refunds them; a person agrees to what is over {LIMIT} for an order.",
    queue="payments",
)
root_agent.title = "Talk to customer support"
