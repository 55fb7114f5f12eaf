"""The words of scripts; light, dark or as the system has it, in a cookie, so that the first byte of a page has it."""

from __future__ import annotations

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.templatetags.static import static
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST, require_safe
from django.views.i18n import JavaScriptCatalog

from graphs.web.shell import SeeOther

YEAR = 365 * 24 * 3600


@login_not_required
@require_safe
def favicon(request: HttpRequest) -> HttpResponse:
    """Browsers ask for this address beside every document that names no icon, such as a download."""
    return HttpResponseRedirect(static("icon.svg"))


@require_safe
def words(request: HttpRequest) -> HttpResponseBase:
    """The words of scripts in the reader's language; the address that pages use names it, so it may be kept a while."""
    response = JavaScriptCatalog.as_view(packages=[])(request)
    response["Cache-Control"] = "private, max-age=3600"
    return response


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
