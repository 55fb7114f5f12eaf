"""Approval queues: a team's questions, and who may view, decide and administer them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.conf import settings
from django.contrib.auth.models import Group
from django.db import models
from django.db.models import Q

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser, User

    from graphs.models.interrupts import Interrupt  # noqa: F401


class Right(models.TextChoices):
    """What a membership allows; each includes the ones before it."""

    VIEW = "view", "may view"
    DECIDE = "decide", "may decide"
    ADMINISTER = "administer", "may administer"


class ApprovalQueueQuerySet(models.QuerySet["ApprovalQueue"]):
    """Reads of queues by membership."""

    def of(self, user: User | AnonymousUser, *rights: Right) -> ApprovalQueueQuerySet:
        """Queues in which this person holds one of `rights`, directly or by group; any right where none is named."""
        if not user.is_authenticated or not user.is_active:
            return self.none()
        member = Q(user=user) | Q(group__in=user.groups.values("pk"))
        found = QueueMembership.objects.filter(member, right__in=rights or list(Right))
        return self.filter(pk__in=found.values("queue_id"))


class ApprovalQueue(models.Model):
    """A team's approval queue. Exactly one is the default, where questions go that name no queue."""

    slug = models.SlugField(max_length=60, unique=True)
    title = models.CharField(max_length=120)
    description = models.TextField(blank=True)
    is_default = models.BooleanField(default=False)

    objects = ApprovalQueueQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["is_default"], condition=Q(is_default=True), name="one_default_queue")
        ]

    def __str__(self) -> str:
        return self.title


class QueueMembership(models.Model):
    """One person's or one group's right in one queue. Without either it gives nobody anything."""

    queue = models.ForeignKey(ApprovalQueue, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL)
    group = models.ForeignKey(Group, null=True, blank=True, on_delete=models.SET_NULL)
    right = models.CharField(max_length=10, choices=Right.choices, default=Right.DECIDE)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["queue", "user"], name="membership_user"),
            models.UniqueConstraint(fields=["queue", "group"], name="membership_group"),
        ]

    def __str__(self) -> str:
        return f"{self.user or self.group} {self.right} {self.queue}"
