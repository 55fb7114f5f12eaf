"""Rows about the installation itself: the audit chain, the outbox, counters and heartbeats."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.apps import apps
from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Q
from django.db.models.functions import Cast
from django.db.models.sql.compiler import SQLCompiler
from django.utils import timezone

from graphs.models.append_only import AppendOnly, AppendOnlyQuerySet
from graphs.models.fields import JSONTextField

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser, User


class Spelled(Cast):
    """A UUID column as people and the audit spell it, with its dashes; SQLite keeps none."""

    def __init__(self, column: str) -> None:
        super().__init__(column, models.TextField())

    def as_sqlite(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **extra: Any) -> Any:
        """The expression for SQLite."""
        column, params = compiler.compile(self.source_expressions[0])
        parts = " || '-' || ".join(f"substr({column}, {at}, {size})" for at, size in PARTS)
        return f"({parts})", [*params] * len(PARTS)


#: Where the parts of a UUID begin, and how long each is.
PARTS = ((1, 8), (9, 4), (13, 4), (17, 4), (21, 12))


#: The tables whose rows belong to a queue: name, the column that the audit names them by, and the way to the queue.
OF_QUEUE = (
    ("Interrupt", "pk", "queue__slug"),
    ("Thread", "uid", "interrupts__queue__slug"),
    ("Trust", "pk", "queue__slug"),
)


class AuditEntryQuerySet(AppendOnlyQuerySet["AuditEntry"]):
    """Reads of the audit chain."""

    def visible_to(self, user: User | AnonymousUser) -> AuditEntryQuerySet:
        """The whole chain for auditors and operators, and nothing of it for anybody else."""
        whole = ("graphs.view_auditentry", "graphs.operate_thread")
        return self if user.is_active and any(user.has_perm(one) for one in whole) else self.none()

    def of_queue(self, slug: str) -> AuditEntryQuerySet:
        """What concerns one queue: itself, its questions, the threads that asked in it and the trust given in it."""
        about = Q(object_type="queue", object_id=slug)
        for name, column, queue in OF_QUEUE:
            rows = apps.get_model("graphs", name)._default_manager.filter(**{queue: slug})
            named = rows.order_by().annotate(spelled=Spelled(column)).values("spelled")
            about |= Q(object_type=name.lower(), object_id__in=named)
        return self.filter(about)

    def about(self, object_type: str, object_id: str) -> AuditEntryQuerySet:
        """What was recorded of one object, oldest first."""
        return self.filter(object_type=object_type, object_id=object_id).order_by("seq")


class AuditEntry(AppendOnly):
    """One link of the installation's audit chain: append-only, keyed, each holding the digest of the one before."""

    seq = models.PositiveBigIntegerField(primary_key=True)
    at = models.DateTimeField()
    actor_id = models.BigIntegerField(null=True, blank=True)
    actor_name = models.CharField(max_length=150)
    action = models.CharField(max_length=60)
    object_type = models.CharField(max_length=40)
    object_id = models.CharField(max_length=64)
    channel = models.CharField(max_length=20, blank=True)
    data = JSONTextField(null=True, blank=True)
    previous = models.CharField(max_length=64)
    digest = models.CharField(max_length=64)

    objects = AuditEntryQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "audit entries"
        indexes = [models.Index(fields=["object_type", "object_id"], name="audit_object")]

    def __str__(self) -> str:
        return f"{self.seq} {self.action}"


class OutboxMessage(models.Model):
    """Something to say once its transaction has committed; the sweep says it again where nobody did (F6)."""

    kind = models.CharField(max_length=20)
    payload = JSONTextField()
    created_at = models.DateTimeField(default=timezone.now)
    published_at = models.DateTimeField(null=True, blank=True)
    attempts = models.PositiveSmallIntegerField(default=0)

    class Meta:
        indexes = [models.Index(fields=["id"], condition=Q(published_at__isnull=True), name="outbox_unpublished")]

    def __str__(self) -> str:
        return f"{self.kind} {self.pk}"


class Counter(models.Model):
    """A number that grows in commit order: one a queue (`queue:<id>`) and the head of the audit chain (`audit`)."""

    name = models.CharField(max_length=60, primary_key=True)
    value = models.PositiveBigIntegerField(default=0)
    text = models.CharField(max_length=64, blank=True)

    def __str__(self) -> str:
        return f"{self.name} {self.value}"


class Heartbeat(models.Model):
    """When a process was last alive."""

    name = models.CharField(max_length=100, primary_key=True)
    at = models.DateTimeField()
    info = JSONTextField(null=True, blank=True)

    def __str__(self) -> str:
        return self.name


class IdempotencyKey(models.Model):
    """What a submission with this key has already made, so that sending it twice makes nothing twice."""

    scope = models.CharField(max_length=30)
    user_id = models.BigIntegerField()
    key = models.CharField(max_length=64)
    result = models.CharField(max_length=64)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["scope", "user_id", "key"], name="submission_once")]

    def __str__(self) -> str:
        return f"{self.scope} {self.key}"
