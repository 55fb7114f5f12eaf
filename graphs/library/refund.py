"""Refund: small amounts are paid at once, larger ones wait for a person; the payment itself happens once."""

from __future__ import annotations

import hashlib
from typing import Any, Literal

from pydantic import BaseModel, Field

from graphs.engine.asking import ask
from graphs.engine.context import Context
from graphs.engine.graph import Graph
from graphs.engine.outputs import Event

#: Up to this amount nobody is asked.
THRESHOLD = 50


class RefundRequest(BaseModel):
    """What a requester fills in."""

    order: str = Field(title="Order number", min_length=2, max_length=40, examples=["A-4721"])
    amount: float = Field(title="Amount", gt=0, le=10_000)
    currency: Literal["EUR", "GBP", "USD"] = Field("EUR", title="Currency")
    customer: str = Field(title="Customer e-mail", json_schema_extra={"format": "email"}, max_length=200)
    reason: str = Field("", title="Why the customer wants it back", max_length=2000)


def assess(request: RefundRequest) -> Event:
    """Pick the way by the amount."""
    return Event(output=request.model_dump(), route="small" if request.amount <= THRESHOLD else "large")


def review(order: dict[str, Any]) -> Event:
    """Ask a person. Nothing before this line has an effect, so running it again on the answer is harmless."""
    decision = ask(
        f"Refund order {order['order']}, {order['amount']:.2f} {order['currency']}",
        payload=order,
        reason=f"The amount is over {THRESHOLD}",
        queue="payments",
    )
    verdict = {**order, "reviewer": decision.reviewer, "comment": decision.comment}
    return Event(output=verdict, route="approved" if decision.approved else "rejected")


def transfer(order: dict[str, Any], key: str) -> dict[str, Any]:
    """Stands for the payment provider's call; `key` is what makes a repeated call take effect once."""
    reference = hashlib.sha256(key.encode()).hexdigest()[:10].upper()
    return {"reference": f"RF-{reference}", "amount": order["amount"], "currency": order["currency"]}


def pay(order: dict[str, Any], ctx: Context) -> dict[str, Any]:
    """Pay through the journal: once stored, the transfer never runs again, whatever dies."""
    receipt = ctx.once("transfer", lambda: transfer(order, ctx.idempotency_key))
    return {"order": order["order"], "paid": True, **receipt}


def decline(order: dict[str, Any]) -> dict[str, Any]:
    """Tell the requester what the reviewer wrote, word for word."""
    return {"order": order["order"], "paid": False, "because": order["comment"] or "The reviewer gave no reason."}


app = (
    Graph.new(
        "refund",
        title="Refund an order",
        description=f"Pays refunds up to {THRESHOLD} at once and asks the payments team about larger ones.",
        input_schema=RefundRequest,
        queue="payments",
    )
    .node("assess", assess, label="Check the amount")
    .node("review", review, label="Ask the payments team")
    .node("pay", pay, label="Pay it back")
    .node("decline", decline, label="Decline")
    .edge("assess", "pay", when="small")
    .edge("assess", "review", when="large")
    .edge("review", "pay", when="approved")
    .edge("review", "decline", when="rejected")
    .entry("assess")
    .terminal("pay")
    .terminal("decline")
    .compile()
)
