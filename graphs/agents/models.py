"""Language models behind one port, and the one that ships: scripted, deterministic, without a network."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from graphs.engine.messages import Message


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model's wish to call a tool. `id` is the model's own name for it; where it is empty one is made up."""

    name: str
    input: Mapping[str, Any] = field(default_factory=dict)
    id: str = ""


@dataclass(frozen=True, slots=True)
class ModelReply:
    """One answer of a model: text, tool calls, and what it used (`{"tokens": n}`)."""

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Mapping[str, int] = field(default_factory=dict)


@runtime_checkable
class Model(Protocol):
    """Where an agent gets its replies."""

    async def complete(
        self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]], system_prompt: str
    ) -> ModelReply: ...


Scripted = str | ToolCall | ModelReply | Sequence[ToolCall] | Callable[[Sequence[Message]], Any]


class ScriptedModel:
    """Gives its replies in order: text, a tool call, several, a `ModelReply`, or a function of the messages.

    Which one comes next follows from the messages alone, so a new process goes on where the old one stopped. `seen`
    holds the messages of each call that was really made. Raises IndexError past the last reply.
    """

    def __init__(self, replies: Sequence[Scripted]) -> None:
        self.replies = list(replies)
        self.seen: list[list[Message]] = []

    async def complete(
        self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]], system_prompt: str
    ) -> ModelReply:
        """The reply that follows so many assistant messages."""
        self.seen.append([Message(one) for one in messages])
        turn = sum(message["role"] == "assistant" for message in messages)
        if turn >= len(self.replies):
            raise IndexError(f"the script has {len(self.replies)} replies; reply {turn + 1} was asked for")
        scripted: Any = self.replies[turn]
        return _reply(scripted(messages) if callable(scripted) else scripted, turn)


def _reply(scripted: Any, turn: int) -> ModelReply:
    if isinstance(scripted, ModelReply):
        return scripted
    if isinstance(scripted, str):
        return ModelReply(scripted)
    calls = [scripted] if isinstance(scripted, ToolCall) else list(scripted)
    named = [ToolCall(one.name, one.input, one.id or f"call-{turn}-{index}") for index, one in enumerate(calls)]
    return ModelReply(tool_calls=tuple(named))
