"""Random graphs, people, workers and faults against a model of dicts: what is stored is always what the model says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from graphs.engine import loop
from tests.model.django_ground import DjangoGround
from tests.model.grounds import Ground, SQLiteGround
from tests.model.machine import Threads
from tests.model.plans import Node, Plan


@pytest.fixture(autouse=True)
def no_window(monkeypatch: pytest.MonkeyPatch) -> None:
    """Finished siblings are recorded at once, so that crashes fall between that and the commit."""
    monkeypatch.setattr(loop, "GROUP_WINDOW", 0)


def explore(ground: Callable[[], Ground], examples: int, steps: int) -> None:
    profile = settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        print_blob=True,
        report_multiple_bugs=False,
    )
    run_state_machine_as_test(lambda: Threads(ground()), settings=profile)


def test_the_memory_store_is_what_the_model_says() -> None:
    explore(Ground, 250, 30)


def test_the_sqlite_store_is_what_the_model_says(tmp_path: Path) -> None:
    explore(lambda: SQLiteGround(tmp_path), 80, 25)


#: What the model found once: arrivals that wait at a join were the stored step's own list, and later ones changed it.
FOUND = [
    Plan((Node("a"), Node("b", flaky=True), Node("c"), Node("d", again=1)), (("a", "c"), ("b", "c")), (("d", "a"),)),
    Plan(
        (Node("a"), Node("b"), Node("c", again=1), Node("d"), Node("e", again=1)),
        (("a", "e"), ("b", "e")),
        (("c", "a"), ("e", "a")),
    ),
]


@pytest.mark.parametrize("plan", FOUND)
def test_what_was_found_stays_mended(plan: Plan) -> None:
    threads = Threads(Ground())
    threads.first(plan)
    threads.what_is_stored_is_what_the_reference_says()
    threads.teardown()


@pytest.mark.django_db(transaction=True)
def test_the_django_store_is_what_the_model_says() -> None:
    explore(DjangoGround, 20, 15)


@pytest.mark.nightly
def test_the_memory_store_is_what_the_model_says_all_night() -> None:
    explore(Ground, 5_000, 100)


@pytest.mark.nightly
def test_the_sqlite_store_is_what_the_model_says_all_night(tmp_path: Path) -> None:
    explore(lambda: SQLiteGround(tmp_path), 2_000, 60)


@pytest.mark.nightly
@pytest.mark.django_db(transaction=True)
def test_the_django_store_is_what_the_model_says_all_night() -> None:
    explore(DjangoGround, 500, 40)
