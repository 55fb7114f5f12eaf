"""L4: an event published until each of 500 open sockets has heard it, against the first of them."""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import time
from typing import Any

from tests.load import running
from tests.load.measure import Pair, Row, table
from tests.load.reviewers import Reviewer

SOCKETS, PEOPLE, ROUNDS = 500, 20, 5
#: Seconds after which a round is given up.
PATIENCE = 180.0
#: A socket sends at most two hints a second; between two rounds it rests.
REST = 1.0


def run(kind: str) -> None:
    # The loop runs in this thread; Django's guard takes what is set up beside it for async code.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"
    with running.installation(kind):
        people = [Reviewer(f"listener{number}") for number in range(PEOPLE)]
        opened, found = asyncio.run(measure(people))
    first, all_of_them = zip(*found, strict=True)
    pair = Pair(statistics.median(all_of_them), statistics.median(first))
    rows = [Row(f"all {SOCKETS} heard; the first", pair, "p95 <= 1 s")]
    table(f"L4 sockets ({kind}), opened in {opened:.1f} s, slowest round {max(all_of_them):.2f} s", rows)


async def measure(people: list[Reviewer]) -> tuple[float, list[tuple[float, float]]]:
    """Seconds until all were open, and of each round until the first and until the last heard."""
    start = time.perf_counter()
    sockets: list[Any] = []
    for number in range(0, SOCKETS, PEOPLE):
        sockets += await asyncio.gather(*(listen(people[at % PEOPLE]) for at in range(number, number + PEOPLE)))
    opened = time.perf_counter() - start
    found = []
    for number in range(ROUNDS + 1):
        await asyncio.sleep(REST)
        times = await heard(sockets, number + 1)
        if number:
            found.append((min(times), max(times)))
    await asyncio.gather(*(socket.close() for socket in sockets))
    return opened, found


async def listen(person: Reviewer) -> Any:
    from websockets.asyncio.client import connect

    origin: Any = f"http://{person.host}"
    headers = {"Cookie": person.cookie}
    socket = await connect(f"ws://{person.host}/ws/", origin=origin, additional_headers=headers, open_timeout=60)
    assert json.loads(await socket.recv()) == {"topic": "hello"}
    return socket


async def heard(sockets: list[Any], number: int) -> list[float]:
    """Seconds from the publication until each of them has this hint."""
    from graphs import outbox

    async def wait(socket: Any) -> float:
        while json.loads(await socket.recv()).get("seq") != number:
            pass
        return time.perf_counter()

    waits = [asyncio.create_task(wait(socket)) for socket in sockets]
    start = time.perf_counter()
    await asyncio.to_thread(outbox.send, ["operators"], {"topic": "inbox", "seq": number})
    ends = await asyncio.wait_for(asyncio.gather(*waits), PATIENCE)
    return [end - start for end in ends]
