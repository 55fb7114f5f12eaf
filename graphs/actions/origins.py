"""Where an act came from: the address and the kind of program of the request, for the audit chain."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Origin:
    """`ip` as the server saw it, `agent` the family of the program, such as "Firefox on Linux"."""

    ip: str
    agent: str


#: Set for the time of one request; acts of jobs and commands have none.
ORIGIN: ContextVar[Origin | None] = ContextVar("sayso_origin", default=None)


def told() -> dict[str, str]:
    """What the audit entry of an act says of its origin; nothing where it did not come by a request."""
    origin = ORIGIN.get()
    return {} if origin is None else {"ip": origin.ip, "agent": origin.agent}
