"""Whether a gated call is let through by trust that somebody gave before, instead of being asked about (Z54)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from graphs.agents.approvals import verdict_of
from graphs.engine import canonical, messages
from graphs.engine.interrupts import Interrupt
from graphs.engine.messages import Message
from graphs.engine.passing import Host
from graphs.engine.trust import GATE, Grant

if TYPE_CHECKING:
    from graphs.agents.calling import Call


async def covering(call: Call, place: str) -> Grant | None:
    """The grant that lets a call through, or None where a person is to be asked.

    It is looked up anew in each pass, so that a grant that was revoked meanwhile lets nothing through. A question that
    was asked stays a question, whatever trust was given since for a sibling; and a call to which the last word in this
    conversation was no is asked about again. `place` is where the call's own question stands in the journal.
    """
    if call.ctx.journal.question(place, 0) is not None:
        return None
    grants = await call.ctx.services.grants()
    found = next((one for one in grants if one.covers(call.owner, call.call["name"], call.arguments)), None)
    return None if found is None or await _last_word_was_no(call) else found


async def _last_word_was_no(call: Call) -> bool:
    """Asked of the whole thread: the no of an earlier turn, of a loop's earlier visit, or of a child's earlier run
    stands in the journal of another task. A thread that was forked off has its conversation alone."""
    decided = await cast(Host, call.ctx.services).decided(call.call["name"])
    said = [one for one in decided if _about(one, call)]
    if said:
        newest = max(said, key=lambda one: (str(one.decision and one.decision.decided_at), one.id))
        return not verdict_of(newest, call.arguments).approved
    return _was_kept_from_running(_said_before(call), call)


def _about(question: Interrupt, call: Call) -> bool:
    data = question.metadata
    same = (question.kind, data.get("agent"), data.get("tool")) == (GATE, call.owner, call.call["name"])
    return same and question.decision is not None and _same(data.get("arguments"), call.arguments)


def _said_before(call: Call) -> Sequence[Message]:
    """The conversation up to this prompt: the agent's own, wherever it keeps it, behind what its thread has at all."""
    own: Sequence[Message] = getattr(call.agent, "messages", ())[: getattr(call.agent, "known", 0)]
    return [*messages.read(call.ctx.state.get("messages")), *own]


def _was_kept_from_running(said: Sequence[Message], call: Call) -> bool:
    """Whether the newest call like this one was, of those that ran or were decided about.

    One that a hook kept from running counts too, since it may have hidden a no; one without a word on it, such as the
    calls of a turn that was stopped or one that failed, takes no earlier no back.
    """
    for made, result in reversed(list(messages.answered_calls(said))):
        if made["name"] != call.call["name"] or not _like(made.get("input"), call):
            continue
        if "outcome" in result or result["status"] == "success":
            return "outcome" in result
    return False


def _like(arguments: Any, call: Call) -> bool:
    """Messages hold what the model called with, before hooks changed it."""
    return _same(arguments, call.arguments) or _same(arguments, call.call.get("input") or {})


def _same(one: Any, other: Any) -> bool:
    return bool(canonical.dumps(one) == canonical.dumps(dict(other)))
