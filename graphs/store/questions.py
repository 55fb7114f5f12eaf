"""Interrupts between their rows and the engine's records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID

from graphs.engine import interrupts as engine
from graphs.engine.ports import Json
from graphs.engine.statuses import InterruptStatus, Outcome
from graphs.models import ApprovalQueue, Decision, Interrupt
from graphs.store import sql
from graphs.store.rows import table

SEARCH_LIMIT = 4_000


def interrupt_of(row: Interrupt, decision: engine.Decision | None = None) -> engine.Interrupt:
    """The engine's record of a question; its task must be loaded with it."""
    return engine_question(row, row.task.path, row.task.visit, row.queue.slug, decision)


def engine_question(
    row: Interrupt, path: str, visit: int, queue: str, decision: engine.Decision | None = None
) -> engine.Interrupt:
    """The same, where the task's place and the queue's slug are known otherwise."""
    return engine.Interrupt(
        node_id=row.node_id,
        question=row.message,
        kind=row.kind,
        metadata=row.metadata or {},
        id=str(row.pk),
        interrupt_id=row.interrupt_id,
        graph_path=tuple(row.graph_path),
        path=path,
        visit=visit,
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
        queue=queue,
        tool_call_id=row.tool_call_id,
        expires_at=row.expires_at,
        digest=row.digest,
        version=row.version,
        status=InterruptStatus(row.status),
        decision=decision,
    )


def insert_interrupt(
    asked: engine.Interrupt,
    *,
    thread_id: int,
    task_id: int,
    queue_id: int,
    seq: int,
    search: str,
    judged: Mapping[str, Any],
) -> None:
    """Write a new question. Its place must be free. `judged` holds the columns that its queue's policy sets."""
    table(Interrupt).insert(
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
                **{"expires_at": asked.expires_at, **judged},
            )
        ]
    )


def standing(task_id: int, key: str, ordinal: int) -> Interrupt | None:
    """The newest question at this place of a task."""
    interrupts = table(Interrupt)
    rows = sql.fetch(
        f"SELECT {interrupts.columns('i')} FROM graphs_interrupt i"
        " WHERE i.task_id = %s AND i.key = %s AND i.ordinal = %s ORDER BY i.revision DESC LIMIT 1",
        [task_id, key, ordinal],
    )
    return interrupts.read(rows[0]) if rows else None


def open_of(thread_id: int) -> list[tuple[UUID, int, str, int]]:
    """Id, queue and task of a thread's open questions, by queue."""
    rows = sql.fetch(
        "SELECT i.id, i.queue_id, k.path, k.visit FROM graphs_interrupt i JOIN graphs_task k ON k.id = i.task_id"
        " WHERE i.thread_id = %s AND i.status IN ('open', 'needs_info') ORDER BY i.queue_id, i.id",
        [thread_id],
    )
    return [(id if isinstance(id, UUID) else UUID(id), *rest) for id, *rest in rows]


def queues(slugs: Sequence[str], routing: bool = False) -> list[ApprovalQueue]:
    """The queues of these names that there are, and the default one; with `routing` also those whose policy has rules
    that bring questions to them."""
    known = table(ApprovalQueue)
    named = f"q.slug IN ({sql.marks(slugs)}) OR " if slugs else ""
    ruled = "q.policy_spec LIKE %s OR " if routing else ""
    rows = sql.fetch(
        f"SELECT {known.columns('q')} FROM graphs_approvalqueue q WHERE {named}{ruled}q.is_default ORDER BY q.slug",
        [*slugs, *(['%"routes":[{%'] if routing else [])],
    )
    return [known.read(row) for row in rows]


def decision_of(row: Decision) -> engine.Decision:
    return engine.Decision(
        outcome=Outcome(row.outcome),
        value=row.value,
        comment=row.comment,
        reviewer=row.reviewer_name,
        decided_at=row.decided_at,
        digest=row.digest,
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
