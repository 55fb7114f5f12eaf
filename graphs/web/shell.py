"""What every page shares: the layout around it, the navigation's count, and how a page is rendered."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.shortcuts import render
from django.utils.functional import SimpleLazyObject

from graphs import permissions
from graphs.models import ApprovalQueue
from graphs.web import listing, locales

#: Counting stops here; a badge shows "999+".
MOST_COUNTED = 1000


class SeeOther(HttpResponseRedirect):
    """Where a form that was sent leads: 303 has every client fetch it with GET, and none send the form again."""

    status_code = 303


def see_other(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """The same for the framework's own forms."""

    @wraps(view)
    def answered(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        answer = view(request, *args, **kwargs)
        if request.method == "POST" and answer.status_code == 302:
            answer.status_code = SeeOther.status_code
        return answer

    return answered


def shell(request: HttpRequest) -> dict[str, Any]:
    """Context processor. The count runs only where a template shows it."""
    return {
        "layout": "layouts/parts.html" if wants_parts(request) else "layouts/page.html",
        "open_count": SimpleLazyObject(lambda: open_count(request)),
        "theme": theme(request),
        "zone": locales.chosen_zone(request) if hasattr(request, "session") else "",
        # One look at the memberships, and only where a whole page is made.
        "may_oversee": SimpleLazyObject(lambda: ApprovalQueue.objects.overseen_by(request.user).exists()),
        "may_audit": SimpleLazyObject(lambda: permissions.can(request.user, "audit")),
    }


def wants_parts(request: HttpRequest) -> bool:
    """Scripts fetch the same address as people; they get it without the frame around it."""
    return request.headers.get("HX-Request") == "true" or request.headers.get("X-Parts") == "1"


def theme(request: HttpRequest) -> str:
    """The chosen theme, from a cookie, so that the first byte of a page already has it and nothing flashes."""
    chosen = request.COOKIES.get("sayso_theme", "")
    return chosen if chosen in ("light", "dark") else "system"


def open_count(request: HttpRequest) -> int:
    """The length of the list that the badge leads to; a requester's own questions are in another one (U07)."""
    user = getattr(request, "user", None)
    if user is None or not user.is_authenticated:
        return 0
    return listing.visible(user, "open")[:MOST_COUNTED].count()


def page(request: HttpRequest, template: str, context: dict[str, Any], status: int = 200) -> HttpResponse:
    """Render one page. Pages hold payloads, so no cache keeps them, and one address has two shapes."""
    response = render(request, template, context, status=status)
    response["Cache-Control"] = "no-store"
    response["Vary"] = "Cookie, HX-Request, X-Parts"
    return response
