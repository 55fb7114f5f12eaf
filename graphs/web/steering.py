"""What can be done to a thread as a whole: each act with what it will do, and the reason where it cannot be done."""

from __future__ import annotations

from dataclasses import dataclass, replace

from django.contrib.auth.models import User
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from graphs.engine.statuses import ENDED, ThreadStatus
from graphs.models import Thread
from graphs.permissions import can

RETRIED = {
    ThreadStatus.FAILED: gettext_lazy(
        "Runs what failed once more. Answers that were given and effects that were finished are used "
        "again; nobody is asked twice."
    ),
    ThreadStatus.QUARANTINED: gettext_lazy(
        "Lets workers take it up again, with all that is stored. If it takes them down again, it is set aside again."
    ),
    ThreadStatus.WAITING_VERSION: gettext_lazy("Looks for its version now instead of within the next minute."),
}
SUSPENDABLE = (ThreadStatus.READY, ThreadStatus.RUNNING, ThreadStatus.INTERRUPTED)
OPERATORS = gettext_lazy("Only operators may do this, since a fork goes on with answers that were given here.")
THEIRS = gettext_lazy("Only the requester and operators may do this.")


@dataclass(frozen=True, slots=True)
class Act:
    """One act. `says` is what it does, `reason` that it takes one; `open` and `typed` are of a try that failed."""

    name: str
    label: str
    icon: str
    says: str = ""
    confirm: str = ""
    why_not: str = ""
    reason: bool = False
    stops: bool = False
    open: bool = False
    typed: str = ""


def reasons(acts: list[Act]) -> list[tuple[str, str]]:
    """Why some cannot be done, each reason once with the acts it stands for; no names where it is the same for all."""
    found: dict[str, list[str]] = {}
    for one in acts:
        if one.why_not:
            found.setdefault(one.why_not, []).append(one.label)
    return [("" if len(names) == len(acts) else ", ".join(names), why) for why, names in found.items()]


def acts(user: User, thread: Thread, waiting: int) -> list[Act]:
    """The acts of a thread as they stand; `waiting` of its questions are open."""
    status = ThreadStatus(thread.status)
    found = [pause(status, thread), again(status), stop(status, waiting), branch()]
    if status in ENDED and status is not ThreadStatus.FAILED:
        found = [
            one
            if one.name == "fork"
            else replace(one, why_not=_("The thread is %(status)s already.") % {"status": _(str(status))})
            for one in found
        ]
    if not can(user, "cancel", thread):
        return [replace(one, why_not=str(THEIRS)) for one in found]
    if found[0].name == "resume" and not can(user, "resume", thread):
        found[0] = replace(found[0], why_not=_("It was suspended by somebody else; operators may do this."))
    if not can(user, "fork", thread):
        found = [replace(one, why_not=str(OPERATORS)) if one.name == "fork" else one for one in found]
    if thread.cancel_at is not None and status not in ENDED:
        return [one if one.name == "fork" else replace(one, why_not=_("It is being cancelled.")) for one in found]
    return found


def pause(status: ThreadStatus, thread: Thread) -> Act:
    if status is ThreadStatus.SUSPENDED or (status is ThreadStatus.RUNNING and thread.suspend_at is not None):
        says = _("It goes on where it stopped, with the answers that came meanwhile.")
        return Act("resume", _("Resume"), "player-play", says, _("Resume the thread"))
    told = [_("No further node starts until somebody resumes it.")]
    if status is ThreadStatus.RUNNING:
        told.append(_("The node that runs now still finishes."))
    told.append(_("Open questions stay open; answers to them are kept."))
    why_not = "" if status in SUSPENDABLE else _("It is not going on by itself.")
    return Act("suspend", _("Suspend"), "player-pause", " ".join(told), _("Suspend the thread"), why_not, reason=True)


def again(status: ThreadStatus) -> Act:
    why_not = "" if status in RETRIED else _("Nothing has failed.")
    return Act("retry", _("Retry"), "refresh", str(RETRIED.get(status, "")), _("Retry the thread"), why_not)


def stop(status: ThreadStatus, waiting: int) -> Act:
    told = [_("Ends the thread for good.")]
    if waiting:
        text = ngettext(
            "Its %(count)d open question is withdrawn.", "Its %(count)d open questions are withdrawn.", waiting
        )
        told.append(text % {"count": waiting})
    if status is ThreadStatus.RUNNING:
        told.append(_("The node that runs now may still finish what it does outside."))
    told.append(_("What it has done outside stays done."))
    return Act("cancel", _("Cancel"), "ban", " ".join(told), _("Cancel the thread"), reason=True, stops=True)


def repeat(thread: Thread, *, registered: bool) -> Act:
    """Whoever may see a thread may start another one with its input, as if they had typed it."""
    return Act(
        "repeat", _("Start again"), "rocket", why_not="" if registered else _("Its graph is not registered any more.")
    )


def branch() -> Act:
    return Act("fork", _("Fork"), "git-branch")
