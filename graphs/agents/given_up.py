"""What an agent's turn that was stopped leaves behind: all that was said and done in it, and how it ended.

Without it the model would know nothing of such a turn in the next one, and could do again what it had done.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from graphs.agents.approvals import verdict_of
from graphs.agents.asked_hooks import NO
from graphs.agents.models import REPLY
from graphs.agents.state import AgentValues, kept_state, replayed, state_channel
from graphs.agents.tools import LongRunningFunctionTool
from graphs.engine.interrupts import Interrupt
from graphs.engine.messages import Message, stopped, tool_result
from graphs.engine.ports import JournalEntry, Json, TaskRecord
from graphs.engine.state import StateView
from graphs.engine.statuses import Outcome

if TYPE_CHECKING:
    from graphs.agents.agent import Agent


def left_over(agent: Agent, state: StateView, prompt: Message, record: TaskRecord, how: str) -> dict[str, Json]:
    """What the channels of an agent that keeps its conversation are written with for a task that was given up.

    `how` is the status of its thread: rejected or cancelled.
    """
    if not agent.remembers:
        return {}
    given_up = _GivenUp(agent, record, how)
    written: dict[str, Json] = {agent.remembers: [prompt, *given_up.said(), stopped(how)]}
    values = AgentValues(kept_state(state, agent.name) or agent.initial_state)
    replayed(values, record.journal)
    return {**written, state_channel(agent.name): values.get()} if values.changed else written


class _GivenUp:
    """The journal of such a task, read as the conversation that it was."""

    def __init__(self, agent: Agent, record: TaskRecord, how: str) -> None:
        self.agent = agent
        self.how = how
        self.entries: dict[str, JournalEntry] = {one.key: one for one in record.journal if one.ordinal == 0}
        self.questions: dict[str, Interrupt] = {}
        for one in sorted(record.interrupts, key=lambda one: one.revision):
            self.questions[one.key] = one
        replies = [one for one in record.journal if one.key == REPLY and one.state == "done"]
        self.replies = [Message(one.value["message"]) for one in sorted(replies, key=lambda one: one.ordinal)]

    def said(self) -> Iterator[Message]:
        """Each reply of the model, and behind it the results of its calls: none of them stands open."""
        for turn, reply in enumerate(self.replies):
            yield reply
            if reply.tool_calls:
                yield Message.tool_result_message(
                    [{"toolResult": self._result(turn, at, one)} for at, one in enumerate(reply.tool_calls)]
                )

    def _result(self, turn: int, index: int, call: Mapping[str, Any]) -> Json:
        place, id = f"tool:{turn}.{index}", str(call["toolUseId"])
        told = self._value(f"{place}/after")
        if "result" in told:
            return told["result"]
        gate = self.questions.get(f"{place}/approve")
        verdict = verdict_of(gate, call.get("input") or {}) if gate is not None and gate.decision is not None else None
        if verdict is not None and not verdict.approved:
            # A no stays one in the turns that follow, whatever is trusted then.
            return {**tool_result(id, "error", verdict.message), "outcome": str(verdict.outcome)}
        cancelled = self._value(f"{place}/before").get("cancel") or self._value(f"batch:{turn}/before").get("cancel")
        if cancelled:
            return {**tool_result(id, "error", cancelled), "outcome": str(Outcome.CANCELLED)}
        status, content = self._made(place, call)
        return tool_result(id, status, content)

    def _made(self, place: str, call: Mapping[str, Any]) -> tuple[str, Json]:
        entry = self.entries.get(f"{place}/call")
        if entry is None:
            return "error", f"Not called: the turn was {self.how} before."
        if entry.state != "done":
            return "error", f"It is not known whether this call was made: the turn was {self.how} in it."
        if isinstance(self.agent.tools.get(call["name"]), LongRunningFunctionTool):
            return self._given(place)
        made = entry.value
        return (made["status"], made["content"]) if isinstance(made, dict) and "status" in made else ("success", made)

    def _given(self, place: str) -> tuple[str, Json]:
        """What a person gave; what the tool's body gave is nothing that a model may see (Z46)."""
        question = self.questions.get(f"{place}/wait")
        decision = None if question is None else question.decision
        if decision is None or decision.outcome in NO:
            return "error", (decision and decision.comment) or f"Nobody gave a result: the turn was {self.how} before."
        return "success", decision.value

    def _value(self, key: str) -> Mapping[str, Any]:
        entry = self.entries.get(key)
        return entry.value if entry is not None and entry.state == "done" and isinstance(entry.value, dict) else {}


def closed(said: Sequence[Message], how: str) -> list[Message]:
    """Messages of a turn that ended early, its last calls answered where they were not, and how it ended."""
    last = said[-1].tool_calls if said else []
    text = f"Not called: the turn was {how} before."
    results = [{"toolResult": tool_result(one["toolUseId"], "error", text)} for one in last]
    return [*said, *([Message.tool_result_message(results)] if results else []), stopped(how)]
