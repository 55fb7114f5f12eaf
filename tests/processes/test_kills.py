"""kill -9 of each kind of process, in the middle of runs whose questions are being answered meanwhile. Afterwards the
ledger, which the system cannot write by accident, must agree with the database."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from tests.architecture.test_imports import ROOT
from tests.processes.installation import Installation, kill, wait_for
from tests.processes.ledger import Ledger
from tests.processes.reviewer import Reviewer

THREADS = 4
KILLS = 3
# Faults end at the third; everything must have ended within the reliability plan's minute after the last.
SETTLE = 60.0


class Scene:
    """An installation that runs the ledger's graph, and the hand that kills."""

    def __init__(self, folder: Path, database_url: str) -> None:
        self.ledger = Ledger(folder / "ledger.sqlite3").create()
        self.installation = Installation(
            folder,
            DATABASE_URL=database_url,
            SAYSO_GRAPHS="tests.processes.ledger_graph",
            SAYSO_TEST_LEDGER=self.ledger.path,
            SAYSO_LEASE_SECONDS="2",
            SAYSO_CLOCK_SECONDS="1",
        )
        self.runner_crashes = 0

    def worker(self) -> psutil.Process:
        return wait_for(lambda: self.installation.kinds()["worker threads"], "a worker runs")[0]  # type: ignore[no-any-return]

    def horse(self) -> psutil.Process:
        def running() -> list[psutil.Process]:
            try:
                return self.worker().children()
            except psutil.Error:
                return []

        return wait_for(running, "a work-horse runs")[0]  # type: ignore[no-any-return]

    def until_busy(self) -> None:
        """Wait for the next effect to begin, so that the kill falls into one."""
        before = self.ledger.attempts()
        wait_for(lambda: self.ledger.attempts() > before or self.ended(), "something runs")

    def ended(self) -> bool:
        finished = self.ledger.read("SELECT count(*) FROM applied WHERE key LIKE '%:finish'")
        return bool(finished[0][0] >= THREADS)

    def settle(self) -> None:
        wait_for(self.ended, "all threads end", SETTLE, self.installation.story)

    def check(self) -> str:
        """What is violated, once nothing moves any more; empty when all holds."""
        command = [sys.executable, "-m", "tests.processes.invariants", self.ledger.path, str(THREADS)]
        deadline = time.monotonic() + SETTLE
        while True:
            result = subprocess.run(
                [*command, str(self.runner_crashes)],
                cwd=ROOT,
                env=self.installation.environment,
                capture_output=True,
                text=True,
                check=False,
            )
            # The last commit of a thread follows its last effect; only that is worth another look.
            if result.returncode == 0 or "I6" not in result.stdout or time.monotonic() > deadline:
                return result.stdout + result.stderr if result.returncode else ""


def kill_parent(scene: Scene) -> None:
    scene.horse()
    kill(scene.worker())


def kill_horse(scene: Scene) -> None:
    kill(scene.horse())


def kill_both(scene: Scene) -> None:
    horse, worker = scene.horse(), scene.worker()
    kill(worker)
    try:
        kill(horse)
    except ProcessLookupError:
        # It died with its parent before we came to it, as it should.
        return


def kill_web(scene: Scene) -> None:
    kill(wait_for(lambda: scene.installation.kinds()["web"], "the web process runs")[0])
    wait_for(scene.installation.answers, "the web process is back")


def kill_redis(scene: Scene) -> None:
    kill(wait_for(lambda: scene.installation.kinds()["redis"], "Redis runs")[0])


def kill_up(scene: Scene) -> None:
    assert scene.installation.process is not None
    scene.installation.process.kill()
    scene.installation.process.wait()
    wait_for(scene.installation.gone, "the children of a killed `up` end")
    scene.installation.output.unlink()
    scene.installation.start()


FAULTS: dict[str, tuple[Callable[[Scene], None], bool]] = {
    "worker parent": (kill_parent, True),
    "work-horse": (kill_horse, True),
    "both": (kill_both, True),
    "web": (kill_web, False),
    "redis": (kill_redis, True),
    "up": (kill_up, True),
}


@pytest.fixture
def scene(tmp_path: Path, database_url: str) -> Iterator[Scene]:
    scene = Scene(tmp_path, database_url)
    yield scene
    scene.installation.clear()


@pytest.mark.parametrize("kind", FAULTS)
def test_whatever_is_killed_every_answer_and_effect_counts_once(scene: Scene, kind: str) -> None:
    fault, crashes_a_runner = FAULTS[kind]
    scene.installation.start()
    address = f"http://127.0.0.1:{scene.installation.port}"
    with Reviewer(address, *scene.installation.password(), scene.ledger) as reviewer:
        for number in range(1, THREADS + 1):
            reviewer.start("ledger", str(number))
        for _ in range(KILLS):
            scene.until_busy()
            if scene.ended():
                break
            fault(scene)
            scene.ledger.fault(kind)
            scene.runner_crashes += crashes_a_runner
        scene.settle()
    assert scene.runner_crashes or not crashes_a_runner, "nothing was running when the fault came"
    assert reviewer.problems == []
    assert scene.check() == ""


def test_without_faults_each_effect_is_tried_exactly_once(scene: Scene) -> None:
    scene.installation.start()
    address = f"http://127.0.0.1:{scene.installation.port}"
    with Reviewer(address, *scene.installation.password(), scene.ledger) as reviewer:
        for number in range(1, THREADS + 1):
            reviewer.start("ledger", str(number))
        scene.settle()
    assert scene.check() == ""
    assert scene.ledger.read("SELECT key FROM attempts GROUP BY key HAVING count(*) > 1") == []
