"""The files of the hook scenarios: two tools, the hooks that guard them, and what became of the files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from graphs.agents.agent import Agent
from graphs.agents.hooks import AfterToolCallEvent, AfterToolsEvent, BeforeToolCallEvent, BeforeToolsEvent
from graphs.agents.models import ScriptedModel, ToolCall
from graphs.agents.results import AgentResult
from graphs.agents.tools import tool
from graphs.engine.hooks import HookRegistry

LOOK = ToolCall("look", {"path": "old/a.txt"}, "look-1")
DELETE = ToolCall("delete", {"path": "old/a.txt"}, "delete-1")
SECOND = ToolCall("delete", {"path": "old/b.txt"}, "delete-2")


class Disk:
    """A folder: `looked` and `deleted` say what the tools did, in their order."""

    def __init__(self) -> None:
        self.looked: list[str] = []
        self.deleted: list[str] = []

    @tool
    def look(self, path: str) -> dict[str, Any]:
        """Look at a file."""
        self.looked.append(path)
        return {"path": path, "age": 9}

    @tool
    def delete(self, path: str) -> str:
        """Delete a file."""
        self.deleted.append(path)
        return f"{path} is gone"


class Gate:
    """Asks before each delete, and says why it was not done."""

    def __init__(self, name: str = "gate", text: str | bool = "The owner said no.") -> None:
        self.name = name
        self.text = text
        self.fired = 0

    def register_hooks(self, registry: HookRegistry, **kwargs: Any) -> None:
        registry.add_callback(BeforeToolCallEvent, self.ask)

    def ask(self, event: BeforeToolCallEvent) -> None:
        self.fired += 1
        if event.tool_use["name"] != "delete":
            return
        if event.interrupt(self.name, reason={"path": event.tool_use["input"]["path"]}) != "y":
            event.cancel_tool = self.text


class BatchGate:
    """Asks once for all deletes of a reply."""

    def __init__(self, text: str | bool = "None of them.") -> None:
        self.text = text
        self.fired = 0

    def register_hooks(self, registry: HookRegistry) -> None:
        registry.add_callback(BeforeToolsEvent, self.ask)

    def ask(self, event: BeforeToolsEvent) -> None:
        self.fired += 1
        wanted = [one["toolUse"]["name"] for one in event.message["content"] if "toolUse" in one]
        if "delete" in wanted and event.interrupt("batch", reason={"tools": wanted}) != "y":
            event.cancel = self.text


class Watch:
    """Notes what came after calls and batches."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str, str | None]] = []
        self.batches: list[list[str]] = []

    def register_hooks(self, registry: HookRegistry) -> None:
        registry.add_callback(AfterToolCallEvent, self.after_call)
        registry.add_callback(AfterToolsEvent, self.after_batch)

    def after_call(self, event: AfterToolCallEvent) -> None:
        self.calls.append((event.tool_use["toolUseId"], event.result["status"], event.cancel_message))

    def after_batch(self, event: AfterToolsEvent) -> None:
        self.batches.append([one["toolResult"]["toolUseId"] for one in event.message["content"]])


def keeper(disk: Disk, replies: Sequence[Any], *hooks: Any, **options: Any) -> Agent:
    """An agent that looks after the disk."""
    return Agent("keeper", ScriptedModel(replies), tools=[disk.look, disk.delete], hooks=hooks, **options)


def responses(result: AgentResult, answer: Any | Callable[[Any], Any]) -> list[dict[str, Any]]:
    """The same answer, or what a function of the question gives, for all that is asked."""
    return [
        {"interruptResponse": {"interruptId": one.id, "response": answer(one) if callable(answer) else answer}}
        for one in result.interrupts
    ]


def results_of(agent: Agent) -> list[tuple[str, str, Any]]:
    """The tool results that the model was last shown: id, status and content."""
    shown = agent.model.seen[-1][-1].tool_results  # type: ignore[union-attr]
    return [
        (one["toolUseId"], one["status"], one["content"][0].get("text") or one["content"][0].get("json"))
        for one in shown
    ]
