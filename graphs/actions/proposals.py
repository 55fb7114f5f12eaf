"""Four eyes on a policy: what one administrator proposes, another one confirms or refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import transaction
from django.utils.translation import gettext as _

from graphs.actions import audit, deadlines, policies
from graphs.actions.actors import actor_name
from graphs.actions.errors import InputInvalid, NotAllowed, NotFound, NotPossible
from graphs.models import PolicyProposal, ProposalState, QueuePolicy
from graphs.models.clock import Now

if TYPE_CHECKING:
    from graphs.actions.actors import Person


def confirm(actor: Person, pk: int, *, channel: str = "form") -> QueuePolicy:
    """Put a proposal in force as the version of who wrote it. Its author cannot.

    Raises NotFound, NotAllowed, NotPossible where it is closed already, Overtaken where another version is in force
    than it was made from, InputInvalid where by now nobody could decide by it.
    """
    found = opened(actor, pk)
    if found.author_id == actor.pk:
        raise NotAllowed(_("You proposed this yourself, so another administrator has to confirm it."))
    with transaction.atomic():
        close(actor, found, ProposalState.CONFIRMED)
        now = policies.latest(found.queue, found.base)
        if problems := policies.unworkable(now, found.spec):
            raise InputInvalid(problems)
        edited = policies.Edited(found.spec, found.base, found.note)
        version = policies.enforced(actor, now, edited, (found.author_id, found.author_name), channel)
    deadlines.refresh_judged()
    return version


def refuse(actor: Person, pk: int, *, channel: str = "form") -> ProposalState:
    """Close a proposal without its coming into force; who wrote it takes it back so.

    Raises NotFound, NotAllowed, NotPossible where it is closed already.
    """
    found = opened(actor, pk)
    state = ProposalState.WITHDRAWN if found.author_id == actor.pk else ProposalState.REFUSED
    with transaction.atomic():
        close(actor, found, state)
        facts = {"proposal": found.pk, "proposed_by": found.author_name, "note": found.note}
        verb = "withdraw_policy" if state is ProposalState.WITHDRAWN else "refuse_policy"
        audit.record(actor, verb, "queue", found.queue.slug, facts, channel)
    return state


def opened(actor: Person, pk: int) -> PolicyProposal:
    """A proposal of a queue that this person administers."""
    found = PolicyProposal.objects.filter(pk=pk).select_related("queue").first()
    if found is None:
        raise NotFound(_("There is no such proposal."))
    policies.allowed(actor, found.queue)
    return found


def close(actor: Person, found: PolicyProposal, state: ProposalState) -> None:
    """The compare-and-set: of two who answer it, one does. Raises NotPossible."""
    still = PolicyProposal.objects.waiting().filter(pk=found.pk)
    if still.update(state=state, closed_by_name=actor_name(actor), closed_at=Now()):
        return
    found.refresh_from_db()
    raise NotPossible(
        _("%(name)s has %(state)s this proposal already.")
        % {"name": found.closed_by_name or _("The system"), "state": _(found.state)}
    )
