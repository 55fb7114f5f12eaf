"""Definitions that change under threads: which threads a deploy would strand, and moving them to the new one (F26)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.db import connection, transaction
from django.utils.translation import gettext as _

from graphs import outbox, store
from graphs.actions import audit, hints
from graphs.actions.errors import NotPossible
from graphs.actions.threads import describe, lock, require
from graphs.engine import failpoints, migrating, superstep
from graphs.engine.graph import CompiledGraph
from graphs.engine.machine import Machine
from graphs.engine.ports import Cells, Commit
from graphs.engine.statuses import ThreadStatus
from graphs.library import registry
from graphs.models import Interrupt, Lease, Thread
from graphs.models.clock import Now

if TYPE_CHECKING:
    from graphs.actions.actors import Actor

#: A thread in one of these goes on under whatever definition is installed when it is woken.
WAITING = (
    ThreadStatus.READY,
    ThreadStatus.RUNNING,
    ThreadStatus.INTERRUPTED,
    ThreadStatus.SUSPENDED,
    ThreadStatus.WAITING_VERSION,
    ThreadStatus.QUARANTINED,
)
#: How many threads that are stranded for one reason are named.
NAMED = 20
#: Those that nobody runs at this moment and that wait for people or for their version: these can be moved.
MOVABLE = (ThreadStatus.INTERRUPTED, ThreadStatus.SUSPENDED, ThreadStatus.WAITING_VERSION)


@dataclass(frozen=True, slots=True)
class Stranded:
    """Threads of one graph that could not go on, for one reason; `node` is the one it names, where it names one.

    `threads` are the ids of the oldest, at most NAMED.
    """

    graph_id: str
    version: str
    node: str
    reason: str
    count: int
    threads: tuple[str, ...] = ()


def stranded() -> list[Stranded]:
    """The threads that the installed definitions would leave waiting, by graph, version and reason."""
    found: Counter[tuple[str, str, str]] = Counter()
    named: dict[tuple[str, str, str], list[str]] = {}
    pinned: dict[tuple[str, str], CompiledGraph | str] = {}
    waiting = Thread.objects.filter(status__in=WAITING).order_by("pk")
    fields = ("pk", "thread_id", "graph_id", "graph_version", "fingerprint", "step", "full_step")
    for thread in waiting.only(*fields).iterator(chunk_size=500):
        key = (thread.graph_id, thread.fingerprint)
        graph = pinned.setdefault(key, installed(*key))
        reason = graph if isinstance(graph, str) else misfit(graph, thread)
        if reason:
            place = (thread.graph_id, thread.graph_version, reason)
            found[place] += 1
            if found[place] <= NAMED:
                named.setdefault(place, []).append(thread.thread_id)
    return [
        Stranded(graph, version, node_of(reason), reason, count, tuple(named[graph, version, reason]))
        for (graph, version, reason), count in sorted(found.items())
    ]


def installed(graph_id: str, fingerprint: str) -> CompiledGraph | str:
    """The definition that a thread with this fingerprint would run on, or why there is none."""
    try:
        return registry.pinned(graph_id, fingerprint)
    except registry.UnknownGraph as error:
        return str(error)


def misfit(graph: CompiledGraph, thread: Thread) -> str:
    if graph.fingerprint == thread.fingerprint:
        return ""
    return superstep.compatible(graph, store.cells_at(thread, thread.step) or {})


def node_of(reason: str) -> str:
    """The node that a reason names first."""
    before, found, rest = reason.partition("node '")
    return rest.partition("'")[0] if found and not before else ""


def movable(graph_id: str, target: CompiledGraph) -> Iterator[Thread]:
    """The waiting threads of this graph that are on another definition than `target`."""
    rows = Thread.objects.filter(graph_id=graph_id, status__in=MOVABLE).exclude(fingerprint=target.fingerprint)
    yield from rows.select_related("conversation").order_by("pk")


def plan(thread: Thread, target: CompiledGraph, names: Mapping[str, str]) -> tuple[Cells, Cells]:
    """The thread's cells as they are and as they would be. Raises CannotMigrate naming the node that does not fit."""
    before = store.cells_at(thread, thread.step) or {}
    return before, migrating.migrated(target, before, names)


def migrate(
    actor: Actor, thread: Thread, target: CompiledGraph, names: Mapping[str, str], *, channel: str = "command"
) -> Thread:
    """Move one waiting thread to `target` by renaming its nodes, all of it or nothing; its questions stay open.

    One that waited for its version is ready again. Raises NotFound or NotAllowed, NotPossible (it runs, has ended or is
    there already), CannotMigrate naming the node.
    """
    require(actor, "migrate", thread)
    with transaction.atomic():
        locked = lock(thread)
        if locked.status not in MOVABLE:
            raise NotPossible(
                _("Only a waiting thread can be migrated; this one is %(status)s.")
                % {"status": _(locked.get_status_display())}
            )
        if locked.fingerprint == target.fingerprint:
            # Somebody else has just moved it; to rename its nodes once more could undo that.
            raise NotPossible(_("This thread is on that definition already."))
        before, after = plan(locked, target, names)
        write(locked, target, before, after, names)
        rename(locked, names)
        facts = {"from": locked.fingerprint, "to": target.fingerprint, "version": target.version, "map": dict(names)}
        audit.record(actor, "migrate", "thread", thread.uid, facts, channel)
        woken = [outbox.wake(describe(locked))] if locked.status == ThreadStatus.WAITING_VERSION else []
        outbox.put([*woken, *hints.thread_changed(locked)])
        failpoints.reach("migrate_before_commit")
    thread.refresh_from_db()
    return thread


def write(locked: Thread, target: CompiledGraph, before: Cells, after: Cells, names: Mapping[str, str]) -> None:
    """One more checkpoint, whose log holds the mapping."""
    assert connection.in_atomic_block
    waits = ThreadStatus(locked.status)
    status = ThreadStatus.READY if waits is ThreadStatus.WAITING_VERSION else waits
    commit = Commit(
        locked.step + 1,
        status,
        migrating.difference(before, after),
        lambda: after,
        active=tuple(Machine(target, dict(after)).tasks),
        log={"kind": "migrate", "map": dict(names)},
    )
    tail = store.Tail(locked.full_step, locked.full_size, locked.tail_size)
    token = Lease.objects.values_list("token", flat=True).get(pk=locked.pk)
    if store.write_superstep(locked.pk, token, store.Superstep.of(locked.pk, commit, tail)) is None:
        raise NotPossible(_("This thread has just gone on."))
    pinned: dict[str, Any] = {"fingerprint": target.fingerprint, "graph_version": target.version}
    Thread.objects.filter(pk=locked.pk).update(ready_at=Now(), **pinned)


def rename(locked: Thread, names: Mapping[str, str]) -> None:
    """The rows that name nodes: tasks by their paths, questions by the id of their node."""
    paths = {old: migrating.moved_path(old, names) for old in store.forks.task_paths(locked.pk)}
    moved = {old: new for old, new in paths.items() if new and new != old}
    store.forks.rename_tasks(locked.pk, moved)
    before = {new: old.rpartition("/")[2] for old, new in moved.items()}
    questions = Interrupt.objects.filter(thread=locked, task__path__in=list(before)).select_related("task")
    for question in questions.only("node_id", "task__path"):
        # A question of a child that the node runs names the child.
        if question.node_id == before[question.task.path]:
            question.node_id = question.task.path.rpartition("/")[2]
            question.save(update_fields=["node_id"])
