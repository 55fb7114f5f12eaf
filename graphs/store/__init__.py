"""The SQL of checkpoints, tasks, journal and interrupts. It decides nothing: `actions.supersteps` composes it."""

from __future__ import annotations

from graphs.store import forks, verdicts
from graphs.store.counting import advance, extend_chain, next_of_chain
from graphs.store.leases import acquire, await_locks, claim, fence, lock_free, release, renew
from graphs.store.loading import cells_at, decided_by_name, decided_of, find, history, load, log, questions, results
from graphs.store.messages import insert_messages, mark_said, mark_unsaid
from graphs.store.questions import insert_interrupt, interrupt_of, open_of, queues, search_text, standing
from graphs.store.sql import identifier, rolled_back
from graphs.store.words import forget_words, write_words
from graphs.store.writing import (
    Superstep,
    Tail,
    create,
    open_conversation,
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
    "advance",
    "await_locks",
    "cells_at",
    "claim",
    "create",
    "decided_by_name",
    "decided_of",
    "extend_chain",
    "fence",
    "find",
    "forget_words",
    "forks",
    "history",
    "identifier",
    "insert_interrupt",
    "insert_messages",
    "interrupt_of",
    "load",
    "lock_free",
    "log",
    "mark_said",
    "mark_unsaid",
    "next_of_chain",
    "open_conversation",
    "open_of",
    "questions",
    "queues",
    "record_effect",
    "record_tasks",
    "release",
    "renew",
    "reset_failed",
    "results",
    "rolled_back",
    "search_text",
    "standing",
    "touch_task",
    "verdicts",
    "write_at_once",
    "write_superstep",
    "write_words",
]
