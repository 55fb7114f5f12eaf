"""The only door outward: rows in the transaction of the change, published after its commit.

What is lost between commit and publication (a crash, Redis away) stays unpublished in the table, and the sweep says it
again. Nothing here raises for Redis: the change is stored already, and the bell is only a bell (R1, F12).
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from itertools import takewhile
from typing import Any

from channels.layers import get_channel_layer
from django.conf import settings
from django.db import connection, transaction
from django.utils import timezone
from redis import RedisError

from graphs import queue, store
from graphs.engine import failpoints
from graphs.models import OutboxMessage

logger = logging.getLogger(__name__)

WAKE = "wake"
HINT = "hint"
ADVANCE = "graphs.jobs.threads.advance"

#: Jobs that wait already are enough: each claims whatever has been ready longest and rings again while there is more.
ENOUGH_JOBS = 32
#: A hint this old says nothing to anybody: whoever was away resynchronises when they come back.
HINT_SECONDS = 60

# Messages that Redis did not take since this process started, by kind.
lost: Counter[str] = Counter()


def wake(description: str = "") -> OutboxMessage:
    """A wake-up for a worker. `description` names the thread that rang, for people who look at the queue."""
    return OutboxMessage(kind=WAKE, payload={"description": description})


def hint(groups: Iterable[str], data: Mapping[str, Any]) -> OutboxMessage:
    """A hint to the sockets of `groups`: ids only, under 1 KB, so that a wrong delivery leaks nothing."""
    return OutboxMessage(kind=HINT, payload={"groups": list(groups), "data": dict(data)})


def put(messages: Sequence[OutboxMessage]) -> None:
    """Write the messages within the caller's transaction and publish them once it has committed."""
    assert connection.in_atomic_block
    if not messages:
        return
    store.insert_messages(messages)
    # robust: another callback's failure must not silence this one, nor this one fail a request that is stored.
    transaction.on_commit(lambda: publish(messages), robust=True)


def publish(messages: Sequence[OutboxMessage]) -> int:
    """Say each message, mark what was said, return how many. Twice is harmless; never is mended by the sweep."""
    failpoints.reach("before_outbox_publish")
    told = say_hints([message.payload for message in messages if message.kind != WAKE and not stale(message)])
    said = [message.pk for message in messages if message.kind != WAKE and (told or stale(message))]
    if told:
        said += rung([message for message in messages if message.kind == WAKE])
    failpoints.reach("after_outbox_publish")
    store.mark_said(said)
    store.mark_unsaid([message.pk for message in messages if message.pk not in said])
    return len(said)


def rung(messages: Sequence[OutboxMessage]) -> list[int]:
    """Ring for each as far as Redis takes it: who lost one would lose the rest as slowly."""
    return [message.pk for message in takewhile(say_wake, messages)]


def stale(message: OutboxMessage) -> bool:
    return message.created_at < timezone.now() - timedelta(seconds=HINT_SECONDS)


def say_wake(message: OutboxMessage) -> bool:
    return ring(message.payload.get("description", ""))


def ring(description: str = "") -> bool:
    """Enqueue a job that advances the thread that has been ready longest, unless enough of them wait already."""
    if queue.depth() >= ENOUGH_JOBS:
        return True
    return count(WAKE, queue.enqueue(ADVANCE, description=description))


def send(groups: Sequence[str], data: Mapping[str, Any]) -> bool:
    """Tell the sockets of `groups`, now and without a row: for progress, which the next one repeats anyway."""
    return say_hints([{"groups": groups, "data": data}])


def say_hints(payloads: Sequence[Mapping[str, Any]]) -> bool:
    """Publish all hints in one round trip. False where Redis did not take them."""
    layer = get_channel_layer()
    if layer is None or not payloads:
        return True
    config: dict[str, Any] = settings.CHANNEL_LAYERS["default"]["CONFIG"]  # type: ignore[assignment]
    try:
        with queue.asking() as client, client.pipeline(transaction=False) as pipeline:
            for payload in payloads:
                # The layer's own group_send needs an event loop; the same bytes by the plain client cost a fiftieth.
                message = layer.serialize({"type": "hint", "data": dict(payload["data"])})
                for group in payload["groups"]:
                    pipeline.publish(f"{config['prefix']}__group__{group}", message)
            pipeline.execute()
    except (RedisError, OSError):
        return count(HINT, False)
    return count(HINT, True)


def count(kind: str, taken: bool) -> bool:
    if taken:
        lost.pop(kind, None)
        return True
    lost[kind] += 1
    if lost[kind] == 1:
        logger.warning("Redis took no %s; the clock will repeat it", kind)
    return False
