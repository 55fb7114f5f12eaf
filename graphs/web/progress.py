"""How far a thread has come, in the words of somebody who has just decided and waits for what follows."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta

from django.utils import timezone

from graphs.engine.statuses import ENDED, TaskStatus, ThreadStatus
from graphs.models import Interrupt, Task, Thread

#: After this long in the queue a person wants to know that nothing is lost.
LONG_QUEUED = timedelta(seconds=10)


@dataclass(frozen=True, slots=True)
class Progress:
    """One line of progress; `questions` are the open ones a person can go on with."""

    status: str
    text: str
    live: bool
    note: str = ""
    questions: list[Interrupt] = field(default_factory=list)


def of(thread: Thread, names: dict[str, str], questions: list[Interrupt]) -> Progress:
    """Where the thread is now."""
    status = ThreadStatus(thread.status)
    waiting = [question for question in questions if question.status in ("open", "needs_info")]
    live = status not in ENDED
    if thread.cancel_at is not None and live:
        return Progress("cancelled", "Being cancelled", live, "The step that runs now may still finish.")
    if status is ThreadStatus.READY:
        return Progress(status, "Queued", live, queue_note(thread))
    if status is ThreadStatus.RUNNING:
        return Progress(status, f"Running {named(thread, names)}", live)
    if status is ThreadStatus.INTERRUPTED:
        return Progress(status, "Waiting for a person", live, questions=waiting)
    if status is ThreadStatus.FAILED:
        return Progress(status, f"Failed{failed_at(thread, names)}", live, error_of(thread))
    notes = {
        ThreadStatus.WAITING_VERSION: error_of(thread) or "Its graph changed while it waited.",
        ThreadStatus.QUARANTINED: "It took a worker down several times. An operator can retry it.",
        ThreadStatus.CANCELLED: thread.cancel_reason,
    }
    return Progress(status, str(status).replace("_", " ").capitalize(), live, notes.get(status, ""))


def queue_note(thread: Thread) -> str:
    """What a person reads while no worker has taken it up: it is recorded, whatever Redis does."""
    if timezone.now() - thread.ready_at < LONG_QUEUED:
        return "A worker picks it up in a moment."
    ahead = Thread.objects.filter(status=ThreadStatus.READY, ready_at__lt=thread.ready_at).count()
    return f"Recorded and still queued, position {ahead + 1}. It goes on as soon as a worker is free; nothing is lost."


def named(thread: Thread, names: dict[str, str]) -> str:
    paths = [path_of(item) for item in thread.active] if isinstance(thread.active, list) else []
    shown = [names.get(path, path) for path in paths if path]
    return ", ".join(shown[:3]) or "the next step"


def path_of(item: object) -> str:
    """`active` holds paths, or pairs of path and visit."""
    if isinstance(item, list) and item:
        return str(item[0])
    if isinstance(item, dict):
        return str(item.get("path", ""))
    return str(item)


def failed_at(thread: Thread, names: dict[str, str]) -> str:
    task = Task.objects.filter(thread=thread, status=TaskStatus.FAILED).only("path").order_by("-at").first()
    return f" at {names.get(task.path, task.path)}" if task else ""


def error_of(thread: Thread) -> str:
    error = thread.error
    if isinstance(error, dict):
        return f"{error.get('type', 'Error')}: {error.get('message', '')}"
    return str(error) if error else ""
