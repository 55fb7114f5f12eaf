"""What a socket tells, and whom."""

from __future__ import annotations

import json
from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async
from django.contrib.sessions.models import Session
from django.db import OperationalError

from graphs import outbox
from graphs.actions.decisions import decide
from graphs.live import consumers
from graphs.live.hints import MOST_PENDING, Pending, clean
from graphs.models import QueueMembership
from tests.actions.conftest import Asked
from tests.live.conftest import Opened, Page
from tests.people import People

pytestmark = pytest.mark.django_db(transaction=True)

KEYS = {"topic", "queue", "seq", "thread", "interrupt"}


async def send(groups: list[str], **data: object) -> None:
    assert await sync_to_async(outbox.send)(groups, data)


async def test_s07_nobody_without_a_session_hears_anything(page: Opened) -> None:
    anonymous = await page()
    await anonymous.open()
    assert await anonymous.closed() == consumers.SIGNED_OUT


async def test_a_made_up_session_is_nobody(page: Opened, people: People) -> None:
    stranger = Page("x" * 32)
    await stranger.open()
    assert await stranger.closed() == consumers.SIGNED_OUT
    inactive = await page(people.inactive)
    await inactive.open()
    assert await inactive.closed() == consumers.SIGNED_OUT


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://localhost.evil.example"])
async def test_foreign_pages_cannot_connect(origin: str, page: Opened, people: People) -> None:
    foreign = await page(people.decider, origin)
    assert not await foreign.open()


async def test_a_team_hears_of_its_queue_and_others_do_not(page: Opened, people: People, asked: Asked) -> None:
    member, viewer = await (await page(people.decider)).ready(), await (await page(people.viewer)).ready()
    other = await (await page(people.other_team)).ready()
    await sync_to_async(decide)(people.grouped, [await sync_to_async(asked.given)()], channel="form")
    for socket in (member, viewer):
        hint = await socket.frame()
        assert hint["topic"] == "inbox" and hint["queue"] == people.finance.pk and set(hint) <= KEYS
    await send([f"queue.{people.legal.pk}"], topic="inbox", queue=people.legal.pk, seq=1)
    # The first thing that the other team hears is its own queue's.
    assert (await other.frame())["queue"] == people.legal.pk


async def test_frames_hold_ids_and_no_contents(page: Opened, people: People, asked: Asked) -> None:
    socket = await (await page(people.decider)).ready()
    thread = str((await sync_to_async(lambda: asked.pen.thread)()).uid)
    await send(
        [f"queue.{people.finance.pk}"],
        topic="inbox",
        queue=people.finance.pk,
        thread=thread,
        secret="canary",
        message="May I?",
        interrupt="x" * 2000,
        seq="7",
    )
    assert await socket.frame() == {"topic": "inbox", "queue": people.finance.pk, "thread": thread}


async def test_a_requester_hears_of_their_own_thread(page: Opened, people: People, asked: Asked) -> None:
    socket = await (await page(people.requester)).ready()
    await sync_to_async(decide)(people.decider, [await sync_to_async(asked.given)()], channel="form")
    assert (await socket.frame())["thread"] == str((await sync_to_async(lambda: asked.pen.thread)()).uid)


async def test_only_visible_threads_can_be_watched(page: Opened, people: People, asked: Asked) -> None:
    thread = await sync_to_async(lambda: asked.pen.thread)()
    member, stranger = await (await page(people.decider)).ready(), await (await page(people.stranger)).ready()
    await member.ask({"watch": str(thread.uid)})
    assert await member.frame() == {"topic": "watching", "thread": str(thread.uid)}
    unknown = str(uuid4())
    for uid in (str(thread.uid), unknown):
        await stranger.ask({"watch": uid})
        assert await stranger.frame() == {"topic": "unknown", "thread": uid}
    await send([f"thread.{thread.uid.hex}"], topic="thread", thread=str(thread.uid))
    assert await member.frame() == {"topic": "thread", "thread": str(thread.uid)}
    # A hint that reaches the wrong socket is not forwarded either.
    await send([f"user.{people.stranger.pk}"], topic="thread", thread=str(thread.uid))
    await send([f"user.{people.stranger.pk}"], topic="inbox")
    assert await stranger.frame() == {"topic": "inbox"}


@pytest.mark.parametrize(
    "message", ["x", "[]", "{}", '{"watch": 5}', '{"join": "operators"}', '{"watch": "x"}', "9" * 3000]
)
async def test_whatever_else_a_page_says_closes_it(message: str, page: Opened, people: People) -> None:
    socket = await (await page(people.decider)).ready()
    await socket.ask(message)
    assert await socket.closed() == consumers.BAD_MESSAGE


async def test_only_the_last_watched_threads_are_kept(
    page: Opened, people: People, asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumers, "MOST_WATCHED", 1)
    second = await sync_to_async(asked.pen.__class__)(queue="finance")
    operator = await (await page(people.operator)).ready()
    first = await sync_to_async(lambda: asked.pen.thread)()
    other = await sync_to_async(lambda: second.thread)()
    for thread in (first, other):
        await operator.ask({"watch": str(thread.uid)})
        assert (await operator.frame())["topic"] == "watching"
    await send([f"thread.{first.uid.hex}"], topic="thread", thread=str(first.uid))
    await send([f"thread.{other.uid.hex}"], topic="thread", thread=str(other.uid))
    assert (await operator.frame())["thread"] == str(other.uid)


async def test_f34_who_leaves_the_team_hears_no_more(page: Opened, people: People, asked: Asked) -> None:
    socket = await (await page(people.decider)).ready()
    await sync_to_async(QueueMembership.objects.filter(user=people.decider).delete)()
    await send([f"queue.{people.finance.pk}"], topic="inbox", queue=people.finance.pk)
    assert await socket.socket.receive_output(20) == {"type": "websocket.close", "code": consumers.RIGHTS_CHANGED}


async def test_who_joins_a_team_hears_of_it_from_then_on(page: Opened, people: People, asked: Asked) -> None:
    socket = await (await page(people.stranger)).ready()
    await QueueMembership.objects.acreate(queue=people.finance, user=people.stranger, right="view")
    await send([f"user.{people.stranger.pk}"], topic="inbox")
    assert await socket.frame() == {"topic": "inbox"}
    await send([f"queue.{people.finance.pk}"], topic="inbox", queue=people.finance.pk)
    assert (await socket.frame())["queue"] == people.finance.pk


@pytest.mark.parametrize("how", ["signed out", "password changed", "deactivated"])
async def test_sockets_end_with_their_session(how: str, page: Opened, people: People) -> None:
    socket = await (await page(people.decider)).ready()
    if how == "signed out":
        await Session.objects.filter(session_key=socket.session).adelete()
    elif how == "password changed":
        people.decider.set_password("another long one")
        await people.decider.asave()
    else:
        people.decider.is_active = False
        await people.decider.asave()
    await send([f"queue.{people.finance.pk}"], topic="inbox", queue=people.finance.pk)
    assert await socket.closed() == consumers.SIGNED_OUT


async def test_f31_a_deaf_socket_closes(page: Opened, people: People, monkeypatch: pytest.MonkeyPatch) -> None:
    async def deaf(self: object, event: object) -> None:
        return None

    monkeypatch.setattr(consumers, "PING_SECONDS", 0.2)
    socket = await (await page(people.decider)).ready()
    monkeypatch.setattr(consumers.HintConsumer, "layer_ping", deaf)
    assert await socket.closed() == consumers.TRY_AGAIN


@pytest.mark.parametrize("ring", [False, True])
async def test_a_socket_whose_rights_cannot_be_asked_closes(
    ring: bool, page: Opened, people: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Open it would be deaf for the rest of its life: nothing would ping it any more."""

    def away(session_key: str | None) -> None:
        raise OperationalError("the database is away")

    monkeypatch.setattr(consumers, "PING_SECONDS", 30.0 if ring else 0.2)
    socket = await (await page(people.decider)).ready()
    monkeypatch.setattr(consumers.rights, "current", away)
    if ring:
        await send([f"queue.{people.finance.pk}"], topic="inbox", queue=people.finance.pk)
    assert await socket.closed() == consumers.TRY_AGAIN


async def test_a_socket_hears_itself_and_stays(page: Opened, people: People, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consumers, "PING_SECONDS", 0.05)
    socket = await (await page(people.decider)).ready()
    assert await socket.socket.receive_nothing(timeout=1.0)
    await send([f"queue.{people.finance.pk}"], topic="inbox", queue=people.finance.pk)
    assert (await socket.frame())["queue"] == people.finance.pk


async def test_f30_a_burst_becomes_few_frames(page: Opened, people: People) -> None:
    socket = await (await page(people.decider)).ready()
    for seq in range(1, 101):
        await send([f"queue.{people.finance.pk}"], topic="inbox", queue=people.finance.pk, seq=seq)
    frames = [await socket.frame()]
    while frames[-1]["seq"] < 100:
        frames.append(await socket.frame())
    assert len(frames) <= 20


def test_pending_hints_keep_the_last_of_each_and_stay_bounded() -> None:
    pending = Pending()
    for seq in (1, 2):
        pending.add({"topic": "inbox", "queue": 1, "seq": seq})
    assert pending.take() == [{"topic": "inbox", "queue": 1, "seq": 2}] and not pending
    for queue in range(MOST_PENDING * 3):
        pending.add({"topic": "inbox", "queue": queue})
    assert len(pending.take()) <= MOST_PENDING


@pytest.mark.parametrize("data", [{}, {"topic": "hello"}, {"topic": 5}, {"topic": "watching", "thread": "x"}])
def test_what_is_no_hint_is_dropped(data: dict[str, object]) -> None:
    assert clean(data) is None


def test_a_hint_fits_a_frame() -> None:
    full = clean({"topic": "inbox", "queue": 2**63, "seq": 2**63, "thread": "t" * 64, "interrupt": "i" * 64, "more": 1})
    assert full is not None and set(full) == KEYS and len(json.dumps(full)) < 1024
    assert clean({"topic": "inbox", "queue": True, "seq": 1.5}) == {"topic": "inbox"}
