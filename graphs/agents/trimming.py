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
    # Only the end is looked at: a turn costs the same after ten messages and after thousands.
    shown = range(len(messages) - window, len(messages))
    whole = [at for at in shown if not messages[at].tool_results]
    prompts = [at for at in whole if messages[at].role == "user"]
    if prompts or whole:
        return list(messages[(prompts or whole)[0] :])
    before = (at for at in reversed(range(shown.start)) if not messages[at].tool_results)
    return list(messages[next(before, 0) :])
