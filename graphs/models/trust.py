"""Trust: what people said need not be asked about again, with its scope, until it ends or somebody revokes it."""

from __future__ import annotations

import uuid
from datetime import timedelta
from typing import TYPE_CHECKING

from django.db import models
from django.db.models import Q
from django.utils import timezone

from graphs.engine import trust
from graphs.models.clock import Now
from graphs.models.fields import JSONTextField
from graphs.models.queues import ApprovalQueue
from graphs.models.threads import Conversation, Thread

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser, User


#: SQLite's clock has no more than milliseconds, and what was given within this one has begun (seconds).
GRAIN = 0.5


class TrustQuerySet(models.QuerySet["Trust"]):
    """Reads of trust."""

    def visible_to(self, user: User | AnonymousUser) -> TrustQuerySet:
        """What was given in this person's queues, by them or in threads they requested; all of it for operators."""
        if not user.is_authenticated or not user.is_active:
            return self.none()
        if user.has_perm("graphs.view_trust") or user.has_perm("graphs.operate_thread"):
            return self
        mine = Q(granted_by_id=user.pk) | Q(thread__conversation__requester=user)
        return self.filter(Q(queue__in=ApprovalQueue.objects.of(user).values("pk")) | mine)

    def standing(self) -> TrustQuerySet:
        """What still lets calls through, by the database's clock."""
        begun = self.filter(revoked_at=None, granted_at__lte=Now() + timedelta(seconds=GRAIN))
        return begun.filter(Q(expires_at=None) | Q(expires_at__gt=Now()))

    def reaching(self, thread: Thread) -> TrustQuerySet:
        """What stands and reaches this thread, oldest first."""
        near = Q(scope=trust.THREAD, thread=thread) | Q(
            scope=trust.CONVERSATION, conversation_id=thread.conversation_id
        )
        of_graph = self.standing().filter(graph_id=thread.graph_id)
        return of_graph.filter(near | Q(scope=trust.AGENT)).order_by("granted_at", "pk")


class Trust(models.Model):
    """One grant, given with the decision of one question, whose id it bears. Who gave it is kept by id and name."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    graph_id = models.CharField(max_length=200)
    agent = models.CharField(max_length=200)
    tool = models.CharField(max_length=200)
    scope = models.CharField(max_length=12, choices=[(one, one) for one in trust.SCOPES])
    arguments = JSONTextField(null=True, blank=True)
    thread = models.ForeignKey(Thread, null=True, blank=True, on_delete=models.SET_NULL, related_name="trust")
    conversation = models.ForeignKey(Conversation, null=True, blank=True, on_delete=models.SET_NULL)
    queue = models.ForeignKey(ApprovalQueue, on_delete=models.PROTECT, related_name="trust")
    granted_by_id = models.BigIntegerField(null=True, blank=True)
    granted_by_name = models.CharField(max_length=150, blank=True)
    granted_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    revoked_by_name = models.CharField(max_length=150, blank=True)

    objects = TrustQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "trust"
        indexes = [models.Index(fields=["graph_id"], condition=Q(revoked_at=None), name="trust_standing")]

    def __str__(self) -> str:
        return f"{self.tool} of {self.agent}"
