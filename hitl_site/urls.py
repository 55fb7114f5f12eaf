from __future__ import annotations

from django.conf import settings
from django.contrib import admin
from django.urls import include, path

urlpatterns = [path("admin/", admin.site.urls)]
if settings.SAYSO_RQ_ADMIN:
    # Its pages can requeue and delete jobs; django-rq lets staff in, so they stay away until an operator asks.
    urlpatterns.append(path("admin/rq/", include("django_rq.urls")))
urlpatterns.append(path("", include("graphs.web.urls")))

# Answers 503 where the database is down, and needs neither it nor a session to say so.
handler500 = "graphs.web.errors.server_error"
