"""The SQL of checkpoints, tasks, journal and interrupts. It decides nothing: `actions.supersteps` composes it."""

from __future__ import annotations

from graphs.store.loading import cells_at, decided_of, find, history, load
from graphs.store.questions import insert_interrupt, interrupt_of, search_text
from graphs.store.writing import (
    Superstep,
    Tail,
    create,
    fence,
    record_effect,
    record_tasks,
    release,
    reset_failed,
    write_superstep,
)

__all__ = [
    "Superstep",
    "Tail",
    "cells_at",
    "create",
    "decided_of",
    "fence",
    "find",
    "history",
    "insert_interrupt",
    "interrupt_of",
    "load",
    "record_effect",
    "record_tasks",
    "release",
    "reset_failed",
    "search_text",
    "write_superstep",
]
