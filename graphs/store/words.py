"""The SQL of words under way: one row a task, rewritten while it speaks."""

from __future__ import annotations

from collections.abc import Mapping

from django.db import connection
from django.utils import timezone

from graphs.engine.ports import TaskKey
from graphs.models import StreamedText


def write_words(thread_id: int, token: int, said: Mapping[TaskKey, tuple[str, str]]) -> None:
    """Put down what tasks have said so far, each with who of it speaks."""
    assert connection.in_atomic_block
    rows = [
        StreamedText(
            thread_id=thread_id,
            path=task.path,
            visit=task.visit,
            token=token,
            speaker=speaker,
            text=text,
            at=timezone.now(),
        )
        for task, (speaker, text) in said.items()
    ]
    place, changes = ["thread", "path", "visit"], ["token", "speaker", "text", "at"]
    StreamedText.objects.bulk_create(rows, update_conflicts=True, unique_fields=place, update_fields=changes)


def forget_words(thread_id: int, task: TaskKey | None = None) -> None:
    """Delete the words of a task, or of a whole thread."""
    rows = StreamedText.objects.filter(thread=thread_id)
    (rows.filter(path=task.path, visit=task.visit) if task else rows).delete()
