"""Language models behind one port, and the one that ships: scripted, deterministic, without a network."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, runtime_checkable

from graphs.engine.errors import SaysoError
from graphs.engine.messages import Message


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model's wish to call a tool. `id` is the model's own name for it; where it is empty one is made up.

    `broken` are arguments that are no JSON object, as the model wrote them: such a call is answered with an error.
    """

    name: str
    input: Mapping[str, Any] = field(default_factory=dict)
    id: str = ""
    broken: str = ""


@dataclass(frozen=True, slots=True)
class ModelReply:
    """One answer of a model: text, tool calls, and what it used (`{"tokens": n}`).

    `stop_reason` is why it ended, as far as the model says: `end_turn`, `tool_use`, `max_tokens`, `content_filter`.
    """

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Mapping[str, int] = field(default_factory=dict)
    stop_reason: str = ""


class ModelError(SaysoError):
    """A model gave no reply."""


class ModelKeyMissing(ModelError):
    """No key for the model is set."""


class ModelRefused(ModelError):
    """The model's server refused the call; the same call would be refused again."""


class ModelUnavailable(ModelError):
    """The model's server did not answer, or not to the end; it may do so later."""


@runtime_checkable
class Model(Protocol):
    """Where an agent gets its replies.

    A model may have a second method, `stream(messages, tools, system_prompt)`: an async iterator of pieces of text as
    they come, and then of one `ModelReply`, the whole.
    """

    async def complete(
        self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]], system_prompt: str
    ) -> ModelReply: ...


async def reply_of(
    model: Model,
    messages: Sequence[Message],
    tools: Sequence[Mapping[str, Any]],
    system_prompt: str,
    tell: Callable[[str], None],
) -> Any:
    """A model's reply, told piece by piece where it streams. Raises `ModelUnavailable` for a stream without an end."""
    stream = getattr(model, "stream", None)
    if stream is None:
        return await model.complete(messages, tools, system_prompt)
    reply = None
    async for piece in stream(messages, tools, system_prompt):
        if isinstance(piece, str):
            tell(piece)
        else:
            reply = piece
    if reply is None:
        raise ModelUnavailable("the model's reply broke off before its end")
    return reply


#: Under this key a task's journal keeps its model's replies, each by its turn.
REPLY = "model"


def is_reply(key: str) -> bool:
    """Whether a journal's entry of this key is a model's reply, to the task's own agent or to one inside its tools."""
    return key == REPLY or key.endswith(f"/{REPLY}")


Scripted = str | ToolCall | ModelReply | Sequence[ToolCall] | Callable[[Sequence[Message]], Any]


class ScriptedModel:
    """Gives its replies in order: text, a tool call, several, a `ModelReply`, or a function of the messages. A function
    in place of the list gives every reply, for a conversation without an end.

    Which one comes next follows from the messages alone, so a new process goes on where the old one stopped. `seen`
    holds the messages of each call that was really made, but not where a function replies: that may go on for ever. It
    streams its texts word by word, `pause` seconds apart.
    Raises IndexError past the last reply.
    """

    def __init__(self, replies: Sequence[Scripted] | Callable[[Sequence[Message]], Any], *, pause: float = 0.0) -> None:
        self.replies = replies if callable(replies) else list(replies)
        self.pause = pause
        self.seen: list[list[Message]] = []

    async def complete(
        self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]], system_prompt: str
    ) -> ModelReply:
        """The reply that follows so many assistant messages."""
        if not callable(self.replies):
            self.seen.append([Message(one) for one in messages])
        turn = sum(message["role"] == "assistant" and "ended" not in message for message in messages)
        scripted: Any = self.replies if callable(self.replies) else self._next(self.replies, turn)
        return _reply(scripted(messages) if callable(scripted) else scripted, turn)

    @staticmethod
    def _next(replies: Sequence[Any], turn: int) -> Any:
        if turn >= len(replies):
            raise IndexError(f"the script has {len(replies)} replies; reply {turn + 1} was asked for")
        return replies[turn]

    async def stream(
        self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]], system_prompt: str
    ) -> AsyncIterator[str | ModelReply]:
        """The same reply, word by word, `pause` seconds apart."""
        reply = await self.complete(messages, tools, system_prompt)
        for piece in words(reply.text):
            if self.pause:
                await asyncio.sleep(self.pause)
            yield piece
        yield reply


def words(text: str) -> list[str]:
    """A text in pieces that end behind each run of blanks."""
    return re.findall(r"\S*\s*", text)[:-1] if text else []


def _reply(scripted: Any, turn: int) -> ModelReply:
    if isinstance(scripted, ModelReply):
        return scripted
    if isinstance(scripted, str):
        return ModelReply(scripted)
    calls = [scripted] if isinstance(scripted, ToolCall) else list(scripted)
    named = [replace(one, id=one.id or f"call-{turn}-{index}") for index, one in enumerate(calls)]
    return ModelReply(tool_calls=tuple(named))
