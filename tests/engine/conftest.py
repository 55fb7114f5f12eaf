from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from graphs.engine import failpoints
from graphs.engine.checkpointers.memory import InMemoryCheckpointer
from graphs.engine.checkpointers.sqlite import SQLiteCheckpointer

Store = Any


class FakeClock:
    """A clock that moves only when a test moves it."""

    def __init__(self) -> None:
        self.at = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
        self.ticks = 0.0

    def now(self) -> datetime:
        return self.at

    def monotonic(self) -> float:
        return self.ticks

    def move(self, seconds: float) -> None:
        self.at += timedelta(seconds=seconds)
        self.ticks += seconds


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(params=["memory", "sqlite", pytest.param("django", marks=pytest.mark.django_db(transaction=True))])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """Each store; that of the Django tables keeps them in a SQLite file, with real commits."""
    if request.param == "memory":
        yield InMemoryCheckpointer()
    elif request.param == "django":
        yield _django()
    else:
        checkpointer = SQLiteCheckpointer(tmp_path / "threads.sqlite3")
        yield checkpointer
        checkpointer.close()


def _django() -> Store:
    from tests.engine.django_store import ReadableCheckpointer

    return ReadableCheckpointer()


@pytest.fixture
def restarted(tmp_path: Path) -> Iterator[Callable[[Store], Store]]:
    """The same store as a new process would open it; memory has no such thing and stays."""
    opened: list[SQLiteCheckpointer] = []

    def reopen(store: Store) -> Store:
        if isinstance(store, InMemoryCheckpointer):
            return store
        if not isinstance(store, SQLiteCheckpointer):
            return _django()
        opened.append(SQLiteCheckpointer(tmp_path / "threads.sqlite3"))
        return opened[-1]

    yield reopen
    for checkpointer in opened:
        checkpointer.close()


@pytest.fixture(autouse=True)
def no_failpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("SAYSO_FAILPOINT", raising=False)
    failpoints.reset()
    yield
    failpoints.reset()
