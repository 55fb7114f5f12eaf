"""The tables, one file a noun. Reads are QuerySet methods here; every write is in `actions`."""

from __future__ import annotations

from graphs.models.interrupts import Comment, Decision, Interrupt
from graphs.models.queues import ApprovalQueue, QueueMembership, Right
from graphs.models.records import AuditEntry, Counter, Heartbeat, IdempotencyKey, OutboxMessage
from graphs.models.streaming import StreamedText
from graphs.models.threads import Blob, Checkpoint, Conversation, JournalEntry, Lease, Task, Thread, ThreadEvent
from graphs.models.trust import Trust

__all__ = [
    "ApprovalQueue",
    "AuditEntry",
    "Blob",
    "Checkpoint",
    "Comment",
    "Conversation",
    "Counter",
    "Decision",
    "Heartbeat",
    "IdempotencyKey",
    "Interrupt",
    "JournalEntry",
    "Lease",
    "OutboxMessage",
    "QueueMembership",
    "Right",
    "StreamedText",
    "Task",
    "Thread",
    "ThreadEvent",
    "Trust",
]
