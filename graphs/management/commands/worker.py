from __future__ import annotations

import logging
import signal
from argparse import ArgumentParser
from threading import Event
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand
from django.db import Error as DatabaseError
from django.db import connections
from redis import Redis, RedisError

from graphs import outbox
from graphs import queue as doorbell
from graphs.actions import sweeping
from graphs.agents import named
from graphs.library import registry
from graphs.management.workers import ForkingWorker, InProcessWorker, wait_for_redis

logger = logging.getLogger(__name__)


class Command(BaseCommand):
    help = "Runs the jobs of one queue. Start one for `threads` and one for `background`; more of either for more work."

    def add_arguments(self, parser: ArgumentParser) -> None:
        # One queue a process: with two, RQ pops without recording, and a kill at that moment loses the job.
        parser.add_argument("queue", choices=sorted(settings.RQ_QUEUES))
        parser.add_argument("--burst", action="store_true", help="stop when the queue is empty")

    def handle(self, *args: Any, queue: str, burst: bool, **options: Any) -> None:
        preload(queue)
        stopped = Event()
        kind = InProcessWorker if settings.SAYSO_WORKER_INPROCESS else ForkingWorker
        while not stopped.is_set():
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, lambda *_: stopped.set())
            client = Redis.from_url(settings.REDIS_URL)
            wait_for_redis(client, stopped)
            if stopped.is_set():
                break
            if self.run(kind, queue, client, burst) or burst:
                break
            # RQ gives up when Redis goes away under it. The work is in the database, so a new worker simply goes on.
            stopped.wait(0.5)

    def run(self, kind: type[ForkingWorker | InProcessWorker], queue: str, client: Redis, burst: bool) -> bool:
        """Work until told to stop (True) or until Redis fails (False)."""
        worker = None
        try:
            worker = kind(queue, client)
            worker.work(burst=burst, logging_level="WARNING")
        except (RedisError, OSError) as error:
            logger.warning("worker %s lost Redis (%s)", queue, type(error).__name__)
        finally:
            client.close()
            if worker:
                worker.stop_beating()
        return bool(worker and worker.asked_to_stop)


def preload(queue: str) -> None:
    """Import once what jobs need, or each fork would do it again: 6 jobs a second instead of 29."""
    doorbell.preload()
    registry.entries()
    named.prepare()
    # To nobody: what is wanted is the channel layer behind it.
    outbox.send((), {})
    try:
        # Django loads its compilers with the first statement, so one is made here.
        sweeping.beat(f"worker-{queue}@starting")
    except DatabaseError as error:
        logger.warning("the database does not answer yet (%s)", type(error).__name__)
    finally:
        connections.close_all()
