"""Which question one socket looks at. Whoever may see the question hears that somebody came or went, and asks who."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from django.contrib.auth.models import User

from graphs import outbox, presence
from graphs.actions import hints
from graphs.models import Interrupt


@dataclass(frozen=True, slots=True)
class Place:
    """A question that is looked at, and what it takes to tell of it."""

    question: UUID
    person: int
    thread: UUID
    groups: tuple[str, ...]

    def tell(self) -> None:
        data = {"topic": "presence", "thread": str(self.thread), "interrupt": str(self.question)}
        outbox.send(self.groups, data)


class Look:
    """One socket looks at one question at a time, for as long as it says so."""

    def __init__(self, socket: str) -> None:
        self.socket = socket
        self.place: Place | None = None

    def turn(self, user: User, question: UUID | None) -> None:
        """Look at this question from now on, or on. One that this person may not see, or that is closed, is none."""
        wanted = place_of(user, question) if question else None
        if self.place is not None and (wanted is None or wanted.question != self.place.question):
            self.away()
        self.place = wanted
        if wanted is not None and presence.arrive(wanted.question, wanted.person, self.socket):
            wanted.tell()

    def away(self) -> None:
        """Look nowhere."""
        place, self.place = self.place, None
        if place is not None and presence.leave(place.question, place.person, self.socket):
            place.tell()


def place_of(user: User, question: UUID) -> Place | None:
    rows = Interrupt.objects.visible_to(user).waiting().select_related("thread__conversation")
    found = rows.only("queue_id", "thread__uid", "thread__conversation__requester_id").filter(pk=question).first()
    if found is None:
        return None
    return Place(found.pk, user.pk, found.thread.uid, tuple(hints.audience(found.thread, found.queue_id)))
