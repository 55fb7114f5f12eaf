from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from redis import Redis
from rq.worker import Worker

from graphs import queue as doorbell
from hitl_site import redis_server
from tests.architecture.test_imports import ROOT
from tests.processes.installation import wait_for

BEFORE = """
import django
django.setup()
from django.contrib.auth import get_user_model
from graphs.actions import threads
person = get_user_model().objects.create_user("someone")
threads.start(person, "moderation", {"author": "a", "text": "b"})
"""
AFTER_PRELOAD = """
import sys
import django
django.setup()
from graphs import queue
from graphs.management.commands.worker import preload
preload("threads")
before = set(sys.modules)
queue.resolve("graphs.jobs.threads.advance")()
from graphs.models import Thread
assert Thread.objects.get().step > 0, "the job advanced nothing"
sys.exit(", ".join(sorted(set(sys.modules) - before)) or 0)
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {
        "PATH": "/usr/bin:/bin",
        "SECRET_KEY": "k" * 60,
        "SAYSO_VAR": str(tmp_path),
        "DJANGO_SETTINGS_MODULE": "hitl_site.settings",
    }


def test_the_first_job_of_a_worker_imports_nothing(environment: dict[str, str]) -> None:
    manage = [sys.executable, "manage.py"]
    subprocess.run([*manage, "migrate", "-v", "0"], cwd=ROOT, env=environment, check=True)
    subprocess.run([sys.executable, "-c", BEFORE], cwd=ROOT, env=environment, check=True)
    result = subprocess.run(
        [sys.executable, "-c", AFTER_PRELOAD], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, f"imported by the first job: {result.stderr[-2000:]}"


@pytest.fixture
def worker(redis: str, environment: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    environment["REDIS_URL"] = redis
    manage = [sys.executable, "manage.py"]
    subprocess.run([*manage, "migrate", "-v", "0"], cwd=ROOT, env=environment, check=True)
    process = subprocess.Popen([*manage, "worker", "threads"], cwd=ROOT, env=environment)
    with Redis.from_url(redis) as client:
        wait_for(lambda: pids(client) == {process.pid}, "the worker listens")
        yield process
    process.kill()
    process.wait()


def pids(client: Redis) -> set[int | None]:
    return {found.pid for found in Worker.all(queue=doorbell.open_queue("threads", client))}


def test_an_idle_worker_takes_a_job_and_stops_when_told(worker: subprocess.Popen[bytes], redis: str) -> None:
    assert doorbell.enqueue("graphs.jobs.threads.advance")
    wait_for(lambda: doorbell.depth("threads") == 0, "the job is taken")
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(30) == 0


def test_a_worker_waits_for_redis_and_survives_its_restart(environment: dict[str, str], tmp_path: Path) -> None:
    var = tmp_path / "redis"
    environment["REDIS_URL"] = redis_server.private_url(var)
    manage = [sys.executable, "manage.py"]
    subprocess.run([*manage, "migrate", "-v", "0"], cwd=ROOT, env=environment, check=True)
    process = subprocess.Popen([*manage, "worker", "threads"], cwd=ROOT, env=environment)
    try:
        for _ in range(2):
            server = redis_server.start(var)
            with Redis.from_url(environment["REDIS_URL"]) as client:
                doorbell.open_queue("threads", client).enqueue_call("graphs.jobs.threads.advance", result_ttl=0)
                wait_for(lambda c=client: doorbell.open_queue("threads", c).count == 0, "the job is taken")  # type: ignore[misc]
            server.kill()
            server.wait()
            assert process.poll() is None
    finally:
        process.kill()
        process.wait()


def test_a_work_horse_ends_with_its_parent(tmp_path: Path) -> None:
    """The kernel's part, alone: a forked child that would run on for long is gone once its parent is killed."""
    code = """
import os, sys, time
from hitl_site.orphans import end_with_parent
parent = os.getpid()
child = os.fork()
if child == 0:
    end_with_parent(parent)
    print(os.getpid(), flush=True)
    time.sleep(600)
os.waitpid(child, 0)
"""
    with subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        os.kill(process.pid, signal.SIGKILL)
        wait_for(lambda: gone(child), "the horse ends with its parent")


def gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True
