"""Starting, forking, suspending, retrying and cancelling threads."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from django.db import IntegrityError, connection, transaction
from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from graphs import outbox, permissions, store
from graphs.actions import audit, hints, queues
from graphs.actions.actors import System, actor_name, person_id
from graphs.actions.errors import InputInvalid, NotAllowed, NotFound, NotPossible
from graphs.actions.titles import title_of
from graphs.engine import canonical, events, failpoints, schemas, superstep
from graphs.engine.errors import PayloadError, ThreadExists
from graphs.engine.ports import TaskKey, ThreadStart
from graphs.engine.statuses import InterruptStatus, ThreadStatus
from graphs.library import registry
from graphs.models import Conversation, IdempotencyKey, Interrupt, Lease, OutboxMessage, Thread, ThreadEvent
from graphs.models.clock import Now
from graphs.models.moves import ANSWERABLE, sources

if TYPE_CHECKING:
    from graphs.actions.actors import Actor, Person
    from graphs.engine.graph import CompiledGraph

START = "start"
ID_LIMIT = 200
REASON_LIMIT = 250


def start(
    actor: Person,
    graph_id: str,
    input: Any,
    *,
    thread_id: str | None = None,
    submission_key: str | None = None,
    channel: str = "form",
    conversation: Conversation | None = None,
) -> Thread:
    """Start a thread of a registered graph and ring for a worker; it is stored when this returns.

    The same `submission_key` from the same person returns the thread of the first time.
    Raises NotFound (no such graph), NotAllowed, InputInvalid with pointers, ThreadExists.
    """
    if not permissions.can(actor, "start"):
        raise NotAllowed(_("Sign in to start a thread."))
    graph = graph_of(graph_id)
    # Serialising and planning need no lock, so they are done before there is one.
    begun = superstep.begin(graph, valid_input(graph, input))
    name = valid_id(thread_id)
    if known := submitted(actor, START, submission_key):
        return known
    try:
        return insert(actor, graph, begun, name, submission_key, channel, conversation)
    except IntegrityError:
        # Either the same submission won a race against this one, or the id is taken.
        if known := submitted(actor, START, submission_key):
            return known
        if Thread.objects.filter(graph_id=graph.id, thread_id=name).exists():
            raise ThreadExists(
                _("There is a thread %(name)s of %(id)s already.") % {"name": f"{name!r}", "id": f"{graph.id!r}"}
            ) from None
        raise


def graph_of(graph_id: str) -> CompiledGraph:
    try:
        return registry.get(graph_id)
    except registry.UnknownGraph:
        raise NotFound(_("There is no such graph.")) from None


def valid_input(graph: CompiledGraph, given: Any) -> Any:
    try:
        value = canonical.encode(given)
    except PayloadError as error:
        raise InputInvalid([(error.path, error.reason)]) from None
    if graph.input_schema is None:
        return value
    value = schemas.fill(graph.input_schema, value)
    if problems := schemas.validate(graph.input_schema, value):
        raise InputInvalid(problems)
    return value


def valid_id(thread_id: str | None) -> str:
    if thread_id is None:
        return uuid4().hex
    if not 0 < len(thread_id) <= ID_LIMIT or not thread_id.isprintable():
        raise InputInvalid(
            [("/thread_id", _("must be printable text of 1 to %(most)s characters") % {"most": ID_LIMIT})]
        )
    return thread_id


def submitted(actor: Actor, scope: str, key: str | None) -> Thread | None:
    if not key or isinstance(actor, System):
        return None
    found = IdempotencyKey.objects.filter(scope=scope, user_id=person_id(actor), key=key).first()
    return Thread.objects.select_related("conversation").filter(pk=found.result).first() if found else None


def insert(
    actor: Person,
    graph: CompiledGraph,
    begun: ThreadStart,
    name: str,
    submission_key: str | None,
    channel: str,
    conversation: Conversation | None,
) -> Thread:
    title = title_of(graph, begun.input)
    with transaction.atomic():
        chat = conversation or store.open_conversation(
            Conversation(requester_id=actor.pk, requester_name=actor_name(actor), title=title[:200])
        )
        thread = new_thread(graph.id, name, begun, chat, title)
        store.create(thread, begun)
        remember(actor, START, submission_key, thread)
        facts = {"graph": graph.id, "input": canonical.digest(begun.input)}
        audit.record(actor, "start", "thread", thread.uid, facts, channel)
        outbox.put([outbox.wake(describe(thread)), *hints.thread_changed(thread)])
        failpoints.reach("start_before_commit")
    failpoints.reach("start_after_commit")
    return thread


def remember(actor: Actor, scope: str, key: str | None, thread: Thread) -> None:
    if key and not isinstance(actor, System):
        IdempotencyKey.objects.create(scope=scope, user_id=person_id(actor), key=key, result=str(thread.pk))


def new_thread(graph_id: str, thread_id: str, begun: ThreadStart, chat: Conversation, title: str = "") -> Thread:
    """The unsaved row of a thread that begins."""
    return Thread(
        graph_id=graph_id,
        thread_id=thread_id,
        conversation=chat,
        title=(title or graph_id)[:200],
        fingerprint=begun.fingerprint,
        graph_version=begun.graph_version,
        input=begun.input,
        metadata=dict(begun.metadata) or None,
    )


def describe(thread: Thread) -> str:
    return f"thread {thread.thread_id} of {thread.graph_id}"


def retry(actor: Actor, thread: Thread, *, channel: str = "form") -> Thread:
    """Let a failed, quarantined or version-waiting thread run again; its failed tasks keep journal and answers (Z04).

    Raises NotFound or NotAllowed, and NotPossible where the thread is in another status.
    """
    require(actor, "retry", thread)
    with transaction.atomic():
        locked = lock(thread)
        if not revive(locked):
            raise NotPossible(
                _("Only a thread that failed can be retried; this one is %(status)s.")
                % {"status": _(locked.get_status_display())}
            )
        audit.record(actor, "retry", "thread", thread.uid, channel=channel)
        outbox.put([outbox.wake(describe(thread)), *hints.thread_changed(thread)])
        failpoints.reach("retry_before_commit")
    thread.refresh_from_db()
    return thread


#: What is done to a thread, as a refusal calls it.
ACTS = {
    "cancel": gettext_lazy("cancel"),
    "suspend": gettext_lazy("suspend"),
    "resume": gettext_lazy("resume"),
    "retry": gettext_lazy("retry"),
    "fork": gettext_lazy("fork"),
    "migrate": gettext_lazy("migrate"),
    "say": gettext_lazy("say something in"),
}
#: What a thread's row says that nobody wants suspended.
NOT_SUSPENDED: dict[str, Any] = {"suspend_at": None, "suspended_by": "", "suspend_reason": ""}
REVIVABLE = (ThreadStatus.FAILED, ThreadStatus.QUARANTINED, ThreadStatus.WAITING_VERSION)


def revive(thread: Thread) -> bool:
    """Make a locked thread ready again; False where its status does not allow it."""
    assert connection.in_atomic_block
    stopped = Thread.objects.filter(pk=thread.pk, status__in=REVIVABLE)
    woken = {"status": ThreadStatus.READY, "ready_at": Now(), "updated_at": Now(), **NOT_SUSPENDED}
    if not stopped.update(error=None, ended_at=None, **woken):
        return False
    store.reset_failed(thread.pk)
    # The acquisitions that led to quarantine are forgiven: a person has looked at it.
    Lease.objects.filter(pk=thread.pk).update(barren=0)
    return True


def require(actor: Actor, action: str, thread: Thread) -> None:
    if isinstance(actor, System) or permissions.can(actor, action, thread):
        return
    if permissions.can(actor, "view", thread):
        # Of those who may steer it some may not undo what others did.
        steers = permissions.can(actor, "suspend", thread)
        who = _("operators") if steers or action in permissions.OPERATING else _("the requester and operators")
        what = str(ACTS.get(action, action))
        raise NotAllowed(_("Only %(who)s may %(what)s this thread.") % {"who": who, "what": what})
    raise NotFound(_("There is no such thread."))


def lock(thread: Thread) -> Thread:
    """The row as it is now, locked. Its lease is locked first, in the same order as every commit does."""
    assert connection.in_atomic_block
    list(Lease.objects.select_for_update().filter(pk=thread.pk).values_list("pk"))
    return Thread.objects.select_for_update(of=("self",), no_key=True).select_related("conversation").get(pk=thread.pk)


def cancel(actor: Actor, thread: Thread, reason: str = "", *, channel: str = "form") -> Thread:
    """Cancel a thread: at once where no job works on it, else at its next commit, and by force after a lease's time.

    Open questions are withdrawn. A step that was running may have finished: what it did outside stays done.
    Raises NotFound or NotAllowed, and NotPossible where the thread has ended.
    """
    require(actor, "cancel", thread)
    with transaction.atomic():
        locked = lock(thread)
        if locked.status not in sources(ThreadStatus.CANCELLED):
            raise NotPossible(
                _("This thread is %(status)s and cannot be cancelled.") % {"status": _(locked.get_status_display())}
            )
        why = tidy(reason) or f"cancelled by {actor_name(actor)}"
        audit.record(actor, "cancel", "thread", thread.uid, {"reason": canonical.digest(why)}, channel)
        Thread.objects.filter(pk=thread.pk).update(cancel_at=Now(), cancel_reason=why)
        locked.cancel_reason = why
        if locked.status != ThreadStatus.RUNNING:
            outbox.put(finish_cancelled(locked))
        else:
            outbox.put(hints.thread_changed(locked))
        failpoints.reach("cancel_before_commit")
    thread.refresh_from_db()
    return thread


def tidy(reason: str) -> str:
    return reason.replace("\x00", "").strip()[:REASON_LIMIT]


def suspend(actor: Actor, thread: Thread, reason: str = "", *, channel: str = "form") -> Thread:
    """Keep a thread from going on until it is resumed: at once where no job works on it, else at its next commit (E17).

    Its questions stay open; answers to them are recorded and wake nobody. Raises NotFound or NotAllowed, and
    NotPossible where the thread has ended, has been set aside, or is suspended already.
    """
    require(actor, "suspend", thread)
    with transaction.atomic():
        locked = lock(thread)
        if locked.suspend_at is not None:
            raise NotPossible(_("This thread is suspended already, or about to be."))
        if locked.cancel_at is not None:
            raise NotPossible(_("This thread is being cancelled."))
        if locked.status not in sources(ThreadStatus.SUSPENDED):
            raise NotPossible(
                _("This thread is %(status)s and cannot be suspended.") % {"status": _(locked.get_status_display())}
            )
        why = tidy(reason)
        asked = {"suspend_at": Now(), "suspended_by": actor_name(actor), "suspend_reason": why, "updated_at": Now()}
        Thread.objects.filter(pk=thread.pk).update(**asked)
        if locked.status != ThreadStatus.RUNNING:
            Thread.objects.filter(pk=thread.pk).update(status=ThreadStatus.SUSPENDED)
        audit.record(actor, "suspend", "thread", thread.uid, {"reason": canonical.digest(why)}, channel)
        outbox.put(hints.thread_changed(locked))
        failpoints.reach("suspend_before_commit")
    thread.refresh_from_db()
    return thread


def rest_suspended(pk: int) -> bool:
    """Suspend a thread whose job ends or has died, where somebody asked for that; False where nobody did.

    Without it the request would wait for a superstep that must not begin any more.
    """
    assert connection.in_atomic_block
    asked = Thread.objects.filter(pk=pk, status=ThreadStatus.RUNNING, suspend_at__isnull=False)
    if not asked.update(status=ThreadStatus.SUSPENDED, updated_at=Now()):
        return False
    outbox.put(hints.thread_changed(Thread.objects.select_related("conversation").get(pk=pk)))
    return True


def resume(actor: Actor, thread: Thread, *, channel: str = "form") -> Thread:
    """Let a suspended thread go on, with the answers that came meanwhile; or take back a request to suspend it.

    Raises NotFound or NotAllowed, and NotPossible where nobody has suspended it.
    """
    require(actor, "resume", thread)
    with transaction.atomic():
        locked = lock(thread)
        resting = locked.status == ThreadStatus.SUSPENDED
        if not resting and (locked.status != ThreadStatus.RUNNING or locked.suspend_at is None):
            raise NotPossible(
                _("Only a suspended thread can be resumed; this one is %(status)s.")
                % {"status": _(locked.get_status_display())}
            )
        Thread.objects.filter(pk=thread.pk).update(updated_at=Now(), **NOT_SUSPENDED)
        messages = hints.thread_changed(locked)
        if resting:
            Thread.objects.filter(pk=thread.pk).update(status=ThreadStatus.READY, ready_at=Now())
            messages.append(outbox.wake(describe(locked)))
        audit.record(actor, "resume", "thread", thread.uid, channel=channel)
        outbox.put(messages)
        failpoints.reach("resume_before_commit")
    thread.refresh_from_db()
    return thread


def finish_cancelled(thread: Thread) -> list[OutboxMessage]:
    """End a locked thread as cancelled: whoever still holds its lease writes nothing more. Returns what to say."""
    assert connection.in_atomic_block
    Lease.objects.filter(pk=thread.pk).update(token=F("token") + 1, expires_at=None, holder="")
    why = thread.cancel_reason
    Thread.objects.filter(pk=thread.pk, status__in=[*sources(ThreadStatus.CANCELLED), ThreadStatus.CANCELLED]).update(
        status=ThreadStatus.CANCELLED,
        error={"type": "Cancelled", "message": why},
        active=None,
        cancel_at=None,
        suspend_at=None,
        next_seq=F("next_seq") + 1,
        ended_at=Now(),
        updated_at=Now(),
    )
    seq = Thread.objects.values_list("next_seq", flat=True).get(pk=thread.pk) - 1
    data = {"status": str(ThreadStatus.CANCELLED), "reason": why}
    ThreadEvent.objects.create(thread=thread, seq=seq, type=events.GRAPH_END, data=data, at=timezone.now())
    return withdraw_open(thread, why) + hints.thread_changed(thread)


def withdraw_open(thread: Thread, why: str, tasks: Collection[TaskKey] | None = None) -> list[OutboxMessage]:
    """Take back the open questions of a thread that ends, or of these tasks of it, so that nobody answers into nothing.
    Returns what to say."""
    assert connection.in_atomic_block
    messages: list[OutboxMessage] = []
    for pk, queue_id, path, visit in store.open_of(thread.pk):
        if tasks is not None and TaskKey(path, visit) not in tasks:
            continue
        seq = queues.advance_cursor(queue_id)
        Interrupt.objects.filter(pk=pk, status__in=ANSWERABLE).update(
            status=InterruptStatus.WITHDRAWN,
            closed_because=why[:200],
            closed_at=Now(),
            version=F("version") + 1,
            seq=seq,
        )
        messages += hints.question_changed(thread, str(pk), queue_id, seq)
    return messages
