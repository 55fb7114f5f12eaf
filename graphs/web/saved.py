"""The forms that keep, change and delete saved views."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, QueryDict
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from graphs.actions import preferences, saved_views
from graphs.actions.errors import InputInvalid, NotFound
from graphs.web import inbox, listing, rails
from graphs.web.errors import answers_refusals
from graphs.web.people import person
from graphs.web.shell import SeeOther


@require_POST
@answers_refusals
def save(request: HttpRequest) -> HttpResponse:
    """Keep the list that is open under a name."""
    query = clean(request.POST.get("from", ""))
    try:
        view = saved_views.save(person(request), request.POST.get("title", ""), query, request.POST.get("team", ""))
    except InputInvalid as error:
        return again(request, error)
    return SeeOther(rails.address(view.query, view.pk))


@require_POST
@answers_refusals
def change(request: HttpRequest, pk: int) -> HttpResponse:
    """Rename, share, open the inbox with it, and with `refilter` give it the filter that is open."""
    title, team = request.POST.get("title", ""), request.POST.get("team", "")
    query = clean(request.POST.get("from", "")) if request.POST.get("refilter") else None
    try:
        if request.POST.get("default") is None or "title" in request.POST:
            view = saved_views.change(person(request), number(pk), title, team, query)
        else:
            view = saved_views.found(person(request), number(pk))
    except InputInvalid as error:
        return again(request, error)
    if "default" in request.POST:
        preferences.open_with(person(request), view.pk if request.POST["default"] == "on" else None)
    return SeeOther(rails.address(view.query, view.pk))


@require_POST
@answers_refusals
def delete(request: HttpRequest, pk: int) -> HttpResponse:
    saved_views.delete(person(request), number(pk))
    return SeeOther(reverse("inbox"))


def number(pk: int) -> int:
    """A key that the database can hold."""
    if pk > 2**31:
        raise NotFound
    return pk


def again(request: HttpRequest, error: InputInvalid) -> HttpResponse:
    """422: the list as it was, the form open with what was typed and what is wrong with it."""
    asked = QueryDict(request.POST.get("from", "")[:2000])
    typed = {name: request.POST.get(name, "")[:500] for name in ("title", "team", "default")}
    problem = "; ".join(_(message) for _path, message in error.problems)
    return inbox.shown(request, asked, {"typed": typed, "view_problem": problem}, status=422)


def clean(query: str) -> str:
    """The filter of an inbox address, without what it does not know."""
    return listing.parse(QueryDict(query[:2000])).query(saved="")
