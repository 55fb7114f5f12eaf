"""What a thread's pages see between its commits: words as they are written, and hints that there is more to read."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db import Error as DatabaseError

from graphs import outbox, store
from graphs.actions import hints
from graphs.actions.mainthread import driven, off_the_loop
from graphs.engine import events
from graphs.engine.errors import LeaseLost
from graphs.engine.ports import TaskKey
from graphs.models import Thread

logger = logging.getLogger(__name__)

#: Words are written, and pages are told, at most this often (seconds); the same clock for both.
LEAST_SECONDS = 0.5
#: The first words after a silence wait for a few more (seconds).
FIRST_SECONDS = 0.1
#: Of longer words the end is shown while they are written (characters).
MOST_SHOWN = 20_000


@dataclass(slots=True)
class Said:
    """What one task has said of the reply that it is writing, and who of it speaks."""

    speaker: str = ""
    written: bool = False
    changed: bool = False
    pieces: dict[str, str] = field(default_factory=dict)

    def take(self, words: str, delta: Any) -> None:
        """Add a piece. One that stands further back than the last one ended begins anew there: the reply was asked for
        again, or it is that of the next turn."""
        told: Mapping[str, Any] = delta if isinstance(delta, Mapping) else {}
        self.speaker = str(told.get("agent", ""))
        before = self.pieces.get(self.speaker, "")
        self.pieces[self.speaker] = before[: told.get("at", len(before))] + words
        self.changed = True

    @property
    def text(self) -> str:
        """The words of whoever spoke last."""
        return self.pieces.get(self.speaker, "")[-MOST_SHOWN:]


class Streaming:
    """The voice of the thread that a job holds; all of it speaks on the job's main thread.

    Words under way are an ornament: where the database refuses them, the run goes on and they come with their reply.
    """

    def __init__(self, write: Callable[[Mapping[TaskKey, Said]], Thread | None]) -> None:
        self._write = write
        self._said: dict[TaskKey, Said] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._last = 0.0
        #: The thread whose pages are to fetch it whole; None where only words have come.
        self._rung: Thread | None = None

    def hear(self, event: Mapping[str, Any]) -> None:
        """Take what a run tells: the words that it streams."""
        words = events.words_of(event["delta"]) if event["type"] == events.NODE_STREAM else None
        if words:
            self._said.setdefault(TaskKey(event["path"], event["visit"]), Said()).take(words, event["delta"])
            self._soon()

    def ring(self, thread: Thread) -> None:
        """Tell the thread's pages that there is more to read: soon, and once for all that comes until then."""
        self._rung = thread
        self._soon()

    def forget(self, task: TaskKey, reply: str) -> bool:
        """Drop the words of a task that a recorded reply has; another agent that speaks in it goes on. Whether a row of
        them stands, which the caller deletes."""
        said = self._said.get(task)
        if said is None:
            return False
        stood, said.written = said.written, False
        said.pieces = {speaker: words for speaker, words in said.pieces.items() if not reply.startswith(words)}
        if said.pieces:
            said.speaker, said.changed = next(reversed(said.pieces)), True
            self._soon()
        else:
            del self._said[task]
        return stood

    def forget_all(self) -> bool:
        """Drop all words, at a commit. Whether rows of them stand, which the caller deletes."""
        stood = any(said.written for said in self._said.values())
        self._said.clear()
        return stood

    def _soon(self) -> None:
        """See to it that what is new is told when it is time for it: soon, and where it was just done, later."""
        if self._timer is not None:
            return
        wait = self._last + LEAST_SECONDS - time.monotonic()
        if driven.loop is not None:
            self._timer = driven.loop.call_later(max(wait, FIRST_SECONDS), self._due)
        elif wait <= 0:
            # Outside of a job no loop is ours to come back on, so some are left out: the next one says the same.
            self._tell()

    def _due(self) -> None:
        self._timer = None
        with off_the_loop():
            self._tell()

    def _tell(self) -> None:
        self._last = time.monotonic()
        thread, topic = self._rung, "thread" if self._rung is not None else "words"
        thread, self._rung = self._put_down() or thread, None
        if thread is not None:
            outbox.send([hints.thread_group(thread.uid)], {"topic": topic, "thread": str(thread.uid)})

    def _put_down(self) -> Thread | None:
        changed = {task: said for task, said in self._said.items() if said.changed}
        try:
            thread = self._write(changed) if changed else None
        except (DatabaseError, LeaseLost) as error:
            logger.info("words under way were not written: %s", type(error).__name__)
            return None
        for said in changed.values():
            said.changed, said.written = False, True
        return thread


def forget_words(thread: Thread) -> None:
    """Delete the words under way of a thread whose commit has them. What is left of them is shown to nobody."""
    try:
        store.forget_words(thread.pk)
    except DatabaseError as error:
        logger.info("words under way were not deleted: %s", type(error).__name__)
