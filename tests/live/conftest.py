from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from channels.testing import WebsocketCommunicator
from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.sessions.backends.db import SessionStore

from hitl_site.asgi import application
from tests.actions.conftest import Asked
from tests.people import People, invite

PATIENCE = 20.0


@pytest.fixture
def people(db: None) -> People:
    return invite()


@pytest.fixture
def asked(people: People) -> Asked:
    return Asked(people)


def session_of(user: User) -> str:
    store = SessionStore()
    store[SESSION_KEY] = str(user.pk)
    store[BACKEND_SESSION_KEY] = "django.contrib.auth.backends.ModelBackend"
    store[HASH_SESSION_KEY] = user.get_session_auth_hash()
    store.create()
    return str(store.session_key)


class Page:
    """One browser tab's socket."""

    def __init__(self, session: str = "", origin: str = "http://localhost") -> None:
        headers = [(b"origin", origin.encode())] if origin else []
        if session:
            headers.append((b"cookie", f"{settings.SESSION_COOKIE_NAME}={session}".encode()))
        self.session = session
        self.socket = WebsocketCommunicator(application, "/ws/", headers=[(b"host", b"localhost"), *headers])

    async def open(self) -> bool:
        accepted, _ = await self.socket.connect(timeout=PATIENCE)
        return bool(accepted)

    async def ready(self) -> Page:
        assert await self.open()
        assert await self.frame() == {"topic": "hello"}
        return self

    async def frame(self) -> dict[str, Any]:
        event = await self.socket.receive_output(PATIENCE)
        assert event["type"] == "websocket.send", event
        assert len(event["text"]) < 1024
        found: dict[str, Any] = json.loads(event["text"])
        return found

    async def closed(self) -> int:
        """The code it closes with, whatever came before."""
        while (event := await self.socket.receive_output(PATIENCE))["type"] != "websocket.close":
            pass
        return int(event["code"])

    async def ask(self, message: object) -> None:
        text = message if isinstance(message, str) else json.dumps(message)
        await self.socket.send_to(text_data=text)


Opened = Callable[..., Awaitable[Page]]


@pytest.fixture
async def page(redis: str) -> AsyncIterator[Opened]:
    """Opens sockets as this person; all are closed after the test."""
    pages: list[Page] = []

    async def opened(user: User | None = None, origin: str = "http://localhost") -> Page:
        made = Page(await sync_to_async(session_of)(user) if user else "", origin)
        pages.append(made)
        return made

    yield opened
    for made in pages:
        await made.socket.disconnect(timeout=PATIENCE)
