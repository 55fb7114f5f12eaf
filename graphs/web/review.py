"""The review page: the conversation behind a question, the question as a card, and the decision."""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import orjson
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from graphs.actions import comments, decisions, information, looks, preferences, undoing
from graphs.actions import drafts as drafting
from graphs.actions.errors import AlreadyDecided, InputInvalid, NoLongerOpen, NotFound, Refused, Stale, status_of
from graphs.engine.errors import AnswerInvalid, PayloadError
from graphs.models import AuditEntry, Decision, Interrupt
from graphs.models.moves import ANSWERABLE
from graphs.permissions import can
from graphs.web import (
    asking,
    attachments,
    attention,
    differences,
    drafts,
    editing,
    entries,
    guards,
    listing,
    precedents,
    progress,
    proofs,
    talk,
    trusting,
)
from graphs.web.definitions import labels, title
from graphs.web.errors import answers_refusals
from graphs.web.forms import Problem, posted_texts
from graphs.web.forms.operating import OP
from graphs.web.opening import opened
from graphs.web.people import person
from graphs.web.reading import facts, pretty
from graphs.web.shell import SeeOther, page
from graphs.web.submission import Submission, typed_texts

UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
#: More raw JSON than this helps nobody on a page; the whole value is a download (U17).
RAW_SHOWN = 64 * 1024


@dataclass(frozen=True, slots=True)
class Conflict:
    """Why an answer was not used, and what its author had typed."""

    title: str
    text: str
    typed: list[tuple[str, str]]
    newer_id: str | None = None


@require_http_methods(["GET", "HEAD", "POST"])
def review(request: HttpRequest, interrupt_id: uuid.UUID) -> HttpResponse:
    interrupt = opened(person(request), interrupt_id)
    if request.method == "POST":
        return decide(request, interrupt)
    return shown(request, review_context(request, interrupt))


def shown(request: HttpRequest, context: dict[str, Any], status: int = 200) -> HttpResponse:
    return page(request, "review/page.html", {"nav": "inbox"} | context, status=status)


def review_context(request: HttpRequest, interrupt: Interrupt, submission: Submission | None = None) -> dict[str, Any]:
    """All that the page and the inbox's pane show of one question."""
    user = person(request)
    draft = drafts.of(user, interrupt) if submission is None else None
    submission = submission or (draft.submission if draft else None)
    card = submission.card if submission else asking.card(interrupt, editing.state_of(interrupt))
    value = asking.shown_value(interrupt)
    waiting, guard = interrupt.is_waiting, guards.guard(user, interrupt)
    decision = interrupt.verdict()
    return {
        "item": interrupt,
        "pane": request.headers.get("HX-Target") == "pane",
        "thread": interrupt.thread,
        "graph_title": title(interrupt.thread.graph_id),
        "question": asking.title_of(interrupt),
        "message_rest": interrupt.message.strip().partition("\n")[2].strip(),
        "reason": asking.reason_of(interrupt),
        "waiting": waiting,
        "card": card,
        "guard": guard,
        "blamed": {problem.pointer[1:]: problem.message for _, problem in (submission.pairs if submission else [])},
        "address": request.build_absolute_uri(reverse("review", args=[interrupt.pk])),
        **attention.around(user, interrupt, decided_at(interrupt, request.GET.get("from", ""))),
        "may_decide": guard.opens,
        "consequences": asking.consequences(interrupt),
        "precedents": precedents.of(user, interrupt),
        "undo": bool(decision and decision.held_until and can(user, "undo", decision)),
        "trust": trusting.offer(user, interrupt, *trusted(submission)) if waiting else None,
        "facts": facts(value) if value is not None else [],
        "value": value,
        "raw": pretty(interrupt.payload)[:RAW_SHOWN],
        "schema": pretty(interrupt.response_schema) if interrupt.response_schema else "",
        "key": submission.key if submission else uuid.uuid4().hex,
        "typed": submission.posted if submission else taken_back(user, interrupt),
        "problems": submission.pairs if submission else [],
        "draft": draft,
        "just": just_decided(user, request.GET.get("after", "")),
        "decided": differences.of_decision(interrupt, decision),
        "files": attachments.inside(interrupt) + attachments.beside(interrupt),
        "may_attach": can(user, "comment", interrupt),
        "decision": decision,
        "receipt": receipt(decision),
        "next_item": next_item(user, interrupt, request),
        "back": back(request),
        "from": listing.parse(QueryDict(request.GET.get("from", "")[:1000])).query(),
        **around(request, interrupt),
    }


def around(request: HttpRequest, interrupt: Interrupt) -> dict[str, Any]:
    """What stands around a question: its conversation, the thread's other questions, and how the thread goes on."""
    thread, names, questions = interrupt.thread, labels(interrupt.thread), talk.questions_of(interrupt.thread)
    return {
        "node_label": names.get(interrupt.node_id, interrupt.node_id),
        "talk": talk.around(thread, interrupt, entries.parsed(request.GET.get("since", ""))),
        "streamed": talk.streamed(thread),
        "progress": progress.of(thread, names, questions),
        **steps(person(request), interrupt, questions),
        "revised": differences.of_revision(interrupt, questions),
        "newer": next(reversed(talk.successors(interrupt, questions)), None),
    }


def just_decided(user: User, text: str) -> dict[str, Any] | None:
    """What this reader decided before the question that opened by itself, so that it can still be undone."""
    found = Interrupt.objects.visible_to(user).filter(pk=text).first() if UUID.fullmatch(text) else None
    decision = found.verdict() if found else None
    if decision is None or decision.reviewer_id != user.pk:
        return None
    return {"interrupt": found, "decision": decision, "undo": bool(decision.held_until and can(user, "undo", decision))}


def steps(user: User, interrupt: Interrupt, questions: list[Interrupt]) -> dict[str, Any]:
    """The questions that stand beside this one, itself among them: what is open, and what was asked with it. One of a
    queue that this reader does not see is left out (S02)."""
    beside = {one.pk: one for one in questions if one.is_waiting or overlaps(one, interrupt)}
    if set(beside) - {interrupt.pk}:
        seen = Interrupt.objects.visible_to(user).filter(pk__in=beside).values_list("pk", flat=True)
        beside = {pk: beside[pk] for pk in seen}
    found = sorted((beside | {interrupt.pk: interrupt}).values(), key=lambda one: (one.created_at, one.pk))
    return {"steps": found, "open_here": sum(one.is_waiting for one in found)}


def overlaps(one: Interrupt, other: Interrupt) -> bool:
    """Whether both stood open at one time."""
    ended = [row.closed_at or datetime.max.replace(tzinfo=UTC) for row in (one, other)]
    return one.status != "superseded" and one.created_at <= ended[1] and other.created_at <= ended[0]


def trusted(submission: Submission | None) -> tuple[Mapping[str, str], dict[str, str]]:
    """What was filled in of “do not ask again”, and what is wrong with it."""
    return (submission.posted, trusting.blamed(submission.pairs)) if submission else ({}, {})


def receipt(decision: Decision | None) -> AuditEntry | None:
    """The audit entry of a decision: its number and digest are what a reviewer can quote."""
    return AuditEntry.objects.filter(pk=decision.audit_seq).first() if decision else None


def next_item(user: User, interrupt: Interrupt, request: HttpRequest) -> Interrupt | None:
    """The next question to decide, in the order of the list that this one was opened from."""
    wanted = listing.parse(QueryDict(request.GET.get("from", "")[:1000]))
    rows = listing.narrow(listing.visible(user, "open"), wanted, user).exclude(pk=interrupt.pk)
    order = ("created_at", "pk") if wanted.sort == "oldest" else ("-created_at", "-pk")
    return rows.only("pk", "message", "node_id").order_by(*order).first()


def back(request: HttpRequest) -> str:
    """The inbox as it was left; only its query travels, so no address of others can be put here."""
    query = listing.parse(QueryDict(request.GET.get("from", "")[:1000])).query()
    return reverse("inbox") + (f"?{query}" if query else "")


def decide(request: HttpRequest, interrupt: Interrupt) -> HttpResponse:
    """One answer: read the form, call the one action, show what came of it."""
    if OP in request.POST:
        return reshaped(request, interrupt)
    guard = guards.guard(person(request), interrupt)
    submission = Submission.read(guard, posted_texts(request))
    proven = prove(request, guard, submission)
    # A late answer is told who decided, not what its form lacks.
    if submission.problems and (submission.act is None or submission.current):
        return again(request, interrupt, submission)
    try:
        given = decisions.Given(**submission.given())
        decisions.decide(person(request), [given], channel="form", submission_key=submission.key or None, proven=proven)
    except NotFound as error:
        raise Http404 from error
    except (InputInvalid, AnswerInvalid) as error:
        submission.blame([Problem(pointer, message) for pointer, message in error.problems])
        return again(request, interrupt, submission)
    except PayloadError as error:
        submission.blame([Problem(error.path, error.reason)])
        return again(request, interrupt, submission)
    except Refused as error:
        return conflict(request, interrupt, submission, error)
    drafting.drop(person(request), interrupt)
    return SeeOther(onward(request, interrupt))


def onward(request: HttpRequest, interrupt: Interrupt) -> str:
    """Where a decision leads: to what came of it, or, for who chose so, to the next question with a word of it."""
    query, user = request.GET.get("from", ""), person(request)
    following = next_item(user, interrupt, request) if preferences.chosen(user)["advance"] == "on" else None
    return decided_at(following, query, str(interrupt.pk)) if following else decided_at(interrupt, query)


def prove(request: HttpRequest, guard: guards.Guard, submission: Submission) -> bool:
    """Whether the password came again and is right, where this decision asks for it. What is wrong is told beside it;
    the password itself is in no page, no log and no draft."""
    if not (guard.password and guard.opens and submission.current and submission.act):
        return False
    problem = proofs.wrong(person(request), request.POST.get("password", ""))
    if problem:
        submission.blame([Problem("#password", problem)])
    return not problem


def taken_back(user: User, interrupt: Interrupt) -> dict[str, str]:
    """The words of one's own decision that was undone: they were typed once."""
    if not interrupt.is_waiting:
        return {}
    last = max(interrupt.decisions.all(), key=lambda one: one.round, default=None)
    return {"comment": last.comment} if last is not None and last.reviewer_id == user.pk else {}


def reshaped(request: HttpRequest, interrupt: Interrupt) -> HttpResponse:
    """The page once more with a row more or less, other fields or what was proposed; nothing is decided."""
    kept = Submission.draft(interrupt, posted_texts(request))
    if not kept.current:
        return conflict(request, interrupt, kept, Stale(interrupt.version))
    return shown(request, review_context(request, interrupt, kept))


def decided_at(interrupt: Interrupt, query: str, after: str = "") -> str:
    """A question's page, with the list it was opened from and the question that was decided just before it."""
    address = reverse("review", args=[interrupt.pk])
    kept = QueryDict(mutable=True)
    kept.update({name: text for name, text in (("from", query), ("after", after)) if text})
    return f"{address}?{kept.urlencode()}" if kept else address


def again(request: HttpRequest, interrupt: Interrupt, submission: Submission) -> HttpResponse:
    """422: the page once more, each problem beside its field, everything typed kept, the question open."""
    return shown(request, review_context(request, interrupt, submission), status=422)


def conflict(request: HttpRequest, interrupt: Interrupt, submission: Submission, error: Refused) -> HttpResponse:
    """409 or 403: what happened meanwhile, with a copy of what was typed. Losing a race is normal, and looks it."""
    status = status_of(error)
    fresh = opened(person(request), interrupt.pk)
    typed = typed_texts(submission)
    if isinstance(error, AlreadyDecided):
        told = error.receipt
        who = told.reviewer_name or _("The system")
        found = Conflict(
            _("%(who)s %(outcome)s this") % {"who": who, "outcome": _(told.outcome)},
            _("Your answer was not used. The receipt is below."),
            typed,
        )
    elif isinstance(error, Stale):
        found = Conflict(
            _("The question changed while you were reading"), _("Read it again; your answer was not used."), typed
        )
        submission.key = uuid.uuid4().hex
    elif isinstance(error, NoLongerOpen):
        found = Conflict(_("This question is no longer open"), error.reason, typed, error.newer_id)
    else:
        found = Conflict(_("This was not done"), str(error), typed)
    kept = submission if fresh.status in ("open", "needs_info") else None
    return shown(request, review_context(request, fresh, kept) | {"conflict": found}, status=status)


@require_POST
@answers_refusals
def comment(request: HttpRequest, interrupt_id: uuid.UUID) -> HttpResponse:
    """A remark beside the question. It answers nothing (U02), and takes nothing of an answer that is being written."""
    interrupt = opened(person(request), interrupt_id)
    text, say = request.POST.get("text", "").strip(), request.POST.get("say", "")
    kept = Submission.draft(interrupt, posted_texts(request)) if "version" in request.POST else None
    try:
        if say == "ask":
            information.ask(person(request), str(interrupt.pk), text)
        elif say == "tell":
            information.tell(person(request), str(interrupt.pk), text)
        elif text:
            comments.add(person(request), interrupt=interrupt, text=text)
    except InputInvalid as error:
        if kept is None:
            raise
        kept.blame([Problem("#text", message) for _, message in error.problems])
        return again(request, interrupt, kept)
    if kept is None or interrupt.status not in ANSWERABLE:
        return SeeOther(decided_at(interrupt, request.GET.get("from", "")))
    if not kept.current:
        return conflict(request, interrupt, kept, Stale(interrupt.version))
    # Without a script the whole page was sent: it comes back as it was, with the remark in the conversation.
    kept.posted = {**kept.posted, "text": ""}
    kept.interrupt = interrupt = opened(person(request), interrupt_id)
    return shown(request, review_context(request, interrupt, kept))


@require_POST
@answers_refusals
def undo(request: HttpRequest, interrupt_id: uuid.UUID) -> HttpResponse:
    """Take a decision back while its hold lasts (U25)."""
    undoing.undo(person(request), str(interrupt_id))
    return SeeOther(decided_at(opened(person(request), interrupt_id), request.GET.get("from", "")))


@require_POST
def look(request: HttpRequest, interrupt_id: uuid.UUID) -> HttpResponse:
    """A script says that the question was opened, and, with `all`, that every long value of it was."""
    looks.note(person(request), opened(person(request), interrupt_id), read_all=bool(request.POST.get("all")))
    return HttpResponse(status=204)


@require_safe
def payload(request: HttpRequest, interrupt_id: uuid.UUID) -> HttpResponse:
    """The whole value as a file, for what is too large to read on a page (U17)."""
    interrupt = opened(person(request), interrupt_id)
    body = orjson.dumps(interrupt.payload, option=orjson.OPT_INDENT_2)
    response = HttpResponse(body, content_type="application/json")
    response["Content-Disposition"] = f'attachment; filename="{interrupt.pk}.json"'
    response["Cache-Control"] = "no-store"
    return response
