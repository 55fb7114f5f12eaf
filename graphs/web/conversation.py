"""Talking on with a thread that keeps a conversation: its composer, and what is sent with it."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.utils.translation import gettext_lazy

from graphs.actions import turns
from graphs.actions.errors import NotPossible
from graphs.engine.graph import CompiledGraph
from graphs.engine.statuses import ThreadStatus
from graphs.engine.turns import FOLLOWED
from graphs.models import Thread
from graphs.permissions import can
from graphs.web.agents import is_agent

MOST = 20_000
WAITS = {
    ThreadStatus.INTERRUPTED: gettext_lazy("It waits for a decision. A remark is for the team; it answers nothing."),
    ThreadStatus.FAILED: gettext_lazy("It failed. Retry it, and it goes on where it failed."),
    ThreadStatus.SUSPENDED: gettext_lazy("It is suspended. Resume it, and then go on talking."),
}
BUSY = gettext_lazy("It is at work. You can send this when it has finished.")


@dataclass(frozen=True, slots=True)
class Speaking:
    """The composer of a conversation: `ready` to take a message, or `why` it does not just now. One without a `key` is
    not shown: there it takes a person's act before anything can be said."""

    ready: bool
    to: str = ""
    why: str = ""
    key: str = ""


def speaking(user: User, thread: Thread) -> Speaking | None:
    """The composer for this person; None where the thread is not theirs to talk to, or keeps no conversation."""
    if not can(user, "say", thread):
        return None
    try:
        to = called(turns.graph_of(thread))
    except NotPossible:
        return None
    status = ThreadStatus(thread.status)
    if status in FOLLOWED:
        return Speaking(True, to, key=uuid.uuid4().hex)
    if status in WAITS:
        return Speaking(False, to, str(WAITS[status]))
    return Speaking(False, to, str(BUSY), uuid.uuid4().hex)


def is_chat(thread: Thread) -> bool:
    """Whether it is a conversation with an agent, whoever looks at it."""
    try:
        return is_agent(turns.graph_of(thread))
    except NotPossible:
        return False


def called(graph: CompiledGraph) -> str:
    """Whom one talks to: the name of the agent, where the graph is one and no more."""
    names = [str(node.get("label") or node["id"]) for node in graph.shape()["nodes"]]
    return names[0] if len(names) == 1 else graph.title or graph.id
