"""Threads: the list, and one of them with its picture, conversation, timeline, state, questions and audit."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from django.contrib.auth.models import User
from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST, require_safe

from graphs.actions import comments, turns
from graphs.actions import threads as actions
from graphs.actions.errors import InputInvalid, NotPossible, status_of
from graphs.engine.statuses import ThreadStatus
from graphs.models import AuditEntry, Interrupt, Thread, ThreadEvent
from graphs.web import checkpoints, conversation, entries, picture, progress, state, steering, talk
from graphs.web.definitions import is_registered, labels, title
from graphs.web.errors import answers_refusals
from graphs.web.people import person
from graphs.web.shell import SeeOther, page
from graphs.web.submission import KEY

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

PAGE = 50
TABS = {
    "conversation": gettext_lazy("Conversation"),
    "timeline": gettext_lazy("Timeline"),
    "state": gettext_lazy("State"),
    "checkpoints": gettext_lazy("Checkpoints"),
    "questions": gettext_lazy("Interrupts"),
    "audit": gettext_lazy("Audit"),
}
GROUPS: dict[str, tuple[StrOrPromise, list[ThreadStatus]]] = {
    "all": (gettext_lazy("All"), []),
    "waiting": (
        gettext_lazy("Waiting"),
        [ThreadStatus.INTERRUPTED, ThreadStatus.SUSPENDED, ThreadStatus.WAITING_VERSION],
    ),
    "active": (gettext_lazy("Running"), [ThreadStatus.READY, ThreadStatus.RUNNING]),
    "failed": (gettext_lazy("Failed"), [ThreadStatus.FAILED, ThreadStatus.QUARANTINED]),
    "ended": (gettext_lazy("Ended"), [ThreadStatus.COMPLETED, ThreadStatus.REJECTED, ThreadStatus.CANCELLED]),
}


#: It goes on only when somebody does something about it.
HELPLESS = {ThreadStatus.FAILED, ThreadStatus.SUSPENDED, ThreadStatus.QUARANTINED, ThreadStatus.WAITING_VERSION}


@require_safe
def threads(request: HttpRequest) -> HttpResponse:
    user = person(request)
    group = request.GET.get("show", "all")
    group = group if group in GROUPS else "all"
    text = request.GET.get("q", "").replace("\x00", "").strip()[:200]
    rows = Thread.objects.visible_to(user)
    if GROUPS[group][1]:
        rows = rows.filter(status__in=GROUPS[group][1])
    for word in text.split()[:10]:
        rows = rows.filter(Q(title__icontains=word) | Q(graph_id__icontains=word) | Q(thread_id__icontains=word))
    before = request.GET.get("before", "")
    if before.isascii() and before.isdigit() and len(before) < 19:
        rows = rows.filter(pk__lt=int(before))
    found = list(rows.select_related("conversation").defer("input", "output", "metadata").order_by("-pk")[: PAGE + 1])
    context = {
        "nav": "threads",
        "rows": [(thread, title(thread.graph_id), beside(thread)) for thread in found[:PAGE]],
        "group": group,
        "groups": [(name, label) for name, (label, _) in GROUPS.items()],
        "q": text,
        "next_before": found[PAGE - 1].pk if len(found) > PAGE else None,
    }
    return page(request, "threads/list.html", context)


def beside(thread: Thread) -> str:
    """The graph's title where the thread's own does not begin with it and says it already."""
    named = title(thread.graph_id)
    return "" if not thread.title or thread.title.startswith(named) else named


def opened(user: User, uid: uuid.UUID) -> Thread:
    """One thread that this person may see; a foreign uid is the same as a missing one (S02)."""
    found = Thread.objects.visible_to(user).select_related("conversation").filter(uid=uid).first()
    if found is None:
        raise Http404
    return found


@require_safe
def thread(request: HttpRequest, uid: uuid.UUID) -> HttpResponse:
    """One thread. The tab is part of the address, so that every view of it can be linked and works without a script."""
    return shown(request, opened(person(request), uid))


def shown(
    request: HttpRequest, found: Thread, failed: tuple[str, str, str] | None = None, status: int = 200
) -> HttpResponse:
    """The page. `failed` is an act that was refused, with why and the reason that was typed."""
    user = person(request)
    tab = request.GET.get("tab", "conversation")
    tab = tab if tab in TABS else "conversation"
    names = labels(found)
    questions = talk.questions_of(found)
    waiting = [one for one in questions if one.status in ("open", "needs_info")]
    context = {
        "nav": "threads",
        "thread": found,
        "graph_title": title(found.graph_id),
        "beside": beside(found),
        "progress": progress.of(found, names, questions),
        # A path of the machine is for those who may mend it, not for everyone who may read, or retry.
        "place": progress.place_of(found) if failed_for(user, found) else None,
        # What an agent's thread is besides its conversation is folded, but not where somebody has to do something.
        "unfold": found.status in HELPLESS,
        "elapsed": (found.ended_at or timezone.now()) - found.created_at,
        "picture": picture.draw(found, questions),
        **steer(user, found, len(waiting), failed),
        "kin": checkpoints.kin(user, found),
        "speaking": conversation.speaking(user, found),
        "is_chat": conversation.is_chat(found),
        "tabs": list(TABS.items()),
        "tab": tab,
        "questions": questions,
        "open_questions": waiting,
        "result": talk.result(found) if found.status == ThreadStatus.COMPLETED and found.output is not None else None,
        **content(request, found, tab, names, questions),
    }
    return page(request, "threads/page.html", context, status=status)


def failed_for(user: User, found: Thread) -> bool:
    """Whether it failed, and this person is one of those who may mend what it runs on."""
    return found.status == ThreadStatus.FAILED and user.has_perm("graphs.operate_thread")


def steer(user: User, found: Thread, waiting: int, failed: tuple[str, str, str] | None) -> dict[str, Any]:
    """The acts, and what tells two renderings of them apart: a script replaces them only where that has changed."""
    acts = [*steering.acts(user, found, waiting), steering.repeat(found, registered=is_registered(found.graph_id))]
    if failed is not None:
        acts = [replace(one, typed=failed[2], open=True) if one.name == failed[0] else one for one in acts]
    return {
        "acts": acts,
        "steer_state": f"{found.status}.{waiting}.{bool(found.suspend_at)}.{bool(found.cancel_at)}",
        "why_not": steering.reasons(acts),
        "failed": failed,
        # What was typed stays in its field, or stands beside the refusal where that act is no longer offered.
        "left_over": failed[2] if failed and not any(one.open and not one.why_not for one in acts) else "",
    }


def content(
    request: HttpRequest, found: Thread, tab: str, names: dict[str, str], questions: list[Interrupt]
) -> dict[str, Any]:
    """What the chosen tab needs, and nothing for the others."""
    if tab == "conversation":
        before, since = (entries.parsed(request.GET.get(name, "")) for name in ("before", "since"))
        spoken = talk.read(found, before=before, since=None if before else since)
        return {"talk": spoken, "newest": before is None, "streamed": [] if before else talk.streamed(found)}
    if tab == "timeline":
        return timeline(request, found, names)
    if tab == "state":
        step = request.GET.get("step", "")
        named = int(step) if step.isascii() and step.isdigit() and len(step) < 10 else None
        return {"state": state.read(found, named)}
    if tab == "checkpoints":
        return checkpoints.read(request, found, names)
    if tab == "audit":
        return {"entries": audit(found)}
    return {}


def timeline(request: HttpRequest, found: Thread, names: dict[str, str]) -> dict[str, Any]:
    rows = ThreadEvent.objects.filter(thread=found)
    kinds = list(rows.order_by("type").values_list("type", flat=True).distinct())
    kind = request.GET.get("kind", "")
    if kind in kinds:
        rows = rows.filter(type=kind)
    before = request.GET.get("before", "")
    if before.isascii() and before.isdigit() and len(before) < 10:
        rows = rows.filter(seq__lt=int(before))
    shown = list(rows.order_by("-seq")[: PAGE * 4 + 1])
    return {
        "kinds": kinds,
        "kind": kind if kind in kinds else "",
        "events": [(event, names.get(event.path, event.path), detail(event)) for event in shown[: PAGE * 4]],
        "before": shown[PAGE * 4 - 1].seq if len(shown) > PAGE * 4 else None,
    }


def detail(event: ThreadEvent) -> dict[str, Any]:
    """The event's own numbers; what is left of its data is one word or a message."""
    data = event.data if isinstance(event.data, dict) else {}
    text = data.get("message") or data.get("status") or ""
    return {"seconds": data.get("seconds"), "attempt": data.get("attempt"), "step": data.get("step"), "text": text}


def audit(found: Thread) -> list[AuditEntry]:
    """What was recorded of the thread and of its questions."""
    ids = [str(pk) for pk in found.interrupts.values_list("pk", flat=True)[:PAGE]]
    about = Q(object_type="thread", object_id=str(found.uid)) | Q(object_type="interrupt", object_id__in=ids)
    return list(AuditEntry.objects.filter(about).order_by("-seq")[: PAGE * 2])


def steered(
    request: HttpRequest, uid: uuid.UUID, name: str, act: Callable[[User, Thread, str], object]
) -> HttpResponse:
    """Do it. Where it cannot be done now, the page says why beside the act, with the reason that was typed."""
    user = person(request)
    found = opened(user, uid)
    reason = request.POST.get("reason", "").replace("\r\n", "\n")
    try:
        act(user, found, reason)
    except NotPossible as refusal:
        return shown(request, opened(user, uid), (name, str(refusal), reason), status_of(refusal))
    return SeeOther(reverse("thread", args=[uid]))


@require_POST
@answers_refusals
def cancel(request: HttpRequest, uid: uuid.UUID) -> HttpResponse:
    return steered(request, uid, "cancel", actions.cancel)


@require_POST
@answers_refusals
def suspend(request: HttpRequest, uid: uuid.UUID) -> HttpResponse:
    return steered(request, uid, "suspend", actions.suspend)


@require_POST
@answers_refusals
def resume(request: HttpRequest, uid: uuid.UUID) -> HttpResponse:
    return steered(request, uid, "resume", lambda user, thread, reason: actions.resume(user, thread))


@require_POST
@answers_refusals
def retry(request: HttpRequest, uid: uuid.UUID) -> HttpResponse:
    return steered(request, uid, "retry", lambda user, thread, reason: actions.retry(user, thread))


@require_POST
@answers_refusals
def comment(request: HttpRequest, uid: uuid.UUID) -> HttpResponse:
    """A remark beside the thread; it starts and resumes nothing (U02)."""
    found = opened(person(request), uid)
    text = request.POST.get("text", "").strip()
    if text:
        comments.add(person(request), thread=found, text=text)
    return SeeOther(reverse("thread", args=[uid]))


@require_safe
def words(request: HttpRequest, uid: uuid.UUID) -> HttpResponse:
    """What the thread's agents are writing at this moment: what a page fetches while they do."""
    found = opened(person(request), uid)
    return page(request, "talk/words.html", {"thread": found, "streamed": talk.streamed(found)})


@require_POST
@answers_refusals
def say(request: HttpRequest, uid: uuid.UUID) -> HttpResponse:
    """Send a message. Where the thread takes none just now, the page says why and shows what was typed."""
    user = person(request)
    found = opened(user, uid)
    text = request.POST.get("text", "").replace("\r\n", "\n").strip()
    key = request.POST.get("key", "")
    try:
        if not text or len(text) > conversation.MOST:
            raise InputInvalid([("/text", _("write between 1 and %(most)s characters") % {"most": conversation.MOST})])
        turns.say(user, found, text, submission_key=key if KEY.fullmatch(key) else None)
    except (NotPossible, InputInvalid) as refusal:
        return shown(request, opened(user, uid), ("message", str(refusal), text), status_of(refusal))
    return SeeOther(reverse("thread", args=[uid]) + "#say")
