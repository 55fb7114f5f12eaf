"""Messages of a conversation, JSON in the `messages` channel: roles, text, tool calls and their results.

A block is `{"text": …}`, `{"toolUse": {"toolUseId", "name", "input"}}` or
`{"toolResult": {"toolUseId", "status", "content": [{"text"} or {"json"}]}}`; tools' results stand in a user's message.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from graphs.engine import canonical
from graphs.engine.errors import PayloadError
from graphs.engine.ports import Json

ROLES = frozenset({"user", "assistant", "system"})


class Message(dict[str, Any]):
    """One message; a dict with `role` and `content` (a list of blocks), so that it is stored and compared as JSON."""

    @classmethod
    def text_message(cls, text: str, role: str = "user") -> Message:
        """A message of one text block."""
        return cls.of({"role": role, "content": [{"text": text}]})

    @classmethod
    def tool_call_message(cls, *calls: Mapping[str, Any], text: str = "") -> Message:
        """An assistant's message that calls tools; a call is `{"name", "input", "toolUseId"}`, the id made up where
        it is left out (`call-0`, `call-1`, …)."""
        blocks: list[Json] = [{"text": text}] if text else []
        for index, call in enumerate(calls):
            use = {"toolUseId": call.get("toolUseId") or f"call-{index}", "name": call["name"]}
            blocks.append({"toolUse": {**use, "input": dict(call.get("input") or {})}})
        return cls.of({"role": "assistant", "content": blocks})

    @classmethod
    def tool_result_message(cls, results: Sequence[Json]) -> Message:
        """The message in which the results of tools go to the model; `results` are `toolResult` blocks."""
        return cls(role="user", content=list(results))

    @classmethod
    def of(cls, given: Any, where: str = "message") -> Message:
        """A message from one, from plain text (a user's), or from a mapping with a text or blocks as its content.

        A block's own `type` is dropped: which kind it is shows from its name. Raises `PayloadError` with the place of
        what is no message.
        """
        if isinstance(given, str):
            return cls(role="user", content=[{"text": canonical.encode(given, where)}])
        if not isinstance(given, Mapping) or given.get("role") not in ROLES:
            raise PayloadError(f"a message is text, or has a role of {', '.join(sorted(ROLES))} and a content", where)
        content = given.get("content")
        blocks = [{"text": content}] if isinstance(content, str) else content
        if not isinstance(blocks, list):
            raise PayloadError("a message's content is text or a list of blocks", f"{where}/content")
        rest = {name: value for name, value in given.items() if name not in ("role", "content")}
        plain = [_block(one, f"{where}/content/{index}") for index, one in enumerate(blocks)]
        found: dict[str, Any] = canonical.encode({"role": given["role"], "content": plain, **rest}, where)
        return cls(found)

    @property
    def role(self) -> str:
        """Who says it: user, assistant or system."""
        return str(self["role"])

    @property
    def content(self) -> list[dict[str, Any]]:
        """Its blocks."""
        found: list[dict[str, Any]] = self["content"]
        return found

    def text(self) -> str:
        """Its text blocks as one text; what tools gave where it holds nothing else."""
        said = "".join(block.get("text", "") for block in self.content)
        return said or "\n".join(_shown(part) for result in self.tool_results for part in result.get("content", ()))

    @property
    def tool_calls(self) -> list[dict[str, Any]]:
        """The tool calls in it: mappings with `toolUseId`, `name` and `input`."""
        return [block["toolUse"] for block in self.content if "toolUse" in block]

    @property
    def tool_results(self) -> list[dict[str, Any]]:
        """The results of tools in it: mappings with `toolUseId`, `status` and `content`."""
        return [block["toolResult"] for block in self.content if "toolResult" in block]


def tool_result(id: str, status: str, content: Json) -> dict[str, Json]:
    """What a `toolResult` block holds: a text as text, anything else as JSON. `status` is success or error."""
    block = {"text": content} if isinstance(content, str) else {"json": content}
    return {"toolUseId": id, "status": status, "content": [block]}


def read(stored: Any) -> list[Message]:
    """The messages of a channel's value; what was not written as a message is left out."""
    items = stored if isinstance(stored, list) else []
    return [Message(one) for one in items if isinstance(one, dict) and isinstance(one.get("content"), list)]


def stopped(how: str) -> Message:
    """What stands behind a turn that was rejected or cancelled, in place of a last reply; `ended` is for programs."""
    return Message(role="assistant", content=[{"text": f"(This turn was {how} before it ended.)"}], ended=how)


def since_prompt(said: Sequence[Message]) -> Sequence[Message]:
    """What was said since a person last said something, with that; all of it where nobody did."""
    found = (at for at in reversed(range(len(said))) if said[at].role == "user" and not said[at].tool_results)
    return said[next(found, 0) :]


def answered_calls(said: Sequence[Message]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Each tool call with its result, in their order. Models repeat the ids of calls, which are told apart within one
    reply only: a call's result is the one in the message that follows it."""
    for asked, told in pairwise(said):
        results = {one["toolUseId"]: one for one in told.tool_results}
        yield from ((one, results[one["toolUseId"]]) for one in asked.tool_calls if one["toolUseId"] in results)


def _block(given: Any, where: str) -> dict[str, Any]:
    if isinstance(given, str):
        return {"text": given}
    if not isinstance(given, Mapping):
        raise PayloadError("a content block is text or a mapping", where)
    kind = given.get("type")
    return {name: value for name, value in given.items() if name != "type" or kind not in ("text", "json")}


def _shown(part: Mapping[str, Any]) -> str:
    return str(part["text"]) if "text" in part else canonical.dumps(part.get("json")).decode()
