"""The only door to RQ. What travels is a wake-up: whoever rings too often, or too seldom, changes only how soon
something is done, since the sweep reads the same work from the database.

Redis is reachable by whoever may open its socket, so nothing that comes out of it is trusted: a job may name a
function of the table below, with arguments of the listed types, and nothing else."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, cast

from django.conf import settings
from redis import Redis, RedisError
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.retry import Retry
from rq import Queue
from rq.exceptions import DeserializationError
from rq.job import Job
from rq.serializers import JSONSerializer

logger = logging.getLogger(__name__)

THREADS = "threads"
BACKGROUND = "background"
REFUSED_KEY = "sayso:jobs:refused"
FAILURE_SECONDS = 24 * 3600


@dataclass(frozen=True)
class Entry:
    queue: str
    arguments: tuple[type, ...] = ()


FUNCTIONS = {
    "graphs.jobs.threads.advance": Entry(THREADS),
    "graphs.jobs.background.publish": Entry(BACKGROUND),
}

#: How long Redis may take to answer a request or a job (seconds).
ANSWER_SECONDS = 0.3
#: How long it is left alone after it did not (seconds).
QUIET_SECONDS = 3.0
# Until when (monotonic) nobody of this process asks.
quiet = {"until": 0.0}

# Rings that Redis did not take, by queue, since this process started.
lost: Counter[str] = Counter()


class JobRefused(Exception):
    """A job in Redis that is not one of ours."""


def resolve(name: str) -> Callable[..., Any]:
    """The function behind a dotted name of the table."""
    if name not in FUNCTIONS:
        raise JobRefused(f"{name!r} is not a function that jobs may call")
    module, _, attribute = name.rpartition(".")
    return cast("Callable[..., Any]", getattr(import_module(module), attribute))


def preload() -> None:
    """Import what jobs will need, so that a forked work-horse imports nothing."""
    for name in FUNCTIONS:
        resolve(name)


class SaysoJob(Job):
    """JSON alone does not stop a job that names `os.mknod`: RQ imports whatever name it reads."""

    # What of RQ's data would make a worker import, call or fetch something else.
    foreign: tuple[str, ...] = ()
    readable = True

    def restore(self, raw_data: Any) -> Any:
        super().restore(raw_data)
        self.foreign = tuple(name for name, value in self.extras().items() if value)
        self._success_callback_name = self._failure_callback_name = self._stopped_callback_name = None
        self._dependency_ids = []
        self.webhooks = []
        self.retries_left = self.number_of_retries = self.repeats_left = None
        self.rate_limit_key = self.group_id = None
        self.meta = {}
        self.result_ttl = 0
        self.failure_ttl = FAILURE_SECONDS
        self.timeout = settings.SAYSO_JOB_SECONDS

    def _deserialize_data(self) -> None:
        """RQ asks for the name before it runs anything; unreadable data must come as far as `check`, to be counted."""
        try:
            super()._deserialize_data()  # type: ignore[no-untyped-call]
        except DeserializationError:
            self.readable = False
            self._func_name, self._instance, self._args, self._kwargs = "", None, (), {}

    def extras(self) -> dict[str, Any]:
        return {
            "a callback": self._success_callback_name or self._failure_callback_name or self._stopped_callback_name,
            "a dependency": self._dependency_ids,
            "a webhook": self.webhooks,
            "a retry": self.retries_left or self.repeats_left,
            "a rate limit": self.rate_limit_key,
            "a group": self.group_id,
            "meta data": self.meta,
        }

    @property
    def func(self) -> Callable[..., Any]:
        try:
            self.check()
        except JobRefused as refusal:
            self.count_refusal(refusal)
            raise
        return resolve(str(self.func_name))

    def check(self) -> None:
        """Raise JobRefused unless this is exactly a job that `enqueue` could have written."""
        name, instance, arguments, keywords = self.func_name, self.instance, self.args, self.kwargs
        if not self.readable:
            raise JobRefused("the data is not JSON of the expected shape")
        entry = FUNCTIONS.get(name) if isinstance(name, str) else None
        if entry is None:
            raise JobRefused("it names a function that is not in the table")
        if entry.queue != self.origin:
            raise JobRefused(f"it came through the queue {self.origin!r} instead of {entry.queue!r}")
        if self.foreign:
            raise JobRefused(f"it carries {' and '.join(self.foreign)}")
        if instance is not None or keywords:
            raise JobRefused("it carries an instance or keyword arguments")
        if not isinstance(arguments, list | tuple) or tuple(map(type, arguments)) != entry.arguments:
            raise JobRefused("its arguments are not of the expected types")

    def count_refusal(self, refusal: JobRefused) -> None:
        logger.error("refused job %s: %s", self.id, refusal)
        try:
            self.connection.incr(REFUSED_KEY)
        except RedisError:
            logger.warning("the refusal could not be counted: Redis does not answer")


@cache
def connection() -> Redis:
    """One pool a process (redis-py notices a fork, and a connection that a restart of Redis has closed)."""
    return client(settings.REDIS_URL)


def client(url: str) -> Redis:
    """A client that gives up soon and tries nothing twice: the sweep rings again for whatever it loses."""
    # The client's own default would try for seconds.
    retry = Retry(NoBackoff(), 0)
    return Redis.from_url(url, socket_timeout=ANSWER_SECONDS, socket_connect_timeout=ANSWER_SECONDS, retry=retry)


class Hung(RedisConnectionError):
    """Redis kept somebody waiting a moment ago and is not asked again yet."""


@contextmanager
def asking() -> Iterator[Redis]:
    """The client, for one exchange. Raises RedisError or OSError; after a loss that took its time nobody asks for
    QUIET_SECONDS, so that a Redis that hangs costs a request one wait and not one for each message."""
    if time.monotonic() < quiet["until"]:
        raise Hung("Redis did not answer a moment ago")
    began = time.monotonic()
    try:
        yield connection()
    except (RedisError, OSError):
        ended = time.monotonic()
        if ended - began >= ANSWER_SECONDS / 2:
            quiet["until"] = ended + QUIET_SECONDS
        raise


def answer_again() -> None:
    """Ask Redis again at once, for whoever knows that it is another one or back."""
    quiet["until"] = 0.0


def open_queue(name: str, client: Redis | None = None) -> Queue:
    if name not in settings.RQ_QUEUES:
        raise ValueError(f"there is no queue {name!r}")
    return Queue(name, connection=client or connection(), job_class=SaysoJob, serializer=JSONSerializer)


def enqueue(function: str, *, queue: str = THREADS, description: str = "") -> bool:
    """Ring for `function` (a dotted name of FUNCTIONS). False when Redis did not take it: the sweep will find the work.

    Goes out at once, so call it after the commit. `description` is for people who look at the queue.
    """
    entry = FUNCTIONS[function]
    if entry.queue != queue:
        raise ValueError(f"{function} belongs to the queue {entry.queue!r}, not {queue!r}")
    try:
        with asking() as client:
            open_queue(queue, client).enqueue_call(
                function,
                timeout=settings.SAYSO_JOB_SECONDS,
                result_ttl=0,
                failure_ttl=FAILURE_SECONDS,
                description=description or function,
            )
    except (RedisError, OSError) as error:
        note_loss(queue, error)
        return False
    if lost.pop(queue, 0):
        logger.info("Redis takes wake-ups for %s again", queue)
    return True


def note_loss(queue: str, error: Exception) -> None:
    lost[queue] += 1
    if lost[queue] == 1:
        # Once an outage: a line for each ring would bury the reason under its consequences.
        logger.warning("Redis took no wake-up for %s (%s); the clock will find the work", queue, type(error).__name__)


def depth(queue: str = THREADS) -> int:
    """Jobs that wait in `queue`; 0 when Redis cannot be asked, since ringing is then what finds out."""
    try:
        with asking() as client:
            return int(open_queue(queue, client).count)
    except (RedisError, OSError):
        return 0


def refused() -> int:
    """Crafted jobs that workers have refused since Redis started."""
    try:
        with asking() as client:
            return int(cast("bytes | None", client.get(REFUSED_KEY)) or 0)
    except (RedisError, OSError):
        return 0
