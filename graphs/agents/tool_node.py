"""A node that runs the tool calls of the last assistant's message (seed 001)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from graphs.agents.batch import Batch, stop_repeated
from graphs.agents.toolbox import CONCURRENT, MAX_REJECTIONS, Rule, Toolbox
from graphs.engine import messages
from graphs.engine.context import Context
from graphs.engine.errors import InputMismatch
from graphs.engine.messages import Message
from graphs.engine.outputs import Event


class ToolNode:
    """Runs the tool calls of the node's input, where that is an assistant's message, or else of the last message of the
    `messages` channel; all at once, each an entry of the journal. Appends one message with the results to `messages`
    and puts it out.

    `approve`, `hooks`, `max_rejections`, `execution` and `timeout` (of each tool) are as for an `Agent`; `name` is who
    wants to call, in the questions: the node, where it is empty.
    """

    def __init__(
        self,
        tools: Sequence[Any],
        *,
        name: str = "",
        approve: Sequence[Rule] = (),
        hooks: Sequence[Any] = (),
        max_rejections: int = MAX_REJECTIONS,
        execution: str = CONCURRENT,
        timeout: float | None = None,
    ) -> None:
        self.toolbox = Toolbox(name, tools, approve, hooks, max_rejections, execution, timeout)

    async def __call__(self, ctx: Context) -> Event:
        """The node's body. Raises `InputMismatch` where nothing calls a tool."""
        known = messages.read(ctx.state.get("messages"))
        asked, fresh = _asking(ctx, known)
        await self.toolbox.open()
        results = Message.tool_result_message(await Batch(self.toolbox, ctx, 0, asked).run())
        said = [asked, results] if fresh else [results]
        stop_repeated(self.toolbox, [*known, *said])
        return Event(output=results, state={"messages": said})


def _asking(ctx: Context, known: Sequence[Message]) -> tuple[Message, bool]:
    """The message that calls tools, and whether the channel lacks it."""
    given = ctx.input
    if isinstance(given, Mapping) and given.get("role") == "assistant" and isinstance(given.get("content"), list):
        message = Message(given)
        fresh = not known or known[-1] != message
    else:
        message, fresh = (known[-1] if known else Message(role="user", content=[])), False
    if message.role != "assistant" or not message.tool_calls:
        raise InputMismatch(
            f"node {ctx.node_id!r} runs tools, and neither its input nor the last of the messages calls any; "
            "let an edge lead here only from a message with tool calls"
        )
    return message, fresh
