"""Trust: a person's word, given with an approval, that calls like this one need not be asked about again (Z54).

A reviewer gives it as `trust` beside `approved` in the answer to a gated tool call:
`{"scope": "thread", "arguments": {name: {"is": value} or {"like": pattern}}, "seconds": n}`, the scope being thread,
conversation or agent. What the call has and `arguments` does not name may be anything. It becomes a `Grant`, which the
stores keep and forget on request. A grant answers no open question and outweighs no "no".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from fnmatch import fnmatchcase
from typing import Any

from graphs.engine import canonical
from graphs.engine.errors import AnswerInvalid
from graphs.engine.interrupts import Decision, Interrupt
from graphs.engine.ports import Json, ThreadRef
from graphs.engine.statuses import Outcome

#: The kind of question that trust can be given with: whether a tool may be called.
GATE = "tool_approval"
THREAD, CONVERSATION, AGENT = "thread", "conversation", "agent"
SCOPES = (THREAD, CONVERSATION, AGENT)
#: No grant outlives this, in seconds: a year.
LONGEST = 366 * 24 * 3600
_KNOWN = frozenset({"scope", "arguments", "seconds"})


@dataclass(frozen=True, slots=True)
class Grant:
    """Calls of `tool` by `agent` whose arguments fit need no approval, as far as `scope` reaches from `ref`.

    `arguments` says what arguments must be, by name: `{"is": value}` for equal JSON, `{"like": pattern}` for a text, or
    texts of a list, with `*`, `?` and `[...]` standing for others, and `{}` for anything. A call with an argument that
    it does not name is not covered: nobody who gave it saw one. `expires_at` is None for one that only a person ends.
    """

    id: str
    ref: ThreadRef
    agent: str
    tool: str
    scope: str = THREAD
    arguments: Mapping[str, Json] = field(default_factory=dict)
    granted_by: str = ""
    expires_at: datetime | None = None

    def valid(self, at: datetime) -> bool:
        """Whether it has not ended by itself at this time (UTC)."""
        return self.expires_at is None or self.expires_at > at

    def reaches(self, ref: ThreadRef) -> bool:
        """Whether a thread lies within its scope; that threads are of one conversation is told by their ids."""
        if self.ref.graph_id != ref.graph_id:
            return False
        if self.scope == THREAD:
            return self.ref.thread_id == ref.thread_id
        return self.scope == AGENT or conversation_of(self.ref) == conversation_of(ref)

    def covers(self, agent: str, tool: str, arguments: Mapping[str, Json]) -> bool:
        """Whether a call needs no approval by this grant."""
        if (self.agent, self.tool) != (agent, tool):
            return False
        return self.arguments.keys() >= arguments.keys() and all(
            not wanted or (name in arguments and _fits(wanted, arguments[name]))
            for name, wanted in self.arguments.items()
        )


def conversation_of(ref: ThreadRef) -> str:
    """The part of a thread's id that its conversation's threads share: `user/session` of `user/session/number`."""
    head, _, number = ref.thread_id.rpartition("/")
    return head if head and number.isdecimal() else ref.thread_id


def check(question: Interrupt, outcome: Outcome, value: Any) -> None:
    """Refuse trust that is none, that comes with no approval, or that the call in question would not fit.

    Raises `AnswerInvalid` with the pointer of each fault; the question stays open.
    """
    given = value.get("trust") if isinstance(value, Mapping) else None
    if question.kind != GATE or given is None:
        return
    problems = list(_problems(given))
    if not problems and not _agreed(outcome, value):
        problems = [("/trust", "trust is given with an approval, not with a rejection")]
    if not problems:
        arguments = _arguments(question, value)
        wanted = given.get("arguments") or {}
        problems = [
            (f"/trust/arguments/{name}", "the call that is asked about does not fit this")
            for name, one in wanted.items()
            if one and (name not in arguments or not _fits(one, arguments[name]))
        ]
    if problems:
        raise AnswerInvalid(problems)


def granted(question: Interrupt, decision: Decision, ref: ThreadRef, at: datetime) -> Grant | None:
    """The grant that a decided question gave, or None. `at` is when it was decided (UTC).

    What the call in question had and the trust says nothing of may be anything; other arguments are not agreed to.
    """
    value = decision.value
    given = value.get("trust") if isinstance(value, Mapping) else None
    if question.kind != GATE or given is None or not _agreed(decision.outcome, value):
        return None
    seconds = given.get("seconds")
    return Grant(
        question.id,
        ref,
        str(question.metadata.get("agent", "")),
        str(question.metadata.get("tool", "")),
        given["scope"],
        canonical.copy({name: {} for name in _arguments(question, value)} | dict(given.get("arguments") or {})),
        decision.reviewer,
        None if seconds is None else at + timedelta(seconds=seconds),
    )


def _agreed(outcome: Outcome, value: Any) -> bool:
    return outcome is Outcome.APPROVED or (outcome is Outcome.ANSWERED and value.get("approved") is True)


def _arguments(question: Interrupt, value: Mapping[str, Any]) -> Mapping[str, Any]:
    """The arguments that will run: the reviewer's where they edited them."""
    edited = value.get("arguments")
    found = edited if isinstance(edited, Mapping) else question.metadata.get("arguments")
    return found if isinstance(found, Mapping) else {}


def _problems(given: Any) -> list[tuple[str, str]]:
    if not isinstance(given, Mapping):
        return [("/trust", "an object with a scope")]
    found = [(f"/trust/{name}", "is nothing that trust has") for name in given if name not in _KNOWN]
    if given.get("scope") not in SCOPES:
        found.append(("/trust/scope", f"must be one of {', '.join(SCOPES)}"))
    if not isinstance(given.get("arguments", {}), Mapping):
        found.append(("/trust/arguments", "an object from the names of arguments to what they must be"))
    else:
        found += _rules(given.get("arguments", {}))
    seconds = given.get("seconds")
    whole = isinstance(seconds, int) and not isinstance(seconds, bool)
    if seconds is not None and not (whole and 0 < seconds <= LONGEST):
        found.append(("/trust/seconds", f"a whole number of seconds from 1 to {LONGEST}"))
    return found


def _rules(given: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The faults of what arguments must be."""
    found = []
    for name, one in given.items():
        told = isinstance(one, Mapping) and len(one) == 1 and ("is" in one or isinstance(one.get("like"), str))
        if not told and one != {}:
            found.append((f"/trust/arguments/{name}", '{"is": value}, {"like": pattern}, or {} for anything'))
    return found


def _fits(rule: Mapping[str, Json], value: Json) -> bool:
    if "is" in rule:
        return bool(canonical.dumps(rule["is"]) == canonical.dumps(value))
    texts = value if isinstance(value, list) else [value]
    return bool(texts) and all(isinstance(one, str) and _like(rule["like"], one) for one in texts)


def _like(pattern: str, text: str) -> bool:
    # A path that climbs out of what the pattern seems to say is not what somebody agreed to.
    return ".." not in text.replace("\\", "/").split("/") and fnmatchcase(text, pattern)
