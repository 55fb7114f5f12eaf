"""A process dies at a named place, another one goes on, and the end is the one of a run that nothing disturbed."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from tests import databases

ROOT = Path(__file__).resolve().parent.parent.parent
SHAPES = ("chain", "fan", "loop")
#: Each time it is reached for the first time; the others below for the second, so that there is something to lose.
POINTS = (
    "start_before_commit:kill",
    "start_after_commit:kill",
    "claim_before_commit:kill",
    "claim_after_commit:kill:2",
    "before_effect:kill:2",
    "after_effect:kill:2",
    "before_record_effect:kill:2",
    "record_effect_before_commit:kill:2",
    "record_effect_after_commit:kill:2",
    "after_record_effect:kill:2",
    "before_open_interrupt:kill",
    "open_interrupt_before_commit:kill",
    "open_interrupt_after_commit:kill",
    "after_open_interrupt:kill",
    "before_record_tasks:kill",
    "record_tasks_before_commit:kill",
    "record_tasks_after_commit:kill",
    "after_record_tasks:kill",
    "before_commit:kill:2",
    "superstep_before_commit:kill:2",
    "superstep_after_commit:kill:2",
    "after_commit:kill:2",
    "decide_before_commit:kill",
    "decide_after_commit:kill",
    "before_outbox_publish:kill:2",
    "after_outbox_publish:kill:2",
    "sweep_ring:kill",
)
#: Only a fan-out records finished siblings ahead of the commit.
FAN_ONLY = ("record_tasks", "before_record_tasks", "after_record_tasks")
USUAL = (
    ("chain", "claim_after_commit:kill:2"),
    ("chain", "after_effect:kill:2"),
    ("chain", "record_effect_before_commit:kill:2"),
    ("fan", "open_interrupt_before_commit:kill"),
    ("fan", "open_interrupt_after_commit:kill"),
    ("fan", "record_tasks_after_commit:kill"),
    ("fan", "superstep_before_commit:kill:2"),
    ("loop", "superstep_after_commit:kill:2"),
    ("loop", "decide_before_commit:kill"),
    ("fan", "decide_after_commit:kill"),
    ("chain", "before_outbox_publish:kill:2"),
    ("chain", "start_after_commit:kill"),
)


def everything() -> list[tuple[str, str]]:
    return [
        (shape, point)
        for shape in SHAPES
        for point in POINTS
        if shape == "fan" or not point.split(":")[0].startswith(FAN_ONLY)
    ]


@cache
def migrated(kind: str) -> str:
    """A database with its tables, to be copied for each run."""
    if kind == databases.POSTGRES:
        name = f"crash_template_{os.getpid()}"
        url = databases.postgres_server().create_database(name)
    else:
        name = str(Path(settings.SAYSO_VAR) / "crash-template.sqlite3")
        url = f"sqlite:///{name}"
    call([sys.executable, "manage.py", "migrate", "-v0"], url)
    return name


def fresh(kind: str, folder: Path) -> str:
    template = migrated(kind)
    if kind == databases.SQLITE:
        shutil.copy(template, folder / "crash.sqlite3")
        return f"sqlite:///{folder / 'crash.sqlite3'}"
    server = databases.postgres_server()
    name = f"crash_{os.getpid()}_{next(numbers)}"
    server.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"')
    return server.url(name)


def call(command: list[str], url: str, **more: str) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "DATABASE_URL": url,
        "REDIS_URL": "unix:///nonexistent/redis.sock",
        "SAYSO_GRAPHS": "tests.jobs.shapes",
        "SAYSO_LEASE_SECONDS": "1",
        "SAYSO_LOG_LEVEL": "ERROR",
        "DJANGO_SETTINGS_MODULE": "hitl_site.settings",
        **more,
    }
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120, check=False)


class Installation:
    """One database and one ledger, and the processes that come and go on them."""

    def __init__(self, kind: str, folder: Path, shape: str) -> None:
        self.url = fresh(kind, folder)
        self.shape = shape
        self.ledger = folder / "ledger"

    def drive(self, **more: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "tests.jobs.drive", self.shape]
        return call(command, self.url, SAYSO_TEST_LEDGER=str(self.ledger), **more)

    def finish(self) -> dict[str, Any]:
        done = self.drive()
        assert done.returncode == 0, done.stderr[-3000:]
        state: dict[str, Any] = json.loads(done.stdout)
        return state

    def effects(self) -> Counter[tuple[str, ...]]:
        """How often each effect was really carried out, by its key and its name."""
        return Counter(tuple(line.split("\t")) for line in self.ledger.read_text().splitlines())


numbers = itertools.count(1)
undisturbed: dict[tuple[str, str], tuple[dict[str, Any], Counter[tuple[str, ...]]]] = {}


def reference(kind: str, shape: str, folder: Path) -> tuple[dict[str, Any], Counter[tuple[str, ...]]]:
    if (kind, shape) not in undisturbed:
        folder.mkdir()
        calm = Installation(kind, folder, shape)
        undisturbed[kind, shape] = calm.finish(), calm.effects()
    return undisturbed[kind, shape]


def check(kind: str, shape: str, point: str, folder: Path) -> None:
    expected, calm = reference(kind, shape, folder / "calm")
    (folder / "crash").mkdir()
    installation = Installation(kind, folder / "crash", shape)
    died = installation.drive(SAYSO_FAILPOINT=point)
    assert died.returncode == -signal.SIGKILL, f"{point} was never reached: {died.stderr[-2000:]}"
    state = installation.finish()
    assert state == expected
    assert state["chain"] and state["free"] and state["checkpoints"] and state["events"] and not state["left"]
    attempts, wanted = installation.effects(), calm
    assert set(attempts) == set(wanted), "an effect is missing, unexpected, or came with another key"
    assert set(wanted.values()) == {1}
    # One crash: what was under way in it may have been tried twice, with the same key, and nothing more often.
    assert max(attempts.values()) <= 2


@pytest.mark.parametrize(("shape", "point"), USUAL, ids=lambda value: str(value).replace(":", "-"))
def test_the_end_is_the_same_as_without_the_crash(database: str, shape: str, point: str, tmp_path: Path) -> None:
    check(database, shape, point, tmp_path)


@pytest.mark.nightly
@pytest.mark.parametrize(("shape", "point"), everything(), ids=lambda value: str(value).replace(":", "-"))
def test_the_end_is_the_same_wherever_it_dies(database: str, shape: str, point: str, tmp_path: Path) -> None:
    check(database, shape, point, tmp_path)
