"""Messages of agents as people read them: what is said, which tools are called with what, and what these gave."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.utils.translation import gettext as _

from graphs.engine.messages import ROLES
from graphs.web.reading import Fact, facts

#: The place of a tool call in a journal: turn and index in its batch, then what was settled there. Of an agent inside a
#: tool of another the last one is its own; the scope before it leads there.
PLACE = re.compile(r"(?P<place>(?P<scope>.*)tool:(?P<turn>[0-9]+)\.(?P<index>[0-9]+))/(?P<what>.+)")


@dataclass(slots=True)
class Call:
    """One call of a tool, or the result of one; `facts` are its arguments, or what it gave where that is not words."""

    name: str
    word: str
    text: str = ""
    facts: list[Fact] = field(default_factory=list)


def messages(value: Any) -> list[Mapping[str, Any]]:
    """The messages that a value is made of: one, a list of them, or either as the only thing in an object."""
    if is_message(value):
        return [value]
    if isinstance(value, Mapping):
        inner = value.get("message", value.get("messages"))
        return messages(inner) if set(value) <= {"message", "messages", "usage"} else []
    if isinstance(value, list) and value and all(is_message(one) for one in value):
        return list(value)
    return []


def is_message(value: Any) -> bool:
    return (
        isinstance(value, Mapping)
        and value.get("role") in ROLES
        and isinstance(value.get("content"), list)
        and all(isinstance(block, Mapping) for block in value["content"])
    )


def blocks(value: Any) -> Iterator[Mapping[str, Any]]:
    for message in messages(value):
        yield from message["content"]


def said(value: Any) -> str:
    """The words of a value's messages."""
    return "\n\n".join(str(block["text"]) for block in blocks(value) if block.get("text"))


def names(value: Any) -> dict[str, str]:
    """The tools that a value's messages call, by the id of the call."""
    uses = [block["toolUse"] for block in blocks(value) if isinstance(block.get("toolUse"), Mapping)]
    return {str(use.get("toolUseId")): str(use.get("name", "")) for use in uses}


def calls(value: Any, known: Mapping[str, str]) -> list[Call]:
    """The calls and results in a value's messages; `known` has the tools' names by the id of the call."""
    found = []
    for block in blocks(value):
        use, result = block.get("toolUse"), block.get("toolResult")
        if isinstance(use, Mapping):
            found.append(Call(str(use.get("name", "")), _("called with"), facts=facts(use.get("input") or {})))
        elif isinstance(result, Mapping):
            found.append(gave(result, known.get(str(result.get("toolUseId")), _("A tool"))))
    return found


def gave(result: Mapping[str, Any], name: str) -> Call:
    """What a tool gave: words as words, else its values."""
    word = _("gave") if result.get("status", "success") == "success" else _(str(result.get("outcome") or "failed"))
    parts = result.get("content")
    parts = [part for part in parts if isinstance(part, Mapping)] if isinstance(parts, list) else []
    text = "\n".join(str(part["text"]) for part in parts if "text" in part)
    return Call(name, word, text, [fact for part in parts if "json" in part for fact in facts(part["json"])])


def settled(value: Any, name: str) -> list[Call] | None:
    """A tool call as the journal keeps it: with what, and what came of it; None for anything else."""
    if not isinstance(value, Mapping) or not {"status", "content", "arguments"} <= set(value):
        return None
    content = value["content"]
    part = {"text": content} if isinstance(content, str) else {"json": content}
    call = Call(name, _("called with"), facts=facts(value["arguments"] or {}))
    return [call, gave({"status": value["status"], "content": [part]}, name)]
