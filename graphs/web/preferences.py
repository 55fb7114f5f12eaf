"""How one person's pages behave: language, zone, density, single letters, whether the next question opens."""

from __future__ import annotations

from typing import Any
from zoneinfo import available_timezones

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from graphs.actions import preferences
from graphs.actions.errors import InputInvalid
from graphs.web import locales
from graphs.web.people import person
from graphs.web.shell import SeeOther, page


@require_http_methods(["GET", "HEAD", "POST"])
def choose(request: HttpRequest) -> HttpResponse:
    """The page of one's choices; a POST sets whichever were sent, and leads back to where they were pressed."""
    if request.method != "POST":
        return shown(request)
    try:
        keep(request)
    except InputInvalid as error:
        return shown(request, {pointer[1:]: message for pointer, message in error.problems}, status=422)
    if request.headers.get("X-Parts"):
        return HttpResponse(status=204)
    target = request.POST.get("next", "")
    own = url_has_allowed_host_and_scheme(target, {request.get_host()}, require_https=request.is_secure())
    return SeeOther(target if own and target.startswith("/") else reverse("inbox"))


def keep(request: HttpRequest) -> None:
    """Set what was sent. Zone and language also go into the session, where every page of this person finds them."""
    for name in preferences.CHOICES:
        if name in request.POST:
            preferences.choose(person(request), name, request.POST[name])
    if "zone" in request.POST:
        zone = request.POST["zone"].strip()
        preferences.choose_zone(person(request), zone)
        request.session[locales.ZONE] = zone
    if "language" in request.POST:
        preferences.choose_language(person(request), request.POST["language"])
        request.session[locales.LANGUAGE] = request.POST["language"]


def shown(request: HttpRequest, problems: dict[str, str] | None = None, status: int = 200) -> HttpResponse:
    chosen = preferences.chosen(person(request)) | request.POST.dict()
    context: dict[str, Any] = {
        "nav": "preferences",
        "own_zone": request.POST.get("zone", locales.chosen_zone(request)),
        "languages": list(locales.LANGUAGES.items()),
        "own_language": request.POST.get("language", locales.chosen_language(request)),
        "zones": sorted(available_timezones()),
        "problems": problems or {},
        "saved": "saved" in request.GET,
        "groups": [(*one, chosen[one[0]]) for one in groups()],
    }
    return page(request, "preferences/page.html", context, status=status)


def groups() -> list[tuple[str, str, str, list[tuple[str, str]]]]:
    """Each choice as (name, title, what it does, (value, label) pairs), in the order of the page."""
    return [
        (
            "advance",
            _("After a decision"),
            _("What opens once you have decided."),
            [("off", _("Stay and see what comes of it")), ("on", _("Open the next question"))],
        ),
        (
            "density",
            _("Rows of the inbox"),
            _("How much fits on a screen."),
            [("comfortable", _("Comfortable")), ("compact", _("Compact"))],
        ),
        (
            "keys",
            _("Single-letter keys"),
            _("Letters such as j, k, a and r outside of fields."),
            [("on", _("On")), ("off", _("Off"))],
        ),
    ]
