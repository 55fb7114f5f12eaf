"""Matching replies to open questions, checking them, and turning a decision into what the node receives.

Pure: nothing is stored here. Every channel comes through here, and one wrong id changes nothing (Z03, Z38).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from graphs.engine import canonical, schemas, trust
from graphs.engine.errors import AnswerInvalid, AnswerMismatch, PayloadError, QuestionExpired
from graphs.engine.interrupts import Decision, GraphResume, Interrupt
from graphs.engine.ports import Answer, Json
from graphs.engine.state import plain_name
from graphs.engine.statuses import InterruptStatus, Outcome, TaskStatus

#: The properties in which a form asks for the reviewer's words.
_COMMENTS = ("comment", "reason")
OPEN = frozenset({InterruptStatus.OPEN, InterruptStatus.NEEDS_INFO})
_SAYS_APPROVED = frozenset({"interrupt", "request_input", "hook", "tool"})
_APPROVED_PLAINLY = frozenset({"ask", "structural", "hook", "tool"})
_SCHEMALESS_REJECT = frozenset({"request_human_input", "ask", "interrupt", "hook", "tool", "structural"})


class TaskEnded(BaseException):
    """Ends the task that asked, as cancelled or rejected; a BaseException, so that node code lets it through.

    Nothing that the task wrote is applied, but for what its body tells of it (`given_up`) or adds to `writes`, by
    channel.
    """

    def __init__(self, status: TaskStatus, text: str = "") -> None:
        super().__init__(text)
        self.status = status
        self.text = text
        self.writes: dict[str, Json] = {}


def match(
    open_interrupts: Sequence[Interrupt], replies: GraphResume | Mapping[str, Any] | Sequence[Answer]
) -> list[Answer]:
    """The replies as answers to open questions, validated, in the questions' order.

    `replies` is a `GraphResume`, a mapping of names to values, or `Answer`s by interrupt id. A name is an interrupt id,
    an author's `interrupt_id`, a task path or a node id, wherever exactly one open question goes by it.
    Raises `AnswerMismatch` (unknown, ambiguous or twice answered), `AnswerInvalid` (schema), `PayloadError` (not JSON).
    """
    open_ids = [one.id for one in open_interrupts]
    index, nodes = _index(open_interrupts), [one.node_id for one in open_interrupts]
    found: dict[str, Answer] = {}
    for name, outcome, value, comment in _given(replies):
        question = _named(index, name, open_ids, nodes)
        if question.id in found:
            raise AnswerMismatch(f"the question of {name!r} is answered twice", open_ids, nodes)
        if outcome is Outcome.ANSWERED and question.style == "interrupt" and value is None:
            outcome = Outcome.CANCELLED
        found[question.id] = Answer(question.id, outcome, validate(question, outcome, value, comment), comment)
    return [found[one] for one in open_ids if one in found]


def validate(interrupt: Interrupt, outcome: Outcome, value: Any, comment: str = "") -> Json:
    """The value to store for this outcome: JSON, with defaults filled, valid against the question's schema.

    Of a `RequestInput`, whose asker receives the value alone, `comment` fills the schema's text property `comment` or
    `reason` where the answer leaves it empty. A gated tool call takes a plain True or False as well.

    Raises `AnswerInvalid` with (pointer, message) for each fault, `PayloadError` for what is not JSON.
    """
    value = canonical.encode(value, "", canonical.MAX_QUESTION)
    if outcome in (Outcome.CANCELLED, Outcome.EXPIRED):
        return value
    value = _spelled_out(interrupt, value) if outcome is Outcome.ANSWERED else _with_verdict(interrupt, outcome, value)
    trust.check(interrupt, outcome, value)
    schema = interrupt.response_schema
    if outcome is Outcome.REJECTED:
        if interrupt.style == "request_input" and not _asks_approved(schema):
            raise AnswerInvalid([("", "this question has no way to be rejected; answer it")])
        if interrupt.style in _SCHEMALESS_REJECT:
            return value
    plain = outcome is Outcome.APPROVED and value is None and interrupt.style in _APPROVED_PLAINLY
    if interrupt.style == "structural" and isinstance(value, dict):
        _check_edits(value.get("state"))
    if schema is None or plain:
        return value
    value = schemas.fill(schema, _with_comment(interrupt, value, comment))
    problems = schemas.validate(schema, value)
    if problems:
        raise AnswerInvalid(problems, f"{interrupt.message or interrupt.id!r:.100} of node {interrupt.node_id!r}")
    return value


def _check_edits(edits: Json) -> None:
    """Refuse names that no channel can have here: the node that waits could not help failing with them (E18)."""
    for name in edits if isinstance(edits, dict) else ():
        try:
            plain_name(name)
        except PayloadError as error:
            raise AnswerInvalid([(f"/state/{name}", str(error))]) from error


def delivered(interrupt: Interrupt) -> Any:
    """What the asking code receives for a decided question, by its way of asking.

    Raises `TaskEnded` where the task ends with the question, `QuestionExpired` where it fails with it.
    """
    decision = interrupt.decision
    if decision is None:
        raise AnswerMismatch(f"question {interrupt.id} is not decided yet", [interrupt.id])
    if interrupt.style == "ask":
        return with_default(interrupt, decision)
    if decision.outcome is Outcome.CANCELLED:
        return _cancelled(interrupt, decision)
    if decision.outcome is Outcome.EXPIRED:
        return _expired(interrupt, decision)
    if decision.outcome is Outcome.REJECTED:
        return _rejected(interrupt, decision)
    return _accepted(interrupt, decision)


def names(open_interrupts: Sequence[Interrupt]) -> frozenset[str]:
    """Every name by which `match` finds one of these questions, or too many of them."""
    return frozenset(name for tier in _index(open_interrupts) for name in tier)


def allows_reject(interrupt: Interrupt) -> bool:
    """Whether a card for this question offers Reject: a `RequestInput` needs an `approved` field to say no with."""
    return interrupt.style != "effect" and (
        interrupt.style != "request_input" or _asks_approved(interrupt.response_schema)
    )


def _given(replies: GraphResume | Mapping[str, Any] | Sequence[Answer]) -> list[tuple[str, Outcome, Any, str]]:
    if isinstance(replies, GraphResume):
        said = [(name, Outcome.ANSWERED, value, "") for name, value in replies.replies.items()]
        return said + [(name, Outcome.REJECTED, None, _text(name, text)) for name, text in replies.rejected.items()]
    if isinstance(replies, Mapping):
        return [(name, Outcome.ANSWERED, value, "") for name, value in replies.items()]
    given: Any = replies
    if not isinstance(given, Sequence) or not all(isinstance(one, Answer) for one in given):
        raise AnswerMismatch(f"answers are a GraphResume, a mapping from ids to values, or Answers; not {given!r:.100}")
    return [(one.interrupt_id, one.outcome, one.value, one.comment) for one in replies]


def _text(name: str, text: Any) -> str:
    if not isinstance(text, str):
        raise PayloadError(f"the rejection of {name!r} must be text, which may be empty", f"/rejected/{name}")
    return str(canonical.encode(text, f"/rejected/{name}", canonical.MAX_QUESTION))


def _index(questions: Sequence[Interrupt]) -> list[dict[str, list[Interrupt]]]:
    tiers: list[dict[str, list[Interrupt]]] = [{}, {}, {}, {}, {}]
    for one in questions:
        names = (one.id, one.interrupt_id, one.path, one.node_id, one.path.split("/")[0])
        for tier, name in zip(tiers, names, strict=True):
            if name:
                tier.setdefault(name, []).append(one)
    return tiers


def _named(
    index: Sequence[Mapping[str, list[Interrupt]]], name: str, open_ids: Sequence[str], nodes: Sequence[str]
) -> Interrupt:
    for tier in index:
        found = tier.get(name, ())
        if len(found) == 1:
            return found[0]
        if found:
            raise AnswerMismatch(f"{name!r} names {len(found)} open questions; use an interrupt id", open_ids, nodes)
    raise AnswerMismatch(f"{name!r} names no open question", open_ids, nodes)


def _asks_approved(schema: Mapping[str, Any] | bool | None) -> bool:
    if not isinstance(schema, Mapping):
        return False
    rule = schema.get("properties", {}).get("approved")
    return isinstance(rule, Mapping) and rule.get("type") == "boolean"


def _spelled_out(interrupt: Interrupt, value: Json) -> Json:
    """A plain yes or no to a tool's call as the answer it stands for. A text is none: it may be any question's (G32).

    Raises `AnswerInvalid` that says what a yes is, where the answer is no object.
    """
    if interrupt.kind != trust.GATE or value is None or isinstance(value, dict):
        return value
    if not isinstance(value, bool):
        raise AnswerInvalid([("", 'give {"approved": true} or true to let the call run, or false')], interrupt.message)
    return {"approved": value}


def _with_verdict(interrupt: Interrupt, outcome: Outcome, value: Json) -> Json:
    if (
        outcome is Outcome.ANSWERED
        or interrupt.style not in _SAYS_APPROVED
        or not _asks_approved(interrupt.response_schema)
    ):
        return value
    return {**(value if isinstance(value, dict) else {}), "approved": outcome is Outcome.APPROVED}


def _with_comment(interrupt: Interrupt, value: Json, comment: str) -> Json:
    schema = interrupt.response_schema
    if not comment or interrupt.style != "request_input" or not isinstance(value, dict):
        return value
    rules = schemas.properties(schema)
    for name in _COMMENTS:
        if name in rules and not value.get(name) and schemas.takes_text(rules[name]):
            filled = {**value, name: comment}
            # A comment that the property has no room for stays beside the answer, which is as good without it.
            faults = schemas.validate(schema, filled) if schema is not None else []
            return value if any(where == f"/{name}" for where, _ in faults) else filled
    return value


def with_default(interrupt: Interrupt, decision: Decision) -> Decision:
    """The decision as its asker sees it: where time was up, the question's default is its value."""
    if decision.outcome is not Outcome.EXPIRED or not interrupt.has_default:
        return decision
    return Decision(
        decision.outcome,
        canonical.copy(interrupt.default),
        decision.comment,
        decision.reviewer,
        decision.decided_at,
        decision.digest,
    )


def _cancelled(interrupt: Interrupt, decision: Decision) -> Any:
    if interrupt.style == "interrupt":
        return None
    raise TaskEnded(TaskStatus.CANCELLED, decision.comment)


def _expired(interrupt: Interrupt, decision: Decision) -> Any:
    if interrupt.has_default:
        return canonical.copy(interrupt.default)
    if interrupt.style == "structural":
        raise TaskEnded(TaskStatus.CANCELLED, decision.comment or "expired")
    if interrupt.style in ("request_input", "effect"):
        raise QuestionExpired(f"question {interrupt.interrupt_id or interrupt.id} expired without an answer")
    return {"request_human_input": "expired", "hook": "n", "tool": "n"}.get(interrupt.style)


def _rejected(interrupt: Interrupt, decision: Decision) -> Any:
    if interrupt.style == "request_human_input":
        return decision.comment
    if interrupt.style in ("hook", "tool"):
        return "n"
    if interrupt.style == "structural":
        raise TaskEnded(TaskStatus.REJECTED, decision.comment)
    if _asks_approved(interrupt.response_schema) or interrupt.style == "effect":
        return canonical.copy(decision.value)
    return None


def _accepted(interrupt: Interrupt, decision: Decision) -> Any:
    if decision.outcome is Outcome.APPROVED and decision.value is None:
        if interrupt.style == "request_human_input":
            return True
        if interrupt.style in ("hook", "tool"):
            return "y"
    return canonical.copy(decision.value)
