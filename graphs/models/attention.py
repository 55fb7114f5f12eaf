"""What people look at and keep beside questions: watches, looks, snoozes, drafts, saved views and their preferences."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from graphs.models.fields import JSONTextField
from graphs.models.interrupts import Interrupt
from graphs.models.queues import ApprovalQueue

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser, User


class Watch(models.Model):
    """One person wants to hear of one question, whoever decides it; a mention begins one."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="watches")
    interrupt = models.ForeignKey(Interrupt, on_delete=models.CASCADE, related_name="watches")
    mentioned_by_name = models.CharField(max_length=150, blank=True)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "interrupt"], name="watch_once")]
        verbose_name_plural = "watches"

    def __str__(self) -> str:
        return f"{self.user} watches {self.interrupt}"


class Snooze(models.Model):
    """One person does not want to see one question before a moment; nobody else notices."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="snoozes")
    interrupt = models.ForeignKey(Interrupt, on_delete=models.CASCADE, related_name="snoozes")
    until = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "interrupt"], name="snooze_once")]
        indexes = [models.Index(fields=["user", "until"], name="snooze_until")]

    def __str__(self) -> str:
        return f"{self.user} until {self.until}"


class Look(models.Model):
    """That one person opened one question: what was unread is read, and how long a decision was looked at."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="looks")
    interrupt = models.ForeignKey(Interrupt, on_delete=models.CASCADE, related_name="looks")
    first_at = models.DateTimeField(default=timezone.now)
    last_at = models.DateTimeField(default=timezone.now)
    version = models.PositiveIntegerField(default=1, help_text="The question's version that was seen last.")
    read_all = models.BooleanField(default=False, help_text="Every long value was opened.")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "interrupt"], name="look_once")]
        indexes = [models.Index(fields=["interrupt", "first_at"], name="look_first")]

    def __str__(self) -> str:
        return f"{self.user} at {self.first_at}"


class Draft(models.Model):
    """What one person has typed into one question's form and not sent; secrets are never in it."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="drafts")
    interrupt = models.ForeignKey(Interrupt, on_delete=models.CASCADE, related_name="drafts")
    version = models.PositiveIntegerField(default=1)
    fields = JSONTextField(help_text="The posted fields by name.")
    updated_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "interrupt"], name="draft_once")]

    def __str__(self) -> str:
        return f"{self.user} of {self.updated_at}"


class SavedViewQuerySet(models.QuerySet["SavedView"]):
    """Reads of saved views."""

    def visible_to(self, user: User | AnonymousUser) -> SavedViewQuerySet:
        """One's own, and those shared with a queue that one belongs to at this moment (U15)."""
        if not user.is_authenticated or not user.is_active:
            return self.none()
        shared = Q(queue__in=ApprovalQueue.objects.of(user).values("pk"))
        return self.filter(Q(owner=user) | shared).order_by("title", "pk")


class SavedView(models.Model):
    """An inbox address under a name. It grants nothing: its rows are those that the reader may see anyway."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="saved_views")
    title = models.CharField(max_length=80)
    query = models.CharField(max_length=1000)
    queue = models.ForeignKey(
        ApprovalQueue,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="saved_views",
        help_text="The team that it is shared with.",
    )
    created_at = models.DateTimeField(default=timezone.now)

    objects = SavedViewQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["owner", "title"], name="saved_view_title")]

    def __str__(self) -> str:
        return self.title


class AttachmentQuerySet(models.QuerySet["Attachment"]):
    """Reads of attached files."""

    def visible_to(self, user: User | AnonymousUser) -> AttachmentQuerySet:
        """Files beside the questions that this person may see."""
        return self.filter(interrupt__in=Interrupt.objects.visible_to(user).values("pk"))


class Attachment(models.Model):
    """A file that a person put beside a question, as evidence for whoever decides; it is no part of the answer."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    interrupt = models.ForeignKey(Interrupt, on_delete=models.CASCADE, related_name="attachments")
    name = models.CharField(max_length=200)
    content_type = models.CharField(max_length=100)
    size = models.PositiveIntegerField(help_text="Bytes.")
    sha256 = models.CharField(max_length=64)
    content = models.BinaryField()
    author_id = models.BigIntegerField(null=True, blank=True)
    author_name = models.CharField(max_length=150)
    created_at = models.DateTimeField(default=timezone.now)

    objects = AttachmentQuerySet.as_manager()

    def __str__(self) -> str:
        return self.name


class Preference(models.Model):
    """What one person chose for their pages: zone, language, density, whether the next item opens by itself."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="preference")
    zone = models.CharField(max_length=60, blank=True)
    language = models.CharField(max_length=10, blank=True)
    choices = JSONTextField(null=True, blank=True)

    def __str__(self) -> str:
        return f"{self.user}"
