"""The SQL of checkpoints, tasks, journal and interrupts. It decides nothing: `actions.supersteps` composes it."""

from __future__ import annotations

from graphs.store.leases import acquire, claim, fence, lock_free, release, renew
from graphs.store.loading import cells_at, decided_of, find, history, load, questions, results
from graphs.store.questions import insert_interrupt, interrupt_of, search_text
from graphs.store.writing import (
    Superstep,
    Tail,
    create,
    record_effect,
    record_tasks,
    reset_failed,
    touch_task,
    write_at_once,
    write_superstep,
)

__all__ = [
    "Superstep",
    "Tail",
    "acquire",
    "cells_at",
    "claim",
    "create",
    "decided_of",
    "fence",
    "find",
    "history",
    "insert_interrupt",
    "interrupt_of",
    "load",
    "lock_free",
    "questions",
    "record_effect",
    "record_tasks",
    "release",
    "renew",
    "reset_failed",
    "results",
    "search_text",
    "touch_task",
    "write_at_once",
    "write_superstep",
]
