"""The live socket of a whole installation: an idle one stays open, and a Redis that starts anew loses nobody."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from tests.processes.installation import Installation, kill, wait_for
from tests.processes.ledger import Ledger
from tests.processes.reviewer import Reviewer

# Longer than the five seconds after which redis-py would drop a silent subscription.
IDLE_SECONDS = 8.0
HINT_SECONDS = 30.0


@pytest.fixture
def installation(tmp_path: Path) -> Iterator[Installation]:
    installation = Installation(tmp_path).start()
    yield installation
    installation.clear()


@pytest.fixture
def reviewer(installation: Installation, tmp_path: Path) -> Reviewer:
    address = f"http://127.0.0.1:{installation.port}"
    reviewer = Reviewer(address, *installation.password(), Ledger(tmp_path / "ledger").create())
    reviewer.sign_in()
    return reviewer


@contextmanager
def open_socket(installation: Installation, reviewer: Reviewer) -> Iterator[ClientConnection]:
    address = f"127.0.0.1:{installation.port}"
    headers = {"Cookie": reviewer.cookies(), "Origin": f"http://{address}"}
    with connect(f"ws://{address}/ws/", additional_headers=headers) as socket:
        assert read(socket)["topic"] == "hello"
        yield socket


def read(socket: ClientConnection, seconds: float = HINT_SECONDS) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(socket.recv(timeout=seconds))
    return found


def until(socket: ClientConnection, topic: str) -> dict[str, Any]:
    deadline = time.monotonic() + HINT_SECONDS
    while (found := read(socket, deadline - time.monotonic()))["topic"] != topic:
        continue
    return found


def moderate(reviewer: Reviewer) -> None:
    """Start the shipped graph that asks two questions."""
    reviewer.start("moderation", "a text")


def test_an_idle_socket_hears_the_next_question(installation: Installation, reviewer: Reviewer) -> None:
    with open_socket(installation, reviewer) as socket:
        with pytest.raises(TimeoutError):
            read(socket, IDLE_SECONDS)
        moderate(reviewer)
        assert set(until(socket, "inbox")) <= {"topic", "queue", "seq", "thread", "interrupt"}


def test_a_redis_that_starts_anew_loses_no_question(installation: Installation, reviewer: Reviewer) -> None:
    """The socket goes on, or closes so that its page opens another one; either way the next question is heard of."""
    with open_socket(installation, reviewer) as socket:
        (old,) = installation.kinds()["redis"]
        kill(old)
        back = "redis              ready    started again"
        wait_for(lambda: back in installation.text(), "Redis is back", more=installation.story)
        moderate(reviewer)
        try:
            until(socket, "inbox")
        except (ConnectionClosed, TimeoutError):
            with open_socket(installation, reviewer) as another:
                wait_for(reviewer.waiting, "what was asked meanwhile is in the inbox", more=installation.story)
                moderate(reviewer)
                until(another, "inbox")


def test_nobody_listens_without_signing_in(installation: Installation) -> None:
    address = f"127.0.0.1:{installation.port}"
    with (
        pytest.raises(ConnectionClosed) as closed,
        connect(f"ws://{address}/ws/", origin=f"http://{address}") as socket,
    ):
        socket.recv(timeout=HINT_SECONDS)
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 4401
