"""Giving and revoking trust: calls that need not be asked about again (Z54)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.db import connection, transaction
from django.utils.translation import gettext as _

from graphs import outbox, permissions, store
from graphs.actions import audit, hints
from graphs.actions.actors import System, actor_id, actor_name
from graphs.actions.errors import NotAllowed, NotFound, NotPossible
from graphs.engine import canonical, trust
from graphs.engine.interrupts import Decision as Verdict
from graphs.engine.ports import ThreadRef
from graphs.engine.statuses import Outcome
from graphs.models import Thread, Trust
from graphs.models.clock import Now

if TYPE_CHECKING:
    from graphs.actions.actors import Actor
    from graphs.models import Decision, Interrupt


def require(actor: Actor, interrupt: Interrupt, value: Any) -> None:
    """Whoever decides may trust a thread or a conversation; all threads of an agent are for those who administer the
    queue, since it ends the question for everybody. Raises NotAllowed."""
    if asked(value) != trust.AGENT or isinstance(actor, System) or permissions.can(actor, "trust", interrupt):
        return
    raise NotAllowed(_("Only who administers this queue may trust every thread of an agent; choose a smaller scope."))


def keep(actor: Actor, row: Interrupt, decision: Decision, channel: str) -> None:
    """Store the trust that came with a decision, where any did, within the decision's transaction."""
    assert connection.in_atomic_block
    grant = grant_of(row, decision)
    if grant is None:
        return
    thread = row.thread
    given = Trust.objects.create(
        id=row.pk,
        graph_id=thread.graph_id,
        agent=grant.agent,
        tool=grant.tool,
        scope=grant.scope,
        arguments=dict(grant.arguments),
        thread=thread,
        conversation_id=thread.conversation_id,
        queue_id=row.queue_id,
        granted_by_id=actor_id(actor),
        granted_by_name=actor_name(actor),
        # While its decision can still be undone it lets nothing through.
        granted_at=decision.held_until or decision.decided_at,
        expires_at=grant.expires_at,
    )
    facts = {"tool": given.tool, "agent": given.agent, "scope": given.scope, "thread": str(thread.uid)}
    facts["arguments"] = canonical.digest(given.arguments)
    facts["expires_at"] = given.expires_at.isoformat() if given.expires_at else ""
    audit.record(actor, "trust", "trust", given.pk, facts, channel)


def grant_of(row: Interrupt, decision: Decision) -> trust.Grant | None:
    """The trust that a decision gives beside its verdict; None where it gives none."""
    if not asked(decision.value):
        return None
    ref = ThreadRef(row.thread.graph_id, row.thread.thread_id)
    verdict = Verdict(Outcome(decision.outcome), decision.value, decision.comment, decision.reviewer_name)
    return trust.granted(store.interrupt_of(row), verdict, ref, decision.decided_at)


def asked(value: Any) -> str:
    """The scope of the trust that an answer gives; empty where it gives none."""
    given = value.get("trust") if isinstance(value, dict) else None
    return str(given.get("scope", "")) if isinstance(given, dict) else ""


def reaching(thread: Thread) -> list[trust.Grant]:
    """What stands and reaches a thread, as the engine reads it."""
    ref = ThreadRef(thread.graph_id, thread.thread_id)
    return [
        trust.Grant(
            str(one.pk),
            ref,
            one.agent,
            one.tool,
            one.scope,
            one.arguments or {},
            one.granted_by_name,
            one.expires_at,
        )
        for one in Trust.objects.reaching(thread)
    ]


def end(thread: Thread, grant_id: str, actor: Actor) -> bool:
    """`revoke` for the engine: by the grant's id, where it reaches the thread; False where none does."""
    try:
        given = Trust.objects.reaching(thread).filter(pk=UUID(grant_id)).first()
    except ValueError:
        return False
    return given is not None and revoke(actor, given, channel="runner").revoked_at is not None


def revoke(actor: Actor, given: Trust, *, channel: str = "form") -> Trust:
    """End trust: from now on such calls are asked about again; those that were made stay made.

    Raises NotFound or NotAllowed, and NotPossible where it has ended already.
    """
    if not isinstance(actor, System) and not permissions.can(actor, "revoke", given):
        if permissions.can(actor, "view", given):
            raise NotAllowed(_("Only who gave it, who decides in its queue, and operators may revoke this."))
        raise NotFound(_("There is no such trust."))
    with transaction.atomic():
        standing = Trust.objects.standing().filter(pk=given.pk)
        if not standing.update(revoked_at=Now(), revoked_by_name=actor_name(actor)):
            raise NotPossible(_("This trust has ended already."))
        audit.record(actor, "revoke", "trust", given.pk, {"tool": given.tool, "scope": given.scope}, channel)
        if given.thread is not None:
            outbox.put(hints.thread_changed(given.thread))
    given.refresh_from_db()
    return given
