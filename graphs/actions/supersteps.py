"""The engine's port on the Django tables: each write is one transaction, fenced by the holder's lease (R3)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from django.conf import settings
from django.db import IntegrityError, connection, transaction
from django.utils.translation import gettext as _

from graphs import outbox, permissions, store
from graphs.actions import hints, leases, questions, threads, trust
from graphs.actions.actors import System, actor_id, actor_name
from graphs.actions.errors import NotAllowed
from graphs.actions.failures import log_failure
from graphs.actions.mainthread import hop
from graphs.actions.streaming import Said, Streaming, forget_words
from graphs.agents.models import is_reply
from graphs.engine import failpoints
from graphs.engine.errors import LeaseLost, ThreadEnded, ThreadExists, ThreadSuspended, UnknownThread
from graphs.engine.interrupts import Decision, Interrupt
from graphs.engine.messages import Message
from graphs.engine.ports import (
    Answer,
    Cells,
    CheckpointInfo,
    Commit,
    JournalEntry,
    Snapshot,
    StepLog,
    TaskKey,
    TaskResult,
    ThreadRef,
    ThreadStart,
)
from graphs.engine.statuses import DONE, ENDED, PAUSED, TaskStatus, ThreadStatus
from graphs.engine.trust import Grant
from graphs.models import Conversation, OutboxMessage, Thread
from graphs.models.moves import ANSWERABLE
from graphs.store.packing import Packer

if TYPE_CHECKING:
    from graphs.actions.actors import Actor

#: Ends after which no question of the thread can matter; a failed one keeps its questions for the retry.
FINAL = ENDED - {ThreadStatus.FAILED}
Written: TypeAlias = tuple[ThreadStatus, Sequence[Interrupt]]

ENGINE = System("engine")


@dataclass(slots=True)
class Grip:
    """What a holder knows of the thread it holds: row, lease, and the tail of deltas since the last snapshot."""

    thread: Thread
    held: leases.Held
    tail: store.Tail
    queue: str = ""
    #: Tasks with questions that were open when they were last looked at; None where nobody has looked.
    asking: set[TaskKey] | None = None


class DjangoCheckpointer:
    """Where threads are kept in an installation; passes the store specification in `tests/store`.

    A job gives the lease it has claimed, and `queue`, its graph's queue for questions that name none. Without one
    `holding` takes the thread's, renews it and gives it back, so that `Runner` works in any process of the
    installation; outside of it the first write takes it, for its time and no longer. `actor` is who it acts for: a
    person reads, goes on with and answers only what the one permission function lets them, else NotFound or NotAllowed.
    All methods hop to the job's main thread and its one connection.
    """

    def __init__(self, held: leases.Held | None = None, *, queue: str = "", actor: Actor = ENGINE) -> None:
        self.grips: dict[ThreadRef, Grip] = {}
        self.keeping: dict[ThreadRef, ExitStack] = {}
        self.held = held
        self.queue = queue
        self.actor = actor
        self.streaming = Streaming(self._write_words)

    def holds(self, ref: ThreadRef) -> bool:
        """Whether the thread's lease is still to be given back; the commit that pauses or ends it has done that."""
        return ref in self.grips

    @asynccontextmanager
    async def holding(self, ref: ThreadRef) -> AsyncIterator[None]:
        """Take the thread's lease, renew it, and give it back at the end of the block, however that comes (R3). A job
        has done that already. Raises ThreadBusy where another process holds the thread."""
        if self.held is not None or ref in self.keeping:
            yield
            return
        with ExitStack() as kept:
            self.keeping[ref] = kept
            try:
                await hop(self._keep, ref)
                yield
            finally:
                del self.keeping[ref]
                kept.close()
                await hop(self._let_go, ref)

    async def create(self, ref: ThreadRef, start: ThreadStart) -> None:
        """Write a new thread, ready; unclaimed, unless it is held already by `holding`. Raises ThreadExists."""
        await hop(self._create, ref, start)

    async def load(self, ref: ThreadRef) -> Snapshot | None:
        """The thread as its last commit left it, or None."""
        return await hop(self._load, ref)

    async def record_effect(self, ref: ThreadRef, task: TaskKey, entry: JournalEntry) -> None:
        """Store an effect as started or done."""
        await hop(self._record_effect, ref, task, entry)

    async def open_interrupt(self, ref: ThreadRef, interrupt: Interrupt) -> Interrupt:
        """Open one question in its own commit and ring for its queue; or return the one that stands there already."""
        return await hop(self._open_interrupt, ref, interrupt)

    async def record_tasks(self, ref: ThreadRef, results: Sequence[TaskResult]) -> None:
        """Record finished tasks ahead of their superstep's commit."""
        await hop(self._record_tasks, ref, results)

    async def commit(self, ref: ThreadRef, commit: Commit) -> Sequence[Interrupt]:
        """Write one superstep; returns the questions of `commit.waiting` that were decided meanwhile (F22)."""
        return await hop(self._commit, ref, commit)

    async def answer(self, ref: ThreadRef, answers: Sequence[Answer], *, actor: str = "") -> Sequence[Decision]:
        """Record answers, all or none, through `decide`. `actor` is the name that the records show for the system."""
        return await hop(self._answer, ref, answers, actor)

    async def retry(self, ref: ThreadRef) -> None:
        """Bring a failed thread back to ready."""
        await hop(self._retry, ref)

    async def history(self, ref: ThreadRef, limit: int = 100) -> Sequence[CheckpointInfo]:
        """The newest checkpoints first."""
        return await hop(lambda: store.history(self._known(ref), limit))

    async def results(self, ref: ThreadRef, keys: Sequence[TaskKey]) -> Mapping[TaskKey, TaskResult]:
        """The recorded results of these tasks."""
        return await hop(lambda: store.results(self._known(ref).pk, keys))

    async def load_step(self, ref: ThreadRef, step: int) -> Cells | None:
        """The cells as checkpoint `step` left them."""
        return await hop(lambda: store.cells_at(self._known(ref), step))

    async def log(self, ref: ThreadRef, first: int = 0, limit: int = 500) -> Sequence[StepLog]:
        """The checkpoints from step `first` on, oldest first, each with what was logged of it."""
        return await hop(lambda: store.log(self._known(ref), first, limit))

    async def grants(self, ref: ThreadRef) -> Sequence[Grant]:
        """The trust that reaches this thread and stands."""
        return await hop(lambda: trust.reaching(self._known(ref)))

    async def revoke(self, ref: ThreadRef, grant_id: str, *, actor: str = "") -> bool:
        """End a grant that reaches this thread."""
        return await hop(lambda: trust.end(self._known(ref), grant_id, System(actor) if actor else self.actor))

    async def decided(self, ref: ThreadRef, name: str) -> Sequence[Interrupt]:
        """The decided questions of this name, of finished tasks too."""
        return await hop(lambda: store.decided_by_name(self._known(ref).pk, name))

    async def journals(self, ref: ThreadRef) -> Mapping[TaskKey, Sequence[JournalEntry]]:
        """The journals of all tasks, finished ones too."""
        return await hop(lambda: store.forks.journals(self._known(ref).pk))

    def _create(self, ref: ThreadRef, start: ThreadStart) -> None:
        if not isinstance(self.actor, System) and not permissions.can(self.actor, "start"):
            raise NotAllowed(_("Sign in to start a thread."))
        try:
            with transaction.atomic():
                name = actor_name(self.actor)
                chat = store.open_conversation(
                    Conversation(requester_id=actor_id(self.actor), requester_name=name, title=ref.graph_id)
                )
                thread = threads.new_thread(ref.graph_id, ref.thread_id, start, chat)
                store.create(thread, start)
                # In the same transaction: a worker would otherwise find a ready thread that nobody holds.
                if ref in self.keeping:
                    self._keep(ref)
        except IntegrityError:
            raise ThreadExists(
                _("There is a thread %(thread_id)s of %(graph_id)s already.")
                % {"thread_id": f"{ref.thread_id!r}", "graph_id": f"{ref.graph_id!r}"}
            ) from None

    def _known(self, ref: ThreadRef, action: str = "view") -> Thread:
        """The thread, where the actor may do this. Raises UnknownThread, NotFound and NotAllowed."""
        thread = known(ref)
        threads.require(self.actor, action, thread)
        return thread

    def _keep(self, ref: ThreadRef) -> None:
        thread = store.find(ref)
        if thread is None:
            return
        threads.require(self.actor, "say", thread)
        grip = self.grips.get(ref)
        mine = grip is not None and store.renew(thread.pk, grip.held.token, settings.SAYSO_LEASE_SECONDS)
        held = grip.held if grip is not None and mine else leases.take(thread)
        tail = store.Tail(thread.full_step, thread.full_size, thread.tail_size)
        self.grips[ref] = Grip(thread, held, tail, self.queue)
        self.keeping[ref].enter_context(leases.kept(held))

    def _let_go(self, ref: ThreadRef) -> None:
        grip = self.grips.pop(ref, None)
        if grip is None:
            return  # the commit that paused or ended the thread has given its lease back
        running = Thread.objects.filter(pk=grip.thread.pk, status=ThreadStatus.RUNNING).exists()
        give_back = leases.hand_over if running else leases.rest
        give_back(grip.held)

    def _load(self, ref: ThreadRef) -> Snapshot | None:
        loaded = store.load(ref, brief=self.held is not None)
        if loaded is None:
            return None
        threads.require(self.actor, "view", loaded.thread)
        grip = self.grips.get(ref)
        if grip is not None:
            grip.thread, grip.tail, grip.asking = loaded.thread, loaded.tail, asking(loaded.snapshot)
        elif self.held is not None and self.held.ref == ref:
            self.grips[ref] = Grip(loaded.thread, self.held, loaded.tail, self.queue, asking(loaded.snapshot))
        return loaded.snapshot

    def _grip(self, ref: ThreadRef) -> Grip:
        """The lease to write with. Raises UnknownThread, and ThreadBusy where another process holds the thread."""
        if ref not in self.grips:
            thread = self._known(ref, "say")
            held = self.held if self.held and self.held.ref == ref else leases.take(thread)
            tail = store.Tail(thread.full_step, thread.full_size, thread.tail_size)
            self.grips[ref] = Grip(thread, held, tail, self.queue)
        return self.grips[ref]

    def _record_effect(self, ref: ThreadRef, task: TaskKey, entry: JournalEntry) -> None:
        grip = self._grip(ref)
        packer = Packer()
        with fenced(grip):
            store.record_effect(grip.thread.pk, task, grip.thread.step + 1, entry, packer)
            if is_reply(entry.key) and self.streaming.forget(task, Message(entry.value["message"]).text()):
                store.forget_words(grip.thread.pk, task)
            failpoints.reach("record_effect_before_commit")
        failpoints.reach("record_effect_after_commit")
        self.streaming.ring(grip.thread)

    def _record_tasks(self, ref: ThreadRef, results: Sequence[TaskResult]) -> None:
        grip = self._grip(ref)
        with fenced(grip):
            store.record_tasks(grip.thread.pk, grip.thread.step + 1, results, Packer())
            outbox.put(withdraw_of_ended(grip, results))
            failpoints.reach("record_tasks_before_commit")
        failpoints.reach("record_tasks_after_commit")

    def _open_interrupt(self, ref: ThreadRef, asked: Interrupt) -> Interrupt:
        grip = self._grip(ref)
        with fenced(grip):
            stored = questions.open_question(grip.thread, asked, grip.queue)
            if grip.asking is not None:
                grip.asking.add(TaskKey(asked.path, asked.visit))
            failpoints.reach("open_interrupt_before_commit")
        failpoints.reach("open_interrupt_after_commit")
        return stored

    def _commit(self, ref: ThreadRef, commit: Commit) -> Sequence[Interrupt]:
        grip = self._grip(ref)
        superstep = store.Superstep.of(grip.thread.pk, commit, grip.tail)
        status, decided = write_plain(grip, superstep) if fits_at_once(grip, superstep) else write(grip, superstep)
        failpoints.reach("superstep_after_commit")
        if status == ThreadStatus.CANCELLED and commit.status != ThreadStatus.CANCELLED:
            raise LeaseLost("this thread was cancelled; what it had finished is stored")
        if status == ThreadStatus.SUSPENDED:
            self.grips.pop(ref, None)
            raise ThreadSuspended("this thread was suspended; what it had finished is stored")
        grip.thread.step, grip.tail = commit.step, superstep.tail
        if self.streaming.forget_all():
            forget_words(grip.thread)
        if status == ThreadStatus.FAILED:
            log_failure(ref, commit)
        if status in ENDED or (status in PAUSED and not decided):
            self.grips.pop(ref, None)
        else:
            self.streaming.ring(grip.thread)
        return decided

    def _write_words(self, said: Mapping[TaskKey, Said]) -> Thread | None:
        """Put down what tasks are saying; the thread, where it is still held."""
        grip = self.grips.get(self.held.ref) if self.held is not None else None
        if grip is None:
            return None
        with fenced(grip):
            store.write_words(
                grip.thread.pk, grip.held.token, {task: (one.speaker, one.text) for task, one in said.items()}
            )
        return grip.thread

    def _answer(self, ref: ThreadRef, answers: Sequence[Answer], actor: str) -> Sequence[Decision]:
        who = System(actor) if actor and isinstance(self.actor, System) else self.actor
        return questions.answer(self._known(ref), answers, who)

    def _retry(self, ref: ThreadRef) -> None:
        with transaction.atomic():
            thread = threads.lock(self._known(ref, "retry"))
            if not threads.revive(thread):
                raise ThreadEnded(f"only a failed thread can be retried, this one is {thread.status}")


def known(ref: ThreadRef) -> Thread:
    thread = store.find(ref)
    if thread is None:
        raise UnknownThread(f"There is no thread {ref.thread_id!r} of graph {ref.graph_id!r}.")
    return thread


@contextmanager
def fenced(grip: Grip) -> Iterator[None]:
    """A transaction that only the holder of the lease gets into, and that a take-over waits for."""
    with transaction.atomic():
        if not store.fence(grip.thread.pk, grip.held.token):
            raise lost()
        yield


def lost() -> LeaseLost:
    return LeaseLost("another job has taken this thread over, or it was cancelled; nothing more is written")


def fits_at_once(grip: Grip, superstep: store.Superstep) -> bool:
    """One statement is a transaction of its own; whatever needs a second one needs a real one around both."""
    plain = superstep.plain and connection.vendor == "postgresql" and not connection.in_atomic_block
    return plain and not ended_and_asking(grip, superstep.commit.results)


def write_plain(grip: Grip, superstep: store.Superstep) -> Written:
    failpoints.reach("superstep_before_commit")
    status = store.write_at_once(grip.thread.pk, grip.held.token, superstep)
    if status is None:
        raise lost()
    if status != superstep.commit.status:
        # Should this process die right here, the sweep finds the request to cancel and ends the thread the same way,
        # or takes the lease of a thread that is suspended already.
        with transaction.atomic():
            settle(grip, superstep.commit, status)
    return status, ()


def write(grip: Grip, superstep: store.Superstep) -> Written:
    with transaction.atomic():
        status = store.write_superstep(grip.thread.pk, grip.held.token, superstep)
        if status is None:
            raise lost()
        decided = settle(grip, superstep.commit, status)
        failpoints.reach("superstep_before_commit")
    return status, decided


def settle(grip: Grip, commit: Commit, status: ThreadStatus) -> Sequence[Interrupt]:
    """What a pause or an end needs beside the superstep itself. Returns the questions decided meanwhile."""
    assert connection.in_atomic_block
    thread = grip.thread
    outbox.put(withdraw_of_ended(grip, commit.results))
    if status == ThreadStatus.CANCELLED and commit.status != ThreadStatus.CANCELLED:
        outbox.put(threads.finish_cancelled(known(grip.held.ref)))
        return ()
    waiting = commit.waiting if status == ThreadStatus.INTERRUPTED else ()
    if waiting and (decided := store.decided_of(thread.pk, waiting)):
        # `decide` saw a running thread and woke nobody: whoever pauses must look again, under the same lock (F22).
        Thread.objects.filter(pk=thread.pk).update(status=ThreadStatus.RUNNING)
        return decided
    if status in PAUSED or status in ENDED:
        store.release(thread.pk, grip.held.token)
        withdrawn = threads.withdraw_open(thread, f"The thread is {status}.") if status in FINAL else []
        outbox.put([*withdrawn, *hints.thread_changed(thread)])
    return ()


def asking(snapshot: Snapshot) -> set[TaskKey]:
    """The tasks with open questions; one that waits and whose questions were not read has some."""
    return {
        key
        for key, task in snapshot.tasks.items()
        if any(one.status in ANSWERABLE for one in task.interrupts)
        or (task.status is TaskStatus.WAITING and not task.interrupts)
    }


def withdraw_of_ended(grip: Grip, results: Sequence[TaskResult]) -> list[OutboxMessage]:
    """Nobody is left to hear the answers to what an ended task still asks. A failed one keeps its questions."""
    concerned = ended_and_asking(grip, results)
    if not concerned:
        return []
    # In the order of every decision: thread, interrupt, counter.
    store.verdicts.lock_threads([grip.thread.pk])
    return threads.withdraw_open(grip.thread, "The step that asked has ended.", concerned)


def ended_and_asking(grip: Grip, results: Sequence[TaskResult]) -> set[TaskKey]:
    ended = {result.key for result in results if result.status in DONE}
    return ended if grip.asking is None else ended & grip.asking
