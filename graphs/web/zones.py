"""The zone in which one person's pages tell times: chosen by them, else the browser's own, else the server's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from zoneinfo import ZoneInfo

from django.contrib.auth.models import User
from django.contrib.auth.signals import user_logged_in
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponseBase
from django.utils import timezone

from graphs.models import Preference
from graphs.policies.checked_hours import is_zone

#: The session holds it, so that no page asks the database for it.
KEY = "sayso_zone"


class ZoneMiddleware:
    """Tells the times of a response in the zone of who asked for it."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        zone = chosen(request)
        with timezone.override(ZoneInfo(zone) if zone else None):
            return self.get_response(request)


def chosen(request: HttpRequest) -> str:
    """The zone that this person chose; empty where they leave it to the browser."""
    zone = request.session.get(KEY, "")
    return zone if is_zone(zone) else ""


@receiver(user_logged_in)
def remember(sender: Any, request: HttpRequest | None, user: User, **more: Any) -> None:
    """Take the choice along into a new session."""
    if request is not None and hasattr(request, "session"):
        request.session[KEY] = Preference.objects.filter(user=user).values_list("zone", flat=True).first() or ""
