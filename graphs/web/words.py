"""How statuses look: one word, one icon and one tone each, the same on every page."""

from __future__ import annotations

from dataclasses import dataclass

from graphs.engine.statuses import InterruptStatus, Outcome, TaskStatus, ThreadStatus


@dataclass(frozen=True, slots=True)
class Look:
    """What a chip shows; the tone is a colour, and never the only sign."""

    word: str
    icon: str
    tone: str


THREAD: dict[str, Look] = {
    ThreadStatus.READY: Look("queued", "clock", "blue"),
    ThreadStatus.RUNNING: Look("running", "loader-2", "blue"),
    ThreadStatus.INTERRUPTED: Look("waiting", "hand-stop", "amber"),
    ThreadStatus.SUSPENDED: Look("suspended", "player-pause", "amber"),
    ThreadStatus.WAITING_VERSION: Look("waiting for a version", "git-branch", "amber"),
    ThreadStatus.QUARANTINED: Look("quarantined", "alert-triangle", "red"),
    ThreadStatus.FAILED: Look("failed", "alert-circle", "red"),
    ThreadStatus.REJECTED: Look("rejected", "circle-x", "red"),
    ThreadStatus.CANCELLED: Look("cancelled", "ban", "grey"),
    ThreadStatus.COMPLETED: Look("completed", "circle-check", "green"),
}

INTERRUPT: dict[str, Look] = {
    InterruptStatus.OPEN: Look("open", "hand-stop", "amber"),
    InterruptStatus.NEEDS_INFO: Look("needs info", "help-circle", "amber"),
    InterruptStatus.CLOSED: Look("closed", "circle-check", "grey"),
    InterruptStatus.SUPERSEDED: Look("superseded", "history", "grey"),
    InterruptStatus.WITHDRAWN: Look("withdrawn", "ban", "grey"),
}

OUTCOME: dict[str, Look] = {
    Outcome.APPROVED: Look("approved", "circle-check", "green"),
    Outcome.REJECTED: Look("rejected", "circle-x", "red"),
    Outcome.ANSWERED: Look("answered", "message-circle", "green"),
    Outcome.CANCELLED: Look("cancelled", "ban", "grey"),
    Outcome.EXPIRED: Look("expired", "hourglass", "grey"),
}

#: By the number of the level; each has a shape of its own.
RISK: dict[str, Look] = {
    "0": Look("low risk", "circle", "grey"),
    "1": Look("medium risk", "flag", "blue"),
    "2": Look("high risk", "alert-triangle", "amber"),
    "3": Look("critical risk", "urgent", "red"),
}

NODE: dict[str, Look] = {
    "idle": Look("not reached", "circle-dashed", "grey"),
    "before": Look("done before the fork", "git-branch", "grey"),
    "next": Look("next", "clock", "blue"),
    TaskStatus.RUNNING: Look("running", "loader-2", "blue"),
    TaskStatus.WAITING: Look("waiting", "hand-stop", "amber"),
    TaskStatus.FINISHED: Look("finished", "check", "green"),
    TaskStatus.FAILED: Look("failed", "alert-circle", "red"),
    TaskStatus.REJECTED: Look("rejected", "circle-x", "red"),
    TaskStatus.CANCELLED: Look("cancelled", "ban", "grey"),
}

EVENT: dict[str, Look] = {
    "graph.start": Look("started", "player-play", "blue"),
    "graph.superstep_end": Look("superstep committed", "point", "grey"),
    "graph.node_end": Look("node finished", "check", "green"),
    "graph.node_error": Look("node failed", "alert-circle", "red"),
    "graph.node_interrupt": Look("question asked", "hand-stop", "amber"),
    "graph.end": Look("ended", "flag", "grey"),
}


def of(table: dict[str, Look], name: str) -> Look:
    """The look of a status; a word that this release does not know shows as itself."""
    return table.get(name) or Look(name.replace("_", " "), "circle", "grey")
