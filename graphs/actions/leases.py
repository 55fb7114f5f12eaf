"""The right of one job to advance one thread: claimed, renewed, given back, taken away. All by the database's clock."""

from __future__ import annotations

import logging
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings
from django.db import Error as DatabaseError
from django.db import connection, transaction
from django.db.models import F

from graphs import outbox, store
from graphs.actions import audit, hints, threads
from graphs.actions.actors import CLOCK
from graphs.engine import failpoints
from graphs.engine.errors import ThreadBusy
from graphs.engine.ports import ThreadRef
from graphs.engine.statuses import ThreadStatus
from graphs.models import Decision, Lease, Thread
from graphs.models.clock import Now

logger = logging.getLogger(__name__)

#: Acquisitions in a row without recorded progress after which a thread is set aside (F24).
PATIENCE = 5
#: How often a claim begins again after a thread that was quarantined or locked: the sweep rings for what is left then.
TRIES = 20
#: How long a claim waits for somebody else's transaction on the only ready thread (seconds).
LOCK_SECONDS = 2.0
#: A thread on which jobs fail is left alone at most this long (seconds).
LONGEST_PAUSE = 60.0


@dataclass(frozen=True, slots=True)
class Held:
    """A lease as its holder knows it. `token` is what every write of the holder shows."""

    thread_id: int
    ref: ThreadRef
    token: int
    fingerprint: str = ""


def holder() -> str:
    """This process, for people who look at the lease."""
    return f"{socket.gethostname()}:{os.getpid()}"[:100]


def claim() -> Held | None:
    """Take the thread that has been ready longest, or nothing where none is.

    A thread that was taken PATIENCE times without progress is quarantined instead, and the next one is taken.
    """
    for _ in range(TRIES):
        with transaction.atomic():
            claimed = claim_one()
            failpoints.reach("claim_before_commit")
        if claimed is None or (isinstance(claimed, Held) and claimed.token):
            failpoints.reach("claim_after_commit")
            return claimed
        if isinstance(claimed, int) and not lets_go(claimed):
            return None
    return None


def claim_one() -> Held | int | None:
    """Claim one thread, or quarantine it, or end it as cancelled: then the token of what is returned is 0. The id of a
    thread that is ready and locked by somebody at this moment, where there is no other."""
    found = store.claim()
    if found is None or isinstance(found, int):
        return found
    if found.cancel_at is not None:
        # Its job died or its slice was up before it could see the request; another superstep must not begin (F25).
        outbox.put(threads.finish_cancelled(Thread.objects.select_related("conversation").get(pk=found.pk)))
        return Held(found.pk, ThreadRef(found.graph_id, found.thread_id), 0)
    token, barren = store.acquire(found.pk, found.step, holder(), settings.SAYSO_LEASE_SECONDS)
    if barren > PATIENCE:
        quarantine(found.pk)
        token = 0
    return Held(found.pk, ThreadRef(found.graph_id, found.thread_id), token, found.fingerprint)


def lets_go(pk: int) -> bool:
    """Wait for whoever has this ready thread locked: the wake-up that came for it would otherwise be used up, and the
    thread would stay until the next sweep."""
    with transaction.atomic():
        return store.await_locks(pk, LOCK_SECONDS)


def quarantine(pk: int) -> None:
    """Set a thread aside that no job survives; a person may retry it."""
    assert connection.in_atomic_block
    reason = f"It was taken up {PATIENCE} times in a row and no worker came any further with it."
    Thread.objects.filter(pk=pk).update(
        status=ThreadStatus.QUARANTINED, error={"type": "Quarantined", "message": reason}, updated_at=Now()
    )
    Lease.objects.filter(pk=pk).update(expires_at=None, holder="")
    thread = Thread.objects.select_related("conversation").get(pk=pk)
    audit.record(CLOCK, "quarantine", "thread", thread.uid, {"acquisitions": PATIENCE}, "clock")
    outbox.put(hints.thread_changed(thread))
    logger.error("thread %s is quarantined: %s", thread.uid, reason)


def take(thread: Thread) -> Held:
    """Take this very thread, for a caller that runs it in its own process. Raises ThreadBusy where another holds it."""
    with transaction.atomic():
        if not store.lock_free(thread.pk):
            raise ThreadBusy("another process runs this thread")
        token, _ = store.acquire(thread.pk, thread.step, holder(), settings.SAYSO_LEASE_SECONDS)
    return Held(thread.pk, ThreadRef(thread.graph_id, thread.thread_id), token, thread.fingerprint)


@contextmanager
def kept(held: Held) -> Iterator[threading.Event]:
    """Renew the lease every third of its time while the block runs, in a thread with a connection of its own.

    The event that is given is set when the lease was lost: nothing this holder writes will be stored any more.
    """
    stopped, lost = threading.Event(), threading.Event()
    heart = threading.Thread(target=beat, args=(held, stopped, lost), name="lease", daemon=True)
    heart.start()
    try:
        yield lost
    finally:
        stopped.set()
        heart.join()


def beat(held: Held, stopped: threading.Event, lost: threading.Event) -> None:
    # Most jobs end before the first renewal is due: they open no second connection.
    if stopped.wait(settings.SAYSO_LEASE_SECONDS / 3):
        return
    try:
        while True:
            try:
                if not store.renew(held.thread_id, held.token, settings.SAYSO_LEASE_SECONDS):
                    lost.set()
                    return
            except DatabaseError as error:
                # Not lost yet: the deadline is further away than the next try.
                logger.warning("the lease could not be renewed (%s)", type(error).__name__)
                connection.close()
            if stopped.wait(settings.SAYSO_LEASE_SECONDS / 3):
                return
    finally:
        connection.close()


def give_up(held: Held) -> bool:
    """Give a thread back on which a job failed, for a while that doubles with each failure in a row: a fault of a
    second would otherwise use up the thread's tries within that second (F24)."""
    barren = Lease.objects.filter(pk=held.thread_id).values_list("barren", flat=True).first() or 0
    return hand_over(held, pause=timedelta(seconds=min(2.0**barren, LONGEST_PAUSE)))


def hand_over(
    held: Held, status: ThreadStatus = ThreadStatus.READY, *, why: str = "", pause: timedelta = timedelta()
) -> bool:
    """Give a thread back that is still running: ready for the next job after `pause`, or waiting with `why`. False if
    it was lost.

    A thread whose last commit paused or ended it has been given back by that commit.
    """
    with transaction.atomic():
        mine = Lease.objects.filter(pk=held.thread_id, token=held.token, expires_at__isnull=False)
        # Barren counts on for a slice that recorded nothing; a thread that waits for its version is not to blame.
        calm = {"barren": 0} if status == ThreadStatus.WAITING_VERSION else {}
        if not mine.update(expires_at=None, holder="", **calm):
            return False
        if status == ThreadStatus.READY and threads.rest_suspended(held.thread_id):
            return True
        running = Thread.objects.filter(pk=held.thread_id, status=ThreadStatus.RUNNING)
        changes = {"error": {"type": "DefinitionChanged", "message": why}} if why else {}
        if running.update(status=status, ready_at=Now() + pause, updated_at=Now(), **changes) and why:
            thread = Thread.objects.select_related("conversation").get(pk=held.thread_id)
            outbox.put(hints.thread_changed(thread))
        failpoints.reach("hand_over_before_commit")
    return True


def rest(held: Held) -> bool:
    """Give a thread back in which nothing was ready: it waits again. False where a commit had given it back already.

    A verdict that came after it was claimed woke nobody, since it ran; then it is ready instead (F22).
    """
    with transaction.atomic():
        mine = Lease.objects.filter(pk=held.thread_id, token=held.token, expires_at__isnull=False)
        if not mine.update(expires_at=None, holder="", barren=0):
            return False
        thread = Thread.objects.select_for_update(no_key=True).get(pk=held.thread_id)
        if threads.rest_suspended(thread.pk):
            return True
        unseen = Decision.objects.filter(
            interrupt__thread=thread, interrupt__task__applied=False, effective_at__gt=thread.updated_at
        ).exists()
        status = ThreadStatus.READY if unseen else ThreadStatus.INTERRUPTED
        Thread.objects.filter(pk=thread.pk, status=ThreadStatus.RUNNING).update(
            status=status, ready_at=Now(), updated_at=Now()
        )
    return True


def take_away(pk: int) -> bool:
    """Free a lease whose deadline has passed: the old holder's writes bounce from here on. False if it is alive."""
    assert connection.in_atomic_block
    dead = Lease.objects.filter(pk=pk, expires_at__lte=Now())
    return dead.update(token=F("token") + 1, expires_at=None, holder="") == 1
