"""Notes where a request comes from, so that what it does is recorded with it."""

from __future__ import annotations

import re
from collections.abc import Callable
from ipaddress import ip_address

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase

from graphs.actions.origins import ORIGIN, Origin

#: The first that a program's name has counts: browsers name each other.
FAMILIES = (
    ("Edge", "Edg"),
    ("Opera", "OPR/"),
    ("Firefox", "Firefox/"),
    ("Chrome", "Chrome/"),
    ("Safari", "Safari/"),
    ("curl", "curl/"),
    ("Python", "python"),
)
SYSTEMS = (
    ("Android", "Android"),
    ("iOS", "iPhone|iPad"),
    ("Windows", "Windows"),
    ("macOS", "Mac OS X"),
    ("Linux", "Linux|X11"),
)


class OriginMiddleware:
    """Holds the origin of a request while it is answered."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        token = ORIGIN.set(Origin(address(request), agent(request.headers.get("User-Agent", ""))))
        try:
            return self.get_response(request)
        finally:
            ORIGIN.reset(token)


def address(request: HttpRequest) -> str:
    """The client's address. Behind the proxy that the settings name it is the last one that the proxy was told or
    itself saw: those before it are the client's own words."""
    forwarded = request.headers.get("X-Forwarded-For", "") if settings.SAYSO_BEHIND_PROXY else ""
    text = forwarded.rpartition(",")[2].strip() or request.META.get("REMOTE_ADDR", "")
    try:
        return str(ip_address(text))
    except ValueError:
        return ""


def agent(text: str) -> str:
    """The family of a program and its system; never the whole text, which tells people apart."""
    family = next((name for name, mark in FAMILIES if mark.lower() in text.lower()), "")
    system = next((name for name, mark in SYSTEMS if re.search(mark, text)), "")
    return " on ".join(filter(None, (family, system)))
