"""A thread's checkpoints: what each of them wrote, the forks that began there, and the page that makes one."""

from __future__ import annotations

import json
import uuid
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from graphs.actions import forks as actions
from graphs.actions.errors import InputInvalid, NotPossible, status_of
from graphs.actions.threads import require
from graphs.engine.statuses import ENDED, ThreadStatus
from graphs.models import Checkpoint, Task, Thread
from graphs.permissions import can
from graphs.web.definitions import labels
from graphs.web.editing import editable, same
from graphs.web.errors import answers_refusals
from graphs.web.forms.reading import loads
from graphs.web.people import person
from graphs.web.shell import SeeOther, page
from graphs.web.submission import KEY

PAGE = 50
#: What a checkpoint is that no superstep wrote, by the kind in its log.
KINDS = {
    "turn": gettext_lazy("The next message began a turn."),
    "edit": gettext_lazy("A person edited the state."),
    "migrate": gettext_lazy("Moved to another definition of its graph."),
    "standing": gettext_lazy("Nothing was left to run."),
    "budget": gettext_lazy("A budget was used up."),
}


@dataclass(slots=True)
class Row:
    """One checkpoint in the list: the nodes that ended with it, those that asked, what else it was, and its forks.

    Where a thread has ended nothing is left to run, so no fork begins there.
    """

    step: int
    at: datetime
    status: str
    nodes: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    note: str = ""
    last: bool = False
    forks: list[Thread] = field(default_factory=list)


def read(request: HttpRequest, thread: Thread, names: dict[str, str]) -> dict[str, Any]:
    """The tab: newest first, a page at a time."""
    user = person(request)
    rows = Checkpoint.objects.filter(thread=thread)
    before = request.GET.get("before", "")
    if before.isascii() and before.isdigit() and len(before) < 10:
        rows = rows.filter(step__lt=int(before))
    found = list(rows.order_by("-step").values_list("step", "at", "status", "log")[: PAGE + 1])
    shown = [row(step, at, status, log, names) for step, at, status, log in found[:PAGE]]
    fill(user, thread, shown, names)
    return {
        "checkpoints": shown,
        "may_fork": can(user, "fork", thread),
        "before": shown[-1].step if len(found) > PAGE else None,
    }


def row(step: int, at: datetime, status: str, log: Any, names: dict[str, str]) -> Row:
    log = log if isinstance(log, dict) else {}
    asked = [name.rpartition("#")[0] for name in log.get("asked", ())]
    note = str(KINDS.get(log.get("kind", ""), "")) or ("" if step else _("The thread began."))
    ended = ThreadStatus(status) in ENDED and status != ThreadStatus.FAILED
    return Row(step, at, status, asked=[names.get(path, path) for path in asked], note=note, last=ended)


def fill(user: User, thread: Thread, rows: list[Row], names: dict[str, str]) -> None:
    if not rows:
        return
    ended: dict[int, list[str]] = defaultdict(list)
    span = (rows[-1].step, rows[0].step)
    tasks = Task.objects.filter(thread=thread, applied=True, step__range=span).order_by("pk")
    for step, path in tasks.values_list("step", "path"):
        ended[step].append(names.get(path, path))
    born: dict[int | None, list[Thread]] = defaultdict(list)
    for child in forks_of(user, thread):
        born[child.parent_step].append(child)
    for one in rows:
        one.nodes, one.forks = ended[one.step], born[one.step]


def forks_of(user: User, thread: Thread) -> list[Thread]:
    """The forks of a thread that this person may see, oldest first."""
    mine = Thread.objects.visible_to(user).filter(parent=thread)
    return list(mine.defer("input", "output", "metadata").order_by("pk")[:PAGE])


def kin(user: User, thread: Thread) -> dict[str, Any]:
    """The thread that this one was forked from, and those that were forked from it, as far as one may see them."""
    parent = Thread.objects.visible_to(user).filter(pk=thread.parent_id).first() if thread.parent_id else None
    return {"parent": parent, "forks": forks_of(user, thread)}


@require_http_methods(["GET", "HEAD", "POST"])
@answers_refusals
def fork(request: HttpRequest, uid: uuid.UUID) -> HttpResponse:
    """What a fork from one checkpoint would begin with and do, and the form that makes it."""
    user = person(request)
    thread = Thread.objects.visible_to(user).select_related("conversation").filter(uid=uid).first()
    given = request.POST if request.method == "POST" else request.GET
    step = given.get("step", "")
    if thread is None or not (step == "" or (step.isascii() and step.isdigit() and len(step) < 10)):
        raise Http404
    require(user, "fork", thread)
    origin = actions.origin(thread, int(step) if step else thread.step)
    if origin is None:
        raise Http404
    if request.method == "POST":
        return make(request, thread, origin)
    return shown(request, thread, origin, written(origin), uuid.uuid4().hex)


def make(request: HttpRequest, thread: Thread, origin: actions.Origin) -> HttpResponse:
    """Fork once: the same key again leads to the fork that it made. What was typed stays where that cannot be."""
    text = request.POST.get("state", "").replace("\r\n", "\n")
    key = request.POST.get("key", "")
    key = key if KEY.fullmatch(key) else uuid.uuid4().hex
    try:
        edits = edited(text, origin)
        child = actions.fork(person(request), thread, origin.step, edits, submission_key=key)
    except ValueError as error:
        return shown(request, thread, origin, text, key, str(error), 422)
    except InputInvalid as error:
        told = [f"{pointer.removeprefix('/state/')}: {message}." for pointer, message in error.problems]
        return shown(request, thread, origin, text, key, " ".join(told), 422)
    except NotPossible as error:
        return shown(request, thread, origin, text, key, str(error), status_of(error))
    return SeeOther(reverse("thread", args=[child.uid]))


def written(origin: actions.Origin) -> str:
    shown = {name: value for name, value in origin.channels.items() if editable(value)}
    return json.dumps(shown, indent=2, ensure_ascii=False)


def edited(text: str, origin: actions.Origin) -> dict[str, Any]:
    """The channels that were changed. Raises ValueError for what is no JSON object."""
    value = loads(text) if text.strip() else {}
    if not isinstance(value, dict):
        raise ValueError(_("The state is a JSON object: the names of the channels with their values."))
    known = origin.channels
    return {name: one for name, one in value.items() if name not in known or not same(one, known[name])}


def shown(
    request: HttpRequest,
    thread: Thread,
    origin: actions.Origin,
    text: str,
    key: str,
    problem: str = "",
    status: int = 200,
) -> HttpResponse:
    names = labels(thread)
    context = {
        "nav": "threads",
        "thread": thread,
        "origin": origin,
        "checkpoint": Checkpoint.objects.filter(thread=thread, step=origin.step).only("at").first(),
        "next": [names.get(path, path) for path in origin.next],
        "effects": list(Counter((names.get(path, path), key) for path, key in origin.effects).items()),
        "effect_count": len(origin.effects),
        # What it does from here on no fork of it can know of.
        "goes_on": ThreadStatus(thread.status) not in {*ENDED, ThreadStatus.SUSPENDED, ThreadStatus.QUARANTINED},
        "text": text,
        "large": [name for name, one in origin.channels.items() if not editable(one)],
        "key": key,
        "problem": problem,
    }
    return page(request, "threads/fork.html", context, status=status)
