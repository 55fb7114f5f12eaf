"""Interrupts between their rows and the engine's records."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID

from graphs.engine import interrupts as engine
from graphs.engine.ports import Json
from graphs.engine.statuses import InterruptStatus, Outcome
from graphs.models import Interrupt

SEARCH_LIMIT = 4_000


def interrupt_of(row: Interrupt, decision: engine.Decision | None = None) -> engine.Interrupt:
    """The engine's record of a question; its task must be loaded with it."""
    return engine.Interrupt(
        node_id=row.node_id,
        question=row.message,
        kind=row.kind,
        metadata=row.metadata or {},
        id=str(row.pk),
        interrupt_id=row.interrupt_id,
        graph_path=tuple(row.graph_path),
        path=row.task.path,
        visit=row.task.visit,
        key=row.key,
        ordinal=row.ordinal,
        revision=row.revision,
        style=row.style,
        value=row.payload,
        reason=row.reason,
        name=row.name,
        response_schema=row.response_schema,
        default=row.default,
        has_default=row.has_default,
        queue=row.queue.slug,
        tool_call_id=row.tool_call_id,
        expires_at=row.expires_at,
        digest=row.digest,
        version=row.version,
        status=InterruptStatus(row.status),
        decision=decision,
    )


def insert_interrupt(
    asked: engine.Interrupt, *, thread_id: int, task_id: int, queue_id: int, seq: int, search: str
) -> None:
    """Write a new question. Its place must be free."""
    Interrupt.objects.bulk_create(
        [
            Interrupt(
                id=UUID(asked.id),
                thread_id=thread_id,
                task_id=task_id,
                queue_id=queue_id,
                key=asked.key,
                ordinal=asked.ordinal,
                revision=asked.revision,
                interrupt_id=asked.interrupt_id,
                node_id=asked.node_id,
                graph_path=list(asked.graph_path),
                style=asked.style,
                kind=asked.kind,
                name=asked.name,
                message=asked.question,
                payload=asked.value,
                reason=asked.reason,
                metadata=dict(asked.metadata) or None,
                response_schema=asked.response_schema,
                default=asked.default,
                has_default=asked.has_default,
                tool_call_id=asked.tool_call_id,
                digest=asked.digest,
                version=asked.version,
                status=asked.status,
                search=search,
                seq=seq,
                expires_at=asked.expires_at,
            )
        ]
    )


def decision_of(
    outcome: str, value: Json, comment: str, reviewer: str, decided_at: Any, digest: str
) -> engine.Decision:
    return engine.Decision(
        outcome=Outcome(outcome), value=value, comment=comment, reviewer=reviewer, decided_at=decided_at, digest=digest
    )


def search_text(*parts: str, payload: Json = None) -> str:
    """What the inbox searches, lower-case and bounded: names first, then the payload's words as far as they fit."""
    words = [*parts, *leaves(payload)]
    text, length = [], 0
    for word in words:
        if word and length < SEARCH_LIMIT:
            text.append(word[:SEARCH_LIMIT].replace("\x00", ""))
            length += len(word) + 1
    return " ".join(text)[:SEARCH_LIMIT].lower()


def leaves(value: Json) -> Iterator[str]:
    if isinstance(value, dict):
        for item in value.values():
            yield from leaves(item)
    elif isinstance(value, list):
        for item in value:
            yield from leaves(item)
    elif isinstance(value, str):
        yield value
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield str(value)
