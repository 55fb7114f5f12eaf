"""What a task has settled already, found again by place when the task re-fires."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from graphs.engine import canonical
from graphs.engine.answers import OPEN
from graphs.engine.interrupts import Interrupt
from graphs.engine.ports import JournalEntry, Json, Snapshot, TaskKey, TaskRecord
from graphs.engine.statuses import InterruptStatus

#: Begins the places of a child that a node runs itself; what follows one is the child's (see children.py).
CHILD = "run_node:"
#: After so many other questions at one place without progress, the task fails (`QuestionChanged`).
MAX_REVISION = 3


class Journal:
    """One task's settled effects and its questions, read by `(key, ordinal)`.

    `inherited` are effects of the same task in the thread that this one was forked from (see forking.py).
    """

    def __init__(self, record: TaskRecord, inherited: Sequence[JournalEntry] = ()) -> None:
        self.record = record
        self._inherited = {(entry.key, entry.ordinal): entry for entry in inherited}
        self._effects = {(entry.key, entry.ordinal): entry for entry in record.journal}
        self._questions: dict[tuple[str, int], Interrupt] = {}
        for question in record.interrupts:
            self._place(question)

    def effect(self, key: str, ordinal: int) -> JournalEntry | None:
        """The settled (or begun) effect at this place."""
        return self._effects.get((key, ordinal))

    def inherited(self, key: str, ordinal: int) -> JournalEntry | None:
        """What took place here in the thread that this one was forked from, where nothing has been settled here yet."""
        return self._inherited.get((key, ordinal))

    def effects(self, key: str) -> Iterator[JournalEntry]:
        """All effects under one key, by ordinal."""
        ordinal = 0
        while (entry := self._effects.get((key, ordinal))) is not None:
            yield entry
            ordinal += 1

    def settle(self, entry: JournalEntry) -> None:
        """Keep an effect that the store has just recorded."""
        self._effects[entry.key, entry.ordinal] = entry
        self.record.journal = list(self._effects.values())

    def question(self, key: str, ordinal: int) -> Interrupt | None:
        """The newest question at this place."""
        return self._questions.get((key, ordinal))

    def questions(self) -> list[Interrupt]:
        """The newest question of each place of the task's own, in the order they were opened; not those of children."""
        newest = {one.id for one in self._questions.values() if not _of_child(one.key)}
        return [one for one in self.record.interrupts if one.id in newest]

    def under(self, prefix: str, task: TaskKey) -> Journal:
        """What this journal holds of a child whose places begin with `prefix`, as the journal of a task of its own."""
        length = len(prefix)
        effects = [replace(one, key=one.key[length:]) for one in self.record.journal if one.key.startswith(prefix)]
        asked = [
            replace(one, key=one.key[length:], path=task.path, visit=task.visit)
            for one in self.record.interrupts
            if one.key.startswith(prefix)
        ]
        inherited = [
            replace(one, key=one.key[length:]) for one in self._inherited.values() if one.key.startswith(prefix)
        ]
        return Journal(TaskRecord(task, journal=effects, interrupts=asked), inherited)

    @property
    def empty(self) -> bool:
        """Whether the task has settled and asked nothing."""
        return not self._effects and not self.record.interrupts

    def open(self) -> list[Interrupt]:
        """The questions a person can still answer, in the order they were opened."""
        return open_questions(self.record)

    def opened(self, question: Interrupt) -> None:
        """Keep a question that the store has just opened; an older one at its place is superseded."""
        older = self._questions.get((question.key, question.ordinal))
        if older is not None and older.id != question.id:
            self._replace(replace(older, status=InterruptStatus.SUPERSEDED))
        self._replace(question)
        self._place(question)

    def _replace(self, question: Interrupt) -> None:
        kept = [question if one.id == question.id else one for one in self.record.interrupts]
        self.record.interrupts = kept if any(one.id == question.id for one in kept) else [*kept, question]

    def _place(self, question: Interrupt) -> None:
        place = (question.key, question.ordinal)
        known = self._questions.get(place)
        if known is None or question.revision >= known.revision:
            self._questions[place] = question


def is_note(key: str) -> bool:
    """Whether a node's entry under this key is the engine's own, and no effect: what the node yielded (passing.py), or
    which edits it knew (patches.py)."""
    return key in ("state", "patched") or key.startswith("patched:")


def _of_child(key: str) -> bool:
    return key.startswith(CHILD) or f"/{CHILD}" in key


def open_questions(record: TaskRecord) -> list[Interrupt]:
    """A task's questions that a person can still answer: its own in the order they were opened, then those of its
    children by place, since children that run at the same time come to ask in any order (Z27)."""
    return sorted((one for one in record.interrupts if one.status in OPEN), key=_place_among_children)


def open_of(snapshot: Snapshot) -> list[Interrupt]:
    """All questions of a thread that a person can still answer, task by task."""
    return [one for record in snapshot.tasks.values() for one in open_questions(record)]


def _place_among_children(question: Interrupt) -> list[tuple[int, int, str]]:
    if not _of_child(question.key):
        return []
    # Numbers in names count as numbers, so that the tenth child comes after the ninth.
    parts = re.findall(r"\d+|\D+", question.key)
    return [(0, int(one), "") if one.isdecimal() else (1, 0, one) for one in parts]


def digest_of(question: Interrupt) -> str:
    """The digest of all that the reviewer is shown and must answer to; another one is another question."""
    shown: dict[str, Json] = {
        "style": question.style,
        "question": question.question,
        "kind": question.kind,
        "metadata": dict(question.metadata),
        "value": question.value,
        "reason": question.reason,
        "name": question.name,
        "schema": question.response_schema
        if isinstance(question.response_schema, bool)
        else None
        if question.response_schema is None
        else dict(question.response_schema),
    }
    return canonical.digest(shown)
