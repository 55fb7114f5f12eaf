from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import OperationalError

from graphs.actions import sweeping
from graphs.management.commands.clock import LONGEST_PAUSE, Command
from graphs.models import Heartbeat

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def clock() -> Command:
    command = Command()
    command.redis_run = None
    return command


def raising(error: Exception) -> Callable[[], Any]:
    def sweep() -> None:
        raise error

    return sweep


def test_a_tick_sweeps_and_leaves_a_heartbeat(clock: Command, redis: str, database: str, settings: Any) -> None:
    assert clock.tick(2.0) == settings.SAYSO_CLOCK_SECONDS
    first = Heartbeat.objects.get(name="clock").at
    clock.tick(2.0)
    assert Heartbeat.objects.get(name="clock").at >= first


@pytest.mark.parametrize("error", [OperationalError("gone"), RuntimeError("a bug")])
def test_the_clock_survives_and_waits_longer_each_time(
    clock: Command, monkeypatch: pytest.MonkeyPatch, settings: Any, error: Exception
) -> None:
    monkeypatch.setattr(sweeping, "sweep", raising(error))
    pauses = [clock.tick(2.0)]
    for _ in range(6):
        pauses.append(clock.tick(pauses[-1]))
    assert pauses[0] == 4.0
    assert pauses == sorted(pauses)
    assert pauses[-1] == LONGEST_PAUSE
    monkeypatch.undo()
    assert clock.tick(pauses[-1]) == settings.SAYSO_CLOCK_SECONDS


def test_a_redis_that_started_anew_is_noticed(clock: Command, redis: str, caplog: pytest.LogCaptureFixture) -> None:
    clock.tick(2.0)
    assert clock.redis_run
    clock.redis_run = "another"
    with caplog.at_level("INFO"):
        clock.tick(2.0)
    assert "started anew" in caplog.text
    assert clock.redis_run != "another"
