"""People who are signed in to a running installation, and act at once."""

from __future__ import annotations

import http.client
import os
import threading
import time
from collections.abc import Callable, Sequence
from urllib.parse import urlencode, urlsplit

from tests.load import ground

TOKEN = "t" * 32


class Reviewer:
    """One person's session over plain HTTP, with a connection that is kept open."""

    def __init__(self, name: str) -> None:
        from django.conf import settings
        from django.test import Client

        client = Client()
        client.force_login(ground.person(name))
        session = client.cookies[settings.SESSION_COOKIE_NAME].value
        self.cookie = f"{settings.SESSION_COOKIE_NAME}={session}; {settings.CSRF_COOKIE_NAME}={TOKEN}"
        self.host = urlsplit(os.environ["SAYSO_LOAD_ADDRESS"]).netloc
        self.link = http.client.HTTPConnection(self.host, timeout=60)

    def post(self, path: str, form: dict[str, object]) -> tuple[int, float]:
        """The status of the answer, and the seconds until it was whole."""
        body = urlencode({"csrfmiddlewaretoken": TOKEN, **form})
        headers = {"Cookie": self.cookie, "Content-Type": "application/x-www-form-urlencoded", "X-Parts": "1"}
        start = time.perf_counter()
        self.link.request("POST", path, body, headers)
        answer = self.link.getresponse()
        answer.read()
        return answer.status, time.perf_counter() - start


def at_once(acts: Sequence[Callable[[], tuple[int, float]]]) -> list[tuple[int, float]]:
    """Do all of these in the same moment, each in a thread of its own."""
    gate, found = threading.Barrier(len(acts)), [(0, 0.0)] * len(acts)

    def one(place: int, act: Callable[[], tuple[int, float]]) -> None:
        gate.wait()
        found[place] = act()

    started = [threading.Thread(target=one, args=pair) for pair in enumerate(acts)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()
    return found
