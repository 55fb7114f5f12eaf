"""Who hears that somebody looks at a question, and when that ends."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import Permission

from graphs import outbox, presence, queue
from graphs.actions.decisions import decide
from graphs.live import consumers
from graphs.models import QueueMembership, Right
from tests.actions.conftest import Asked
from tests.live.conftest import Opened, Page
from tests.people import People, requested_by

pytestmark = pytest.mark.django_db(transaction=True)


async def hint_of(asked: Asked) -> dict[str, Any]:
    thread = await sync_to_async(lambda: asked.pen.thread)()
    return {"topic": "presence", "thread": str(thread.uid), "interrupt": str(asked.questions[0].id)}


async def look(socket: Page, asked: Asked | None) -> None:
    await socket.ask({"look": str(asked.questions[0].id) if asked else ""})


async def lookers(asked: Asked) -> set[int]:
    question = asked.row
    pk = (await sync_to_async(question)()).pk
    found = await sync_to_async(presence.looking)([pk])
    return found.get(pk, set())


async def nothing_but(socket: Page, group: str) -> None:
    """The next thing that this socket hears is what is sent to it now."""
    await sync_to_async(outbox.send)([group], {"topic": "inbox"})
    assert await socket.frame() == {"topic": "inbox"}


async def test_the_team_hears_who_comes_and_goes_and_strangers_do_not(
    page: Opened, people: People, asked: Asked
) -> None:
    member, viewer = await (await page(people.decider)).ready(), await (await page(people.viewer)).ready()
    other, stranger = await (await page(people.other_team)).ready(), await (await page(people.stranger)).ready()
    await look(member, asked)
    for socket in (viewer, member):
        assert await socket.frame() == await hint_of(asked)
    assert await lookers(asked) == {people.decider.pk}
    await look(member, None)
    assert await viewer.frame() == await hint_of(asked)
    assert await lookers(asked) == set()
    await nothing_but(other, f"user.{people.other_team.pk}")
    await nothing_but(stranger, f"user.{people.stranger.pk}")


@pytest.mark.parametrize("known", [True, False])
async def test_s02_a_stranger_who_looks_is_nobody_and_learns_nothing(
    known: bool, page: Opened, people: People, asked: Asked
) -> None:
    member, stranger = await (await page(people.decider)).ready(), await (await page(people.stranger)).ready()
    await stranger.ask({"look": str(asked.questions[0].id if known else uuid4())})
    await nothing_but(stranger, f"user.{people.stranger.pk}")
    assert await lookers(asked) == set()
    await nothing_but(member, f"user.{people.decider.pk}")


async def test_a_hint_that_reaches_the_wrong_socket_is_not_forwarded(
    page: Opened, people: People, asked: Asked
) -> None:
    """Who may see the thread by another question of it does not hear of this one either."""
    second = await sync_to_async(asked.row)()
    stranger = await (await page(people.stranger)).ready()
    group = f"user.{people.stranger.pk}"
    await sync_to_async(outbox.send)([group], await hint_of(asked))
    await nothing_but(stranger, group)
    await QueueMembership.objects.acreate(queue=people.legal, user=people.stranger, right=Right.VIEW)
    second.pk, second.key, second.queue_id = uuid4(), "elsewhere", people.legal.pk
    await second.asave(force_insert=True)
    await sync_to_async(outbox.send)([group], await hint_of(asked))
    await nothing_but(stranger, group)


async def test_a_requester_and_an_operator_hear_of_it(page: Opened, people: People, asked: Asked) -> None:
    await sync_to_async(requested_by)(await sync_to_async(lambda: asked.pen.thread)(), people.requester)
    requester, operator = await (await page(people.requester)).ready(), await (await page(people.operator)).ready()
    member = await (await page(people.decider)).ready()
    await look(member, asked)
    for socket in (requester, operator):
        assert await socket.frame() == await hint_of(asked)


async def test_who_may_only_view_hears_of_it_on_the_thread_s_page(page: Opened, people: People, asked: Asked) -> None:
    right = await Permission.objects.aget(codename="view_interrupt")
    await people.stranger.user_permissions.aadd(
        right, await Permission.objects.aget(codename="view_thread", content_type__app_label="graphs")
    )
    auditor, member = await (await page(people.stranger)).ready(), await (await page(people.decider)).ready()
    thread = (await hint_of(asked))["thread"]
    await auditor.ask({"watch": thread})
    assert (await auditor.frame())["topic"] == "watching"
    await look(member, asked)
    assert await auditor.frame() == await hint_of(asked)


async def test_closing_the_page_ends_it_and_a_second_tab_goes_on(page: Opened, people: People, asked: Asked) -> None:
    first, second = await (await page(people.decider)).ready(), await (await page(people.decider)).ready()
    other = await (await page(people.viewer)).ready()
    for socket in (first, second):
        await look(socket, asked)
        assert await other.frame() == await hint_of(asked)
    await first.socket.disconnect()
    assert await other.frame() == await hint_of(asked)
    assert await lookers(asked) == {people.decider.pk}
    await second.socket.disconnect()
    assert await other.frame() == await hint_of(asked)
    assert await lookers(asked) == set()


async def test_a_dead_socket_looks_no_more_after_its_time(
    page: Opened, people: People, asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    question = (await sync_to_async(asked.row)()).pk
    assert await sync_to_async(presence.arrive)(question, people.decider.pk, "a")
    assert not await sync_to_async(presence.arrive)(question, people.decider.pk, "a")
    key = presence.key_of(question)
    left = await sync_to_async(lambda: queue.connection().ttl(key))()
    assert 0 < left <= presence.SECONDS
    now = presence.time.time()
    monkeypatch.setattr(presence.time, "time", lambda: now + presence.SECONDS + 1)
    assert await lookers(asked) == set()
    assert await sync_to_async(presence.arrive)(question, people.decider.pk, "a")


async def test_a_closed_question_is_not_looked_at(page: Opened, people: People, asked: Asked) -> None:
    member = await (await page(people.decider)).ready()
    await look(member, asked)
    assert await member.frame() == await hint_of(asked)
    await sync_to_async(decide)(people.grouped, [await sync_to_async(asked.given)()], channel="form")
    while (await member.frame())["topic"] != "inbox":
        pass
    await look(member, asked)
    while (await member.frame())["topic"] != "presence":
        pass
    assert await lookers(asked) == set()


async def test_who_leaves_the_team_looks_no_more(page: Opened, people: People, asked: Asked) -> None:
    member = await (await page(people.decider)).ready()
    await look(member, asked)
    assert await member.frame() == await hint_of(asked)
    await QueueMembership.objects.filter(user=people.decider).adelete()
    await look(member, asked)
    assert await member.closed() == consumers.RIGHTS_CHANGED
    await member.socket.disconnect()
    assert await lookers(asked) == set()


def test_without_redis_nobody_seems_to_look(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(queue.quiet, "until", float("inf"))
    question = uuid4()
    assert not presence.arrive(question, 1, "a") and not presence.leave(question, 1, "a")
    assert presence.looking([question]) == {}


def test_what_others_wrote_there_is_nobody() -> None:
    assert presence.people([b"7.a", b"7.b", b"x.a", b"-1.a", b"", b"9" * 400 + b".a", "٣.a".encode()]) == {7}
