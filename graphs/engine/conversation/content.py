"""Messages between a person's client and a conversation, in the shapes that such clients know."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

#: The name of the function call that carries a question, and of the response that answers it (W46).
REQUEST_INPUT = "adk_request_input"


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A call that waits for its response; of a question `id` is the interrupt id and `args` is what is asked."""

    id: str = ""
    name: str = ""
    args: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FunctionResponse:
    """The answer to the call `id`. `response` is a dict: `{"result": answer}`, or an answer that is a dict itself."""

    id: str = ""
    name: str = ""
    response: Any = None


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a message: a text, a call, or the response to one."""

    text: str | None = None
    function_call: FunctionCall | None = None
    function_response: FunctionResponse | None = None


@dataclass(frozen=True, slots=True)
class Content:
    """A message; `role` is `user` or `model`."""

    role: str = "user"
    parts: Sequence[Part] = ()


#: What `from graphs import types` gives: `types.Content(role="user", parts=[types.Part(text="…")])`.
types = sys.modules[__name__]
