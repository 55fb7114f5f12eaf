"""Who acts: a signed-in person, or the system itself under a name of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser, User

    Person: TypeAlias = User | AnonymousUser
    Actor: TypeAlias = "Person | System"


@dataclass(frozen=True, slots=True)
class System:
    """The installation acting by itself; `name` is what records show, such as `system:timeout`."""

    name: str


#: Decides questions whose deadline has passed and that declared what then counts.
TIMEOUT = System("system:timeout")
#: Moves threads that no job keeps alive any more.
CLOCK = System("system:clock")


def actor_id(actor: User | AnonymousUser | System) -> int | None:
    """The person's id; None for the system."""
    return None if isinstance(actor, System) else actor.pk


def person_id(person: Person) -> int:
    """The id of a signed-in person."""
    assert person.pk is not None
    return int(person.pk)


def actor_name(actor: User | AnonymousUser | System) -> str:
    """The name that records keep, so that it outlives the account."""
    if isinstance(actor, System):
        return actor.name
    full_name = "" if actor.is_anonymous else actor.get_full_name()
    return (full_name or actor.get_username())[:150]
