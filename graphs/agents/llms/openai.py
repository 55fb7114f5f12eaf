"""Any server that speaks the chat completions protocol of OpenAI, by the official client (extra `[openai]`)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

import orjson

from graphs.agents.models import ModelKeyMissing, ModelRefused, ModelReply, ModelUnavailable, ToolCall
from graphs.engine import canonical
from graphs.engine.errors import DefinitionError
from graphs.engine.messages import Message

if TYPE_CHECKING:
    from openai import AsyncOpenAI

KEY, BASE_URL = "OPENAI_API_KEY", "OPENAI_BASE_URL"
_STOPS = {"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens", "content_filter": "content_filter"}


class OpenAIModel:
    """The model `name` of a server at `base_url`, or where `OPENAI_BASE_URL` says, else OpenAI's own.

    `api_key` is `OPENAI_API_KEY` where it is left out. A call that fails for a reason that may pass (429, 5xx, a lost
    connection, `timeout` seconds without an answer) is made again up to `max_retries` times, with growing pauses or
    those that the server asks for; a reply that breaks off is asked for again only while nothing of it was told.
    `options` go with each call, such as `temperature=0`. Raises `DefinitionError` without the extra.
    """

    def __init__(
        self,
        name: str,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        timeout: float = 120.0,
        max_retries: int = 3,
        **options: Any,
    ) -> None:
        self.name = name
        self.base_url = base_url
        self.timeout = timeout
        self.max_retries = max_retries
        self.options = options
        self._api_key = api_key
        _sdk()

    def __repr__(self) -> str:
        return f"OpenAIModel({self.name!r})"  # never with the key

    def check(self) -> None:
        """Raise `ModelKeyMissing` where it has no key to call with."""
        self._client()

    async def complete(
        self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]], system_prompt: str
    ) -> ModelReply:
        """The whole reply. Raises `ModelKeyMissing`, `ModelRefused`, `ModelUnavailable`."""
        reply = None
        async for piece in self.stream(messages, tools, system_prompt):
            reply = piece if isinstance(piece, ModelReply) else reply
        assert reply is not None
        return reply

    async def stream(
        self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]], system_prompt: str
    ) -> AsyncIterator[str | ModelReply]:
        """Pieces of the reply's text as they come, then the whole. Raises as `complete` does."""
        request = self._request(messages, tools, system_prompt)
        for attempt in range(self.max_retries + 1):
            reading = _Reading()
            try:
                async for text in self._read(request, reading):
                    yield text
                yield reading.reply()
                return
            except ModelUnavailable:
                # What was told cannot be taken back: said twice it would be a reply that nobody gave.
                if reading.told or not reading.begun or attempt == self.max_retries:
                    raise

    async def _read(self, request: Mapping[str, Any], reading: _Reading) -> AsyncIterator[str]:
        sdk = _sdk()
        # One client a call: it belongs to an event loop, and each job has its own.
        opened = self._client()
        try:
            async with opened as client:
                async for chunk in await client.chat.completions.create(**request):
                    if text := reading.take(chunk):
                        yield text
        except sdk.APIError as error:
            self._raise(error)
        except Exception as error:
            # The stream itself broke: the SDK lets what its transport raises through.
            raise ModelUnavailable(f"the reply of model {self.name!r} broke off ({type(error).__name__})") from error
        if not reading.stop:
            raise ModelUnavailable(f"the reply of model {self.name!r} broke off before its end")

    def _client(self) -> AsyncOpenAI:
        sdk = _sdk()
        given = {"api_key": self._api_key, "base_url": self.base_url}  # None: the SDK reads the environment
        try:
            made: AsyncOpenAI = sdk.AsyncOpenAI(**given, timeout=self.timeout, max_retries=self.max_retries)
        except sdk.OpenAIError as error:
            raise ModelKeyMissing(f"no key for model {self.name!r}: set {KEY}, or give api_key") from error
        return made

    def _request(
        self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]], system_prompt: str
    ) -> dict[str, Any]:
        said = [{"role": "system", "content": system_prompt}] if system_prompt else []
        said += [one for message in messages for one in _spoken(message)]
        request = {"model": self.name, "messages": said, "stream": True, "stream_options": {"include_usage": True}}
        if tools:
            request["tools"] = [_function(one) for one in tools]
        return {**request, **self.options}

    def _raise(self, error: Any) -> NoReturn:
        """The SDK's error as ours: what it is about and the way out, never the request, which holds the key."""
        sdk = _sdk()
        if isinstance(error, sdk.APITimeoutError):
            raise ModelUnavailable(f"model {self.name!r} did not answer within {self.timeout} s") from error
        if isinstance(error, sdk.APIConnectionError):
            raise ModelUnavailable(
                f"the server of model {self.name!r} cannot be reached; look at {BASE_URL}"
            ) from error
        if not isinstance(error, sdk.APIStatusError):
            raise ModelUnavailable(f"the reply of model {self.name!r} broke off: {error.message:.300}") from error
        status, told = error.status_code, _told(error)
        if status in (401, 403):
            raise ModelRefused(f"the key for model {self.name!r} was refused ({status}); look at {KEY}") from error
        if status == 404:
            raise ModelRefused(f"the server knows no model {self.name!r} (404)") from error
        if status == 429 or status >= 500:
            raise ModelUnavailable(f"model {self.name!r} is not available ({status}): {told}") from error
        raise ModelRefused(f"model {self.name!r} refused the call ({status}): {told}") from error


@dataclass(slots=True)
class _Call:
    """One tool call while it comes in pieces."""

    id: str = ""
    name: str = ""
    arguments: str = ""

    def made(self) -> ToolCall:
        """The call; what is no JSON object stays as the model wrote it."""
        try:
            given = canonical.loads(self.arguments.encode()) if self.arguments.strip() else {}
        except ValueError:
            given = None
        if isinstance(given, dict):
            return ToolCall(self.name, given, self.id)
        return ToolCall(self.name, {}, self.id, broken=self.arguments)


@dataclass(slots=True)
class _Reading:
    """One reply while it comes: `told` says that some of it was passed on, `stop` why it ended."""

    text: str = ""
    calls: dict[int, _Call] = field(default_factory=dict)
    usage: dict[str, int] = field(default_factory=dict)
    stop: str = ""
    begun: bool = False
    told: bool = False

    def take(self, chunk: Any) -> str:
        """Take one piece; the text in it."""
        self.begun = True
        if chunk.usage is not None:
            used = chunk.usage
            self.usage = {
                "tokens": used.total_tokens,
                "input_tokens": used.prompt_tokens,
                "output_tokens": used.completion_tokens,
            }
        if not chunk.choices:
            return ""
        choice = chunk.choices[0]
        self.stop = choice.finish_reason or self.stop
        for piece in choice.delta.tool_calls or ():
            self._take_call(piece)
        text: str = choice.delta.content or getattr(choice.delta, "refusal", None) or ""
        self.text += text
        self.told = self.told or bool(text)
        return text

    def _take_call(self, piece: Any) -> None:
        call = self.calls.setdefault(piece.index, _Call())
        call.id = piece.id or call.id
        if piece.function is not None:
            call.name += piece.function.name or ""
            call.arguments += piece.function.arguments or ""

    def reply(self) -> ModelReply:
        """The whole."""
        calls = tuple(self.calls[index].made() for index in sorted(self.calls))
        return ModelReply(self.text, calls, self.usage, _STOPS.get(self.stop, self.stop))


def _sdk() -> Any:
    try:
        import openai
    except ImportError as error:
        raise DefinitionError("this model needs the openai client: pip install 'sayso[openai]'") from error
    return openai


def _told(error: Any) -> str:
    """What the server says of itself, short; servers put much into it."""
    body = error.body if isinstance(error.body, Mapping) else {}
    return str(body.get("message") or error.message)[:300]


def _function(spec: Mapping[str, Any]) -> dict[str, Any]:
    told = {"name": spec["name"], "description": spec["description"], "parameters": spec["inputSchema"]}
    return {"type": "function", "function": told}


def _spoken(message: Message) -> list[dict[str, Any]]:
    """One of our messages as theirs: each tool result is a message of its own there."""
    text = "".join(block.get("text", "") for block in message.content)
    if message.role == "assistant":
        calls = [_called(one) for one in message.tool_calls]
        return [{"role": "assistant", "content": text or None, **({"tool_calls": calls} if calls else {})}]
    results = [_resulted(one) for one in message.tool_results]
    return results + ([{"role": message.role, "content": text}] if text or not results else [])


def _called(use: Mapping[str, Any]) -> dict[str, Any]:
    arguments = orjson.dumps(use.get("input") or {}).decode()
    return {"id": use["toolUseId"], "type": "function", "function": {"name": use["name"], "arguments": arguments}}


def _resulted(result: Mapping[str, Any]) -> dict[str, Any]:
    parts = [one["text"] if "text" in one else orjson.dumps(one.get("json")).decode() for one in result["content"]]
    told = "\n".join(parts)
    failed = result.get("status") == "error"
    return {"role": "tool", "tool_call_id": result["toolUseId"], "content": f"Error: {told}" if failed else told}
