"""Approval queues: where a question goes, the queue's cursor, and its members."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import connection

from graphs import store
from graphs.actions import judging
from graphs.models import ApprovalQueue


def route(asked: str, graph: str, facts: Mapping[str, Any]) -> ApprovalQueue:
    """Where a question goes: to the queue that it names itself, else where a rule over its facts brings it, else to its
    graph's queue, else to the default one, which is made again where it is missing."""
    known = store.queues([slug for slug in (asked, graph) if slug], routing=True)
    found = {queue.slug: queue for queue in known}
    if asked in found:
        return found[asked]
    if by_rule := judging.routed(known, facts):
        return by_rule
    if graph in found:
        return found[graph]
    usual = [queue for queue in known if queue.is_default]
    return usual[0] if usual else default()


def default() -> ApprovalQueue:
    """The queue of questions that name none."""
    queue = ApprovalQueue.objects.filter(is_default=True).first()
    if queue is None:
        queue, _ = ApprovalQueue.objects.update_or_create(
            slug="inbox", defaults={"is_default": True}, create_defaults={"title": "Inbox", "is_default": True}
        )
    return queue


def advance_cursor(queue_id: int, by: int = 1) -> int:
    """Move the queue's counter on and return its new value.

    The row stays locked until the transaction ends, so numbers are given in commit order and a reader that saw n has
    missed nothing below it (F32). Locked last: after thread, interrupt and audit chain.
    """
    assert connection.in_atomic_block
    return store.advance(f"queue:{queue_id}", by)
