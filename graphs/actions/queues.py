"""Approval queues: where a question goes, the queue's cursor, and its members."""

from __future__ import annotations

from django.db import connection

from graphs import store
from graphs.models import ApprovalQueue


def route(*slugs: str) -> ApprovalQueue:
    """The first named queue that exists, else the default one, which is made again where it is missing."""
    wanted = [slug for slug in slugs if slug]
    found = {queue.slug: queue for queue in store.queues(wanted)}
    for slug in wanted:
        if slug in found:
            return found[slug]
    usual = [queue for queue in found.values() if queue.is_default]
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
