"""What both stores decide alike: answers against questions, and what a commit does to open questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any

from graphs.engine.answers import OPEN
from graphs.engine.errors import AlreadyAnswered, AnswerMismatch, ThreadEnded
from graphs.engine.interrupts import Decision, Interrupt
from graphs.engine.ports import Answer, Json, TaskKey, TaskResult, ThreadRef
from graphs.engine.statuses import InterruptStatus, Outcome, TaskStatus, ThreadStatus
from graphs.engine.trust import Grant, granted

#: With one of these the open questions of the whole thread have nobody left to hear their answers.
WITHDRAWS = frozenset({ThreadStatus.COMPLETED, ThreadStatus.REJECTED, ThreadStatus.CANCELLED})


def decide(
    questions: Mapping[str, Interrupt], answers: Sequence[Answer], actor: str, now: datetime
) -> tuple[list[Interrupt], list[Decision]]:
    """The questions that these answers close, and the decisions in the answers' order; nothing where one is wrong.

    Raises `AnswerMismatch` for an unknown question, `AlreadyAnswered` where another answer holds.
    """
    open_ids = [one.id for one in questions.values() if one.status in OPEN]
    closed: list[Interrupt] = []
    decisions: list[Decision] = []
    seen: set[str] = set()
    for answer in answers:
        question = questions.get(answer.interrupt_id)
        if question is None or answer.interrupt_id in seen:
            raise AnswerMismatch(f"{answer.interrupt_id!r} names no open question", open_ids)
        seen.add(answer.interrupt_id)
        decision = question.decision
        if question.status in OPEN:
            decision = Decision(answer.outcome, answer.value, answer.comment, actor, now, question.digest)
            closed.append(replace(question, status=InterruptStatus.CLOSED, decision=decision))
        elif decision is None or not _same(decision, answer):
            raise AlreadyAnswered(_refusal(question), open_ids)
        decisions.append(decision)
    return closed, decisions


def grants(closed: Sequence[Interrupt], ref: ThreadRef, now: datetime) -> list[Grant]:
    """The trust that comes with the decisions of these questions."""
    found = [granted(one, one.decision, ref, now) for one in closed if one.decision is not None]
    return [one for one in found if one is not None]


def grant_to_json(grant: Grant) -> dict[str, Json]:
    """A grant without the thread it was given in."""
    data = asdict(grant)
    del data["ref"]
    return {**data, "expires_at": None if grant.expires_at is None else grant.expires_at.isoformat()}


def grant_from_json(data: Mapping[str, Any], ref: ThreadRef) -> Grant:
    """The grant again."""
    return Grant(ref=ref, **{**data, "expires_at": _time(data["expires_at"])})


def _same(decision: Decision, answer: Answer) -> bool:
    return (decision.outcome, decision.value, decision.comment) == (answer.outcome, answer.value, answer.comment)


def _refusal(question: Interrupt) -> str:
    if question.decision is None:
        return f"question {question.id} is {question.status}"
    by = f" by {question.decision.reviewer}" if question.decision.reviewer else ""
    return f"question {question.id} was already answered{by}"


def after_answer(status: ThreadStatus) -> ThreadStatus:
    """A paused thread becomes ready; a failed one keeps the answer for its retry."""
    return ThreadStatus.READY if status is ThreadStatus.INTERRUPTED else status


def after_retry(status: ThreadStatus) -> ThreadStatus:
    """A failed thread becomes ready; raises `ThreadEnded` for any other."""
    if status not in (ThreadStatus.FAILED, ThreadStatus.QUARANTINED):
        raise ThreadEnded(f"only a failed thread can be retried, this one is {status}")
    return ThreadStatus.READY


def interrupt_to_json(question: Interrupt) -> dict[str, Json]:
    """Everything of a question but its status and decision, which change."""
    data = asdict(replace(question, decision=None))
    del data["status"], data["decision"]
    data["graph_path"] = list(question.graph_path)
    data["expires_at"] = None if question.expires_at is None else question.expires_at.isoformat()
    return data


def interrupt_from_json(data: Mapping[str, Any], status: str, decision: Mapping[str, Any] | None) -> Interrupt:
    """The question again."""
    fields = {**data, "graph_path": tuple(data["graph_path"]), "expires_at": _time(data["expires_at"])}
    found = None
    if decision is not None:
        found = Decision(
            **{**decision, "outcome": Outcome(decision["outcome"]), "decided_at": _time(decision["decided_at"])}
        )
    return Interrupt(**fields, status=InterruptStatus(status), decision=found)


def decision_to_json(decision: Decision) -> dict[str, Json]:
    """A decision as JSON."""
    at = None if decision.decided_at is None else decision.decided_at.isoformat()
    return {**asdict(decision), "outcome": str(decision.outcome), "decided_at": at}


def result_to_json(result: TaskResult) -> dict[str, Json]:
    """A result without its key; what is absent stays absent."""
    data: dict[str, Json] = {"status": str(result.status), "output": result.output, "seconds": result.seconds}
    if result.has_route:
        data["route"] = result.route
    if result.writes:
        data["writes"] = [list(write) for write in result.writes]
    if result.error is not None:
        data["error"] = dict(result.error)
    if result.attempt != 1:
        data["attempt"] = result.attempt
    if result.usage:
        data["usage"] = dict(result.usage)
    if result.targets is not None:
        data["targets"] = list(result.targets)
    return data


def result_from_json(key: TaskKey, data: Mapping[str, Any]) -> TaskResult:
    """The result again."""
    targets = data.get("targets")
    return TaskResult(
        key,
        TaskStatus(data["status"]),
        data.get("output"),
        data.get("route"),
        "route" in data,
        tuple((name, value) for name, value in data.get("writes", ())),
        data.get("error"),
        data.get("attempt", 1),
        data.get("seconds", 0.0),
        data.get("usage", {}),
        None if targets is None else tuple(targets),
    )


def _time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
