"""L1: the POST of a decision until its node runs again, against RQ's own job of one query."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import uuid
from pathlib import Path
from typing import Any

from tests.load import ground, running
from tests.load.measure import Row, alternate, table


def run(kind: str) -> None:
    with running.installation(kind) as var:
        ours, other = click(var), job(var)
        worker = plain_worker()
        try:
            pair = alternate(ours, other, 9)
        finally:
            worker.terminate()
            worker.wait()
        table(f"L1 click to resumed node, forking worker ({kind})", [Row("decision POST; RQ job", pair, "<= 1.5")])


def click(var: Path) -> Any:
    """Post the form of an open question as the browser does, and wait for the node's second stamp."""
    from django.test import Client
    from django.urls import reverse

    from graphs.models import Interrupt
    from tests.load import threads

    client = Client(headers={"host": "localhost"})
    client.force_login(ground.person())

    def body() -> float:
        name = uuid.uuid4().hex
        thread = threads.start("stamped", {"id": name})
        running.stamp(var, f"{name}-asked")
        deadline = time.monotonic() + running.PATIENCE
        while not (asked := Interrupt.objects.filter(thread=thread).first()) or thread.status != "interrupted":
            assert time.monotonic() < deadline
            thread.refresh_from_db(fields=["status"])
        form = {"act": "approve", "version": asked.version, "digest": asked.digest, "key": uuid.uuid4().hex}
        start = time.time()
        answer = client.post(reverse("review", args=[asked.pk]), form)
        assert answer.status_code in (302, 303), answer.content[:500]
        return running.stamp(var, f"{name}-resumed") - start

    return body


def job(var: Path) -> Any:
    """RQ alone: enqueue a job that makes one query and leaves a stamp."""
    from django.conf import settings
    from redis import Redis
    from rq import Queue
    from rq.serializers import JSONSerializer

    queue = Queue("load", connection=Redis.from_url(settings.REDIS_URL), serializer=JSONSerializer)

    def body() -> float:
        name = uuid.uuid4().hex
        start = time.time()
        queue.enqueue("tests.load.l1_click.one_query", name, result_ttl=0)
        return running.stamp(var, name) - start

    return body


def one_query(name: str) -> None:
    """What the plain worker runs."""
    from graphs.models import Thread
    from tests.load.definitions import stamp

    Thread.objects.filter(pk=0).exists()
    stamp(name)


def plain_worker() -> subprocess.Popen[bytes]:
    """A forking RQ worker with Django loaded in its parent, as ours has, and nothing of ours besides."""
    program = (
        "import django; django.setup(); from django.conf import settings; from redis import Redis;"
        "from rq import Worker; from rq.serializers import JSONSerializer; import tests.load.l1_click;"
        "link = Redis.from_url(settings.REDIS_URL);"
        "Worker(['load'], connection=link, serializer=JSONSerializer).work(logging_level='ERROR')"
    )
    return subprocess.Popen([sys.executable, "-c", program], cwd=ground.ROOT, env=dict(os.environ))
