"""The doorbell of the pages: an authenticated socket that forwards hints. It reads rights, and writes nothing."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections import OrderedDict
from collections.abc import Coroutine
from typing import Any
from uuid import UUID

from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer
from django.contrib.auth.models import User
from django.db import Error as DatabaseError
from redis import RedisError

from graphs.live import rights
from graphs.live.hints import Hint, Pending, clean
from graphs.live.looking import Look
from graphs.live.together import together

SIGNED_OUT = 4401
RIGHTS_CHANGED = 4403
BAD_MESSAGE = 4400
TRY_AGAIN = 1012

#: At most one burst of frames in this many seconds and socket (F30).
BREATH = 0.5
PING_SECONDS = 25.0
JOIN_SECONDS = 5.0
#: Sockets are renewed after about this long, so that none lives for ever on what it once was allowed.
LIFETIME = 12 * 3600
MOST_WATCHED = 20
LONGEST_MESSAGE = 200


class HintConsumer(AsyncWebsocketConsumer):  # type: ignore[misc]
    """One page's socket."""

    async def connect(self) -> None:
        await self.accept()
        self.joined: frozenset[str] = frozenset()
        self.watched: OrderedDict[str, None] = OrderedDict()
        self.looks = Look(self.channel_name)
        self.pending = Pending()
        self.flusher: asyncio.Task[None] | None = None
        self.pulse: asyncio.Task[None] | None = None
        self.last_flush = 0.0
        self.heard = asyncio.Event()
        session = self.scope.get("session")
        self.session_key = session.session_key if session is not None else None
        found = await self.look()
        if found is None:
            await self.close(SIGNED_OUT)
            return
        try:
            await self.join(found.groups)
        except (RedisError, OSError):
            # Without the layer this socket would be open and deaf; the page polls until it is back.
            await self.close(TRY_AGAIN)
            return
        self.pulse = asyncio.create_task(self.or_close(self.beat()))

    async def or_close(self, work: Coroutine[Any, Any, None]) -> None:
        """Close where the database or the layer fails: the socket would stay open and deaf, and its page believe it."""
        try:
            await work
        except (DatabaseError, RedisError, OSError):
            await self.close(TRY_AGAIN)

    async def look(self) -> rights.Rights | None:
        return await together(("rights", self.session_key), lambda: rights.current(self.session_key))

    async def join(self, groups: frozenset[str]) -> None:
        for group in sorted(groups - self.joined):
            await self.channel_layer.group_add(group, self.channel_name)
        self.joined = groups

    async def disconnect(self, code: int) -> None:
        for task in (self.flusher, self.pulse):
            if task is not None and task is not asyncio.current_task():
                task.cancel()
        await self.look_away()
        groups = [*self.joined, *(thread_group(uid) for uid in self.watched)]
        self.joined = frozenset()
        for group in groups:
            try:
                await self.channel_layer.group_discard(group, self.channel_name)
            except (RedisError, OSError):
                return

    async def beat(self) -> None:
        """Ping itself through the layer: a socket that is open but deaf closes, and its page comes back (F31).

        The first ping proves that every group is joined; only then the page is told to fetch what it missed.
        """
        ends = time.monotonic() + LIFETIME * random.uniform(0.9, 1.1)  # noqa: S311 - spreads reconnects, hides nothing
        if not await self.pong(JOIN_SECONDS):
            await self.close(TRY_AGAIN)
            return
        await self.say({"topic": "hello"})
        while time.monotonic() < ends:
            await asyncio.sleep(PING_SECONDS)
            if not await self.pong(PING_SECONDS):
                break
            if not await self.still_allowed():
                return
        await self.close(TRY_AGAIN)

    async def pong(self, seconds: float) -> bool:
        self.heard.clear()
        try:
            await self.channel_layer.send(self.channel_name, {"type": "layer.ping"})
            await asyncio.wait_for(self.heard.wait(), seconds)
        except (TimeoutError, RedisError, OSError):
            return False
        return True

    async def layer_ping(self, event: dict[str, Any]) -> None:
        self.heard.set()

    async def still_allowed(self) -> rights.Rights | None:
        """The rights of now. Less than before closes the socket, more joins the new groups."""
        found = await self.look()
        if found is None:
            await self.close(SIGNED_OUT)
            return None
        if self.joined - found.groups:
            await self.close(RIGHTS_CHANGED)
            return None
        if found.groups - self.joined:
            await self.join(found.groups)
        return found

    async def hint(self, event: dict[str, Any]) -> None:
        """A hint from the layer: the first goes out at once, those that follow closely go together."""
        found = clean(event.get("data", {}))
        if found is None:
            return
        self.pending.add(found)
        if self.flusher is None or self.flusher.done():
            self.flusher = asyncio.create_task(self.or_close(self.flush()))

    async def flush(self) -> None:
        while self.pending:
            wait = self.last_flush + BREATH - time.monotonic()
            if wait > 0:
                await asyncio.sleep(wait)
            self.last_flush = time.monotonic()
            allowed = await self.still_allowed()
            if allowed is None:
                return
            taken = self.pending.take()
            for hint in await self.heard_of(allowed.user, taken):
                await self.say(hint)

    async def heard_of(self, user: User, hints: list[Hint]) -> list[Hint]:
        """Those that this person may hear; all tabs that they have open hear the same."""
        question = ("hints", user.pk, json.dumps(hints, sort_keys=True))
        return await together(question, lambda: rights.forwarded(user, hints))

    async def say(self, data: Hint) -> None:
        await self.send(text_data=json.dumps(data, separators=(",", ":")))

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """A page may ask to watch a thread, and say which question it looks at; each time anew it is asked whether it
        may."""
        try:
            asked = json.loads(text_data) if text_data and len(text_data) <= LONGEST_MESSAGE else None
        except ValueError:
            asked = None
        word, text = next(iter(asked.items())) if isinstance(asked, dict) and len(asked) == 1 else ("", None)
        uid = rights.parsed(text)
        if word == "watch" and uid is not None:
            await self.watch(str(uid))
        elif word == "look" and (uid is not None or text == ""):
            await self.or_close(self.look_at(uid))
        else:
            await self.close(BAD_MESSAGE)

    async def look_at(self, question: UUID | None) -> None:
        """What cannot be seen is answered as what is not there: not at all."""
        allowed = await self.still_allowed()
        if allowed is not None:
            await database_sync_to_async(self.looks.turn)(allowed.user, question)

    async def look_away(self) -> None:
        try:
            await database_sync_to_async(self.looks.away)()
        except DatabaseError:
            # It ends by itself a little later.
            return

    async def watch(self, uid: str) -> None:
        allowed = await self.still_allowed()
        if allowed is None or uid in self.watched:
            return
        if uid not in await database_sync_to_async(rights.visible)(allowed.user, [uid]):
            await self.say({"topic": "unknown", "thread": uid})
            return
        if len(self.watched) >= MOST_WATCHED:
            oldest, _ = self.watched.popitem(last=False)
            await self.channel_layer.group_discard(thread_group(oldest), self.channel_name)
        await self.channel_layer.group_add(thread_group(uid), self.channel_name)
        self.watched[uid] = None
        await self.say({"topic": "watching", "thread": uid})


def thread_group(uid: str) -> str:
    return f"thread.{uid.replace('-', '')}"
