"""One process that does everything a thread needs: start, jobs, sweeps, a reviewer. `python -m tests.jobs.drive SHAPE`.

It can be killed anywhere and started again: it goes on from what the database says, as an installation does, and prints
the final state when the thread has ended.
"""

from __future__ import annotations

import json
import os
import sys
import time

import django

DEADLINE = 60.0


def main(shape: str) -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hitl_site.settings")
    django.setup()
    from django.contrib.auth.models import User

    from graphs.actions import sweeping, threads
    from graphs.engine.statuses import ENDED
    from graphs.jobs.threads import advance
    from graphs.models import Thread

    person = User.objects.get_or_create(username="reviewer", defaults={"is_superuser": True})[0]
    thread = threads.start(person, shape, {"n": 1}, thread_id="one", submission_key=shape)
    deadline = time.monotonic() + DEADLINE
    while thread.status not in ENDED:
        sweeping.sweep()
        advance()
        review(person)
        thread = Thread.objects.get(pk=thread.pk)
        if time.monotonic() > deadline:
            sys.exit(f"the thread is still {thread.status} at step {thread.step}")
        time.sleep(0.02)
    sweeping.sweep()
    print(json.dumps(final(thread.pk), sort_keys=True))


def review(person: object) -> None:
    """Answer what is open, the oldest first, as a page would: with the version and digest that it shows."""
    from graphs.actions.decisions import Given, decide
    from graphs.engine.statuses import Outcome
    from graphs.models import Interrupt

    for row in Interrupt.objects.waiting().select_related("task").order_by("task__path"):
        given = Given(str(row.pk), row.version, row.digest, Outcome.ANSWERED, row.task.visit)
        decide(person, [given], channel="form", submission_key=row.pk.hex)  # type: ignore[arg-type]


def final(pk: int) -> dict[str, object]:
    """All that a crash must not change."""
    from graphs import store
    from graphs.actions import audit
    from graphs.models import AuditEntry, Decision, Interrupt, Lease, Task, Thread

    thread = Thread.objects.get(pk=pk)
    cells = store.cells_at(thread, thread.step) or {}
    lease = Lease.objects.get(pk=pk)
    decisions = Decision.objects.values_list("interrupt__task__path", "interrupt__task__visit", "outcome", "value")
    return {
        "status": thread.status,
        "output": thread.output,
        "cells": {name: value for name, value in cells.items() if name != "counters"},
        "tasks": sorted(Task.objects.filter(applied=True).values_list("path", "visit", "status")),
        "left": Task.objects.filter(applied=False).count(),
        "questions": sorted(Interrupt.objects.values_list("task__path", "task__visit", "status")),
        "decisions": sorted(map(list, decisions), key=json.dumps),
        "decided": AuditEntry.objects.filter(action="decide").count(),
        "chain": audit.verify().ok,
        "free": lease.expires_at is None,
        "checkpoints": list(thread.checkpoints.order_by("step").values_list("step", flat=True))
        == list(range(thread.step + 1)),
        "events": list(thread.events.order_by("seq").values_list("seq", flat=True)) == list(range(1, thread.next_seq)),
    }


if __name__ == "__main__":
    main(sys.argv[1])
