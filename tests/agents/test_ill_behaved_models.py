"""A model that says what no JSON may hold is told so, and the conversation goes on."""

from __future__ import annotations

from typing import Any

import pytest

from graphs.agents.agent import Agent
from graphs.agents.models import ScriptedModel, ToolCall
from graphs.agents.tools import tool
from graphs.engine.graph import Graph
from tests.engine.runs import start

Store = Any


@pytest.mark.parametrize(
    ("given", "why"),
    [("\0", "NUL"), ("\ud800", "surrogate"), (float("nan"), "nan is not JSON"), (2**70, "64 bits"), ({1: 2}, "key")],
)
async def test_arguments_that_are_no_json_call_nothing_and_the_model_is_told_why(given: Any, why: str) -> None:
    made: list[Any] = []

    @tool
    def note(text: Any) -> None:
        """Note a text."""
        made.append(text)

    model = ScriptedModel([ToolCall("note", {"text": given}), lambda said: said[-1].text()])
    done = await Agent("clerk", model, tools=[note]).invoke_async("go")
    assert done.stop_reason == "end_turn" and made == []
    assert "was not called" in str(done) and why in str(done)


async def test_a_text_loses_what_no_store_could_keep(store: Store) -> None:
    agent = Agent("clerk", ScriptedModel(["one\0two \ud83d three"]))
    result = await start(Graph.new("odd").node("clerk", agent).entry("clerk").compile(), store)
    assert result.output == "one\ufffdtwo ? three"
