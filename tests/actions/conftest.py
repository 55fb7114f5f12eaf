from __future__ import annotations

from typing import Any

import pytest

from graphs.actions.decisions import Given
from graphs.engine.interrupts import Interrupt
from graphs.engine.statuses import Outcome
from graphs.models import Interrupt as InterruptRow
from tests.people import People, invite, requested_by
from tests.records import Pen, question


@pytest.fixture
def people(db: None) -> People:
    return invite()


class Asked:
    """A thread that the requester started and that waits for the finance team."""

    def __init__(self, people: People, *questions: Interrupt) -> None:
        self.pen = Pen(queue="finance")
        requested_by(self.pen.thread, people.requester)
        self.pen.claim()
        self.pen.store.queue = "finance"
        self.pen.store.grips.clear()
        self.pen.load()
        self.questions = self.pen.pause(*(questions or [question()]))

    def row(self, number: int = 0) -> InterruptRow:
        return InterruptRow.objects.get(pk=self.questions[number].id)

    def given(
        self, outcome: Outcome = Outcome.APPROVED, value: Any = None, number: int = 0, comment: str = ""
    ) -> Given:
        """An answer to the question as it stands now."""
        row = self.row(number)
        return Given(str(row.pk), row.version, row.digest, outcome, value, comment)


@pytest.fixture
def asked(people: People) -> Asked:
    return Asked(people)
