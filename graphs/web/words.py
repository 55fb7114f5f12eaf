"""How statuses look: one word, one icon and one tone each, the same on every page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.utils.translation import gettext_lazy as _
from django.utils.translation import gettext_noop

from graphs.engine.statuses import InterruptStatus, Outcome, TaskStatus, ThreadStatus

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


@dataclass(frozen=True, slots=True)
class Look:
    """What a chip shows; the tone is a colour, and never the only sign."""

    word: StrOrPromise
    icon: str
    tone: str


THREAD: dict[str, Look] = {
    ThreadStatus.READY: Look(_("queued"), "clock", "blue"),
    ThreadStatus.RUNNING: Look(_("running"), "loader-2", "blue"),
    ThreadStatus.INTERRUPTED: Look(_("waiting"), "hand-stop", "amber"),
    ThreadStatus.SUSPENDED: Look(_("suspended"), "player-pause", "amber"),
    ThreadStatus.WAITING_VERSION: Look(_("waiting for a version"), "git-branch", "amber"),
    ThreadStatus.QUARANTINED: Look(_("quarantined"), "alert-triangle", "red"),
    ThreadStatus.FAILED: Look(_("failed"), "alert-circle", "red"),
    ThreadStatus.REJECTED: Look(_("rejected"), "circle-x", "red"),
    ThreadStatus.CANCELLED: Look(_("cancelled"), "ban", "grey"),
    ThreadStatus.COMPLETED: Look(_("completed"), "circle-check", "green"),
}

INTERRUPT: dict[str, Look] = {
    InterruptStatus.OPEN: Look(_("open"), "hand-stop", "amber"),
    InterruptStatus.NEEDS_INFO: Look(_("needs info"), "help-circle", "amber"),
    InterruptStatus.CLOSED: Look(_("closed"), "circle-check", "grey"),
    InterruptStatus.SUPERSEDED: Look(_("superseded"), "history", "grey"),
    InterruptStatus.WITHDRAWN: Look(_("withdrawn"), "ban", "grey"),
}

OUTCOME: dict[str, Look] = {
    Outcome.APPROVED: Look(_("approved"), "circle-check", "green"),
    Outcome.REJECTED: Look(_("rejected"), "circle-x", "red"),
    Outcome.ANSWERED: Look(_("answered"), "message-circle", "green"),
    Outcome.CANCELLED: Look(_("cancelled"), "ban", "grey"),
    Outcome.EXPIRED: Look(_("expired"), "hourglass", "grey"),
}

#: By the number of the level; each has a shape of its own.
RISK: dict[str, Look] = {
    "0": Look(_("low risk"), "circle", "grey"),
    "1": Look(_("medium risk"), "flag", "blue"),
    "2": Look(_("high risk"), "alert-triangle", "amber"),
    "3": Look(_("critical risk"), "urgent", "red"),
}

NODE: dict[str, Look] = {
    "idle": Look(_("not reached"), "circle-dashed", "grey"),
    "before": Look(_("done before the fork"), "git-branch", "grey"),
    "next": Look(_("next"), "clock", "blue"),
    TaskStatus.RUNNING: Look(_("running"), "loader-2", "blue"),
    TaskStatus.WAITING: Look(_("waiting"), "hand-stop", "amber"),
    TaskStatus.FINISHED: Look(_("finished"), "check", "green"),
    TaskStatus.FAILED: Look(_("failed"), "alert-circle", "red"),
    TaskStatus.REJECTED: Look(_("rejected"), "circle-x", "red"),
    TaskStatus.CANCELLED: Look(_("cancelled"), "ban", "grey"),
}

EVENT: dict[str, Look] = {
    "graph.start": Look(_("started"), "player-play", "blue"),
    "graph.superstep_end": Look(_("superstep committed"), "point", "grey"),
    "graph.node_end": Look(_("node finished"), "check", "green"),
    "graph.node_error": Look(_("node failed"), "alert-circle", "red"),
    "graph.node_interrupt": Look(_("question asked"), "hand-stop", "amber"),
    "graph.end": Look(_("ended"), "flag", "grey"),
}


#: Words of rooms that know nothing of languages, marked here so that translators find them: of statuses, of the
#: levels of a policy, and of when it asks for a reason.
OF_OTHER_ROOMS = (
    gettext_noop("ready"),
    gettext_noop("interrupted"),
    gettext_noop("waiting version"),
    gettext_noop("low"),
    gettext_noop("medium"),
    gettext_noop("high"),
    gettext_noop("critical"),
    gettext_noop("always"),
    gettext_noop("for a no, and where the risk is high"),
    gettext_noop("only where the risk is high"),
)


def of(table: dict[str, Look], name: str) -> Look:
    """The look of a status; a word that this release does not know shows as itself."""
    return table.get(name) or Look(name.replace("_", " "), "circle", "grey")
