"""The small acts beside a question: claim, release, assign, snooze, watch. Each leads back to where it was pressed."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_POST

from graphs.actions import assignments
from graphs.actions.errors import InputInvalid
from graphs.permissions import can
from graphs.web import listing
from graphs.web.errors import answers_refusals
from graphs.web.people import person
from graphs.web.shell import SeeOther

#: How long a snooze lasts, in minutes, with its word.
SPANS = {"60": _("1 hour"), "240": _("4 hours"), "1440": _("1 day"), "10080": _("1 week")}


@require_POST
@answers_refusals
def claim(request: HttpRequest, interrupt_id: uuid.UUID) -> HttpResponse:
    assignments.claim(person(request), str(interrupt_id))
    return back(request, interrupt_id)


@require_POST
@answers_refusals
def release(request: HttpRequest, interrupt_id: uuid.UUID) -> HttpResponse:
    assignments.release(person(request), str(interrupt_id))
    return back(request, interrupt_id)


@require_POST
@answers_refusals
def assign(request: HttpRequest, interrupt_id: uuid.UUID) -> HttpResponse:
    """Hand it to the person whose user name was given; to nobody where the name is empty."""
    name = request.POST.get("person", "").replace("\x00", "").strip()[:150]
    assignments.allowed(person(request), "assign", str(interrupt_id))
    found = User.objects.filter(username=name, is_active=True).first()
    if name and found is None:
        raise InputInvalid([("/person", gettext("nobody is called %(name)s") % {"name": name})])
    assignments.assign(person(request), str(interrupt_id), found)
    return back(request, interrupt_id)


@require_POST
@answers_refusals
def escalate(request: HttpRequest, interrupt_id: uuid.UUID) -> HttpResponse:
    """Hand it to the queue that the policy names; whoever cannot see that one is led back to the inbox."""
    moved = assignments.escalate(person(request), str(interrupt_id))
    return back(request, interrupt_id) if can(person(request), "view", moved) else SeeOther(reverse("inbox"))


@require_POST
@answers_refusals
def snooze(request: HttpRequest, interrupt_id: uuid.UUID) -> HttpResponse:
    """For `minutes`, or until the moment `until`; `off` has it back."""
    if request.POST.get("off"):
        assignments.unsnooze(person(request), str(interrupt_id))
    else:
        assignments.snooze(person(request), str(interrupt_id), wanted(request))
    return back(request, interrupt_id)


@require_POST
@answers_refusals
def watch(request: HttpRequest, interrupt_id: uuid.UUID) -> HttpResponse:
    act = assignments.unwatch if request.POST.get("off") else assignments.watch
    act(person(request), str(interrupt_id))
    return back(request, interrupt_id)


def wanted(request: HttpRequest) -> datetime:
    """The end of the snooze; one that cannot be read is the first moment, which the action refuses."""
    minutes = request.POST.get("minutes", "")
    if minutes in SPANS:
        return timezone.now() + timedelta(minutes=int(minutes))
    until = listing.moment(request.POST.get("until", ""), timezone.get_current_timezone())
    return until or datetime.min.replace(tzinfo=UTC)


def back(request: HttpRequest, interrupt_id: uuid.UUID) -> HttpResponse:
    """Where it was pressed, if that is one of our own addresses; else the question."""
    target = request.POST.get("next", "")
    own = url_has_allowed_host_and_scheme(target, {request.get_host()}, require_https=request.is_secure())
    return SeeOther(target if own and target.startswith("/") else reverse("review", args=[interrupt_id]))
