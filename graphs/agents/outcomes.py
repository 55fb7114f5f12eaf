"""What a thread of an agent says of the agent: its conversation, its state, and how its last call ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from graphs.agents.models import REPLY
from graphs.agents.results import AgentResult
from graphs.agents.run import state_channel
from graphs.engine import messages
from graphs.engine.cells import channel
from graphs.engine.errors import SaysoError
from graphs.engine.messages import Message
from graphs.engine.ports import Snapshot, TaskRecord
from graphs.engine.results import GraphRunResult
from graphs.engine.statuses import ThreadStatus

if TYPE_CHECKING:
    from graphs.agents.agent import Agent
    from graphs.agents.sessions import Session

_REASONS = {
    ThreadStatus.INTERRUPTED: "interrupt",
    ThreadStatus.REJECTED: "rejected",
    ThreadStatus.CANCELLED: "cancelled",
}
_BUDGETS = {"too_many_turns": "max_turns", "too_many_tokens": "max_tokens"}


class AgentFailed(SaysoError):
    """An agent's model or one of its hooks failed; the conversation is intact, and `retry()` goes on from there."""


async def agent_result(agent: Agent, session: Session, result: GraphRunResult) -> AgentResult:
    """How a call ended. Raises `AgentFailed` where it failed otherwise than by a budget."""
    snapshot = await session.snapshot()
    said = conversation(agent, snapshot)
    error = result.error or {}
    reason = _REASONS.get(result.status) or _BUDGETS.get(str(error.get("type")), "end_turn")
    if result.status is ThreadStatus.FAILED and reason == "end_turn":
        raise AgentFailed(f"agent {agent.name!r} failed: {error.get('type')}: {error.get('message')}")
    own = [one for one in said if one.role == "assistant"]
    schema = agent.output_schema
    finished = result.status is ThreadStatus.COMPLETED
    return AgentResult(
        reason,
        dict(own[-1]) if own else {},
        result.interrupts,
        state_of(agent, snapshot),
        dict(_usage(snapshot)),
        schema.loaded(result.output) if schema is not None and finished else None,
        session.ref.thread_id,
        result.error,
    )


def conversation(agent: Agent, snapshot: Snapshot | None) -> list[Message]:
    """All that was said, with what the turn under way has added."""
    if snapshot is None:
        return []
    kept = messages.read(snapshot.cells.get(channel("", "messages")))
    return [*kept, *(message for record in snapshot.tasks.values() for message in under_way(record))]


def under_way(record: TaskRecord) -> list[Message]:
    """The replies that a task of an agent has got so far."""
    replies = sorted((one for one in record.journal if one.key == REPLY), key=lambda one: one.ordinal)
    return [Message(one.value["message"]) for one in replies if one.state == "done"]


def state_of(agent: Agent, snapshot: Snapshot | None) -> dict[str, Any]:
    """What the thread holds of the agent's state, with what the turn under way has changed."""
    if snapshot is None:
        return dict(agent.initial_state)
    kept = snapshot.cells.get(channel("", state_channel(agent.name)))
    found: dict[str, Any] = dict(kept if isinstance(kept, Mapping) else agent.initial_state)
    for record in snapshot.tasks.values():
        for entry in record.journal:
            for change in entry.value.get("state", ()) if isinstance(entry.value, Mapping) else ():
                found.pop(change[0], None)
                if len(change) == 2:
                    found[change[0]] = change[1]
    return found


def _usage(snapshot: Snapshot | None) -> Counter[str]:
    """What the models of the turn under way have used; what ended turns used is in the thread's counters."""
    used: Counter[str] = Counter()
    for record in snapshot.tasks.values() if snapshot is not None else ():
        for entry in record.journal:
            if entry.key == REPLY and entry.state == "done":
                used.update(entry.value["usage"])
    return used
