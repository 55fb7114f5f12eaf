"""The tables, one file a noun. Reads are QuerySet methods here; every write is in `actions`."""

from __future__ import annotations

from graphs.models.attention import Attachment, Draft, Look, Preference, SavedView, Snooze, Watch
from graphs.models.interrupts import Comment, CommentKind, Decision, Interrupt, Vote
from graphs.models.proposals import PolicyProposal, ProposalState
from graphs.models.queues import ApprovalQueue, Delegation, QueueMembership, QueuePolicy, Right
from graphs.models.records import AuditEntry, Counter, Heartbeat, IdempotencyKey, OutboxMessage
from graphs.models.streaming import StreamedText
from graphs.models.threads import Blob, Checkpoint, Conversation, JournalEntry, Lease, Task, Thread, ThreadEvent
from graphs.models.trust import Trust

__all__ = [
    "ApprovalQueue",
    "Attachment",
    "AuditEntry",
    "Blob",
    "Checkpoint",
    "Comment",
    "CommentKind",
    "Conversation",
    "Counter",
    "Decision",
    "Delegation",
    "Draft",
    "Heartbeat",
    "IdempotencyKey",
    "Interrupt",
    "JournalEntry",
    "Lease",
    "Look",
    "OutboxMessage",
    "PolicyProposal",
    "Preference",
    "ProposalState",
    "QueueMembership",
    "QueuePolicy",
    "Right",
    "SavedView",
    "Snooze",
    "StreamedText",
    "Task",
    "Thread",
    "ThreadEvent",
    "Trust",
    "Vote",
    "Watch",
]
