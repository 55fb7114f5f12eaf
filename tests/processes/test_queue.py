from __future__ import annotations

import json
import os
import pickle
import signal
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.conf import settings
from redis import Redis
from rq.serializers import JSONSerializer

from graphs import queue as doorbell
from graphs.management.workers import ForkingWorker, InProcessWorker

ADVANCE = "graphs.jobs.threads.advance"


@pytest.fixture
def client(redis: str) -> Iterator[Redis]:
    doorbell.lost.clear()
    with Redis.from_url(redis) as client:
        yield client


def push(client: Redis, data: bytes, **fields: Any) -> str:
    """Write a job as somebody would who may open the socket but does not go through our door."""
    name = str(uuid4())
    job = {"data": zlib.compress(data), "created_at": "2026-01-01T00:00:00.000000Z", "status": "queued"}
    client.hset(f"rq:job:{name}", mapping={**job, "origin": "threads", **fields})
    client.sadd("rq:queues", "rq:queue:threads")
    client.rpush("rq:queue:threads", name)
    return name


def as_json(function: str, instance: Any = None, arguments: Any = (), keywords: Any = None) -> bytes:
    return json.dumps([function, instance, arguments, keywords or {}]).encode()


def work(client: Redis, kind: type[ForkingWorker | InProcessWorker] = ForkingWorker) -> None:
    # RQ keeps the process's signals for itself; without this a test run could no longer be interrupted.
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        kind("threads", client).work(burst=True, logging_level="WARNING")
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def test_every_name_of_the_table_is_a_function() -> None:
    for name in doorbell.FUNCTIONS:
        assert callable(doorbell.resolve(name))


def test_every_queue_of_the_table_is_configured() -> None:
    assert {entry.queue for entry in doorbell.FUNCTIONS.values()} == set(settings.RQ_QUEUES)


def test_a_ring_waits_in_its_queue_as_json(client: Redis) -> None:
    assert doorbell.enqueue(ADVANCE, description="thread 7 is ready")
    assert doorbell.depth("threads") == 1
    assert doorbell.depth("background") == 0
    (job,) = doorbell.open_queue("threads").jobs
    assert json.loads(job.data) == [ADVANCE, None, [], {}]
    assert job.description == "thread 7 is ready"
    assert (job.result_ttl, job.timeout) == (0, settings.SAYSO_JOB_SECONDS)
    job.check()


def test_a_function_goes_only_through_its_own_queue(client: Redis) -> None:
    with pytest.raises(ValueError, match="belongs to"):
        doorbell.enqueue(ADVANCE, queue="background")
    with pytest.raises(KeyError):
        doorbell.enqueue("os.mknod")


def test_without_redis_a_ring_is_counted_and_not_raised(settings: Any, tmp_path: Path) -> None:
    settings.REDIS_URL = f"unix://{tmp_path / 'nobody.sock'}"
    doorbell.connection.cache_clear()
    try:
        doorbell.lost.clear()
        assert doorbell.enqueue(ADVANCE) is False
        assert doorbell.enqueue(ADVANCE) is False
        assert doorbell.lost["threads"] == 2
        assert doorbell.depth("threads") == 0
        assert doorbell.refused() == 0
    finally:
        doorbell.connection.cache_clear()
        doorbell.lost.clear()


class Pickled:
    """Unpickling this creates the marker file."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mknod, (str(self.marker),)


@pytest.mark.parametrize("kind", [ForkingWorker, InProcessWorker])
@pytest.mark.django_db(transaction=True)
def test_a_crafted_pickle_is_refused(client: Redis, tmp_path: Path, kind: type[ForkingWorker]) -> None:
    marker = tmp_path / "marker"
    name = push(client, pickle.dumps((ADVANCE, None, (Pickled(marker),), {})))
    work(client, kind)
    assert not marker.exists()
    assert failed(client, name)
    assert doorbell.refused() == 1


@pytest.mark.parametrize("kind", [ForkingWorker, InProcessWorker])
@pytest.mark.django_db(transaction=True)
def test_a_json_job_that_names_another_function_is_refused(
    client: Redis, tmp_path: Path, kind: type[ForkingWorker]
) -> None:
    marker = tmp_path / "marker"
    name = push(client, as_json("os.mknod", arguments=[str(marker)]))
    work(client, kind)
    assert not marker.exists()
    assert failed(client, name)
    assert doorbell.refused() == 1


def failed(client: Redis, name: str) -> bool:
    return name.encode() in {key.split(b":")[0] for key in client.zrange("rq:failed:threads", 0, -1)}


@pytest.mark.parametrize(
    ("data", "fields"),
    [
        pytest.param(as_json(ADVANCE), {"success_callback_name": "os.abort"}, id="success callback"),
        pytest.param(as_json(ADVANCE), {"failure_callback_name": "os.abort"}, id="failure callback"),
        pytest.param(as_json(ADVANCE), {"stopped_callback_name": "os.abort"}, id="stopped callback"),
        pytest.param(as_json(ADVANCE), {"dependency_ids": json.dumps(["another"])}, id="dependency"),
        pytest.param(as_json(ADVANCE), {"retries_left": "3"}, id="retry"),
        pytest.param(as_json(ADVANCE), {"repeats_left": "3"}, id="repeat"),
        pytest.param(as_json(ADVANCE), {"meta": json.dumps({"a": 1})}, id="meta"),
        pytest.param(as_json(ADVANCE), {"meta": pickle.dumps({"a": 1})}, id="pickled meta"),
        pytest.param(as_json(ADVANCE), {"origin": "background"}, id="another queue"),
        pytest.param(as_json("append", instance=[]), {}, id="instance"),
        pytest.param(as_json(ADVANCE, arguments=[1]), {}, id="one argument too many"),
        pytest.param(as_json(ADVANCE, keywords={"a": 1}), {}, id="keyword"),
        pytest.param(json.dumps([ADVANCE, None]).encode(), {}, id="too short"),
        pytest.param(json.dumps({"a": 1}).encode(), {}, id="not a list"),
        pytest.param(json.dumps([[ADVANCE], None, [], {}]).encode(), {}, id="name is a list"),
        pytest.param(json.dumps([ADVANCE, None, "", {}]).encode(), {}, id="arguments are a text"),
        pytest.param(b"\x80\x04N.", {}, id="pickle"),
        pytest.param(b"", {}, id="nothing"),
    ],
)
def test_whatever_our_door_could_not_have_written_is_refused(
    client: Redis, data: bytes, fields: dict[str, Any]
) -> None:
    name = push(client, data, **fields)
    job = doorbell.SaysoJob.fetch(name, connection=client, serializer=JSONSerializer)
    with pytest.raises(doorbell.JobRefused):
        job.check()
    with pytest.raises(doorbell.JobRefused):
        job.perform()
    assert job.success_callback is None
    assert job.failure_callback is None
    assert job.webhooks == []


def test_no_time_limit_or_result_comes_out_of_redis(client: Redis) -> None:
    name = push(client, as_json(ADVANCE), timeout="999999", result_ttl="-1", failure_ttl="-1")
    job = doorbell.SaysoJob.fetch(name, connection=client, serializer=JSONSerializer)
    assert (job.timeout, job.result_ttl) == (settings.SAYSO_JOB_SECONDS, 0)
    assert job.failure_ttl == doorbell.FAILURE_SECONDS
