"""Hooks that may ask and cancel, before a call or a batch: what they say, and the noes that are recorded already."""

from __future__ import annotations

from collections.abc import Callable

from graphs.engine.answers import TaskEnded
from graphs.engine.context import Context
from graphs.engine.hooks import HookEvent, HookRegistry
from graphs.engine.interrupts import GraphInterrupt, Interrupt
from graphs.engine.statuses import Outcome

#: Decisions that let nothing run.
NO = frozenset({Outcome.REJECTED, Outcome.CANCELLED, Outcome.EXPIRED})
_SAYS_NO = frozenset({"n", "no"})


async def cancelled_by(
    hooks: HookRegistry, event: HookEvent, ctx: Context, text: Callable[[], bool | str], default: str
) -> str:
    """Why the hooks of this event, or a person whom they asked, cancel what it stands before; empty where they let it
    through. `text` reads the event's cancellation.

    A no that is recorded holds whatever the hooks say now: also where the hook that asked ignores it, was renamed, or
    is gone. Raises the pause where a hook asks.
    """
    try:
        await hooks.fire(event, ctx)
    except TaskEnded as ended:
        return ended.text or default
    except GraphInterrupt:
        said = recorded_no(ctx, event, default)
        if not said:
            raise
        _drop(ctx, event)
        return said
    given = text()
    if given:
        return given if isinstance(given, str) else default
    return recorded_no(ctx, event, default)


def asked_before(ctx: Context, prefix: str) -> list[Interrupt]:
    """The questions that were asked at places beginning so, in the order they were opened."""
    return [one for one in ctx.journal.record.interrupts if one.key.startswith(prefix)]


def recorded_no(ctx: Context, event: HookEvent, default: str) -> str:
    """The text of a no that a person has given to a question of this event, empty where there is none."""
    assert event.scope is not None
    for question in asked_before(ctx, event.scope.prefix):
        heard = question.name in event.asked
        if _is_no(question, heard):
            assert question.decision is not None
            return question.decision.comment or default
    return ""


def _is_no(question: Interrupt, heard: bool) -> bool:
    """A rejection is always one; what an answer means is for the hook that asked, while it is there to say so."""
    decision = question.decision
    if decision is None:
        return False
    if decision.outcome is Outcome.REJECTED:
        return True
    if heard:
        return False
    return decision.outcome in NO or says_no(decision.value)


def says_no(value: object) -> bool:
    """Whether an answer reads as a no by itself."""
    if isinstance(value, dict):
        return value.get("approved") is False
    return value is False or (isinstance(value, str) and value.strip().lower() in _SAYS_NO)


def _drop(ctx: Context, event: HookEvent) -> None:
    assert event.scope is not None
    for id, question in list(ctx.raised.items()):
        if question.key.startswith(event.scope.prefix):
            del ctx.raised[id]
