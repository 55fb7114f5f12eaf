from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from graphs.engine.checkpointers.memory import InMemoryCheckpointer
from tests.agents.mcp.shops import Shop
from tests.engine.conftest import clock, no_failpoint, restarted, store

__all__ = ["clock", "no_failpoint", "restarted", "store"]


@pytest.fixture
def memory() -> InMemoryCheckpointer:
    """For what lies in front of every store alike."""
    return InMemoryCheckpointer()


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    opened = Shop(tmp_path)
    yield opened
    opened.kill()


@pytest.fixture(params=["process", "http"])
def server(request: pytest.FixtureRequest, shop: Shop) -> Iterator[object]:
    """The shop over each transport."""
    if request.param == "http":
        shop.open()
        yield shop.served
    else:
        yield shop.started
