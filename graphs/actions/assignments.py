"""Who is at a question, and who wants to see it when: claims, hand-overs, escalation, snoozes and watches. None of them
blocks a decision, and none changes the question's version: an answer that is being written stays good."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _

from graphs import outbox, permissions, store
from graphs.actions import audit, deadlines, hints, queues
from graphs.actions.actors import actor_name, person_id
from graphs.actions.decisions import find
from graphs.actions.errors import InputInvalid, NotAllowed, NotPossible
from graphs.models import Interrupt, Snooze, Watch
from graphs.models.clock import Now

if TYPE_CHECKING:
    from django.contrib.auth.models import User

    from graphs.actions.actors import Person

#: Nobody means a question to come back later than this.
LONGEST_SNOOZE = timedelta(days=366)


def claim(actor: Person, interrupt_id: str, *, channel: str = "form") -> Interrupt:
    """Take a question that nobody has; whoever has it already keeps it, and a second press changes nothing (U14).

    Raises NotFound, NotAllowed, NotPossible where somebody else has it or it is no longer open.
    """
    interrupt = allowed(actor, "claim", interrupt_id)
    with transaction.atomic():
        if Interrupt.objects.waiting().filter(pk=interrupt.pk, assignee=None).update(**holder(actor)):
            moved(actor, interrupt, "claim", {}, channel)
            return fresh(interrupt)
        now = fresh(interrupt)
        if now.status not in ("open", "needs_info"):
            raise NotPossible(_("This question is no longer open."))
        if now.assignee_id != actor.pk:
            raise NotPossible(_("%(name)s has this already.") % {"name": now.assignee_name or _("Somebody else")})
        return now


def release(actor: Person, interrupt_id: str, *, channel: str = "form") -> Interrupt:
    """Give back a question that one has, so that it is nobody's; where it is not one's own, nothing changes (U14).

    Raises NotFound, NotAllowed where somebody else has it.
    """
    interrupt = find(actor, interrupt_id)
    with transaction.atomic():
        if Interrupt.objects.waiting().filter(pk=interrupt.pk, assignee=person_id(actor)).update(**nobody()):
            moved(actor, interrupt, "release", {}, channel)
            return fresh(interrupt)
    now = fresh(interrupt)
    if now.assignee_id not in (None, actor.pk):
        raise NotAllowed(_("%(name)s has this; only they can give it back.") % {"name": now.assignee_name})
    return now


def assign(actor: Person, interrupt_id: str, person: User | None, *, channel: str = "form") -> Interrupt:
    """Give a question to somebody who may decide it, or to nobody. For who administers its queue, and for whoever has
    it and hands it over.

    Raises NotFound, NotAllowed, InputInvalid for a person who may not decide it, NotPossible where it changed hands.
    """
    interrupt = allowed(actor, "assign", interrupt_id)
    if person is not None and not permissions.can(person, "decide", interrupt):
        raise InputInvalid([("/person", _("%(name)s may not decide this question") % {"name": actor_name(person)})])
    held = Interrupt.objects.waiting().filter(pk=interrupt.pk, assignee=interrupt.assignee_id)
    with transaction.atomic():
        if not held.update(**(nobody() if person is None else holder(person))):
            raise NotPossible(_("Somebody else took it, or it is no longer open."))
        facts = {"to": person.pk if person else None, "name": actor_name(person) if person else ""}
        moved(actor, interrupt, "assign", facts, channel)
    return fresh(interrupt)


def escalate(actor: Person, interrupt_id: str, *, channel: str = "form") -> Interrupt:
    """Move a question to the queue that its policy escalates to, before its time. For whoever may decide it.

    Raises NotFound, NotAllowed, NotPossible where the policy names no such queue or it has been escalated already.
    """
    interrupt = allowed(actor, "claim", interrupt_id)
    if deadlines.next_queue(interrupt) is None:
        raise NotPossible(_("The policy of this queue names none to escalate to."))
    still = Q(escalated_at=None, queue=interrupt.queue_id)
    if not deadlines.escalate(interrupt, still, f"by {actor_name(actor)}", actor, channel):
        raise NotPossible(_("It has been escalated already, or it is no longer open."))
    return fresh(interrupt)


def snooze(actor: Person, interrupt_id: str, until: datetime, *, channel: str = "form") -> Snooze:
    """Keep a question out of one's own open lists before `until`; nobody else notices.

    Raises NotFound, InputInvalid for a moment that has passed or is more than a year away.
    """
    interrupt = find(actor, interrupt_id)
    if not timezone.now() < until <= timezone.now() + LONGEST_SNOOZE:
        raise InputInvalid([("/until", _("choose a moment within the next year"))])
    with transaction.atomic():
        kept, _made = Snooze.objects.update_or_create(
            user_id=person_id(actor), interrupt=interrupt, defaults={"until": until}
        )
        noted(actor, interrupt, "snooze", {"until": until.isoformat()}, channel)
    return kept


def unsnooze(actor: Person, interrupt_id: str, *, channel: str = "form") -> None:
    """Have it back at once. Raises NotFound."""
    interrupt = find(actor, interrupt_id)
    with transaction.atomic():
        if Snooze.objects.filter(user=person_id(actor), interrupt=interrupt).delete()[0]:
            noted(actor, interrupt, "unsnooze", {}, channel)


def watch(actor: Person, interrupt_id: str, *, channel: str = "form") -> None:
    """Hear of a question whoever decides it. Raises NotFound."""
    interrupt = find(actor, interrupt_id)
    with transaction.atomic():
        if Watch.objects.get_or_create(user_id=person_id(actor), interrupt=interrupt)[1]:
            noted(actor, interrupt, "watch", {}, channel)


def unwatch(actor: Person, interrupt_id: str, *, channel: str = "form") -> None:
    """Hear of it no more. Raises NotFound."""
    interrupt = find(actor, interrupt_id)
    with transaction.atomic():
        if Watch.objects.filter(user=person_id(actor), interrupt=interrupt).delete()[0]:
            noted(actor, interrupt, "unwatch", {}, channel)


def allowed(actor: Person, action: str, interrupt_id: str) -> Interrupt:
    interrupt = find(actor, interrupt_id)
    ruling = permissions.ruling(actor, action, interrupt)
    if not ruling:
        raise NotAllowed(ruling.reason)
    return interrupt


def holder(person: Person) -> dict[str, Any]:
    return {"assignee": person_id(person), "assignee_name": actor_name(person), "claimed_at": Now()}


def nobody() -> dict[str, Any]:
    return {"assignee": None, "assignee_name": "", "claimed_at": None}


def fresh(interrupt: Interrupt) -> Interrupt:
    return Interrupt.objects.select_related("queue", "task", "thread__conversation").get(pk=interrupt.pk)


def moved(actor: Person, interrupt: Interrupt, action: str, facts: dict[str, Any], channel: str) -> None:
    """Record that it changed hands and tell everybody who sees it; the interrupt's row is locked by its update."""
    audit.record(actor, action, "interrupt", interrupt.pk, facts, channel)
    seq = queues.advance_cursor(interrupt.queue_id)
    store.verdicts.number(interrupt.pk, seq)
    outbox.put(hints.question_changed(interrupt.thread, str(interrupt.pk), interrupt.queue_id, seq))


def noted(actor: Person, interrupt: Interrupt, action: str, facts: dict[str, Any], channel: str) -> None:
    """Record what concerns this person's own lists only, and tell only their pages."""
    audit.record(actor, action, "interrupt", interrupt.pk, facts, channel)
    outbox.put([outbox.hint([f"user.{actor.pk}"], {"topic": "inbox", "interrupt": str(interrupt.pk)})])
