from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.conf import settings
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponseBase
from django.urls import URLPattern, include, path
from django_rq.urls import urlpatterns as rq_patterns

from graphs import permissions

urlpatterns = [path("admin/", admin.site.urls), path("", include("graphs.web.urls"))]


def operators_only(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """These pages requeue, delete and empty; django-rq itself lets everyone in who is staff."""

    @wraps(view)
    def asked(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not permissions.can(request.user, "operate"):
            raise PermissionDenied
        return view(request, *args, **kwargs)

    return asked


if settings.SAYSO_RQ_ADMIN:
    # First, since the admin answers for whatever else begins with its address.
    guarded = [URLPattern(one.pattern, operators_only(one.callback), one.default_args, one.name) for one in rq_patterns]
    urlpatterns.insert(0, path("admin/rq/", include((guarded, "django_rq"))))

# Answers 503 where the database is down, and needs neither it nor a session to say so.
handler500 = "graphs.web.errors.server_error"
