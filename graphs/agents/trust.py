"""Whether a gated call is let through by trust that somebody gave before, instead of being asked about (Z54)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from graphs.agents.approvals import verdict_of
from graphs.engine import canonical, messages
from graphs.engine.context import Context
from graphs.engine.interrupts import Interrupt
from graphs.engine.messages import Message
from graphs.engine.statuses import Outcome
from graphs.engine.trust import GATE, Grant


async def covering(ctx: Context, place: str, agent: str, tool: str, arguments: Mapping[str, Any]) -> Grant | None:
    """The grant that lets a call through, or None where a person is to be asked.

    It is looked up anew in each pass, so that a grant that was revoked meanwhile lets nothing through. A question that
    was asked stays a question, whatever trust was given since for a sibling; and a call to which the last word in this
    thread was no is asked about again. `place` is where the call's own question stands in the journal.
    """
    if ctx.journal.question(place, 0) is not None:
        return None
    found = next((one for one in await ctx.services.grants() if one.covers(agent, tool, arguments)), None)
    return None if found is None or _last_word_was_no(ctx, tool, arguments) else found


def _last_word_was_no(ctx: Context, tool: str, arguments: Mapping[str, Any]) -> bool:
    said = [one for one in ctx.journal.record.interrupts if _about(one, tool, arguments)]
    if said:
        newest = max(said, key=lambda one: (str(one.decision and one.decision.decided_at), one.id))
        return not verdict_of(newest, arguments).approved
    return _was_rejected(messages.read(ctx.state.get("messages")), tool, arguments)


def _about(question: Interrupt, tool: str, arguments: Mapping[str, Any]) -> bool:
    data = question.metadata
    decided = question.decision is not None and question.kind == GATE and data.get("tool") == tool
    return decided and _same(data.get("arguments"), arguments)


def _was_rejected(said: Sequence[Message], tool: str, arguments: Mapping[str, Any]) -> bool:
    """Whether the newest call like this one among earlier turns was rejected."""
    for asked, told in reversed(list(pairwise(said))):
        outcomes = {one["toolUseId"]: one.get("outcome") for one in told.tool_results}
        same = [one for one in asked.tool_calls if one["name"] == tool and _same(one.get("input"), arguments)]
        if same and outcomes:
            return any(outcomes.get(one["toolUseId"]) == Outcome.REJECTED for one in same)
    return False


def _same(one: Any, other: Any) -> bool:
    return bool(canonical.dumps(one) == canonical.dumps(dict(other)))
