"""Asking back: a reviewer wants to know more before deciding. The question keeps its place, its clock stands still, and
an answer in the conversation sets it going again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.db import transaction
from django.utils.translation import gettext as _

from graphs import outbox, permissions, store
from graphs.actions import audit, clocks, comments, hints, queues
from graphs.actions.actors import person_id
from graphs.actions.decisions import find
from graphs.actions.errors import NotAllowed, NotPossible
from graphs.engine.statuses import InterruptStatus
from graphs.models import Comment, CommentKind, Interrupt, Thread, Watch

if TYPE_CHECKING:
    from graphs.actions.actors import Person

#: What another transaction may have changed before this one held the thread.
CHANGING = ["status", "paused_at", "paused_seconds", "expiry_outcome", "expires_at", *clocks.MOVING]


def ask(actor: Person, interrupt_id: str, text: str, *, channel: str = "form") -> Comment:
    """Ask the requester for more about an open question, or once more while it is asked already. The question's version
    stays: what others are writing is still good, and it may be decided at any time.

    Raises NotFound, NotAllowed, NotPossible where it is no longer open, InputInvalid for an empty or overlong text.
    """
    interrupt = find(actor, interrupt_id)
    ruling = permissions.ruling(actor, "ask_back", interrupt)
    if not ruling:
        raise NotAllowed(ruling.reason)
    with transaction.atomic():
        thread = locked(interrupt)
        if not interrupt.is_waiting:
            raise NotPossible(_("This question is no longer open."))
        comment = comments.keep(actor, thread, interrupt, text, CommentKind.ASKS)
        if interrupt.status == InterruptStatus.OPEN:
            turned(interrupt, InterruptStatus.NEEDS_INFO, clocks.stopped())
        Watch.objects.get_or_create(user_id=person_id(actor), interrupt=interrupt)
        told(actor, "ask_back", interrupt, thread, comment, channel)
    return comment


def tell(actor: Person, interrupt_id: str, text: str, *, channel: str = "form") -> Comment:
    """Give what was asked for: the question is open again, and its clock goes on where it stood. Whoever sees the
    question may: its requester, and colleagues who know.

    Raises NotFound, NotPossible where nothing is asked for, InputInvalid for an empty or overlong text.
    """
    interrupt = find(actor, interrupt_id)
    with transaction.atomic():
        thread = locked(interrupt)
        if interrupt.status != InterruptStatus.NEEDS_INFO:
            raise NotPossible(_("Nobody waits for more information here any more."))
        comment = comments.keep(actor, thread, interrupt, text, CommentKind.TELLS)
        turned(interrupt, InterruptStatus.OPEN, clocks.going_on(interrupt))
        told(actor, "inform", interrupt, thread, comment, channel)
    return comment


def locked(interrupt: Interrupt) -> Thread:
    """The question's thread under its lock, and the question as it is now: nobody decides it meanwhile."""
    threads = store.verdicts.lock_threads([interrupt.thread_id])
    if interrupt.thread_id not in threads:
        raise NotPossible(_("This question is no longer open."))
    interrupt.refresh_from_db(fields=CHANGING)
    return threads[interrupt.thread_id]


def turned(interrupt: Interrupt, status: str, fields: dict[str, Any]) -> None:
    Interrupt.objects.filter(pk=interrupt.pk).update(status=status, **fields)


def told(actor: Person, action: str, interrupt: Interrupt, thread: Thread, comment: Comment, channel: str) -> None:
    audit.record(actor, action, "interrupt", interrupt.pk, {"comment": comment.pk}, channel)
    seq = queues.advance_cursor(interrupt.queue_id)
    store.verdicts.number(interrupt.pk, seq)
    changed = hints.question_changed(thread, str(interrupt.pk), interrupt.queue_id, seq)
    outbox.put([*changed, *comments.mentioned(comment)])
