"""Conversations and threads: who asked for what, and how far its execution has come."""

from __future__ import annotations

import uuid
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from django.apps import apps
from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from graphs.engine.statuses import TaskStatus, ThreadStatus
from graphs.models.fields import JSONTextField
from graphs.models.queues import ApprovalQueue

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser, User


def choices(kind: type[StrEnum]) -> list[tuple[str, str]]:
    """The statuses as Django choices, spelled for people."""
    return [(str(status), str(status).replace("_", " ")) for status in kind]


class Conversation(models.Model):
    """The threads of one requester in one place, oldest first; a chat."""

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    requester = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL)
    requester_name = models.CharField(max_length=150, blank=True)
    title = models.CharField(max_length=200, blank=True)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        indexes = [models.Index(fields=["requester", "-id"], name="conversation_of")]

    def __str__(self) -> str:
        return self.title or f"conversation {self.pk}"


class ThreadQuerySet(models.QuerySet["Thread"]):
    """Reads of threads; lists, counts, search and sockets all start from `visible_to`."""

    def visible_to(self, user: User | AnonymousUser) -> ThreadQuerySet:
        """Threads that this person requested, may decide or view a question of, or may see as an operator."""
        if not user.is_authenticated or not user.is_active:
            return self.none()
        if user.has_perm("graphs.view_thread") or user.has_perm("graphs.operate_thread"):
            return self
        # One subquery by queue, not by question: a person who requested much does not make this slower.
        asked = apps.get_model("graphs", "Interrupt")._default_manager.filter(
            queue__in=ApprovalQueue.objects.of(user).values("pk")
        )
        return self.filter(Q(conversation__requester=user) | Q(pk__in=asked.values("thread_id")))

    def ready(self) -> ThreadQuerySet:
        """Threads that wait for a job, longest first."""
        return self.filter(status=ThreadStatus.READY).order_by("ready_at", "pk")


class Thread(models.Model):
    """One durable execution of one graph. `thread_id` is unique per graph; `uid` is what pages and sockets name."""

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    graph_id = models.CharField(max_length=200)
    thread_id = models.CharField(max_length=200)
    conversation = models.ForeignKey(Conversation, on_delete=models.PROTECT, related_name="threads")
    title = models.CharField(max_length=200, blank=True)
    fingerprint = models.CharField(max_length=64)
    graph_version = models.CharField(max_length=50, blank=True)
    status = models.CharField(max_length=20, choices=choices(ThreadStatus), default=ThreadStatus.READY)
    step = models.PositiveIntegerField(default=0)
    next_seq = models.PositiveIntegerField(default=1)
    input = JSONTextField(null=True, blank=True)
    output = JSONTextField(null=True, blank=True)
    error = JSONTextField(null=True, blank=True)
    metadata = JSONTextField(null=True, blank=True)
    active = JSONTextField(null=True, blank=True, help_text="Paths of the tasks that run next.")
    full_step = models.PositiveIntegerField(default=0, help_text="The last checkpoint that holds all cells.")
    full_size = models.PositiveIntegerField(default=0, help_text="Its bytes.")
    tail_size = models.PositiveIntegerField(default=0, help_text="Bytes of the deltas since then.")
    cancel_at = models.DateTimeField(null=True, blank=True, help_text="When somebody asked to cancel it.")
    cancel_reason = models.CharField(max_length=300, blank=True)
    suspend_at = models.DateTimeField(null=True, blank=True, help_text="When somebody asked to suspend it.")
    suspended_by = models.CharField(max_length=150, blank=True)
    suspend_reason = models.CharField(max_length=300, blank=True)
    parent = models.ForeignKey("self", null=True, blank=True, on_delete=models.SET_NULL, related_name="forks")
    parent_step = models.PositiveIntegerField(null=True, blank=True, help_text="The parent's checkpoint it began with.")
    created_at = models.DateTimeField(default=timezone.now)
    updated_at = models.DateTimeField(default=timezone.now)
    ready_at = models.DateTimeField(default=timezone.now)
    ended_at = models.DateTimeField(null=True, blank=True)

    objects = ThreadQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["graph_id", "thread_id"], name="thread_id_per_graph")]
        indexes = [
            models.Index(fields=["ready_at", "id"], condition=Q(status="ready"), name="thread_ready"),
            models.Index(fields=["status", "-id"], name="thread_by_status"),
            models.Index(fields=["cancel_at"], condition=Q(cancel_at__isnull=False), name="thread_cancelling"),
        ]
        permissions = [("operate_thread", "Can see and steer every thread")]

    def __str__(self) -> str:
        return self.title or f"{self.graph_id} {self.thread_id}"


class Lease(models.Model):
    """The right of one job to advance one thread. `token` grows with each holder; every commit checks it (R3)."""

    thread = models.OneToOneField(Thread, primary_key=True, on_delete=models.CASCADE, related_name="lease")
    token = models.PositiveBigIntegerField(default=0)
    holder = models.CharField(max_length=100, blank=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    barren = models.PositiveIntegerField(default=0, help_text="Acquisitions in a row that recorded no progress (F24).")
    step = models.PositiveIntegerField(default=0, help_text="The thread's step when it was last acquired.")

    class Meta:
        indexes = [models.Index(fields=["expires_at"], condition=Q(expires_at__isnull=False), name="lease_held")]

    def __str__(self) -> str:
        return f"{self.thread_id} token {self.token}"


class Checkpoint(models.Model):
    """What one superstep commit wrote: the changed cells, or all of them where `full`."""

    thread = models.ForeignKey(Thread, on_delete=models.CASCADE, related_name="checkpoints")
    step = models.PositiveIntegerField()
    format = models.PositiveSmallIntegerField(default=1)
    full = models.BooleanField(default=False)
    data = JSONTextField()
    size = models.PositiveIntegerField(default=0)
    status = models.CharField(max_length=20, choices=choices(ThreadStatus))
    log = JSONTextField(null=True, blank=True, help_text="What was applied in this step, for a replay.")
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["thread", "step"], name="checkpoint_step")]

    def __str__(self) -> str:
        return f"{self.thread_id} step {self.step}"


class Task(models.Model):
    """One execution of one node. Made when it first needs a row: at its first effect, its first question or its end."""

    thread = models.ForeignKey(Thread, on_delete=models.CASCADE, related_name="tasks")
    path = models.CharField(max_length=400)
    visit = models.PositiveIntegerField()
    step = models.PositiveIntegerField(default=0)
    status = models.CharField(max_length=20, choices=choices(TaskStatus), default=TaskStatus.RUNNING)
    output = JSONTextField(null=True, blank=True)
    detail = JSONTextField(null=True, blank=True, help_text="Route, channel writes and usage, where there are any.")
    error = JSONTextField(null=True, blank=True)
    attempt = models.PositiveSmallIntegerField(default=1)
    seconds = models.FloatField(default=0.0)
    applied = models.BooleanField(default=False, help_text="Its result is part of a checkpoint.")
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["thread", "path", "visit"], name="task_once")]
        # What a load reads: however long the history, only what is still under way.
        indexes = [models.Index(fields=["thread"], condition=Q(applied=False), name="task_under_way")]

    def __str__(self) -> str:
        return f"{self.path} #{self.visit}"


class JournalEntry(models.Model):
    """One settled effect of a task; a re-fire reads it instead of running the effect again (R4, R5)."""

    task = models.ForeignKey(Task, on_delete=models.CASCADE, related_name="journal")
    key = models.CharField(max_length=300)
    ordinal = models.PositiveIntegerField()
    state = models.CharField(max_length=10)
    mode = models.CharField(max_length=20)
    value = JSONTextField(null=True, blank=True)
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["task", "key", "ordinal"], name="journal_place")]
        verbose_name_plural = "journal entries"

    def __str__(self) -> str:
        return f"{self.key}[{self.ordinal}]"


class ThreadEvent(models.Model):
    """One line of a thread's timeline; its lease orders `seq`, so no counter is needed."""

    thread = models.ForeignKey(Thread, on_delete=models.CASCADE, related_name="events")
    seq = models.PositiveIntegerField()
    type = models.CharField(max_length=40)
    path = models.CharField(max_length=400, blank=True)
    visit = models.PositiveIntegerField(default=0)
    data: Any = JSONTextField(null=True, blank=True)
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["thread", "seq"], name="event_seq")]

    def __str__(self) -> str:
        return f"{self.seq} {self.type}"


class Blob(models.Model):
    """A value over 64 KiB, compressed, once by content. Columns refer to it by `@digest` (see models/fields.py)."""

    digest = models.CharField(max_length=64, primary_key=True)
    data = models.BinaryField()
    size = models.PositiveIntegerField()

    def __str__(self) -> str:
        return self.digest[:12]
