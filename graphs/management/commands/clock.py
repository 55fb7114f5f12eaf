from __future__ import annotations

import logging
import signal
from argparse import ArgumentParser
from threading import Event
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand
from django.db import Error as DatabaseError
from django.db import close_old_connections

from graphs.actions import sweeping
from hitl_site import redis_server

logger = logging.getLogger(__name__)

LONGEST_PAUSE = 30.0


class Command(BaseCommand):
    help = (
        "Finds work that nobody was told about: expired deadlines, dead leases, unpublished messages. Several may run."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--once", action="store_true", help="sweep once and stop")

    def handle(self, *args: Any, once: bool, **options: Any) -> None:
        stopped = Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: stopped.set())
        pause = float(settings.SAYSO_CLOCK_SECONDS)
        self.redis_run: str | None = None
        while not stopped.is_set():
            pause = self.tick(pause)
            if once:
                return
            stopped.wait(pause)
        try:
            sweeping.stop_beating("clock")
        except DatabaseError as error:
            logger.warning("the heartbeat stays, the database does not answer (%s)", type(error).__name__)

    def tick(self, pause: float) -> float:
        """One sweep. Returns how long to wait: longer and longer while the database is away, since a clock that ended
        would leave every lost wake-up lost."""
        usual = float(settings.SAYSO_CLOCK_SECONDS)
        close_old_connections()
        try:
            self.notice_new_redis()
            sweeping.sweep()
            sweeping.beat("clock")
        except DatabaseError as error:
            logger.warning("the sweep failed, the database does not answer (%s)", type(error).__name__)
            return min(max(pause * 2, usual), LONGEST_PAUSE)
        except Exception:
            logger.exception("the sweep failed")
            return min(max(pause * 2, usual), LONGEST_PAUSE)
        finally:
            close_old_connections()
        return usual

    def notice_new_redis(self) -> None:
        """A Redis that started anew holds no wake-up: the sweep that follows this line rings for all that is ready."""
        run = redis_server.run_id(settings.REDIS_URL)
        if run and self.redis_run and run != self.redis_run:
            logger.info("Redis has started anew; ringing again for what is ready")
        if run:
            self.redis_run = run
