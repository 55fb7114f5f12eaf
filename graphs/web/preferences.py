"""How one person's pages behave: density, single letters, whether the next question opens by itself."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

from graphs.actions import preferences
from graphs.web.errors import answers_refusals
from graphs.web.people import person
from graphs.web.shell import SeeOther


@require_POST
@answers_refusals
def choose(request: HttpRequest) -> HttpResponse:
    """Set whichever choices were sent, and lead back to where they were pressed."""
    for name in preferences.CHOICES:
        if name in request.POST:
            preferences.choose(person(request), name, request.POST[name])
    if request.headers.get("X-Parts"):
        return HttpResponse(status=204)
    target = request.POST.get("next", "")
    own = url_has_allowed_host_and_scheme(target, {request.get_host()}, require_https=request.is_secure())
    return SeeOther(target if own and target.startswith("/") else reverse("inbox"))
