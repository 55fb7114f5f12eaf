"""Conversations of agents that are called from Python, kept in the installation's own tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphs.actions.supersteps import ENGINE, DjangoCheckpointer
from graphs.actions.threads import valid_id

if TYPE_CHECKING:
    from graphs.actions.actors import Actor


class DjangoSessionManager:
    """Keeps the conversation `session_id` of each agent or team that is given it as a thread of the installation: its
    questions stand in the inbox, and reviewers answer them there, or the caller does by responses (H23, H36).

    `actor` is who talks to it: the thread's requester, and whose answers its responses are. A person goes on only
    in a thread that they may say something in, and reads only one that they may see: else `NotFound` or `NotAllowed`.
    Raises `InputInvalid` for an id that no thread can have.
    """

    def __init__(self, session_id: str, actor: Actor = ENGINE) -> None:
        self.session_id = valid_id(session_id)
        self.checkpointer = DjangoCheckpointer(actor=actor)
