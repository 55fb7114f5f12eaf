"""From a model's name to a model: one factory for the process, and the scripted stand-in where none is set."""

from __future__ import annotations

import importlib
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from graphs.agents.models import Model, ModelReply, ToolCall, words
from graphs.engine.errors import DefinitionError, SaysoError
from graphs.engine.messages import Message

Factory = Callable[[str], Model]
_factory: str | Factory = ""


def use_models(factory: str | Factory) -> None:
    """Let `factory(name)` make the models of agents that name one, or none (then the name is empty). `openai:<model>`
    means that model of an OpenAI-compatible server; a dotted name (`module:function`) is imported when the first of
    them is needed; an empty one means the stand-in again."""
    global _factory
    _factory = factory


def resolve(given: Model | str | None) -> Model:
    """The model itself, or the one of this name. Raises `DefinitionError` for a factory that cannot be imported."""
    if given is not None and not isinstance(given, str):
        return given
    factory = _imported(_factory) if isinstance(_factory, str) else _factory
    return factory(given or "")


def prepare() -> None:
    """Import what the configured models need, once before a process forks: a client takes a second to import. What is
    wrong with them is said where one is called."""
    with suppress(SaysoError):
        resolve("")


def _imported(dotted: str) -> Factory:
    if not dotted:
        return StandIn
    kind, _, model = dotted.partition(":")
    if kind == "openai":
        from graphs.agents.llms.openai import OpenAIModel

        # An agent that names a model of its own gets that one from the same server.
        return lambda name: OpenAIModel(name or model)
    module, _, attribute = dotted.partition(":") if ":" in dotted else dotted.rpartition(".")
    try:
        found: Factory = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise DefinitionError(f"no model factory {dotted!r} ({error}); it is set as SAYSO_MODELS") from error
    return found


def configured_or(scripted: Model) -> Model:
    """The configured model, looked up at each call, or `scripted` where none is configured: what shipped agents use."""
    return _Configured(scripted)


class _Configured:
    """A model that is chosen when it is called, since settings are read after definitions."""

    def __init__(self, scripted: Model) -> None:
        self.scripted = scripted

    def chosen(self) -> Model:
        """The model that counts now."""
        return resolve("") if _factory else self.scripted

    async def complete(
        self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]], system_prompt: str
    ) -> ModelReply:
        """The chosen model's reply."""
        return await self.chosen().complete(messages, tools, system_prompt)

    async def stream(
        self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]], system_prompt: str
    ) -> AsyncIterator[str | ModelReply]:
        """The chosen model's reply as it comes."""
        chosen = self.chosen()
        inner = getattr(chosen, "stream", None)
        if inner is None:
            yield await chosen.complete(messages, tools, system_prompt)
            return
        async for piece in inner(messages, tools, system_prompt):
            yield piece


class StandIn:
    """A deterministic model for where none is configured: it calls each tool that the prompts name once, by its name or
    by all the words of it, and then says what they gave. An agent can be tried and its pauses seen without a network.
    """

    def __init__(self, name: str = "") -> None:
        self.name = name

    async def complete(
        self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]], system_prompt: str
    ) -> ModelReply:
        """The reply that follows from the messages alone."""
        start = max((at for at, one in enumerate(messages) if one.role == "user" and not one.tool_results), default=0)
        prompt, since = messages[start].text(), messages[start:]
        called = {call["name"] for one in since for call in one.tool_calls}
        told = f"{system_prompt}\n{prompt}"
        wanted = [one for one in tools if one["name"] not in called and _names(told, one["name"])]
        if wanted:
            turn = sum(one.role == "assistant" for one in messages)
            calls = [
                ToolCall(one["name"], _arguments(one["inputSchema"], prompt), f"call-{turn}-{at}")
                for at, one in enumerate(wanted)
            ]
            return ModelReply(tool_calls=tuple(calls))
        gave = [one.text() for one in since if one.tool_results]
        return ModelReply("\n".join(gave) or f"You said: {prompt}")

    async def stream(
        self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]], system_prompt: str
    ) -> AsyncIterator[str | ModelReply]:
        """The same reply, word by word."""
        reply = await self.complete(messages, tools, system_prompt)
        for piece in words(reply.text):
            yield piece
        yield reply


def _names(text: str, tool: str) -> bool:
    if re.search(rf"\b{re.escape(tool)}\b", text) is not None:
        return True
    said, words = ({one.removesuffix("s") for one in re.findall(r"[a-z0-9]+", each.lower())} for each in (text, tool))
    return len(words) > 1 and words <= said


def _arguments(schema: Mapping[str, Any], prompt: str) -> dict[str, Any]:
    rules: Mapping[str, Any] = schema.get("properties", {})
    return {name: _example(rules[name], prompt) for name in schema.get("required", ()) if name in rules}


def _example(rule: Mapping[str, Any], prompt: str) -> Any:
    if "enum" in rule:
        return rule["enum"][0]
    kind = rule.get("type", "string")
    if kind in ("integer", "number"):
        found = re.search(r"-?\d+(\.\d+)?", prompt)
        number = float(found.group()) if found else 1.0
        return int(number) if kind == "integer" else number
    if kind == "array" and rule.get("items", {}).get("type") == "string":
        return re.findall(r"['\"]([^'\"]+)['\"]", prompt) or re.findall(r"\w[\w-]*[./][\w./-]*\w", prompt)
    return {"boolean": True, "array": [], "object": {}, "null": None}.get(kind, prompt)
