"""That a person opened a question: it is no longer unread to them, and how it was looked at can be judged later."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphs.actions.actors import person_id
from graphs.models import Look
from graphs.models.clock import Now

if TYPE_CHECKING:
    from graphs.actions.actors import Person
    from graphs.models import Interrupt


def note(actor: Person, interrupt: Interrupt, *, read_all: bool = False) -> None:
    """Keep when this person first and last saw a question, which version, and whether every long value was opened. The
    caller has looked whether they may see it."""
    fields = {"last_at": Now(), "version": interrupt.version, **({"read_all": True} if read_all else {})}
    Look.objects.update_or_create(
        user_id=person_id(actor), interrupt=interrupt, defaults=fields, create_defaults={**fields, "first_at": Now()}
    )
