"""Which status may follow which. Every conditional UPDATE names its sources from here, and a test walks the table."""

from __future__ import annotations

from collections.abc import Mapping

from graphs.engine.statuses import InterruptStatus, ThreadStatus

T = ThreadStatus
I = InterruptStatus  # noqa: E741

THREAD_MOVES: Mapping[ThreadStatus, frozenset[ThreadStatus]] = {
    T.READY: frozenset({T.RUNNING, T.SUSPENDED, T.QUARANTINED, T.CANCELLED}),
    T.RUNNING: frozenset(
        {
            T.READY,
            T.INTERRUPTED,
            T.SUSPENDED,
            T.WAITING_VERSION,
            T.QUARANTINED,
            T.FAILED,
            T.REJECTED,
            T.CANCELLED,
            T.COMPLETED,
        }
    ),
    T.INTERRUPTED: frozenset({T.READY, T.SUSPENDED, T.CANCELLED}),
    # Only a person resumes it: an answer that comes meanwhile is recorded and waits with it.
    T.SUSPENDED: frozenset({T.READY, T.CANCELLED}),
    T.WAITING_VERSION: frozenset({T.READY, T.CANCELLED}),
    T.QUARANTINED: frozenset({T.READY, T.CANCELLED}),
    T.FAILED: frozenset({T.READY, T.CANCELLED}),
    T.REJECTED: frozenset({T.READY, T.RUNNING}),
    T.CANCELLED: frozenset({T.READY, T.RUNNING}),
    # A message to a thread that has ended is its next turn, however the last one ended: in an installation it waits for
    # a job, a `Runner` that holds the thread's lease goes on with it at once.
    T.COMPLETED: frozenset({T.READY, T.RUNNING}),
}

INTERRUPT_MOVES: Mapping[InterruptStatus, frozenset[InterruptStatus]] = {
    I.OPEN: frozenset({I.NEEDS_INFO, I.CLOSED, I.SUPERSEDED, I.WITHDRAWN}),
    I.NEEDS_INFO: frozenset({I.OPEN, I.CLOSED, I.SUPERSEDED, I.WITHDRAWN}),
    # Undo, while the hold lasts, opens the next round; a task that asks anew keeps the old answer out of its way.
    I.CLOSED: frozenset({I.OPEN, I.SUPERSEDED}),
    I.SUPERSEDED: frozenset(),
    I.WITHDRAWN: frozenset(),
}

#: Questions that a person can still answer.
ANSWERABLE: tuple[InterruptStatus, ...] = (I.OPEN, I.NEEDS_INFO)


def sources(target: ThreadStatus) -> list[ThreadStatus]:
    """The statuses from which a thread may come to `target`."""
    return [status for status, targets in THREAD_MOVES.items() if target in targets]


def question_sources(target: InterruptStatus) -> list[InterruptStatus]:
    """The statuses from which a question may come to `target`."""
    return [status for status, targets in INTERRUPT_MOVES.items() if target in targets]
