"""The job that advances a thread: claim, load, run the engine for a slice, hand over."""

from __future__ import annotations

import logging

from django.conf import settings
from django.db import Error as DatabaseError
from django.db import connection

from graphs.actions import leases, mainthread, sweeping
from graphs.actions.supersteps import DjangoCheckpointer
from graphs.engine import loop
from graphs.engine.errors import DefinitionChanged, LeaseLost, ThreadSuspended
from graphs.engine.graph import CompiledGraph
from graphs.engine.ports import SystemClock, random_id
from graphs.engine.statuses import ThreadStatus
from graphs.jobs.pool import NODES
from graphs.library import registry

logger = logging.getLogger(__name__)


def advance() -> None:
    """Advance the thread that has been ready longest, until it pauses, ends or its slice is up; then ring for the next.

    A wake-up carries no thread: with none ready this returns after one statement, so rings may come twice or too late.
    """
    held = leases.claim()
    if held is None:
        return
    try:
        run(held, registry.pinned(held.ref.graph_id, held.fingerprint))
    except (registry.UnknownGraph, DefinitionChanged) as reason:
        leases.hand_over(held, ThreadStatus.WAITING_VERSION, why=str(reason))
    except ThreadSuspended as reason:
        logger.info("thread %s of %s: %s", held.ref.thread_id, held.ref.graph_id, reason)
    except LeaseLost as reason:
        logger.warning("thread %s of %s: %s", held.ref.thread_id, held.ref.graph_id, reason)
    except Exception:
        logger.exception("thread %s of %s: the job failed", held.ref.thread_id, held.ref.graph_id)
        give_up(held)
    sweeping.ring_for_next()


def give_up(held: leases.Held) -> None:
    """Give the lease back rather than let it run out; the next try waits a little. The acquisition stays counted as
    barren, so that a thread on which every job fails is set aside (F24)."""
    try:
        leases.give_up(held)
    except DatabaseError as error:
        logger.warning("its lease runs out by itself: the database does not answer (%s)", type(error).__name__)
        connection.close()


def run(held: leases.Held, graph: CompiledGraph) -> None:
    with leases.kept(held):
        checkpointer = DjangoCheckpointer(held, queue=graph.queue)
        advanced = mainthread.drive(
            loop.advance(
                graph,
                checkpointer,
                held.ref,
                clock=SystemClock(),
                new_id=random_id,
                slice_seconds=settings.SAYSO_SLICE_SECONDS,
                slice_steps=settings.SAYSO_SLICE_STEPS,
                pool=NODES,
                emit=checkpointer.streaming.hear,
            )
        )
    if advanced.more:
        leases.hand_over(held)
    elif checkpointer.holds(held.ref):
        leases.rest(held)
