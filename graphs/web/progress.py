"""How far a thread has come, in the words of somebody who has just decided and waits for what follows."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from graphs.actions import definitions
from graphs.engine.statuses import ENDED, TaskStatus, ThreadStatus
from graphs.models import Interrupt, Task, Thread

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

#: After this long in the queue a person wants to know that nothing is lost.
LONG_QUEUED = timedelta(seconds=10)


@dataclass(frozen=True, slots=True)
class Way:
    """One way out, with the command that takes it, where one does."""

    text: StrOrPromise
    command: str = ""


@dataclass(frozen=True, slots=True)
class Progress:
    """One line of progress; `questions` are the open ones a person can go on with, `ways` those out of a standstill.

    `who` and `at` say who stopped it and when, where a person did. `stranded` is what it will stand still at next: its
    definition changed while it waits for people, which nothing shows until one of them has answered.
    """

    status: str
    text: str
    live: bool
    note: str = ""
    questions: list[Interrupt] = field(default_factory=list)
    ways: list[Way] = field(default_factory=list)
    who: str = ""
    at: datetime | None = None
    stranded: Progress | None = None

    @property
    def moving(self) -> bool:
        """Whether something goes on by itself, so that its icon may turn."""
        return self.live and self.status in MOVING and not self.questions


def of(thread: Thread, names: dict[str, str], questions: list[Interrupt]) -> Progress:
    """Where the thread is now, and whether it could go on from there."""
    return replace(now(thread, names, questions), stranded=strands(thread))


def now(thread: Thread, names: dict[str, str], questions: list[Interrupt]) -> Progress:
    status = ThreadStatus(thread.status)
    waiting = [question for question in questions if question.status in ("open", "needs_info")]
    live = status not in ENDED
    if thread.cancel_at is not None and live:
        return Progress("cancelled", _("Being cancelled"), live, _("The step that runs now may still finish."))
    if status is ThreadStatus.READY:
        return Progress(status, _("Queued"), live, queue_note(thread))
    if thread.suspend_at is not None and live:
        return suspended(thread, live, waiting)
    if status is ThreadStatus.RUNNING:
        return Progress(status, _("Running %(nodes)s") % {"nodes": named(thread, names)}, live)
    if status is ThreadStatus.INTERRUPTED:
        return Progress(status, _("Waiting for a person"), live, questions=waiting)
    if status is ThreadStatus.FAILED:
        where = failed_at(thread, names)
        text = _("Failed at %(where)s") % {"where": where} if where else _("Failed")
        return Progress(status, text, live, error_of(thread), ways=[retry_way(where)])
    if status is ThreadStatus.WAITING_VERSION:
        return waits_for_version(thread, live)
    if status is ThreadStatus.QUARANTINED:
        return Progress(status, _("Set aside"), live, message_of(thread), ways=QUARANTINE_WAYS)
    if status is ThreadStatus.CANCELLED:
        return cancelled(thread.cancel_reason)
    return Progress(status, str(ENDINGS.get(status, str(status).replace("_", " ").capitalize())), live)


#: How a thread ended by itself.
ENDINGS = {ThreadStatus.COMPLETED: gettext_lazy("Completed"), ThreadStatus.REJECTED: gettext_lazy("Rejected")}
#: A cancel on its way is shown as one although the thread's own status is still another.
MOVING = (ThreadStatus.READY, ThreadStatus.RUNNING, ThreadStatus.CANCELLED)
#: Only these wait for people, on a definition that may have changed; one that waits for its version says so itself.
PEOPLE = (ThreadStatus.INTERRUPTED, ThreadStatus.SUSPENDED)


def cancelled(reason: str) -> Progress:
    """Where nobody gave a reason, the stored one is who did it, and that is told once."""
    if reason.startswith("cancelled by "):
        who = reason.removeprefix("cancelled by ")
        return Progress("cancelled", _("Cancelled by %(who)s") % {"who": who}, False)
    return Progress("cancelled", _("Cancelled"), False, reason)


def strands(thread: Thread) -> Progress | None:
    """What `check_graphs` says of this one thread; costs a look at its cells only where its definition is another."""
    if thread.status not in PEOPLE:
        return None
    graph = definitions.installed(thread.graph_id, thread.fingerprint)
    reason = graph if isinstance(graph, str) else definitions.misfit(graph, thread)
    if not reason:
        return None
    node = definitions.node_of(reason)
    text = _("Its graph is not installed") if isinstance(graph, str) else _("Its graph changed")
    text = (
        _("%(text)s: node %(node)s does not fit") % {"text": text, "node": node}
        if node
        else _("%(text)s, and it cannot go on as it is") % {"text": text}
    )
    return Progress(
        "waiting_version", text, True, f"{reason[:1].upper()}{reason[1:].rstrip('.')}.", ways=ways_out(thread, node)
    )


QUARANTINE_WAYS = [
    Way(gettext_lazy("Find out what takes its workers down: the node that runs next, its memory, its time.")),
    Way(gettext_lazy("Retry it, and workers take it up again with all that is stored.")),
    Way(gettext_lazy("Fork it from a checkpoint with another state, or cancel it.")),
]


def suspended(thread: Thread, live: bool, waiting: list[Interrupt]) -> Progress:
    """Suspended by somebody, or about to be."""
    text = _("Suspended")
    if thread.status != ThreadStatus.SUSPENDED:
        text = _("Being suspended. The node that runs now finishes, and no other starts.")
    who = thread.suspended_by or _("an operator")
    ways = [Way(_("Answers that come meanwhile are recorded, and used when somebody resumes it."))]
    told = Progress("suspended", text, live, thread.suspend_reason, questions=waiting, ways=ways)
    return replace(told, who=who, at=thread.suspend_at)


def retry_way(where: str) -> Way:
    return Way(
        _(
            "Mend what is wrong, then retry: %(where)s runs again, with the answers and effects it has. "
            "Code that is mended on disk is read when Sayso starts: restart it before you retry."
        )
        % {"where": where or _("what failed")}
    )


def waits_for_version(thread: Thread, live: bool) -> Progress:
    """Which node is missing, and what can be done about it."""
    said = message_of(thread)
    node = re.search(r"node '([^']*)'", said)
    text = (
        _("Waiting for a version: node %(node)s does not fit") % {"node": node[1]}
        if node
        else _("Waiting for a version of its graph")
    )
    return Progress("waiting_version", text, live, reason_of(said), ways=ways_out(thread, node[1] if node else ""))


def ways_out(thread: Thread, node: str) -> list[Way]:
    named = f"{node}=<its new path>" if node else "<old path>=<new path>"
    version = thread.graph_version or _("of before")
    return [
        Way(
            _("Register version %(version)s of %(graph)s beside the new one: it goes on within a minute.")
            % {"version": version, "graph": thread.graph_id}
        ),
        Way(
            _("Move it to the new definition:"),
            f"manage.py migrate_threads {thread.graph_id} --map {named}",
        ),
        Way(_("Fork it from a checkpoint that the new definition still fits, or cancel it.")),
    ]


def reason_of(said: str) -> str:
    """What is different, without the names of graph and thread and the ways out, which the page tells by itself."""
    found = re.search(r"^graph '[^']*' changed under thread '[^']*': (.*); register that version", said)
    text = found[1] if found else said or _("its graph changed while it waited")
    return f"{text[:1].upper()}{text[1:]}."


def queue_note(thread: Thread) -> str:
    """What a person reads while no worker has taken it up: it is recorded, whatever Redis does."""
    if timezone.now() - thread.ready_at < LONG_QUEUED:
        return _("A worker picks it up in a moment.")
    ahead = Thread.objects.filter(status=ThreadStatus.READY, ready_at__lt=thread.ready_at).count()
    return _(
        "Recorded and still queued, position %(position)s. It goes on as soon as a worker is free; nothing is lost."
    ) % {"position": ahead + 1}


def named(thread: Thread, names: dict[str, str]) -> str:
    paths = [path_of(item) for item in thread.active] if isinstance(thread.active, list) else []
    shown = [names.get(path, path) for path in paths if path]
    return ", ".join(shown[:3]) or _("the next step")


def path_of(item: object) -> str:
    """`active` holds paths, or pairs of path and visit."""
    if isinstance(item, list) and item:
        return str(item[0])
    if isinstance(item, dict):
        return str(item.get("path", ""))
    return str(item)


def failed_at(thread: Thread, names: dict[str, str]) -> str:
    task = Task.objects.filter(thread=thread, status=TaskStatus.FAILED).only("path").order_by("-at").first()
    return names.get(task.path, task.path) if task else ""


def message_of(thread: Thread) -> str:
    """What the error says, without the name of its class."""
    error = thread.error
    return str(error.get("message", "")) if isinstance(error, dict) else ""


FRAME = re.compile(r'^  File "(?P<file>[^"]+)", line (?P<line>[0-9]+), in (?P<name>.+)$', re.MULTILINE)
#: Where a node's own code never is: the engine that calls it, and what it was installed with.
FOREIGN = re.compile(r"/graphs/(?!library/)|/site-packages/|/lib/python3|^<frozen ")


@dataclass(frozen=True, slots=True)
class Place:
    """A line of the node's own code."""

    file: str
    line: int
    name: str


def place_of(thread: Thread) -> Place | None:
    """Where the node's own code was when it failed: the innermost frame that is its author's, else the innermost."""
    error = thread.error if isinstance(thread.error, dict) else {}
    frames = list(FRAME.finditer(str(error.get("traceback") or "")))
    own = [frame for frame in frames if not FOREIGN.search(frame["file"])]
    if not frames:
        return None
    found = (own or frames)[-1]
    return Place(found["file"], int(found["line"]), found["name"])


def error_of(thread: Thread) -> str:
    error = thread.error
    if isinstance(error, dict):
        return f"{error.get('type', 'Error')}: {error.get('message', '')}"
    return str(error) if error else ""
