"""Who belongs to which approval queue: opening one, admitting people and groups, letting them go; each is recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib.auth.models import Group
from django.db import transaction
from django.utils.translation import gettext as _

from graphs import permissions
from graphs.actions import audit, handing_back, policies
from graphs.actions.errors import InputInvalid, NotFound
from graphs.models import ApprovalQueue, QueueMembership, Right

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser, User

    from graphs.actions.actors import Actor, Person


def open_queue(actor: Actor, slug: str, title: str, description: str = "", *, channel: str = "") -> ApprovalQueue:
    """The queue of this slug, opened where there is none yet."""
    with transaction.atomic():
        queue, opened = ApprovalQueue.objects.get_or_create(
            slug=slug, defaults={"title": title, "description": description}
        )
        if opened:
            audit.record(actor, "open_queue", "queue", queue.slug, {"title": title}, channel)
    return queue


def admit(
    actor: Actor, queue: ApprovalQueue, holder: User | Group, right: Right, *, channel: str = ""
) -> QueueMembership:
    """Give one person or one group one right in one queue; no other right of anybody changes (S12)."""
    of = {"group": holder} if isinstance(holder, Group) else {"user": holder}
    with transaction.atomic():
        membership, _created = QueueMembership.objects.update_or_create(queue=queue, defaults={"right": right}, **of)
        audit.record(actor, "admit", "queue", queue.slug, told(membership), channel)
    return membership


def grant(
    actor: Person, queue: ApprovalQueue, holder: User | Group, right: Right, *, channel: str = "form"
) -> QueueMembership:
    """The same by somebody who administers the queue, and only where it stays workable.

    Raises NotFound, NotAllowed, InputInvalid where nobody could decide or administer any more.
    """
    policies.allowed(actor, queue)
    with transaction.atomic():
        before = standing(queue)
        membership = admit(actor, queue, holder, right, channel=channel)
        keep_workable(queue, before)
    hand_back(membership)
    return membership


def dismiss(actor: Person, queue: ApprovalQueue, pk: int, *, channel: str = "form") -> None:
    """Take a right in a queue away. What its holder had claimed there is nobody's again; their decisions stay theirs.

    Raises NotFound, NotAllowed, InputInvalid where nobody could decide or administer any more.
    """
    policies.allowed(actor, queue)
    with transaction.atomic():
        membership = QueueMembership.objects.select_related("user", "group").filter(queue=queue, pk=pk).first()
        if membership is None:
            raise NotFound("There is no such membership.")
        before, facts = standing(queue), told(membership)
        membership.delete()
        keep_workable(queue, before)
        audit.record(actor, "dismiss", "queue", queue.slug, facts, channel)
    hand_back(membership)


def standing(queue: ApprovalQueue) -> tuple[bool, bool]:
    """Whether somebody administers a queue, and whether its questions can be decided."""
    administered = permissions.administrators(queue.pk)[:1].exists()
    return administered, not policies.undecidable(queue, queue.policy_spec)


def keep_workable(queue: ApprovalQueue, before: tuple[bool, bool]) -> None:
    """Refuse a change that locks everybody out; a queue that was in that state before may be mended step by step."""
    after = standing(queue)
    if before[0] and not after[0]:
        raise InputInvalid([("/right", _("nobody would administer this queue any more; name somebody else first"))])
    if before[1] and not after[1]:
        raise InputInvalid([("/right", policies.undecidable(queue, queue.policy_spec))])


def told(membership: QueueMembership) -> dict[str, Any]:
    if membership.group is not None:
        return {"group": membership.group_id, "name": membership.group.name, "right": membership.right}
    name = membership.user.username if membership.user else ""
    return {"user": membership.user_id, "name": name, "right": membership.right}


def hand_back(membership: QueueMembership) -> None:
    """Release what the people concerned had claimed in the queue and can no longer decide."""
    people = membership.group.user_set.all() if membership.group else [membership.user] if membership.user else []
    for one in people:
        handing_back.leave(one, membership.queue)


def record_change(actor: User | AnonymousUser, queue: ApprovalQueue, *, channel: str) -> None:
    """Note who holds what in a queue after it was edited; the caller's transaction holds the edit itself."""
    held = [
        {"user": row.user_id, "group": row.group_id, "right": row.right} for row in queue.memberships.order_by("pk")
    ]
    audit.record(actor, "change_queue", "queue", queue.slug, {"title": queue.title, "members": held}, channel)
