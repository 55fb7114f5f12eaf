"""Who belongs to which approval queue: opening a queue and admitting people, each with its audit entry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import transaction

from graphs.actions import audit
from graphs.models import ApprovalQueue, QueueMembership, Right

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser, User

    from graphs.actions.actors import Actor


def open_queue(actor: Actor, slug: str, title: str, description: str = "", *, channel: str = "") -> ApprovalQueue:
    """The queue of this slug, opened where there is none yet."""
    with transaction.atomic():
        queue, opened = ApprovalQueue.objects.get_or_create(
            slug=slug, defaults={"title": title, "description": description}
        )
        if opened:
            audit.record(actor, "open_queue", "queue", queue.slug, {"title": title}, channel)
    return queue


def admit(actor: Actor, queue: ApprovalQueue, person: User, right: Right, *, channel: str = "") -> QueueMembership:
    """Give one person one right in one queue; no other right of anybody changes (S12)."""
    with transaction.atomic():
        membership, _ = QueueMembership.objects.update_or_create(queue=queue, user=person, defaults={"right": right})
        audit.record(
            actor, "admit", "queue", queue.slug, {"user": person.pk, "name": person.username, "right": right}, channel
        )
    return membership


def record_change(actor: User | AnonymousUser, queue: ApprovalQueue, *, channel: str) -> None:
    """Note who holds what in a queue after it was edited; the caller's transaction holds the edit itself."""
    held = [
        {"user": row.user_id, "group": row.group_id, "right": row.right} for row in queue.memberships.order_by("pk")
    ]
    audit.record(actor, "change_queue", "queue", queue.slug, {"title": queue.title, "members": held}, channel)
