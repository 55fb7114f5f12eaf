"""One look at the database for all who ask in the same moment, and a fresh one for whoever asks later."""

from __future__ import annotations

import asyncio

import pytest

from graphs.live.together import asked, together

pytestmark = pytest.mark.django_db(transaction=True)


async def test_those_who_ask_in_one_moment_share_an_answer_and_later_ones_do_not() -> None:
    looks: list[int] = []

    def look() -> int:
        looks.append(1)
        return len(looks)

    assert await asyncio.gather(*(together("same", look) for _ in range(50))) == [1] * 50
    assert await together("same", look) == 2
    assert await asyncio.gather(together("one", look), together("other", look)) in ([3, 4], [4, 3])
    assert not asked


async def test_who_asks_while_a_look_is_under_way_gets_one_of_their_own() -> None:
    """What changed before they asked, that look may not have seen."""
    begun, go_on = asyncio.Event(), asyncio.Event()
    loop, looks = asyncio.get_running_loop(), 0

    def look() -> int:
        nonlocal looks
        looks += 1
        if looks == 1:
            loop.call_soon_threadsafe(begun.set)
            asyncio.run_coroutine_threadsafe(go_on.wait(), loop).result(20)
        return looks

    first = asyncio.create_task(together("same", look))
    await asyncio.wait_for(begun.wait(), 20)
    second = asyncio.create_task(together("same", look))
    go_on.set()
    assert (await first, await second) == (1, 2)


async def test_one_who_goes_away_takes_the_answer_from_nobody() -> None:
    first, second = (asyncio.create_task(together("same", lambda: 7)) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    assert await second == 7


async def test_a_failure_is_told_to_all() -> None:
    def broken() -> None:
        raise ValueError("away")

    found = await asyncio.gather(*(together("same", broken) for _ in range(3)), return_exceptions=True)
    assert [str(one) for one in found] == ["away"] * 3 and not asked
