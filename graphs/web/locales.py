"""The zone and the language of one person's pages: chosen by them, else the browser's own, else the server's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from zoneinfo import ZoneInfo

from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.auth.signals import user_logged_in
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponseBase
from django.utils import timezone, translation
from django.utils.cache import patch_vary_headers

from graphs.models import Preference
from graphs.policies.checked_hours import is_zone

#: The session holds both, so that no page asks the database for them.
ZONE, LANGUAGE = "sayso_zone", "sayso_language"
LANGUAGES = dict(settings.LANGUAGES)


class ReaderMiddleware:
    """Answers in the language of who asked, with times in their zone."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        zone = chosen_zone(request)
        language = chosen_language(request) or translation.get_language_from_request(request)
        with timezone.override(ZoneInfo(zone) if zone else None), translation.override(language):
            response = self.get_response(request)
            response.headers.setdefault("Content-Language", language)
        patch_vary_headers(response, ("Accept-Language",))
        return response


def chosen_zone(request: HttpRequest) -> str:
    """The zone that this person chose; empty where they leave it to the browser."""
    zone = request.session.get(ZONE, "")
    return zone if is_zone(zone) else ""


def chosen_language(request: HttpRequest) -> str:
    """The language that this person chose; empty where they leave it to the browser."""
    language = request.session.get(LANGUAGE, "")
    return language if language in LANGUAGES else ""


@receiver(user_logged_in)
def remember(sender: Any, request: HttpRequest | None, user: User, **more: Any) -> None:
    """Take the choices along into a new session."""
    if request is not None and hasattr(request, "session"):
        kept = Preference.objects.filter(user=user).values_list("zone", "language").first()
        request.session[ZONE], request.session[LANGUAGE] = kept or ("", "")
