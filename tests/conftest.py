from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from django.conf import settings

from hitl_site import redis_server as redis_source
from tests import databases

if TYPE_CHECKING:
    from django.contrib.auth.models import User

    from graphs.models import ApprovalQueue

# What these rooms promise, they promise on both databases.
BOTH_DATABASES = {"store", "actions", "jobs"}
MARKED = [pytest.param(kind, marks=getattr(pytest.mark, kind)) for kind in databases.KINDS]

NEVER_SKIPPED = {"browser", "postgres"}

# The real hash takes a tenth of a second a person on purpose, and nearly every test makes three people.
settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]

test_databases = databases.Switch()
skipped_promises: list[str] = []
numbers = itertools.count(1)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    room = Path(metafunc.module.__file__ or "").parent.name
    uses_database = metafunc.definition.get_closest_marker("django_db") is not None
    if room in BOTH_DATABASES and uses_database and "database" not in metafunc.fixturenames:
        metafunc.fixturenames.append("database")
    if "database" in metafunc.fixturenames:
        metafunc.parametrize("database", MARKED, indirect=True)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """In CI nothing that needs a browser or a database server may be skipped: a skipped promise is not a kept one."""
    if os.environ.get("CI") and report.skipped and NEVER_SKIPPED & set(report.keywords):
        skipped_promises.append(report.nodeid)


def pytest_sessionfinish(session: pytest.Session) -> None:
    if skipped_promises:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
        print(f"\nskipped, although CI has to run them: {', '.join(skipped_promises)}")


@pytest.fixture
def database(request: pytest.FixtureRequest) -> str:
    """`sqlite` or `postgres`: a test that asks for it runs once on each."""
    return str(request.param)


@pytest.fixture
def django_db_setup(request: pytest.FixtureRequest, django_test_environment: None, django_db_blocker: object) -> None:
    """Runs before each test that uses the database, so that each may be on another one."""
    callspec = getattr(request.node, "callspec", None)
    kind = callspec.params.get("database", databases.KINDS[0]) if callspec else databases.KINDS[0]
    with django_db_blocker.unblock():  # type: ignore[attr-defined]
        test_databases.use(kind)


@pytest.fixture
def database_url(database: str, tmp_path: Path) -> str:
    """A database of its own for processes that a test starts, as DATABASE_URL says it."""
    if database == databases.POSTGRES:
        return databases.postgres_server().create_database(f"processes_{os.getpid()}_{next(numbers)}")
    return f"sqlite:///{tmp_path / 'processes.sqlite3'}"


@pytest.fixture(scope="session")
def redis_process() -> Iterator[str]:
    """A real server on the private socket that the settings name anyway."""
    process = redis_source.start(settings.SAYSO_VAR)
    yield settings.REDIS_URL
    process.terminate()
    process.wait()


@pytest.fixture
def redis(redis_process: str) -> Iterator[str]:
    """The address of a running, empty Redis."""
    from redis import Redis

    from graphs import queue

    with Redis.from_url(redis_process) as client:
        client.flushall()
        queue.answer_again()
        yield redis_process
        client.flushall()


# --- three people: two who decide in the default queue, and one who has nothing to do with it -------------------------


def person(name: str) -> User:
    from django.contrib.auth import get_user_model

    return get_user_model().objects.create_user(name, f"{name}@example.org", "a long enough one")


@pytest.fixture
def inbox(db: None) -> ApprovalQueue:
    """The queue of questions that name none."""
    from graphs.actions.queues import default

    return default()


@pytest.fixture
def alice(inbox: ApprovalQueue) -> User:
    """An approver."""
    alice = person("alice")
    inbox.memberships.create(user=alice, right="decide")
    return alice


@pytest.fixture
def bob(inbox: ApprovalQueue) -> User:
    """Another approver."""
    bob = person("bob")
    inbox.memberships.create(user=bob, right="decide")
    return bob


@pytest.fixture
def charlie(db: None) -> User:
    """Somebody who may sign in and no more."""
    return person("charlie")
