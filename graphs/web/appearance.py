"""Light, dark or as the system has it: kept in a cookie, so that the server writes it into the first byte."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

from graphs.web.shell import SeeOther

YEAR = 365 * 24 * 3600


@require_POST
def theme(request: HttpRequest) -> HttpResponse:
    """Set the theme and return to where it was pressed; an address of others is never followed."""
    chosen = request.POST.get("theme", "system")
    target = request.POST.get("next", "/")
    hosts = {request.get_host()}
    safe = url_has_allowed_host_and_scheme(target, allowed_hosts=hosts, require_https=request.is_secure())
    response = SeeOther(target if safe and target.startswith("/") else "/")
    if chosen in ("light", "dark"):
        response.set_cookie("sayso_theme", chosen, max_age=YEAR, samesite="Lax", secure=request.is_secure())
    else:
        response.delete_cookie("sayso_theme", samesite="Lax")
    return response
