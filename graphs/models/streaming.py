"""What a task says while it says it: no part of its history, and gone when that is written."""

from __future__ import annotations

from django.db import models
from django.db.models import F
from django.utils import timezone

from graphs.engine.statuses import ThreadStatus
from graphs.models.threads import Thread


class StreamedTextQuerySet(models.QuerySet["StreamedText"]):
    """Reads of text under way."""

    def of(self, thread: Thread) -> StreamedTextQuerySet:
        """What the job that holds this thread now is writing; what a dead one left is nobody's word."""
        held = self.filter(thread=thread, thread__status=ThreadStatus.RUNNING, token=F("thread__lease__token"))
        return held.order_by("path", "visit")


class StreamedText(models.Model):
    """The words of one task so far, rewritten at most twice a second until its reply is recorded (DESIGN 4.9)."""

    thread = models.ForeignKey(Thread, on_delete=models.CASCADE, related_name="streamed")
    path = models.CharField(max_length=400)
    visit = models.PositiveIntegerField()
    speaker = models.CharField(max_length=200, blank=True)
    token = models.PositiveBigIntegerField()
    text = models.TextField()
    at = models.DateTimeField(default=timezone.now)

    objects = StreamedTextQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["thread", "path", "visit"], name="streamed_once")]

    def __str__(self) -> str:
        return f"{self.path} #{self.visit}"
