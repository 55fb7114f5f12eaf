"""Who hears of a change: the groups of its queue, its requester, the operators and its thread's page. Ids only."""

from __future__ import annotations

from uuid import UUID

from graphs import outbox
from graphs.models import OutboxMessage, Thread

OPERATORS = "operators"


def thread_group(uid: UUID) -> str:
    """The group of everyone who looks at this thread."""
    return f"thread.{uid.hex}"


def question_changed(thread: Thread, interrupt_id: str, queue_id: int, seq: int) -> list[OutboxMessage]:
    """A question opened, closed or changed: its queue's inboxes, its requester and its thread's pages."""
    data = {"queue": queue_id, "seq": seq, "thread": str(thread.uid), "interrupt": interrupt_id}
    return [
        outbox.hint(team(thread, queue_id), {"topic": "inbox", **data}),
        outbox.hint([thread_group(thread.uid)], {"topic": "thread", **data}),
    ]


def audience(thread: Thread, queue_id: int) -> list[str]:
    """The groups of all who may be shown this question: sockets forward only what their person may see."""
    return [*team(thread, queue_id), thread_group(thread.uid)]


def team(thread: Thread, queue_id: int) -> list[str]:
    return [f"queue.{queue_id}", OPERATORS, *requester_group(thread)]


def thread_changed(thread: Thread) -> list[OutboxMessage]:
    """A thread started, paused, resumed or ended: its pages, its requester and the operators."""
    groups = [thread_group(thread.uid), OPERATORS, *requester_group(thread)]
    return [outbox.hint(groups, {"topic": "thread", "thread": str(thread.uid)})]


def requester_group(thread: Thread) -> list[str]:
    requester = thread.conversation.requester_id
    return [f"user.{requester}"] if requester else []
