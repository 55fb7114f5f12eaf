"""The next thing that is said to a thread that keeps a conversation: its next turn, waiting for a worker."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from django.db import transaction
from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext as _

from graphs import outbox, store
from graphs.actions import audit, hints, threads
from graphs.actions.actors import actor_name
from graphs.actions.errors import NotPossible
from graphs.engine import canonical, failpoints, superstep, turns
from graphs.engine.ports import ThreadRef
from graphs.engine.statuses import ThreadStatus
from graphs.library import registry
from graphs.models import Lease, Thread
from graphs.models.clock import Now

if TYPE_CHECKING:
    from graphs.actions.actors import Person
    from graphs.engine.graph import CompiledGraph
    from graphs.engine.ports import Commit

SAY = "say"


def say(
    actor: Person, thread: Thread, given: Any, *, submission_key: str | None = None, channel: str = "form"
) -> Thread:
    """Begin the next turn of an ended thread with an input, and ring for a worker; it is stored when this returns.

    It never answers a question: while one is open the thread takes nothing else. The same `submission_key` of the same
    person begins one turn. Raises NotFound or NotAllowed, InputInvalid, and NotPossible where the thread is not over,
    failed, keeps no conversation, or its graph changed.
    """
    threads.require(actor, SAY, thread)
    if known := said_before(actor, thread, submission_key):
        return known
    graph = graph_of(thread)
    try:
        commit = begun(actor, thread, graph, threads.valid_input(graph, given))
    except NotPossible:
        # A second press of one button finds the thread at work on what the first has sent.
        if known := said_before(actor, thread, submission_key):
            return known
        raise
    with transaction.atomic():
        locked = threads.lock(thread)
        if known := said_before(actor, thread, submission_key):
            return known
        refuse(ThreadStatus(locked.status))
        write(locked, commit)
        threads.remember(actor, SAY, submission_key, locked)
        audit.record(actor, SAY, "thread", thread.uid, {"input": canonical.digest(given)}, channel)
        outbox.put([outbox.wake(threads.describe(locked)), *hints.thread_changed(locked)])
        failpoints.reach("say_before_commit")
    thread.refresh_from_db()
    return thread


def said_before(actor: Person, thread: Thread, submission_key: str | None) -> Thread | None:
    """The thread, where this submission has begun a turn of it. Raises NotPossible where it did so in another one."""
    known = threads.submitted(actor, SAY, submission_key)
    if known is not None and known.pk != thread.pk:
        raise NotPossible(_("This was sent to another thread already. Open the page anew to send it here."))
    return known


def graph_of(thread: Thread) -> CompiledGraph:
    """The graph that a thread's next turn runs on. Raises NotPossible where it is gone, or keeps no conversation."""
    try:
        graph = registry.pinned(thread.graph_id, thread.fingerprint)
    except registry.UnknownGraph:
        raise NotPossible(_("Its graph is not registered any more.")) from None
    if not keeps_conversation(graph):
        raise NotPossible(_("This graph keeps no conversation; start another thread of it."))
    return graph


def keeps_conversation(graph: CompiledGraph) -> bool:
    """Whether a thread of this graph can be talked to again after its end: it has a channel of messages."""
    named = any(name == "messages" or name.startswith("messages:") for name in graph.channels)
    return named and not graph.single_output


def begun(actor: Person, thread: Thread, graph: CompiledGraph, given: Any) -> Commit:
    """What the next turn is written as. Making it needs no lock; the step it follows is checked when it is written."""
    loaded = store.load(ThreadRef(thread.graph_id, thread.thread_id))
    if loaded is None:
        raise NotPossible(_("This thread is gone."))
    refuse(loaded.snapshot.status)
    if why := superstep.compatible(graph, loaded.snapshot.cells):
        raise NotPossible(_("Its graph changed, so that it cannot go on: %(why)s.") % {"why": why})
    context = loaded.snapshot.cells.get("context") or {}
    commit = turns.begun(graph, loaded.snapshot, given, state={}, context=context, at=timezone.now())
    told = [{**one, "data": {**one["data"], "by": actor_name(actor)}} for one in commit.events]
    return replace(commit, status=ThreadStatus.READY, events=tuple(told))


def refuse(status: ThreadStatus) -> None:
    """Say why nothing can be said to a thread of this status, where nothing can."""
    if status in turns.FOLLOWED:
        return
    if status is ThreadStatus.INTERRUPTED:
        raise NotPossible(_("It waits for a decision; nothing else can be said to it before."))
    if status is ThreadStatus.FAILED:
        raise NotPossible(_("It failed. Retry it first; it goes on where it failed."))
    raise NotPossible(_("It is %(status)s and takes nothing new before it has ended.") % {"status": _(str(status))})


def write(thread: Thread, commit: Commit) -> None:
    """Write the turn under the thread's lock. Whoever still believes to hold its lease writes nothing after this."""
    Lease.objects.filter(pk=thread.pk).update(token=F("token") + 1, expires_at=None, holder="", barren=0)
    token = Lease.objects.values_list("token", flat=True).get(pk=thread.pk)
    tail = store.Tail(thread.full_step, thread.full_size, thread.tail_size)
    if store.write_superstep(thread.pk, token, store.Superstep.of(thread.pk, commit, tail)) is None:
        raise NotPossible(_("Something else was said to it at the same moment."))
    Thread.objects.filter(pk=thread.pk).update(ready_at=Now(), cancel_reason="")
