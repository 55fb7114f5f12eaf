"""Taking a decision back while its hold lasts: nothing has acted on it yet, so the question is simply open again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import transaction
from django.utils.translation import gettext as _

from graphs import outbox, permissions, store
from graphs.actions import audit, hints, queues
from graphs.actions.decisions import find, latest
from graphs.actions.errors import NotAllowed, NotFound, NotPossible
from graphs.models import Interrupt, Trust

if TYPE_CHECKING:
    from graphs.actions.actors import Person


def undo(actor: Person, interrupt_id: str, *, channel: str = "form") -> Interrupt:
    """Open the question again at the next version and round; the decision stays in history (U25).

    The row count of one conditional UPDATE in the database's clock is the truth: what a run may have read is past its
    hold, and past its hold nothing is undone. Raises NotFound, NotAllowed, NotPossible.
    """
    interrupt = find(actor, interrupt_id)
    decision = latest(interrupt.pk)
    if decision is None:
        raise NotPossible(_("Nobody has decided this question yet."))
    ruling = permissions.ruling(actor, "undo", decision)
    if not ruling:
        raise NotAllowed(ruling.reason)
    with transaction.atomic():
        threads = store.verdicts.lock_threads([interrupt.thread_id])
        if interrupt.thread_id not in threads:
            raise NotFound(_("There is no such question."))
        if not store.verdicts.reopen(interrupt.pk):
            raise NotPossible(_("The time to undo this has passed: the run goes on with it."))
        # What came with the decision never counted either, and the next one may give it again.
        Trust.objects.filter(pk=interrupt.pk).delete()
        facts = {"round": decision.round, "outcome": decision.outcome, "decided": decision.audit_seq}
        audit.record(actor, "undo", "interrupt", interrupt.pk, facts, channel)
        seq = queues.advance_cursor(interrupt.queue_id)
        store.verdicts.number(interrupt.pk, seq)
        thread = threads[interrupt.thread_id]
        outbox.put(hints.question_changed(thread, str(interrupt.pk), interrupt.queue_id, seq))
    interrupt.refresh_from_db()
    return interrupt
