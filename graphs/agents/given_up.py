"""What an agent's turn that was stopped leaves behind: all that was said and done in it, and how it ended.

Without it the model would know nothing of such a turn in the next one, and could do again what it had done.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from graphs.agents.approvals import verdict_of
from graphs.agents.asked_hooks import NO
from graphs.agents.calling import broken_text, unknown_text
from graphs.agents.models import REPLY
from graphs.agents.state import AgentValues, kept_state, replayed, state_channel
from graphs.agents.structured import following
from graphs.agents.tools import LongRunningFunctionTool
from graphs.engine.interrupts import Interrupt
from graphs.engine.messages import Message, stopped, tool_result
from graphs.engine.ports import JournalEntry, Json, TaskRecord
from graphs.engine.state import StateView
from graphs.engine.statuses import Outcome

if TYPE_CHECKING:
    from graphs.agents.agent import Agent


def left_over(
    agent: Agent, state: StateView, opening: Sequence[Message], record: TaskRecord, how: str
) -> dict[str, Json]:
    """What the channels of an agent that keeps its conversation are written with for a task that was given up.

    `opening` is what the thread had not kept of the conversation before; `how` is rejected or cancelled.
    """
    if not agent.remembers:
        return {}
    given_up = _GivenUp(agent, record, how)
    written: dict[str, Json] = {agent.remembers: [*opening, *given_up.said(), stopped(how)]}
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
            told = self._of_answer(reply)
            if told is not None:
                yield told
            elif reply.tool_calls:
                yield Message.tool_result_message(
                    [{"toolResult": self._result(turn, at, one)} for at, one in enumerate(reply.tool_calls)]
                )

    def _of_answer(self, reply: Message) -> Message | None:
        """What followed a reply that gave an answer by the agent's schema: the loop says it by itself."""
        schema = self.agent.output_schema
        fits, _, wrong = schema.read(reply) if schema is not None else (False, None, "")
        return following(reply, wrong) if fits or wrong else None

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
        status, content, *outcome = self._made(place, call)
        result = tool_result(id, status, content)
        return {**result, "outcome": outcome[0]} if outcome else result

    def _made(self, place: str, call: Mapping[str, Any]) -> tuple[Any, ...]:
        """Status and content of its result, and the outcome where it ended by one."""
        entry = self.entries.get(f"{place}/call")
        if entry is None and not self._began(place):
            return "error", self._why_not(call)
        if entry is None or entry.state != "done":
            return "error", f"It is not known whether this call was made: the turn was {self.how} in it."
        made = entry.value
        if not isinstance(made, dict) or "status" not in made:
            return "success", made
        if made["status"] == "success" and self._waits(place, call):
            return self._given(place)
        return (made["status"], made["content"], *([made["outcome"]] if "outcome" in made else []))

    def _began(self, place: str) -> bool:
        """Whether a call without an end did anything: what it asked and settled itself stands inside of its place."""
        inside = f"{place}/call.0/"
        return any(key.startswith(inside) for key in (*self.entries, *self.questions))

    def _why_not(self, call: Mapping[str, Any]) -> str:
        if call.get("broken"):
            return broken_text(call["name"], call["broken"])
        if call["name"] not in self.agent.tools:
            return unknown_text(call["name"])
        return f"Not called: the turn was {self.how} before."

    def _waits(self, place: str, call: Mapping[str, Any]) -> bool:
        return f"{place}/wait" in self.questions or isinstance(
            self.agent.tools.get(call["name"]), LongRunningFunctionTool
        )

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
