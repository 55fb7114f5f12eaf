"""Forks: a new thread from any checkpoint of another one, with edited state. The other one stays as it is (E25)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from django.db import IntegrityError, transaction

from graphs import outbox, store
from graphs.actions import audit, hints
from graphs.actions.errors import InputInvalid, NotPossible
from graphs.actions.threads import describe, new_thread, remember, require, submitted
from graphs.engine import canonical, failpoints, forking
from graphs.engine.errors import CannotFork, DefinitionChanged, PayloadError
from graphs.engine.ports import Cells, Json, ThreadRef, ThreadStart
from graphs.library import registry
from graphs.models import Decision, Thread

if TYPE_CHECKING:
    from graphs.actions.actors import Actor

FORK = "fork"


@dataclass(frozen=True, slots=True)
class Origin:
    """What a fork from one checkpoint would begin with: channels to edit, nodes that run next, effects that would ask
    again (node path and key), how many decisions it goes on with. `why_not` says why nothing can begin there."""

    step: int
    channels: Mapping[str, Json]
    decided: int = 0
    next: tuple[str, ...] = ()
    effects: tuple[tuple[str, str], ...] = ()
    why_not: str = ""


def fork(
    actor: Actor,
    thread: Thread,
    step: int,
    state: Mapping[str, Any] | None = None,
    *,
    submission_key: str | None = None,
    channel: str = "form",
) -> Thread:
    """Make a thread that goes on from checkpoint `step` of this one, with these channels set, and ring for a worker.

    For operators. It is the same requester's, in the same conversation. Its questions are asked again, and so are the
    effects that the parent had after that checkpoint (see engine/forking.py). The same `submission_key` returns the
    first fork.
    Raises NotFound or NotAllowed, NotPossible (no such checkpoint, nothing to run, definition gone), InputInvalid.
    """
    require(actor, "fork", thread)
    if known := submitted(actor, FORK, submission_key):
        return known
    begun = begin(thread, step, state or {})
    try:
        return insert(actor, thread, step, begun, dict(state or {}), submission_key, channel)
    except IntegrityError:
        if known := submitted(actor, FORK, submission_key):
            return known
        raise


def begin(thread: Thread, step: int, state: Mapping[str, Any]) -> ThreadStart:
    """What the fork begins with. Checkpoints never change and journals only grow, so this needs no lock."""
    loaded = store.load(ThreadRef(thread.graph_id, thread.thread_id))
    assert loaded is not None
    try:
        graph = registry.pinned(thread.graph_id, thread.fingerprint)
        cells = store.cells_at(loaded.thread, step)
        return forking.begin(graph, loaded.snapshot, step, cells, store.forks.journals(thread.pk), state)
    except (registry.UnknownGraph, CannotFork, DefinitionChanged) as error:
        raise NotPossible(str(error)) from None
    except PayloadError as error:
        raise InputInvalid([(error.path, error.reason)]) from None


def insert(
    actor: Actor,
    parent: Thread,
    step: int,
    begun: ThreadStart,
    state: dict[str, Any],
    submission_key: str | None,
    channel: str,
) -> Thread:
    child = new_thread(parent.graph_id, uuid4().hex, begun, parent.conversation, parent.title)
    child.parent, child.parent_step = parent, step
    with transaction.atomic():
        store.create(child, begun)
        remember(actor, FORK, submission_key, child)
        facts = {"fork": str(child.uid), "step": step, "state": canonical.digest(state)}
        audit.record(actor, "fork", "thread", parent.uid, facts, channel)
        origin = {"graph": child.graph_id, "input": canonical.digest(begun.input), "parent": str(parent.uid)}
        audit.record(actor, "start", "thread", child.uid, origin, channel)
        outbox.put([outbox.wake(describe(child)), *hints.thread_changed(child), *hints.thread_changed(parent)])
        failpoints.reach("fork_before_commit")
    return child


def origin(thread: Thread, step: int) -> Origin | None:
    """What a person sees before forking; None where there is no such checkpoint."""
    cells = store.cells_at(thread, step)
    if cells is None:
        return None
    channels = forking.channels(cells)
    try:
        begun = begin(thread, step, {})
    except NotPossible as refusal:
        why = str(refusal)
        return Origin(step, channels, why_not=f"{why[:1].upper()}{why[1:]}.")
    return Origin(step, channels, decided(thread, step), running(begun.cells), effects(begun.cells))


def decided(thread: Thread, step: int) -> int:
    """The verdicts of tasks that were over at this checkpoint: a fork goes on with them, and asks nobody again."""
    asked = {"interrupt__thread": thread, "interrupt__task__applied": True, "interrupt__task__step__lte": step}
    return Decision.objects.filter(**asked).count()


def running(cells: Cells) -> tuple[str, ...]:
    """The paths of the tasks that are ready; one that holds a nested graph is not, its inner ones are."""
    names = [name.removeprefix("task:") for name in cells if name.startswith("task:")]
    return tuple(sorted(name.rpartition("#")[0] for name in names if f"nest:{name}" not in cells))


def effects(cells: Cells) -> tuple[tuple[str, str], ...]:
    """Node path and key of each effect that the fork inherits and would ask about."""
    found = []
    for name, rows in sorted(cells.items()):
        if name.startswith("inherited:"):
            path = name.removeprefix("inherited:").rpartition("#")[0]
            found += [(path, key) for key, _, mode, _ in rows if mode != "pure"]
    return tuple(found)
