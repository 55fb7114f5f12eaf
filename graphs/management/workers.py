"""RQ workers that fit our promises: a fork shares no connection, a work-horse never outlives its parent, and nothing
here is relied upon for recovery, since the lease in the database and the clock do that."""

from __future__ import annotations

import logging
import os
import socket
import time
from threading import Event
from types import FrameType
from typing import Any

from django.db import Error as DatabaseError
from django.db import close_old_connections, connections
from redis import Redis
from rq.job import Job
from rq.queue import Queue
from rq.serializers import JSONSerializer
from rq.worker import BaseWorker, SimpleWorker, Worker

from graphs import queue as doorbell
from graphs.actions import sweeping
from hitl_site.orphans import end_with_parent

logger = logging.getLogger(__name__)

# RQ waits `ttl - 15` seconds at a time; its default of 405 would make heartbeats and its own clean-up that rare.
WORKER_TTL = 20
MONITOR_SECONDS = 5
MAINTENANCE_SECONDS = 60
BEAT_SECONDS = 4.0


class Beating(BaseWorker):
    """What both kinds of worker share: a heartbeat in the database, and patience with Redis."""

    max_connection_wait_time = 2.0
    log_result_lifespan = False
    asked_to_stop = False
    last_beat = 0.0

    def __init__(self, queue_name: str, client: Redis) -> None:
        super().__init__(
            [doorbell.open_queue(queue_name, client)],
            connection=client,
            job_class=doorbell.SaysoJob,
            serializer=JSONSerializer,
            default_result_ttl=0,
            worker_ttl=WORKER_TTL,
            maintenance_interval=MAINTENANCE_SECONDS,
            job_monitoring_interval=MONITOR_SECONDS,
            log_job_description=False,
        )
        # One heartbeat a process: the clock counts them to know how many wake-ups are of use.
        self.role = f"worker-{queue_name}@{socket.gethostname()}:{os.getpid()}"[:100]

    def heartbeat(self, timeout: int | None = None, pipeline: Any = None) -> None:
        super().heartbeat(timeout, pipeline)
        if time.monotonic() - self.last_beat >= BEAT_SECONDS:
            self.last_beat = time.monotonic()
            self.beat()

    def beat(self) -> None:
        try:
            sweeping.beat(self.role)
        except DatabaseError as error:
            logger.warning("%s: no heartbeat, the database does not answer (%s)", self.role, type(error).__name__)
        finally:
            # The next fork must not find an open connection here: two processes would talk over one line.
            connections.close_all()

    def stop_beating(self) -> None:
        """Be missed by nobody after a clean end."""
        try:
            sweeping.stop_beating(self.role)
        except DatabaseError as error:
            logger.warning(
                "%s: its heartbeat stays, the database does not answer (%s)", self.role, type(error).__name__
            )
        finally:
            connections.close_all()

    def request_stop(self, signum: int, frame: FrameType | None) -> None:
        self.asked_to_stop = True
        super().request_stop(signum, frame)  # type: ignore[no-untyped-call]


class ForkingWorker(Beating, Worker):
    """One process for each job: a node that leaks, crashes or hangs takes nothing else along."""

    def fork_work_horse(self, job: Job, queue: Queue) -> None:
        connections.close_all()
        super().fork_work_horse(job, queue)

    def main_work_horse(self, job: Job, queue: Queue) -> None:
        # Without this a horse whose parent was killed runs on beside the one that takes over. Its commits would be
        # refused by the lease's token, but what it does outside the database would happen twice.
        end_with_parent(self.pid or 0)
        connections.close_all()
        super().main_work_horse(job, queue)


class InProcessWorker(Beating, SimpleWorker):
    """Jobs in the worker's own process: quicker to start, for places where forking is unwanted."""

    def perform_job(self, job: Job, queue: Queue, execution: Any) -> bool:
        close_old_connections()
        try:
            return bool(super().perform_job(job, queue, execution))
        finally:
            connections.close_all()


def wait_for_redis(client: Redis, stopped: Event) -> None:
    """Return when Redis answers; raise nothing, so that a worker may be started before it."""
    told = False
    while not stopped.is_set():
        try:
            client.ping()
            return
        except Exception as error:  # noqa: BLE001 - whatever it is, the answer is to say so and wait
            if not told:
                logger.warning("waiting for Redis (%s)", type(error).__name__)
                told = True
        stopped.wait(1.0)
