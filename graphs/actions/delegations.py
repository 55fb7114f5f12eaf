"""Deciding in another's place: who is away hands it over for a while, and takes it back when they like."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _

from graphs import outbox, permissions
from graphs.actions import audit, handing_back
from graphs.actions.actors import actor_name, person_id
from graphs.actions.errors import InputInvalid, NotAllowed, NotFound, NotPossible, too_long
from graphs.models import ApprovalQueue, Delegation
from graphs.models.clock import Now

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphs.actions.actors import Person

LONGEST = timedelta(days=366)
LONGEST_NOTE = 300
#: Delegations of one person that have not ended.
MOST = 50
Problems = list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Wanted:
    """A delegation as it is asked for: to whom by user name, in the queue of a slug or in all, and between when. With
    `move_open` what the giver has in hand goes along."""

    receiver: str
    queue: str
    starts_at: datetime | None
    ends_at: datetime | None
    move_open: bool = False
    note: str = ""


def give(actor: User, wanted: Wanted, *, channel: str = "form") -> Delegation:
    """Let somebody decide in one's place between two moments (N14). What the receiver was given by others they cannot
    hand on, so nothing goes in circles.

    Raises InputInvalid with the place of each problem.
    """
    receiver = User.objects.filter(username=wanted.receiver, is_active=True).first()
    queue = next((one for one in own_queues(actor) if one.slug == wanted.queue), None)
    found = [*receiver_problems(actor, wanted, receiver), *scope_problems(actor, wanted, queue), *time_problems(wanted)]
    found += note_problems(wanted.note)
    if found or receiver is None or wanted.starts_at is None or wanted.ends_at is None:
        raise InputInvalid(found)
    with transaction.atomic():
        # Both of them, in one order: of two who hand over to each other at once the second one sees the first.
        list(User.objects.select_for_update(no_key=True).filter(pk__in=[actor.pk, receiver.pk]).order_by("pk"))
        made = Delegation(
            giver=actor,
            giver_name=actor_name(actor),
            receiver=receiver,
            receiver_name=actor_name(receiver),
            queue=queue,
            # From now on at the earliest: nobody decides in the past.
            starts_at=max(wanted.starts_at, timezone.now()),
            ends_at=wanted.ends_at,
            move_open=wanted.move_open,
            note=wanted.note.strip(),
            created_by_name=actor_name(actor),
        )
        if found := standing_problems(made):
            raise InputInvalid(found)
        made.save()
        audit.record(actor, "delegate", "delegation", made.pk, facts(made), channel)
        outbox.put([outbox.hint([f"user.{receiver.pk}"], {"topic": "inbox"})])
    return made


def own_queues(user: User) -> list[ApprovalQueue]:
    """The queues in which this person decides by their own right: only that can be handed over."""
    member = Q(memberships__user=user.pk) | Q(memberships__group__in=user.groups.values("pk"))
    deciding = ApprovalQueue.objects.filter(member, memberships__right__in=permissions.DECIDERS)
    return list(deciding.distinct().order_by("title", "pk"))


def receiver_problems(actor: User, wanted: Wanted, receiver: User | None) -> Iterator[tuple[str, str]]:
    if not wanted.receiver:
        yield "/receiver", _("say who decides in your place")
    elif receiver is None:
        yield "/receiver", _("nobody is called %(name)s") % {"name": wanted.receiver}
    elif receiver.pk == actor.pk:
        yield "/receiver", _("that is you: choose somebody else")


def scope_problems(actor: User, wanted: Wanted, queue: ApprovalQueue | None) -> Iterator[tuple[str, str]]:
    if wanted.queue and queue is None:
        yield "/queue", _("you decide in no such queue")
    elif not wanted.queue and not own_queues(actor):
        yield "/queue", _("you decide in no queue, so there is nothing to hand over")


def time_problems(wanted: Wanted) -> Iterator[tuple[str, str]]:
    starts, ends = wanted.starts_at, wanted.ends_at
    if starts is None:
        yield "/starts_at", _("say from when, as a date and a time")
    if ends is None:
        yield "/ends_at", _("say until when, as a date and a time")
    if starts is None or ends is None:
        return
    if ends <= timezone.now():
        yield "/ends_at", _("this has passed already")
    elif ends <= starts:
        yield "/ends_at", _("it has to end after it begins")
    elif ends - max(starts, timezone.now()) > LONGEST:
        yield "/ends_at", _("choose at most %(days)s days") % {"days": LONGEST.days}


def note_problems(note: str) -> Problems:
    wrong = len(note.strip()) > LONGEST_NOTE or "\x00" in note
    return [("/note", too_long(LONGEST_NOTE))] if wrong else []


def standing_problems(made: Delegation) -> Problems:
    """What speaks against one beside those that there are: the same again, too many, a circle."""
    overlapping = Delegation.objects.filter(ended_at=None, starts_at__lt=made.ends_at, ends_at__gt=made.starts_at)
    if made.queue_id:
        overlapping = overlapping.filter(Q(queue=None) | Q(queue=made.queue_id))
    same = overlapping.filter(giver=made.giver_id, receiver=made.receiver_id)
    if same.filter(queue=made.queue_id).exists():
        return [
            (
                "/receiver",
                _("%(name)s decides in your place at that time already") % {"name": made.receiver_name},
            )
        ]
    if Delegation.objects.filter(giver=made.giver_id, ended_at=None, ends_at__gt=Now()).count() >= MOST:
        return [("/receiver", _("you have %(most)s delegations that have not ended; end one first") % {"most": MOST})]
    if made.giver_id in reached(made.receiver_id, list(overlapping.values_list("giver", "receiver"))):
        return [
            (
                "/receiver",
                _("%(name)s has handed over to you at that time, so it would go in a circle")
                % {"name": made.receiver_name},
            )
        ]
    return []


def reached(person: int | None, edges: list[tuple[int | None, int | None]]) -> set[int | None]:
    """Everybody to whom one person's deciding has gone on, directly or over others."""
    found: set[int | None] = set()
    border = {person}
    while border:
        border = {receiver for giver, receiver in edges if giver in border} - found
        found |= border
    return found - {None}


def facts(made: Delegation) -> dict[str, object]:
    return {
        "to": made.receiver_name,
        "receiver": made.receiver_id,
        "queue": made.queue.slug if made.queue else "",
        "from": made.starts_at.isoformat(),
        "until": made.ends_at.isoformat(),
        "move_open": made.move_open,
    }


def end(actor: Person, pk: int, *, channel: str = "form") -> Delegation:
    """End a delegation now; what it had moved goes back.

    Raises NotFound, NotAllowed, and NotPossible where it has ended already.
    """
    found = Delegation.objects.visible_to(actor).filter(pk=pk).select_related("queue", "giver", "receiver").first()
    if found is None:
        raise NotFound(_("There is no such delegation."))
    ruling = permissions.ruling(actor, "end", found)
    if not ruling:
        raise NotAllowed(ruling.reason)
    with transaction.atomic():
        running = Delegation.objects.filter(pk=pk, ended_at=None, ends_at__gt=Now())
        if not running.update(ended_at=Now()):
            raise NotPossible(_("This delegation has ended already."))
        told = {"giver": found.giver_name, "to": found.receiver_name, "by": person_id(actor)}
        audit.record(actor, "end_delegation", "delegation", pk, told, channel)
        if found.receiver_id:
            outbox.put([outbox.hint([f"user.{found.receiver_id}"], {"topic": "inbox"})])
    handing_back.give_back(found)
    found.refresh_from_db()
    return found
