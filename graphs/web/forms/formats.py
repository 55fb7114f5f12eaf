"""Texts of a known form: which input stands for each, what is said about it, and whether a text has it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import time
from ipaddress import IPv4Address, IPv6Address
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

#: The widget of each format that has one of its own; the others are texts.
WIDGETS: Mapping[str, str] = {
    "email": "email",
    "uri": "url",
    "date": "date",
    "date-time": "datetime",
    "time": "time",
    "textarea": "textarea",
    "multiline": "textarea",
    "markdown": "textarea",
    "password": "secret",
}
HINTS: Mapping[str, StrOrPromise] = {
    "date-time": gettext_lazy("with its zone, such as 2026-03-01T09:30+01:00; without one it is UTC"),
    "uuid": gettext_lazy("such as 123e4567-e89b-12d3-a456-426614174000"),
    "duration": gettext_lazy("as ISO 8601 writes it: P3D is three days, PT2H30M two and a half hours"),
    "ipv4": gettext_lazy("such as 192.0.2.17"),
    "ipv6": gettext_lazy("such as 2001:db8::17"),
    "hostname": gettext_lazy("such as mail.example.org"),
    "time": gettext_lazy("hours and minutes, such as 09:30"),
}
DURATION = re.compile(
    r"P(?!$)(?:[0-9]+W|(?:[0-9]+Y)?(?:[0-9]+M)?(?:[0-9]+D)?(?:T(?=[0-9])(?:[0-9]+H)?(?:[0-9]+M)?(?:[0-9]+(?:\.[0-9]+)?S)?)?)"
)
HOST = re.compile(
    r"(?=.{1,253}\Z)[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*"
)
#: What means the same to the engine's patterns and to those of browsers.
PORTABLE = re.compile(
    r"\^?(?:[A-Za-z0-9 _:@%,]|-|\\[d.+*?()/]|\[[A-Za-z0-9_ .:]+(?:-[A-Za-z0-9_.:]+)*\]"
    r"|[+*?]|\{[0-9]{1,3}(?:,[0-9]{0,3})?\})+\$?"
)


def _full(pattern: re.Pattern[str]) -> Callable[[str], Any]:
    def test(text: str) -> None:
        if not pattern.fullmatch(text):
            raise ValueError(text)

    return test


TESTS: Mapping[str, tuple[Callable[[str], Any], StrOrPromise]] = {
    "uuid": (UUID, gettext_lazy("a UUID")),
    "duration": (_full(DURATION), gettext_lazy("a duration")),
    "ipv4": (IPv4Address, gettext_lazy("an IPv4 address")),
    "ipv6": (IPv6Address, gettext_lazy("an IPv6 address")),
    "hostname": (_full(HOST), gettext_lazy("the name of a host")),
    "time": (time.fromisoformat, gettext_lazy("a time of day")),
}


def checked(text: str, form: str) -> str:
    """The text, where it has the form. Raises ValueError in words where it has not."""
    test, what = TESTS.get(form, (None, ""))
    try:
        if test is not None:
            test(text)
    except ValueError:
        if hint := HINTS.get(form):
            raise ValueError(_("This is not %(what)s; write it %(hint)s.") % {"what": what, "hint": hint}) from None
        raise ValueError(_("Not %(what)s.") % {"what": what}) from None
    return text


def for_browsers(pattern: str) -> str:
    """A pattern as an input takes it, which matches whole texts; empty where browsers might read it differently."""
    if len(pattern) > 200 or not PORTABLE.fullmatch(pattern):
        return ""
    before = "" if pattern.startswith("^") else ".*"
    after = "" if pattern.endswith("$") and not pattern.endswith("\\$") else ".*"
    return f"{before}{pattern.removeprefix('^').removesuffix('$')}{after}"
