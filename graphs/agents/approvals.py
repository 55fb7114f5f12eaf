"""Gated tool calls: the question that stands before one, and how its answers are given and read (G28 to G32)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from graphs.engine.errors import AnswerMismatch
from graphs.engine.interrupts import GraphResume, Interrupt
from graphs.engine.results import GraphRunResult
from graphs.engine.statuses import Outcome


@dataclass(frozen=True, slots=True)
class NestedAgentInterrupt:
    """A question that came out of an agent's tool call, lifted to the graph: which tool, with which arguments."""

    interrupt: Interrupt
    agent: str
    tool_name: str
    arguments: Mapping[str, Any]
    call_id: str

    @classmethod
    def lift(cls, interrupt: Interrupt) -> NestedAgentInterrupt | None:
        """The call behind a question, or None where it did not come from a tool."""
        data = interrupt.metadata
        if interrupt.tool_call_id is None or "tool" not in data:
            return None
        return cls(interrupt, data.get("agent", ""), data["tool"], data.get("arguments", {}), interrupt.tool_call_id)


@dataclass(slots=True)
class AgentState:
    """The open calls of a paused agent, to approve and reject; `resume()` is what the run is resumed with."""

    calls: Sequence[NestedAgentInterrupt]
    _replies: dict[str, Any] = field(default_factory=dict)
    _rejected: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, result: GraphRunResult, node_id: str = "") -> AgentState:
        """The open calls of a result, of one node where it is named."""
        lifted = [NestedAgentInterrupt.lift(one) for one in result.interrupts if node_id in ("", one.node_id)]
        return cls([one for one in lifted if one is not None])

    def approve(self, call_id: str = "", *, approver: str = "", reason: str = "", arguments: Any = None) -> AgentState:
        """Let a call run, with other `arguments` where they are given. Without a call id: the only one."""
        given = {"approved": True, "approver": approver, "reason": reason, "arguments": arguments}
        self._replies[self._id(call_id)] = {name: value for name, value in given.items() if value not in ("", None)}
        return self

    def reject(self, call_id: str = "", *, message: str = "") -> AgentState:
        """Do not let a call run; the model sees the message."""
        self._rejected[self._id(call_id)] = message
        return self

    def resume(self) -> GraphResume:
        """The answers given so far; undecided calls stay open (Z15)."""
        return GraphResume(dict(self._replies), dict(self._rejected))

    def _id(self, call_id: str) -> str:
        found = [one for one in self.calls if call_id in ("", one.call_id)]
        if len(found) != 1:
            what = f"{call_id!r} names no open call" if call_id else f"{len(self.calls)} calls are open; name one"
            raise AnswerMismatch(what, [one.call_id for one in self.calls])
        return found[0].interrupt.id


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a decided gate says: whether to run, with which arguments, and what the model is told otherwise.

    `outcome` is the decision's, but for an answer that says no: that is a rejection too.
    """

    approved: bool
    arguments: Mapping[str, Any]
    message: str
    outcome: Outcome


def verdict_of(question: Interrupt, proposed: Mapping[str, Any]) -> Verdict:
    """The verdict of a decided question before a tool call."""
    decision = question.decision
    assert decision is not None
    value = decision.value if isinstance(decision.value, dict) else {}
    agreed = decision.outcome is Outcome.APPROVED or (decision.outcome is Outcome.ANSWERED and value.get("approved"))
    edited = value.get("arguments")
    outcome = decision.outcome if agreed or decision.outcome is not Outcome.ANSWERED else Outcome.REJECTED
    message = decision.comment or str(value.get("reason") or "") or f"The call was {outcome}."
    return Verdict(bool(agreed), edited if isinstance(edited, dict) else proposed, message, outcome)


def gate_schema(tool_schema: Mapping[str, Any]) -> dict[str, Any]:
    """What a reviewer of a call answers: yes or no, why, and other arguments where they wish.

    Of the tool's schema the references lead to where it stands now, and its defaults are left out: the tool puts them
    in itself, and an answer must not be refused for what nobody chose.
    """
    return {
        "type": "object",
        "properties": {
            "approved": {"type": "boolean", "description": "Whether the call may run."},
            "approver": {"type": "string", "description": "Who agreed."},
            "reason": {"type": "string", "description": "Why."},
            "arguments": {**_moved(tool_schema), "description": "Other arguments to run it with."},
        },
        "required": ["approved"],
    }


def _moved(schema: Any) -> Any:
    """A schema as part of the answer's. Its own identity would keep its references to itself."""
    if isinstance(schema, list):
        return [_moved(one) for one in schema]
    if not isinstance(schema, Mapping):
        return schema
    return {word: _moved_word(word, value) for word, value in schema.items() if word not in _LEFT_OUT}


def _moved_word(word: str, value: Any) -> Any:
    if word == "$ref" and isinstance(value, str) and (value == "#" or value.startswith("#/")):
        return f"{_PLACE}{value[1:]}"
    if word in _VALUES:
        return value
    # Their keys are names of the author's, of which one may be called `default`.
    named = word in _NAMES and isinstance(value, Mapping)
    return {name: _moved(one) for name, one in value.items()} if named else _moved(value)


#: Where the tool's schema stands in the answer's.
_PLACE = "#/properties/arguments"
_LEFT_OUT = frozenset({"default", "$id", "$schema"})
_NAMES = frozenset({"properties", "patternProperties", "dependentSchemas", "dependentRequired", "$defs", "definitions"})
_VALUES = frozenset({"const", "enum", "examples", "required"})
