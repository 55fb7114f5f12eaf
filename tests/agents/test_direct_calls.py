"""Tools of an agent called directly, outside of its loop (H26)."""

from __future__ import annotations

from typing import Any

import pytest

from graphs.agents.agent import Agent
from graphs.agents.tool_context import ToolContext
from graphs.agents.tools import LongRunningFunctionTool, tool
from graphs.engine.errors import ThreadBusy
from tests.agents.files import DELETE, Disk, Gate, keeper


async def test_h26_a_direct_call_runs_the_tool_and_leaves_nothing_in_the_conversation() -> None:
    disk = Disk()
    agent = keeper(disk, [DELETE, "Done."], Gate())
    assert agent.tool.look(path="a") == {
        "toolUseId": "direct",
        "status": "success",
        "content": [{"json": {"path": "a", "age": 9}}],
    }
    assert agent.messages == [] and agent.tool.look(path=5)["status"] == "error"
    with pytest.raises(RuntimeError, match=r"interrupt|ask"):
        agent.tool.delete(path="a")
    assert disk.deleted == [] and await agent.session.snapshot() is None
    await agent.invoke_async("tidy")
    with pytest.raises(ThreadBusy, match="waits for 1"):
        agent.tool.look(path="a")
    with pytest.raises(AttributeError, match="no tool 'other'"):
        agent.tool.other()


async def test_h26_a_tool_that_asks_cannot_be_called_directly() -> None:
    @tool(context=True)
    def remove(tool_context: ToolContext) -> str:
        """Remove."""
        return str(tool_context.interrupt("sure"))

    with pytest.raises(RuntimeError, match=r"tool_context.interrupt"):
        Agent(tools=[remove]).tool.remove()


@pytest.mark.parametrize("rule", ["delete", "del*", lambda name, arguments: arguments["path"] == "a"])
def test_h26_a_tool_that_a_person_must_agree_to_cannot_be_called_directly(rule: Any) -> None:
    disk = Disk()
    agent = keeper(disk, ["Done."], approve=[rule])
    with pytest.raises(RuntimeError, match="a person must agree to delete"):
        agent.tool.delete(path="a")
    assert disk.deleted == [] and agent.tool.look(path="b")["status"] == "success"


@pytest.mark.parametrize("rule", [True, lambda path: path == "a"])
def test_h26_a_tool_that_requires_confirmation_cannot_be_called_directly(rule: Any) -> None:
    ran: list[str] = []

    @tool(require_confirmation=rule)
    def wipe(path: str) -> None:
        """Wipe."""
        ran.append(path)

    with pytest.raises(RuntimeError, match="a person must agree to wipe"):
        Agent(tools=[wipe]).tool.wipe(path="a")
    assert ran == []


def test_h26_a_tool_whose_result_a_person_gives_cannot_be_called_directly() -> None:
    ran: list[str] = []
    ship = LongRunningFunctionTool(lambda: ran.append("ship"), name="ship")
    with pytest.raises(RuntimeError, match="a person gives the result of ship"):
        Agent(tools=[ship]).tool.ship()
    assert ran == []
