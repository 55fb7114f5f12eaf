"""What the clock does: turn what the database says into wake-ups. Cheap and idempotent; several may run (R6)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from itertools import takewhile
from typing import Any

from django.conf import settings
from django.db import connection, transaction
from django.db.models import F, Q

from graphs import outbox, queue, store
from graphs.actions import deadlines, handing_back, leases, stuck, threads
from graphs.actions.deadlines import AT_ONCE
from graphs.engine import failpoints
from graphs.engine.statuses import InterruptStatus, ThreadStatus
from graphs.models import Heartbeat, Lease, OutboxMessage, StreamedText, Thread
from graphs.models.clock import Now

logger = logging.getLogger(__name__)

#: Jobs that may wait for each live worker: more would only be a longer queue (F14).
JOBS_A_WORKER = 2
#: A worker that has not been heard of for so long is not counted (seconds).
WORKER_SECONDS = 30
#: An unpublished message this old was lost by whoever should have said it (seconds).
OUTBOX_SECONDS = 2
#: Published messages are kept this long, for people who look for what was said (days).
OUTBOX_DAYS = 3
#: A process that has not been heard of for so long is forgotten (days).
HEARTBEAT_DAYS = 1
#: Words that nobody has gone on with for so long were left by a dead job (minutes); pages do not show them anyway.
WORDS_MINUTES = 10
#: A thread that waits for its graph's version is looked at again this often (seconds).
VERSION_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Swept:
    """What one sweep did: leases taken from dead holders, messages said again, questions expired, threads cancelled by
    force, threads ready again after an answer or for their version, wake-ups rung, and questions that were reminded of,
    escalated, handed to somebody else, judged anew, or found to be stuck or no longer so."""

    leases: int = 0
    published: int = 0
    expired: int = 0
    cancelled: int = 0
    revived: int = 0
    rung: int = 0
    reminded: int = 0
    escalated: int = 0
    handed: int = 0
    judged: int = 0
    stuck: int = 0


def sweep() -> Swept:
    """Do once all that nobody was told to do. A fault in one part is logged and stops no other.

    Raises the first fault where every part has failed: then it is the database that is away.
    """
    faults: list[Exception] = []
    done = {name: sum(part(work, faults) for work in works) for name, works in parts().items()}
    part(tidy, faults)
    if len(faults) == how_many():
        raise faults[0]
    return Swept(**done)


def how_many() -> int:
    """Parts of one sweep, the tidying too."""
    return 1 + sum(len(works) for works in parts().values())


def parts() -> dict[str, list[Callable[[], int]]]:
    """What a sweep does, in this order: what ends a question comes before what only speaks of it."""
    return {
        "leases": [free_dead_leases],
        "cancelled": [cancel_overdue],
        "expired": [deadlines.expire_due],
        "judged": [deadlines.refresh_judged],
        "escalated": [deadlines.escalate_due],
        "reminded": [deadlines.remind_due],
        "handed": [
            handing_back.end_delegations,
            handing_back.begin_delegations,
            handing_back.release_leavers,
        ],
        "stuck": [stuck.find_stuck],
        "revived": [revive_answered, reconsider_versions],
        "published": [publish_left_over],
        "rung": [ring_for_ready],
    }


def part(work: Callable[[], int], faults: list[Exception]) -> int:
    try:
        return work()
    except Exception as fault:
        faults.append(fault)
        if len(faults) < how_many():
            logger.warning("the sweep's %s failed", work.__name__, exc_info=True)
        connection.close_if_unusable_or_obsolete()
    return 0


def beat(name: str, info: Any = None) -> None:
    """Note that this process is alive, in the database's clock."""
    Heartbeat.objects.update_or_create(name=name, defaults={"at": Now(), "info": info})


def stop_beating(name: str) -> None:
    """Forget a process that ends of its own will: nobody needs to miss it."""
    Heartbeat.objects.filter(name=name).delete()


def free_dead_leases() -> int:
    """Threads whose job stopped renewing are ready again; the old job's token is worth nothing from here on."""
    dead = Lease.objects.filter(expires_at__lte=Now()).order_by("expires_at").values_list("pk", flat=True)
    return sum(free(pk) for pk in list(dead[:AT_ONCE]))


def free(pk: int) -> bool:
    with transaction.atomic():
        if not leases.take_away(pk):
            return False
        failpoints.reach("sweep_lease_before_commit")
        if threads.rest_suspended(pk):
            return True
        running = Thread.objects.filter(pk=pk, status=ThreadStatus.RUNNING)
        return running.update(status=ThreadStatus.READY, ready_at=Now(), updated_at=Now()) == 1


def cancel_overdue() -> int:
    """Cancel by force what was asked to stop a lease's time ago and has not come to a commit since (F25)."""
    patience = timedelta(seconds=settings.SAYSO_LEASE_SECONDS)
    asked = Thread.objects.filter(cancel_at__lte=Now() - patience).values_list("pk", flat=True)
    return sum(cancel(pk) for pk in list(asked[:AT_ONCE]))


def cancel(pk: int) -> bool:
    with transaction.atomic():
        thread = threads.lock(Thread(pk=pk))
        if thread.cancel_at is None:
            return False
        outbox.put(threads.finish_cancelled(thread))
    return True


def revive_answered() -> int:
    """Threads that wait for people, have a verdict that counts by now and that nobody woke: the net under every lost
    wake-up (F22). A suspended one is woken by its resume alone."""
    answered = Q(
        interrupts__status=InterruptStatus.CLOSED,
        interrupts__task__applied=False,
        interrupts__decisions__effective_at__lte=Now(),
        # One from before the pause was seen by the commit that paused, which looks again (F22).
        interrupts__decisions__effective_at__gt=F("updated_at"),
    )
    paused = Thread.objects.filter(answered, status=ThreadStatus.INTERRUPTED)
    return sum(wake(pk) for pk in list(paused.values_list("pk", flat=True).distinct()[:AT_ONCE]))


def wake(pk: int) -> bool:
    paused = Thread.objects.filter(pk=pk, status=ThreadStatus.INTERRUPTED)
    return paused.update(status=ThreadStatus.READY, ready_at=Now(), updated_at=Now()) == 1


def reconsider_versions() -> int:
    """Threads that wait for their graph's version are offered to a worker now and then: it may have it by now."""
    due = Now() - timedelta(seconds=VERSION_SECONDS)
    waiting = Thread.objects.filter(status=ThreadStatus.WAITING_VERSION, updated_at__lte=due)
    chosen = list(waiting.order_by("updated_at").values_list("pk", flat=True)[:AT_ONCE])
    return Thread.objects.filter(pk__in=chosen, status=ThreadStatus.WAITING_VERSION).update(
        status=ThreadStatus.READY, ready_at=Now(), updated_at=Now()
    )


def publish_left_over() -> int:
    """Say again what a dead process, or Redis, did not."""
    old = Now() - timedelta(seconds=OUTBOX_SECONDS)
    left = OutboxMessage.objects.filter(published_at=None, created_at__lte=old).order_by("pk")
    messages = list(left[:AT_ONCE])
    return outbox.publish(messages) if messages else 0


def ring_for_ready() -> int:
    """A wake-up for each ready thread, as far as the workers' queue has room for it."""
    ready = Thread.objects.filter(status=ThreadStatus.READY, ready_at__lte=Now()).count()
    if not ready:
        return 0
    room = JOBS_A_WORKER * workers() - queue.depth()
    failpoints.reach("sweep_ring")
    # Up to the first that Redis does not take: it would take the others no sooner.
    return sum(takewhile(bool, (outbox.ring("the clock") for _ in range(max(0, min(ready, room))))))


def ring_for_next() -> bool:
    """Ring once more where another thread is ready and no job that would take it waits yet."""
    if not store.verdicts.any_ready() or queue.depth() >= JOBS_A_WORKER:
        return False
    return outbox.ring("the next one")


def workers() -> int:
    """Live worker processes by their heartbeats; at least one, or nothing would be rung for the first."""
    heard = Now() - timedelta(seconds=WORKER_SECONDS)
    return max(1, Heartbeat.objects.filter(name__startswith="worker-threads", at__gte=heard).count())


def tidy() -> int:
    """Forget messages that were said long ago, a few at a time so that the write lock is held briefly, processes that
    have not been heard of for a day, and words that a dead job left."""
    Heartbeat.objects.filter(at__lte=Now() - timedelta(days=HEARTBEAT_DAYS)).delete()
    StreamedText.objects.filter(at__lte=Now() - timedelta(minutes=WORDS_MINUTES)).delete()
    old = Now() - timedelta(days=OUTBOX_DAYS)
    said = OutboxMessage.objects.filter(published_at__lte=old).order_by("pk").values_list("pk", flat=True)
    if chosen := list(said[:AT_ONCE]):
        OutboxMessage.objects.filter(pk__in=chosen).delete()
    return len(chosen)
