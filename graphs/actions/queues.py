"""Approval queues: where a question goes, the queue's cursor, and its members."""

from __future__ import annotations

from django.db import connection

from graphs.models import ApprovalQueue


def route(*slugs: str) -> ApprovalQueue:
    """The first named queue that exists, else the default one, which is made again where it is missing."""
    wanted = [slug for slug in slugs if slug]
    found = {queue.slug: queue for queue in ApprovalQueue.objects.filter(slug__in=wanted)} if wanted else {}
    for slug in wanted:
        if slug in found:
            return found[slug]
    return default()


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
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO graphs_counter (name, value, text) VALUES (%s, %s, '') "
            "ON CONFLICT (name) DO UPDATE SET value = graphs_counter.value + %s RETURNING value",
            [f"queue:{queue_id}", by, by],
        )
        return int(cursor.fetchone()[0])
