"""An agent that writes slowly enough to be watched, loaded by the installation under test through SAYSO_GRAPHS."""

from __future__ import annotations

from collections.abc import Sequence

from graphs.agents.agent import Agent
from graphs.agents.models import ModelReply, ScriptedModel, ToolCall
from graphs.agents.tools import tool
from graphs.engine.messages import Message

#: How many tool calls the word “count” leads to: more than one page of a conversation shows.
MANY = 80
SLOW = 0.1
STORY = "I look for it, and while I do I tell you a **long story** of many words, so that you can watch it grow. " * 2
TIDY = "as your team has agreed, and the folder is now as tidy as it was before all of this began"
HOSTILE = '<img src=x onerror=alert(1)> [click](javascript:alert(1)) <script>document.title="owned"</script>'


@tool
def look(number: int) -> str:
    """Look something up."""
    return f"looked {number}"


@tool(require_confirmation=True)
def delete(path: str) -> str:
    """Delete a file."""
    return f"{path} is gone"


def reply(messages: Sequence[Message]) -> ModelReply | str:
    """What follows from the last message that a person wrote, and from what was done since."""
    asked = max(at for at, one in enumerate(messages) if one.role == "user" and not one.tool_results)
    wanted, done = messages[asked].text(), sum(bool(one.tool_results) for one in messages[asked:])
    if "count" in wanted and done < MANY:
        return ModelReply(f"Step {done}", (ToolCall("look", {"number": done}),))
    if "delete" in wanted and not done:
        return ModelReply(STORY, (ToolCall("delete", {"path": "a.txt"}),))
    return f"It is deleted, {TIDY}. What else?" if done == 1 else f"That was all. {HOSTILE}"


class Talker(ScriptedModel):
    """Says each word a moment after the one before, but counts at once."""

    def __init__(self) -> None:
        super().__init__([reply] * 1_000)
        self.pause = SLOW

    async def complete(self, messages: Sequence[Message], tools: Sequence[object], system_prompt: str) -> ModelReply:
        """The reply, as its script says."""
        found = await super().complete(messages, tools, system_prompt)  # type: ignore[arg-type]
        self.pause = 0.0 if found.text.startswith("Step") else SLOW
        return found


root_agent = Agent("talker", Talker(), tools=[look, delete], queue="payments", max_turns=200)
root_agent.title = "Talker"
