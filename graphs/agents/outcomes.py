"""What a thread of an agent says of the agent: its conversation, its state, and how its last call ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from graphs.agents.models import REPLY
from graphs.agents.results import AgentResult
from graphs.agents.state import AgentValues, replayed, state_channel
from graphs.engine import messages
from graphs.engine.cells import channel, spell
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
    return [*kept, *(message for record in _standing(snapshot) for message in under_way(record))]


def under_way(record: TaskRecord) -> list[Message]:
    """The replies that a task of an agent has got so far."""
    replies = sorted((one for one in record.journal if one.key == REPLY), key=lambda one: one.ordinal)
    return [Message(one.value["message"]) for one in replies if one.state == "done"]


def state_of(agent: Agent, snapshot: Snapshot | None) -> dict[str, Any]:
    """What the thread holds of the agent's state, with what the turn under way has changed."""
    if snapshot is None:
        return dict(agent.initial_state)
    kept = snapshot.cells.get(channel("", state_channel(agent.name)))
    values = AgentValues(kept if isinstance(kept, Mapping) else agent.initial_state)
    for record in _standing(snapshot):
        replayed(values, record.journal)
    found: dict[str, Any] = values.get()
    return found


def _standing(snapshot: Snapshot) -> list[TaskRecord]:
    """The tasks that stand now: a store may still hold those that an early end left standing, of an earlier turn."""
    return [record for key, record in snapshot.tasks.items() if f"task:{spell(key)}" in snapshot.cells]


def _usage(snapshot: Snapshot | None) -> Counter[str]:
    """What the models of the turn under way have used; what ended turns used is in the thread's counters."""
    used: Counter[str] = Counter()
    for record in _standing(snapshot) if snapshot is not None else ():
        for entry in record.journal:
            if entry.key == REPLY and entry.state == "done":
                used.update(entry.value["usage"])
    return used
