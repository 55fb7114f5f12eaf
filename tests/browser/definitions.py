"""Graphs that ask awkward questions, loaded by the installation under test through SAYSO_GRAPHS."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field

from graphs.engine.asking import ask, request_human_input
from graphs.engine.binding import ExecutableInput
from graphs.engine.graph import Graph

LONG = "\n".join(f"{line:02d} {'all work and no play makes a long argument, ' * 2}"[:99] for line in range(81))
LABELS = [
    f"Option {number}: {'a label that explains at length what follows from it, ' * 4}"[:200] for number in range(60)
]
HOSTILE = '</script><script>document.title="owned"</script><img src=x onerror=alert(1)>'
WIDGETS = {
    "type": "object",
    "properties": {
        "amount": {"type": "number", "title": "Amount", "minimum": 1, "maximum": 500},
        "copies": {"type": "integer", "title": "Copies"},
        "informed": {"type": "boolean", "title": "Customer informed"},
        "currency": {"enum": ["EUR", "GBP", "USD"], "title": "Currency"},
        "country": {"enum": [f"Country {number}" for number in range(30)], "title": "Country"},
        "on": {"type": "string", "format": "date", "title": "Date"},
        "letter": {"type": "string", "maxLength": 4000, "title": "Letter"},
        "address": {"type": "object", "title": "Address", "properties": {"street": {"type": "string"}}},
        "tags": {"type": "array", "items": {"type": "string"}, "title": "Tags"},
        "rows": {"type": "array", "items": {"type": "object"}, "title": "Rows"},
    },
    "required": ["amount", "currency"],
}
NESTED = {
    "customer": {"name": "Jo Park", "address": {"city": "Utrecht", "geo": {"lat": 52.09}}},
    "items": [{"sku": "A", "qty": 1}, {"sku": "B", "qty": 2}],
    "mixed": [{"a": {"b": [1, {"c": "leaf"}]}}],
}


class Case(BaseModel):
    """Which question to ask."""

    case: Literal["long", "options", "hostile", "widgets", "nested", "expiring", "due"] = Field(title="Case")


def put(inp: ExecutableInput) -> dict[str, Any]:
    case = inp.input["case"]
    if case == "options":
        return {"chosen": request_human_input(inp, "Which of these?", kind="choice", options=LABELS)}
    payload = {"long": {"body": LONG}, "hostile": {"note": HOSTILE, HOSTILE: HOSTILE}, "nested": NESTED}.get(case, {})
    schema = WIDGETS if case == "widgets" else None
    if case == "expiring":
        decision = ask("Answer soon", expires_in=6, default="nobody answered", queue="payments")
    elif case == "due":
        # Half a year on, so that the clocks of many zones have been changed by then.
        decision = ask("Answer in time", expires_in=182 * 86_400, default="nobody answered", queue="payments")
    else:
        decision = ask(f"Look at the {case} one", payload=payload, schema=schema, queue="payments")
    return {"outcome": str(decision.outcome), "value": decision.value, "comment": decision.comment}


app = (
    Graph.new("gallery", title="Awkward questions", input_schema=Case, queue="payments")
    .node("put", put, label="Put the question")
    .entry("put")
    .terminal("put")
    .compile()
)
