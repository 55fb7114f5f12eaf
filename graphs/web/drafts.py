"""Drafts of answers: saved while they are typed, there again on any device, and never with a secret or a file."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_POST

from graphs.actions import drafts
from graphs.models import Draft, Interrupt
from graphs.web import assignments
from graphs.web.errors import answers_refusals
from graphs.web.forms.operating import keepable
from graphs.web.opening import opened
from graphs.web.people import person
from graphs.web.submission import Submission, typed_texts, whole

#: What is kept beside the fields of the form itself. A password and a typed word are proofs, and never kept.
BESIDE = ("comment", "free", "free_kind", "state_step", "version")


@dataclass(frozen=True, slots=True)
class Kept:
    """A draft as its page shows it: filled into the form, or, where the question is another one by now, as `typed`
    texts to copy."""

    at: datetime
    submission: Submission | None
    typed: list[tuple[str, str]]


def of(user: User, interrupt: Interrupt) -> Kept | None:
    """This person's draft of an answer; None where there is none."""
    row = Draft.objects.filter(user=user, interrupt=interrupt).first()
    if row is None:
        return None
    found = Submission.draft(interrupt, row.fields)
    if found.current:
        found.key = uuid.uuid4().hex
        return Kept(row.updated_at, found, [])
    return Kept(row.updated_at, None, typed_texts(found))


def keepable_of(interrupt: Interrupt, posted: Mapping[str, str]) -> dict[str, str]:
    """What of a posted form a draft keeps."""
    form = Submission.draft(interrupt, posted).card.form
    own = keepable(form, posted) if form is not None else {}
    return own | {name: posted[name] for name in BESIDE if posted.get(name)}


@require_POST
@answers_refusals
def draft(request: HttpRequest, interrupt_id: uuid.UUID) -> HttpResponse:
    """Keep what a script sends of the form (204), or throw it away with `discard`."""
    user, posted = person(request), {name: str(text) for name, text in request.POST.items()}
    interrupt = opened(user, interrupt_id)
    if posted.get("discard"):
        drafts.drop(user, interrupt)
        return assignments.back(request, interrupt_id)
    drafts.keep(user, interrupt, whole(posted, "version") or 0, keepable_of(interrupt, posted))
    return HttpResponse(status=204)
