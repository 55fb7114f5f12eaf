"""Who can decide a question, and why somebody cannot: every verb with the words of the one permission function."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from itertools import islice
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from graphs import permissions
from graphs.models import Interrupt
from graphs.permissions import Ruling, can, ruling
from graphs.web import asking, guards
from graphs.web.opening import opened
from graphs.web.people import display_name, person
from graphs.web.shell import page

MOST_NAMED = 20
QUESTION = {
    "view": gettext_lazy("See it"),
    "comment": gettext_lazy("Write a remark"),
    "decide": gettext_lazy("Decide it"),
    "claim": gettext_lazy("Claim it"),
    "ask_back": gettext_lazy("Ask for more information"),
    "assign": gettext_lazy("Hand it to somebody"),
    "trust": gettext_lazy("Trust every thread of its agent"),
}
THREAD = {
    "cancel": gettext_lazy("Cancel its thread"),
    "suspend": gettext_lazy("Suspend its thread"),
    "resume": gettext_lazy("Resume its thread"),
    "retry": gettext_lazy("Retry its thread"),
    "fork": gettext_lazy("Fork its thread"),
}


@dataclass(frozen=True, slots=True)
class Answer:
    """One verb, its label and the ruling of it."""

    verb: str
    label: str
    ruling: Ruling


@require_safe
def why(request: HttpRequest, interrupt_id: uuid.UUID) -> HttpResponse:
    """For the reader; with `user` for somebody else, which is for operators and who administers the queue."""
    reader, interrupt = person(request), opened(person(request), interrupt_id)
    asks_of_others = may_ask_of_others(reader, interrupt)
    name = request.GET.get("user", "").replace("\x00", "").strip()[:150]
    of_other = bool(name) and name != reader.get_username()
    if of_other and not asks_of_others:
        raise PermissionDenied
    subject = User.objects.filter(username=name).first() if of_other else reader
    context: dict[str, Any] = {
        "nav": "inbox",
        "item": interrupt,
        "question": asking.title_of(interrupt),
        "asks_of_others": asks_of_others,
        "name": name,
        "subject": subject,
        "of_other": of_other,
        "answers": answers(subject, interrupt) if subject else [],
        "now": standing(subject, interrupt, of_other) if subject else "",
        **deciders(interrupt),
    }
    return page(request, "review/why.html", context, status=200 if subject else 422)


def may_ask_of_others(reader: User, interrupt: Interrupt) -> bool:
    return can(reader, "operate") or can(reader, "administer", interrupt.queue)


def answers(subject: User, interrupt: Interrupt) -> list[Answer]:
    """Every verb about the question, its decision, its queue and its thread."""
    found = [Answer(verb, str(label), ruling(subject, verb, interrupt)) for verb, label in QUESTION.items()]
    decision = interrupt.verdict()
    if decision is not None:
        found.append(Answer("undo", _("Undo its decision"), ruling(subject, "undo", decision)))
    found.append(Answer("administer", _("Administer its queue"), ruling(subject, "administer", interrupt.queue)))
    return found + [Answer(verb, str(label), ruling(subject, verb, interrupt.thread)) for verb, label in THREAD.items()]


def standing(subject: User, interrupt: Interrupt, of_other: bool) -> str:
    """What speaks against a decision beside the right to it: it is closed, or this person has voted."""
    if not interrupt.is_waiting:
        return _("It is closed, so nobody decides it any more, whatever their right.")
    if guards.guard(subject, interrupt).mine is None:
        return ""
    if of_other:
        return _("They have voted on it already; it waits for somebody else.")
    return _("You have voted on it already; it waits for somebody else.")


def deciders(interrupt: Interrupt) -> dict[str, Any]:
    """Who may decide it, by name: its members and who stands in for them."""
    found = list(islice(permissions.able(interrupt), MOST_NAMED + 1))
    told = [(display_name(one), ruling(one, "decide", interrupt).reason) for one in found[:MOST_NAMED]]
    return {"deciders": told, "more_deciders": len(found) > MOST_NAMED}
