"""Agents and teams as tools of others, and an agent's tools called directly, outside of its loop."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from graphs.agents.hooks import AfterToolCallEvent, BeforeToolCallEvent
from graphs.agents.tool_context import ToolContext
from graphs.agents.tools import LongRunningFunctionTool, Tool
from graphs.engine import canonical
from graphs.engine.blocking import blocking
from graphs.engine.context import Context
from graphs.engine.errors import ThreadBusy
from graphs.engine.interrupts import GraphInterrupt
from graphs.engine.journal import open_of
from graphs.engine.messages import tool_result
from graphs.engine.ports import Json
from graphs.engine.task import text_of

if TYPE_CHECKING:
    from graphs.agents.agent import Agent


class AgentTool(Tool):
    """Runs `child` as a child of the task that calls it, so that its questions are that task's (H35)."""

    def __init__(self, child: Any, name: str, description: str) -> None:
        async def ask(input: str, ctx: Context) -> Any:
            return await ctx.run_node(child, input, name=name)

        super().__init__(ask, name=name, description=description)
        self.child = child


class DirectCalls:
    """`agent.tool`: each attribute is one of its tools, to be called with its arguments by name."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent

    def __getattr__(self, name: str) -> Callable[..., dict[str, Json]]:
        if name not in self._agent.tools and not name.startswith("_"):
            blocking(self._agent.toolbox.open())
        if name not in self._agent.tools:
            raise AttributeError(f"agent {self._agent.name!r} has no tool {name!r}")
        return lambda **arguments: blocking(self._call(self._agent.tools[name], arguments))

    async def _call(self, tool: Tool, arguments: dict[str, Any]) -> dict[str, Json]:
        """The `toolResult` of one call that no model makes and that leaves nothing in the conversation.

        Raises `ThreadBusy` while the agent waits for responses, and RuntimeError where a person would be asked: by a
        hook, by the tool, for an approval, or for the result (H26).
        """
        snapshot = await self._agent.session.snapshot()
        if snapshot is not None and (asked := open_of(snapshot)):
            raise ThreadBusy(
                f"agent {self._agent.name!r} waits for {len(asked)} responses; give them before a direct call",
                [one.id for one in asked],
            )
        use: dict[str, Any] = {"toolUseId": "direct", "name": tool.name, "input": dict(arguments)}
        before = BeforeToolCallEvent(use, self._agent, None, False, tool)
        await self._fire(before)
        if before.cancelled:
            text = before.cancel_tool if isinstance(before.cancel_tool, str) else f"{tool.name} was cancelled."
            return tool_result("direct", "error", text)
        await self._refuse_asking(tool, use["input"])
        result = await self._ended(tool, use)
        after = AfterToolCallEvent(use, self._agent, result)
        await self._fire(after)
        return after.result

    async def _refuse_asking(self, tool: Tool, arguments: dict[str, Any]) -> None:
        box = self._agent.toolbox
        if box.gates(tool.name) or await box.must_confirm(tool, arguments, self._agent):
            raise RuntimeError(f"a person must agree to {tool.name}, and nobody can where it is called directly")
        if isinstance(tool, LongRunningFunctionTool):
            raise RuntimeError(f"a person gives the result of {tool.name}, and nobody can where it is called directly")

    async def _fire(self, event: BeforeToolCallEvent | AfterToolCallEvent) -> None:
        for callback in self._agent.toolbox.hooks.of(type(event)):
            given = callback(event)
            if inspect.isawaitable(given):
                await given

    async def _ended(self, tool: Tool, use: dict[str, Any]) -> dict[str, Json]:
        try:
            given = tool.fn(**tool.bind(use["input"], ToolContext(use, self._agent)))
            given = await given if inspect.isawaitable(given) else given
            return tool_result("direct", "success", canonical.encode(given, tool.name))
        except GraphInterrupt as pause:
            raise RuntimeError(f"{tool.name} asks, and nobody can answer where it is called directly") from pause
        except RuntimeError:
            raise
        except Exception as error:  # noqa: BLE001 - a tool's failure is its result, as in the loop
            return tool_result("direct", "error", f"{type(error).__name__}: {text_of(error)}")
