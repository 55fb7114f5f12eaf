"""Who belongs to a queue, for who administers it: people and groups come, change their right, and go."""

from __future__ import annotations

from django.contrib.auth.models import Group, User
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from graphs.actions import memberships, policies
from graphs.actions.errors import InputInvalid
from graphs.models import Right
from graphs.web import queues
from graphs.web.errors import answers_refusals
from graphs.web.people import person
from graphs.web.shell import SeeOther


@require_POST
@answers_refusals
def grant(request: HttpRequest, slug: str) -> HttpResponse:
    """Give whoever is named the right that was chosen; what cannot be is told beside the form (422)."""
    queue = queues.find(person(request), slug)
    policies.allowed(person(request), queue)
    try:
        memberships.grant(person(request), queue, named(request), right(request))
    except InputInvalid as error:
        problems = {pointer[1:]: message for pointer, message in error.problems}
        return queues.shown(request, queue, 422, member_problems=problems, member_typed=request.POST)
    return SeeOther(reverse("queue", args=[slug]) + "#members")


@require_POST
@answers_refusals
def dismiss(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Take a right away."""
    queue = queues.find(person(request), slug)
    try:
        memberships.dismiss(person(request), queue, min(pk, 2**31))
    except InputInvalid as error:
        problems = {"name": " ".join(message for _pointer, message in error.problems)}
        return queues.shown(request, queue, 422, member_problems=problems)
    return SeeOther(reverse("queue", args=[slug]) + "#members")


def named(request: HttpRequest) -> User | Group:
    name = request.POST.get("name", "").replace("\x00", "").strip()[:150]
    if request.POST.get("kind") == "group":
        group = Group.objects.filter(name=name).first()
        if group is None:
            raise InputInvalid([("/name", _("there is no group %(name)s") % {"name": name})])
        return group
    user = User.objects.filter(username=name, is_active=True).first()
    if user is None:
        raise InputInvalid([("/name", _("nobody is called %(name)s") % {"name": name})])
    return user


def right(request: HttpRequest) -> Right:
    chosen = request.POST.get("right", "")
    if chosen not in Right.values:
        raise InputInvalid([("/right", _("choose one of the rights"))])
    return Right(chosen)
