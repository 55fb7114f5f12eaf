"""A tool that has gone from the list while a call of it stands in the journal: what was done and decided holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from graphs.agents.agent import Agent
from graphs.agents.models import ScriptedModel, ToolCall
from graphs.agents.tools import LongRunningFunctionTool, tool
from graphs.engine import failpoints
from graphs.engine.asking import request_human_input
from graphs.engine.ports import Answer, ThreadRef
from graphs.engine.runner import GraphRunner
from graphs.engine.statuses import Outcome
from graphs.engine.workflow import compiled
from tests.agents.files import results_of

Store = Any


@tool(require_confirmation=True)
def delete(path: str) -> str:
    """Delete a file."""
    return f"{path} is gone"


def clerk(tools: Sequence[Any], *calls: ToolCall) -> Agent:
    return Agent("clerk", ScriptedModel([list(calls), "Done."]), tools=tools, execution="sequential")


async def begun(agent: Agent, store: Store) -> Any:
    return await GraphRunner().graph(compiled(agent)).thread("run-1").hook(store).arun("go")


async def goes_on(agent: Agent, store: Store, outcome: Outcome | None = None, value: Any = None, said: str = "") -> Any:
    found = await store.load(ThreadRef("clerk", "run-1"))
    asked = [one for record in found.tasks.values() for one in record.interrupts if one.decision is None]
    if outcome is not None:
        await store.answer(ThreadRef("clerk", "run-1"), [Answer(one.id, outcome, value, said) for one in asked])
    return await GraphRunner().graph(compiled(agent)).resume_from(store, "run-1").arun()


SEND, DELETE = ToolCall("send", {"to": "bob"}, "s"), ToolCall("delete", {"path": "a"}, "d")


async def test_t11_the_result_of_a_call_outlives_its_tool(store: Store) -> None:
    @tool
    def send(to: str) -> str:
        """Send."""
        return f"sent to {to}"

    @tool(name="send_mail")
    def renamed(to: str) -> str:
        """Send."""
        raise AssertionError(to)

    assert (await begun(clerk([send, delete], SEND, DELETE), store)).paused
    after = clerk([renamed, delete], SEND, DELETE)
    assert (await goes_on(after, store, Outcome.APPROVED)).status == "completed"
    assert results_of(after) == [("s", "success", "sent to bob"), ("d", "success", "a is gone")]


@pytest.mark.parametrize(
    ("outcome", "text"), [(Outcome.REJECTED, "Keep it."), (Outcome.APPROVED, "There is no tool named 'delete'.")]
)
async def test_a_no_outlives_the_tool_and_a_yes_says_that_it_is_gone(store: Store, outcome: Any, text: str) -> None:
    await begun(clerk([delete], DELETE), store)
    after = clerk([], DELETE)
    assert (await goes_on(after, store, outcome, None, "Keep it.")).status == "completed"
    assert results_of(after) == [("d", "error", text)]


@pytest.mark.parametrize(
    ("happened", "told"),
    [
        ({"happened": True, "result": "by post"}, ("s", "success", "by post")),
        ({"happened": False}, ("s", "error", "There is no tool named 'send'.")),
    ],
)
async def test_f9_a_call_in_doubt_whose_tool_is_gone_is_still_asked_about(
    store: Store, restarted: Any, monkeypatch: pytest.MonkeyPatch, happened: Any, told: Any
) -> None:
    @tool(crash="at_most_once")
    def send(to: str) -> str:
        """Send."""
        return f"sent to {to}"

    monkeypatch.setenv("SAYSO_FAILPOINT", "after_effect:raise:2")
    with pytest.raises(failpoints.Crash):
        await begun(clerk([send], SEND), store)
    store, after = restarted(store), clerk([], SEND)
    paused = await goes_on(after, store)
    assert [one.style for one in paused.interrupts] == ["effect"]
    assert (await goes_on(after, store, Outcome.ANSWERED, happened)).status == "completed"
    assert results_of(after) == [told]


async def test_z46_what_a_person_gives_is_the_result_of_a_long_running_tool_that_is_gone(store: Store) -> None:
    ship = ToolCall("ship", {}, "s")
    paused = await begun(clerk([LongRunningFunctionTool(lambda: "provisional", name="ship")], ship), store)
    assert paused.paused
    after = clerk([], ship)
    assert (await goes_on(after, store)).paused, "it still waits"
    assert (await goes_on(after, store, Outcome.ANSWERED, "Two days.")).status == "completed"
    assert results_of(after) == [("s", "success", "Two days.")]


async def test_a_call_that_had_begun_is_told_as_such(store: Store) -> None:
    @tool
    def send(to: str) -> str:
        """Send."""
        return str(request_human_input(None, "Really?"))

    await begun(clerk([send], SEND), store)
    after = clerk([], SEND)
    await goes_on(after, store, Outcome.ANSWERED, "yes")
    ((_, status, text),) = results_of(after)
    assert status == "error" and "how far it came is not known" in text
