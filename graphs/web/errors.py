"""Refusals and faults as pages: styled, with the right status, without a stack trace."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, cast

from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from graphs.actions.errors import AlreadyDecided, NotFound, Refused, status_of
from graphs.engine.errors import SaysoError
from graphs.web.shell import page

P = ParamSpec("P")

TITLES = {
    403: gettext_lazy("You may see this, but not do that"),
    409: gettext_lazy("This has changed in the meantime"),
    422: gettext_lazy("This cannot be used as it is"),
}


def refused(request: HttpRequest, error: Exception, **context: Any) -> HttpResponse:
    """The page of a refusal that has none of its own."""
    status = status_of(error)
    if status == 404:
        raise Http404
    return page(
        request,
        "errors/refused.html",
        {"title": TITLES.get(status, _("This was not done")), "reason": str(error), "status": status, **context},
        status=status,
    )


def answers_refusals(
    view: Callable[Concatenate[HttpRequest, P], HttpResponse],
) -> Callable[Concatenate[HttpRequest, P], HttpResponse]:
    """Wrap a view so that what an action refuses becomes its page, and what is none of ours stays an error."""

    @wraps(view)
    def answered(request: HttpRequest, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        try:
            return view(request, *args, **kwargs)
        except NotFound as error:
            raise Http404 from error
        except (Refused, SaysoError) as error:
            if status_of(error) == 500:
                raise
            return refused(request, error, receipt=error.receipt if isinstance(error, AlreadyDecided) else None)

    return cast(Callable[Concatenate[HttpRequest, P], HttpResponse], answered)


def server_error(request: HttpRequest) -> HttpResponse:
    """The last resort. It touches neither the database nor the session, which may be what is broken."""
    error = sys.exc_info()[1]
    down = isinstance(error, OperationalError | InterfaceError)
    response = HttpResponse(
        render_to_string("errors/unavailable.html" if down else "errors/fault.html"), status=503 if down else 500
    )
    response["Cache-Control"] = "no-store"
    if down:
        response["Retry-After"] = "5"
    return response
