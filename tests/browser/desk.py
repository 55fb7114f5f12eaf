"""Questions whose forms have everything in them, loaded by the installation under test through SAYSO_GRAPHS."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field

from graphs.engine.asking import ask
from graphs.engine.binding import ExecutableInput
from graphs.engine.graph import Graph

CITIES = [f"City {number}" for number in range(60)]
WIDE = {
    "type": "object",
    "title": "Order",
    "properties": {
        "lines": {
            "type": "array",
            "title": "Lines",
            "minItems": 1,
            "maxItems": 3,
            "items": {
                "type": "object",
                "properties": {
                    "sku": {"type": "string", "title": "Article", "pattern": "^[A-Z]{2}-[0-9]+$"},
                    "count": {"type": "integer", "title": "Count", "minimum": 1},
                },
                "required": ["sku", "count"],
            },
        },
        "pay": {
            "title": "Pay by",
            "oneOf": [
                {
                    "title": "Card",
                    "type": "object",
                    "properties": {
                        "kind": {"const": "card"},
                        "digits": {"type": "string", "title": "Last digits"},
                    },
                    "required": ["kind", "digits"],
                },
                {
                    "title": "Transfer",
                    "type": "object",
                    "properties": {"kind": {"const": "transfer"}, "iban": {"type": "string", "title": "Account"}},
                    "required": ["kind", "iban"],
                },
            ],
        },
        "city": {"enum": CITIES, "title": "City"},
        "extras": {
            "type": "array",
            "title": "Extras",
            "uniqueItems": True,
            "items": {"enum": ["Gift wrap", "Express"]},
        },
        "at": {"type": "string", "format": "date-time", "title": "Deliver at"},
        "code": {"type": "string", "format": "password", "title": "Door code"},
        "labels": {"type": "object", "title": "Labels", "additionalProperties": {"type": "string"}},
    },
    "required": ["lines"],
}


class Wish(BaseModel):
    """What to ask."""

    what: Literal["order", "choices"] = Field(title="What")
    count: int = Field(1, title="How many choices")


def put(inp: ExecutableInput) -> dict[str, Any]:
    if inp.input["what"] == "order":
        answer = ask("Fill in the order", schema=WIDE, queue="payments")
    else:
        options = [{"value": number, "label": f"Choice {number}"} for number in range(inp.input["count"])]
        answer = ask("Choose one", payload={"options": options}, queue="payments")
    return {"value": answer.value}


app = (
    Graph.new("desk", title="Desk", input_schema=Wish, queue="payments")
    .node("put", put, label="Put the question")
    .entry("put")
    .terminal("put")
    .compile()
)
