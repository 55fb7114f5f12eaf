"""What a reviewer makes of a call's arguments is checked by the tool's own schema, however its models nest (E11)."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

from graphs.agents.agent import Agent
from graphs.agents.approvals import gate_schema
from graphs.agents.models import ScriptedModel, ToolCall
from graphs.agents.tools import tool
from graphs.engine import schemas
from graphs.engine.errors import AnswerInvalid
from graphs.engine.graph import Graph
from tests.engine.runs import resume, start

Store = Any


class Item(BaseModel):
    n: int
    parts: list[Item] = []


async def test_e11_edited_arguments_with_nested_models_are_checked_and_the_question_stays_open(store: Store) -> None:
    bought: list[int] = []

    @tool
    def buy(item: Item) -> str:
        """Buy an item."""
        bought.append(item.n)
        return "bought"

    model = ScriptedModel([ToolCall("buy", {"item": {"n": 1}}), "Done."])
    agent = Agent("buyer", model, tools=[buy], approve=["buy"])
    graph = Graph.new("buying").node("buyer", agent).entry("buyer").terminal("buyer").compile()
    await start(graph, store)
    wrong = {"item": {"n": "many", "parts": [{"n": "few"}]}, "zzz": 1}
    with pytest.raises(AnswerInvalid) as refused:
        await resume(graph, store, {"buyer": {"approved": True, "arguments": wrong}})
    pointers = {pointer for pointer, _ in refused.value.problems}
    assert {"/arguments/zzz", "/arguments/item/n", "/arguments/item/parts/0/n"} <= pointers
    await resume(graph, store, {"buyer": {"approved": True, "arguments": {"item": {"n": 2, "parts": [{"n": 3}]}}}})
    assert bought == [2]


def test_e11_a_default_that_nobody_chose_is_neither_put_in_nor_checked() -> None:
    @tool
    def write(to: str, cc: Annotated[str, Field(json_schema_extra={"format": "email"})] = "", default: int = 1) -> str:
        """Write."""
        return to + cc

    schema = gate_schema(write.schema)
    answer = schemas.fill(schema, {"approved": True, "arguments": {"to": "Ana"}})
    assert answer == {"approved": True, "arguments": {"to": "Ana"}}
    assert schemas.validate(schema, answer) == []
    wrong = {"approved": True, "arguments": {"to": "Ana", "cc": "", "default": "x"}}
    assert {pointer for pointer, _ in schemas.validate(schema, wrong)} >= {"/arguments/default"}


@pytest.mark.parametrize("place", ["$defs", "definitions"])
def test_e11_references_lead_to_where_the_tools_schema_stands(place: str) -> None:
    tool_schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {"of": {"$ref": f"#/{place}/of"}, "as": {"$ref": "#/properties/of"}, "in": {"$ref": "#"}},
        place: {"of": {"enum": ["a", {"default": 1, "$ref": "#"}]}},
    }
    schema = gate_schema(tool_schema)
    schemas.check(schema)
    right = {"approved": True, "arguments": {"of": "a", "as": {"default": 1, "$ref": "#"}, "in": {"of": "a"}}}
    assert schemas.validate(schema, right) == []
    wrong = {"approved": True, "arguments": {"as": "b", "in": {"of": "b"}}}
    assert [pointer for pointer, _ in schemas.validate(schema, wrong)] == ["/arguments/as", "/arguments/in/of"]
