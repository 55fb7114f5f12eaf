"""The words for where a thread, a task and an interrupt stand, used in code, pages, API and docs alike."""

from __future__ import annotations

from enum import StrEnum


class ThreadStatus(StrEnum):
    """Where one durable execution of a graph stands."""

    READY = "ready"
    RUNNING = "running"
    INTERRUPTED = "interrupted"
    SUSPENDED = "suspended"
    WAITING_VERSION = "waiting_version"
    QUARANTINED = "quarantined"
    FAILED = "failed"
    REJECTED = "rejected"
    CANCELLED = "cancelled"
    COMPLETED = "completed"


#: A thread in one of these never moves again by itself; `failed` and `quarantined` can be retried by a person.
ENDED: frozenset[ThreadStatus] = frozenset(
    {ThreadStatus.FAILED, ThreadStatus.REJECTED, ThreadStatus.CANCELLED, ThreadStatus.COMPLETED}
)

#: A thread in one of these waits for an answer and holds no worker.
PAUSED: frozenset[ThreadStatus] = frozenset({ThreadStatus.INTERRUPTED, ThreadStatus.SUSPENDED})


class TaskStatus(StrEnum):
    """Where one execution of one node stands."""

    RUNNING = "running"
    WAITING = "waiting"
    FINISHED = "finished"
    FAILED = "failed"
    REJECTED = "rejected"
    CANCELLED = "cancelled"


#: A task in one of these has its result for good; a failed one may be retried.
DONE: frozenset[TaskStatus] = frozenset({TaskStatus.FINISHED, TaskStatus.REJECTED, TaskStatus.CANCELLED})


class InterruptStatus(StrEnum):
    """Where one question stands; `closed` carries its outcome in its decision."""

    OPEN = "open"
    NEEDS_INFO = "needs_info"
    CLOSED = "closed"
    SUPERSEDED = "superseded"
    WITHDRAWN = "withdrawn"


class Outcome(StrEnum):
    """The verdict of a decision."""

    APPROVED = "approved"
    REJECTED = "rejected"
    ANSWERED = "answered"
    CANCELLED = "cancelled"
    EXPIRED = "expired"
