"""A Redis that is there and answers nothing costs one short wait, not one for each message."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from pathlib import Path
from subprocess import Popen
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from redis import Redis, RedisError
from redis.exceptions import TimeoutError as RedisTimeout
from rq import Queue

from graphs import outbox, queue
from graphs.actions import sweeping
from graphs.actions.decisions import decide
from graphs.engine.statuses import ThreadStatus
from graphs.models import Decision, OutboxMessage
from hitl_site import redis_server
from tests.actions.conftest import Asked
from tests.people import People
from tests.records import Pen

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def hung(tmp_path: Path, settings: Any) -> Iterator[Popen[bytes]]:
    """A private server that was working a moment ago and stands still."""
    process = redis_server.start(tmp_path)
    settings.REDIS_URL = redis_server.private_url(tmp_path)
    start_over()
    process.send_signal(signal.SIGSTOP)
    yield process
    process.kill()
    process.wait()
    start_over()


def start_over() -> None:
    queue.connection.cache_clear()
    queue.answer_again()
    queue.lost.clear()
    outbox.lost.clear()


def goes_on(process: Popen[bytes]) -> None:
    process.send_signal(signal.SIGCONT)
    queue.answer_again()
    deadline = time.monotonic() + 30
    while redis_server.run_id(settings.REDIS_URL) is None:
        assert time.monotonic() < deadline
    OutboxMessage.objects.filter(published_at=None).update(created_at="2020-01-01T00:00:00Z")


@pytest.fixture
def exchanges(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was tried with Redis since the test began, by connection made."""
    tried: list[str] = []

    def enqueue(*_: Any, **__: Any) -> None:
        tried.append("enqueue")
        raise RedisTimeout

    monkeypatch.setattr(Queue, "enqueue_call", enqueue)
    plain: Any = Redis.execute_command

    def execute(client: Any, *given: Any, **more: Any) -> Any:
        tried.append(given[0])
        return plain(client, *given, **more)

    monkeypatch.setattr(Redis, "execute_command", execute)
    return tried


def test_a_posted_decision_is_recorded_and_rung_for_later(people: People, asked: Asked, hung: Popen[bytes]) -> None:
    client = Client()
    client.force_login(people.decider)
    row = asked.row()
    fields = {"version": row.version, "digest": row.digest, "act": "approve", "submission_key": "one"}
    answer = client.post(f"/review/{row.pk}", fields)
    assert answer.status_code == 303
    assert "Recorded" in client.get(answer["Location"]).content.decode()
    assert (Decision.objects.count(), asked.pen.thread.status) == (1, ThreadStatus.READY)
    assert OutboxMessage.objects.filter(kind="wake", published_at=None, attempts=1).count() == 1
    goes_on(hung)
    assert sweeping.publish_left_over() > 0
    assert queue.depth() == 1 and not OutboxMessage.objects.filter(published_at=None).exists()


def test_a_loss_ends_the_batch_and_the_next_ones_do_not_try(
    people: People, asked: Asked, hung: Popen[bytes], exchanges: list[str]
) -> None:
    OutboxMessage.objects.all().delete()
    outbox.publish([*[saved(outbox.wake()) for _ in range(20)], saved(outbox.hint(["x"], {}))])
    assert not queue.enqueue(outbox.ADVANCE) and queue.depth() == 0
    decide(people.decider, [asked.given()], channel="form")
    sweeping.publish_left_over()
    sweeping.ring_for_ready()
    assert exchanges == []
    assert OutboxMessage.objects.filter(published_at=None).count() == OutboxMessage.objects.count() > 21


def test_a_batch_of_rings_stops_at_the_first_that_is_lost(
    hung: Popen[bytes], exchanges: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Without the pause that follows a loss: the batch itself stops.
    monkeypatch.setattr(queue, "QUIET_SECONDS", 0.0)
    assert outbox.publish([saved(outbox.wake()) for _ in range(20)]) == 0
    assert exchanges == ["LLEN", "enqueue"]
    for _ in range(5):
        Pen()
    monkeypatch.setattr(sweeping, "JOBS_A_WORKER", 5)
    del exchanges[:]
    assert sweeping.ring_for_ready() == 0
    assert exchanges == ["LLEN", "LLEN", "enqueue"]


def test_it_is_asked_again_after_a_while(hung: Popen[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue, "QUIET_SECONDS", 0.2)
    assert not outbox.ring()
    hung.send_signal(signal.SIGCONT)
    deadline = time.monotonic() + 30
    while not outbox.ring() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert queue.depth() >= 1


def test_one_that_is_not_there_is_asked_each_time(monkeypatch: pytest.MonkeyPatch, redis: str) -> None:
    """To be refused costs nothing, and whoever is back is heard at once."""
    with monkeypatch.context() as away, pytest.raises(RedisError):
        away.setattr(queue, "connection", lambda: queue.client("unix:///nonexistent/redis"))
        assert not outbox.ring()
        with queue.asking() as client:
            client.ping()
    assert outbox.ring() and queue.depth() == 1


def saved(message: OutboxMessage) -> OutboxMessage:
    message.save()
    return message
