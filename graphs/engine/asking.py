"""The ways to ask a person from inside a run: all build one question and pose it at one place."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from graphs.engine import answers, canonical, schemas
from graphs.engine.errors import AnswerInvalid, PayloadError, SchemaError
from graphs.engine.interrupts import Decision, Interrupt
from graphs.engine.outputs import NOTHING, RequestInput
from graphs.engine.scopes import Scope, current_scope
from graphs.engine.spellings import spelled

STRUCTURAL_SCHEMA = {
    "type": ["object", "null", "boolean"],
    "properties": {"state": {"type": "object", "description": "Channels to set before going on."}},
}
EFFECT_SCHEMA = {
    "type": "object",
    "properties": {
        "happened": {"type": "boolean", "description": "Whether the effect took place."},
        "result": {"description": "What it returned, where it took place."},
    },
    "required": ["happened"],
}

TAKE, AGAIN = "take", "again"
INHERITED_SCHEMA = {
    "type": "object",
    "properties": {
        "do": {
            "title": "What to do here",
            "oneOf": [
                {"const": TAKE, "title": "Take its result"},
                {"const": AGAIN, "title": "Do it again"},
            ],
        },
    },
    "required": ["do"],
}


@spelled("ask", response_schema="schema")
def ask(
    message: str,
    *,
    payload: Any = None,
    schema: Any = None,
    reason: Any = "input_required",
    queue: str = "",
    expires_in: timedelta | float | None = None,
    default: Any = NOTHING,
    key: str | None = None,
) -> Decision:
    """Ask a person and return their `Decision`: approved, rejected, answered, cancelled or expired (Z22).

    `schema` is a JSON Schema, a Pydantic model or a type; `expires_in` is in seconds or a timedelta; `default` is the
    answer that stands when time is up; `key` names the question where several are asked at the same time.
    Raises the pause (`GraphInterrupt`), `PayloadError`, `SchemaError`, `AmbiguousQuestion`, RuntimeError outside a run.
    """
    scope = current_scope("ask")
    draft = build(
        scope,
        "ask",
        message,
        payload=payload,
        schema=schema,
        reason=reason,
        queue=queue,
        expires_in=expires_in,
        default=default,
    )
    decision: Decision = answers.delivered(pose(scope, draft, key))
    return decision


def request_human_input(inp: Any, question: str, *, kind: str = "generic", **metadata: Any) -> Any:
    """Ask from a node; returns the value or the rejection text (G01 to G06). `inp` is the node's `ExecutableInput`."""
    scope = current_scope("request_human_input")
    draft = build(scope, "request_human_input", question, kind=kind, metadata=metadata)
    return answers.delivered(pose(scope, draft, None))


@spelled("interrupt", schema="response_schema")
def interrupt(
    value: Any = None,
    *,
    message: str | None = None,
    reason: str = "input_required",
    response_schema: Any = None,
    key: str | None = None,
) -> Any:
    """Pause the node or tool and return what the run is resumed with; None when cancelled (T04, T05)."""
    scope = current_scope("interrupt")
    draft = build(scope, "interrupt", message or "", payload=value, schema=response_schema, reason=reason)
    return answers.delivered(pose(scope, draft, key))


def pose(scope: Scope, draft: Interrupt, key: str | None) -> Interrupt:
    """Pose a question at the scope's next place under `key`, or under its style where it has none."""
    if key is None:
        scope.claim()
    elif not isinstance(key, str) or not key or len(key) > canonical.MAX_KEY:
        raise PayloadError(f"a question's key is text of 1 to {canonical.MAX_KEY} characters", "key")
    return scope.task.pose(draft, *scope.place(draft.style if key is None else f"{draft.style}:{key}"))


def build(
    scope: Scope,
    style: str,
    message: str,
    *,
    payload: Any = None,
    schema: Any = None,
    reason: Any = "input_required",
    kind: str = "generic",
    metadata: Mapping[str, Any] | None = None,
    queue: str = "",
    expires_in: timedelta | float | None = None,
    default: Any = NOTHING,
    name: str = "",
    interrupt_id: str = "",
    tool_call_id: str | None = None,
) -> Interrupt:
    """A question that has no place yet; all it carries is JSON from here on, or `PayloadError` says where not."""
    limit = canonical.MAX_QUESTION
    if scope.call is not None:
        tool_call_id = tool_call_id or scope.call.call_id
        metadata = {**scope.call.details, **(metadata or {})}
    draft = Interrupt(
        style=style,
        question=_text(message, "message"),
        value=canonical.encode(payload, "payload", limit),
        response_schema=_schema(scope, message, schema),
        reason=canonical.encode(reason, "reason", limit),
        kind=_name(kind, "kind", canonical.MAX_KIND),
        metadata=canonical.encode(dict(metadata or {}), "metadata", limit),
        queue=_name(queue, "queue"),
        name=_name(name, "name"),
        interrupt_id=_name(interrupt_id, "interrupt_id"),
        tool_call_id=None if tool_call_id is None else _name(tool_call_id, "tool_call_id"),
        default=None if default is NOTHING else canonical.encode(default, "default", limit),
        has_default=default is not NOTHING,
        expires_at=None if expires_in is None else scope.task.services.now() + _span(expires_in),
    )
    _check_default(draft)
    return draft


def adopted(scope: Scope, raised: Interrupt) -> Interrupt:
    """The question that somebody made and raised themselves, checked as every other one (G38)."""
    return build(
        scope,
        raised.style,
        raised.question,
        payload=raised.value,
        schema=raised.response_schema,
        reason=raised.reason,
        kind=raised.kind,
        metadata=raised.metadata,
        queue=raised.queue,
        name=raised.name,
        interrupt_id=raised.interrupt_id,
        tool_call_id=raised.tool_call_id,
    )


def request(scope: Scope, asked: RequestInput) -> Interrupt:
    """The question of a `RequestInput`."""
    return build(
        scope,
        "request_input",
        asked.message or "",
        payload=asked.payload,
        schema=asked.response_schema,
        interrupt_id=asked.interrupt_id or "",
    )


def _schema(scope: Scope, message: str, shape: Any) -> Mapping[str, Any] | bool | None:
    try:
        return schemas.of(shape)
    except SchemaError as error:
        raise SchemaError(
            f"node {scope.task.node_id!r} asks {message!r:.100} with a schema that is none: {error}"
        ) from error


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise PayloadError(f"{type(value).__name__} where text is needed", where)
    return str(canonical.encode(value, where, canonical.MAX_QUESTION))


def _name(value: Any, where: str, most: int = canonical.MAX_NAME) -> str:
    text = _text(value, where)
    if len(text) > most:
        raise PayloadError(f"{len(text)} characters where a name of at most {most} is needed", where)
    return text


def _span(expires_in: timedelta | float) -> timedelta:
    if isinstance(expires_in, timedelta):
        return expires_in
    if isinstance(expires_in, bool) or not isinstance(expires_in, (int, float)):
        raise PayloadError(f"a timedelta or a number of seconds, not {expires_in!r}", "expires_in")
    return timedelta(seconds=expires_in)


def _check_default(draft: Interrupt) -> None:
    if draft.has_default and draft.response_schema is not None:
        problems = schemas.validate(draft.response_schema, draft.default)
        if problems:
            raise AnswerInvalid([(f"default{where}", text) for where, text in problems])
