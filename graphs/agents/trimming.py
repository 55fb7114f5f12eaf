"""What of a long conversation a model is shown. What is stored is never cut."""

from __future__ import annotations

from collections.abc import Sequence

from graphs.engine.messages import Message


def trimmed(messages: Sequence[Message], window: int | None) -> list[Message]:
    """The newest messages, at most `window` of them where they can be cut there; all of them for None.

    A cut never parts a tool call from its result: what is shown begins with a person's message, or where none is near
    enough with a reply, and where even that would part an exchange with the whole of it.
    """
    if window is None or len(messages) <= window:
        return list(messages)
    first = len(messages) - window
    whole = [at for at, one in enumerate(messages) if not one.tool_results]
    prompts = [at for at in whole if messages[at].role == "user" and at >= first]
    if prompts:
        return list(messages[prompts[0] :])
    later = [at for at in whole if at >= first]
    start = later[0] if later else max(whole, default=0)
    return list(messages[start:])
