"""The SQL of forks and migrations: what only they need of a thread, all of its history's journal among it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.db import connection

from graphs.engine.ports import JournalEntry, TaskKey
from graphs.models import Task
from graphs.store import sql
from graphs.store.loading import parsed

#: No path of a node begins with it, so that two nodes can change their names with each other.
MOVING = "#"


def journals(thread_id: int) -> dict[TaskKey, list[JournalEntry]]:
    """The journals of all tasks of a thread, finished ones too."""
    rows = sql.fetch(
        "SELECT t.path, t.visit, j.key, j.ordinal, j.state, j.value, j.mode FROM graphs_task t"
        " JOIN graphs_journalentry j ON j.task_id = t.id WHERE t.thread_id = %s ORDER BY t.id, j.id",
        [thread_id],
    )
    found: dict[TaskKey, list[JournalEntry]] = {}
    for path, visit, key, ordinal, state, value, mode in rows:
        found.setdefault(TaskKey(path, visit), []).append(JournalEntry(key, ordinal, state, parsed(value), mode))
    return found


def rename_tasks(thread_id: int, paths: Mapping[str, str]) -> None:
    """Give a thread's tasks their new paths, all at once: two of them may swap theirs."""
    assert connection.in_atomic_block
    for prefix, targets in ((MOVING, paths), ("", {f"{MOVING}{new}": new for new in paths.values()})):
        for old, new in targets.items():
            Task.objects.filter(thread=thread_id, path=old).update(path=f"{prefix}{new}")


def task_paths(thread_id: int) -> Sequence[str]:
    """Every path that a thread has a task of."""
    return list(Task.objects.filter(thread=thread_id).values_list("path", flat=True).distinct())
