"""Who looks at a question now: kept in Redis until a moment soon, and nowhere else.

It only warns. Nothing is decided by it, and where Redis does not answer nobody seems to look."""

from __future__ import annotations

import time
from collections.abc import Sequence
from uuid import UUID

from redis import RedisError

from graphs import queue

#: A socket that has not said so again for this long looks no more (seconds).
SECONDS = 45
PREFIX = "sayso:looking"


def arrive(question: UUID, person: int, socket: str) -> bool:
    """This socket of this person looks, for SECONDS from now. True where that is new."""
    now, key = time.time(), key_of(question)
    try:
        with queue.asking() as client, client.pipeline(transaction=True) as pipeline:
            pipeline.zremrangebyscore(key, "-inf", now)
            pipeline.zadd(key, {member(person, socket): now + SECONDS})
            pipeline.expire(key, SECONDS)
            return bool(pipeline.execute()[1])
    except (RedisError, OSError):
        return False


def leave(question: UUID, person: int, socket: str) -> bool:
    """This socket looks elsewhere. True where it looked until now."""
    try:
        with queue.asking() as client:
            return bool(client.zrem(key_of(question), member(person, socket)))
    except (RedisError, OSError):
        return False


def looking(questions: Sequence[UUID]) -> dict[UUID, set[int]]:
    """The people who look at each of these questions, in one round trip; those that nobody looks at are left out."""
    if not questions:
        return {}
    try:
        with queue.asking() as client, client.pipeline(transaction=False) as pipeline:
            for question in questions:
                pipeline.zrangebyscore(key_of(question), time.time(), "+inf")
            answers = pipeline.execute()
    except (RedisError, OSError):
        return {}
    found = {question: people(members) for question, members in zip(questions, answers, strict=True)}
    return {question: those for question, those in found.items() if those}


def key_of(question: UUID) -> str:
    return f"{PREFIX}:{question.hex}"


def member(person: int, socket: str) -> str:
    """One for each socket, so that who closes one of two tabs still looks."""
    return f"{person}.{socket}"


def people(members: Sequence[bytes]) -> set[int]:
    """Whoever may open Redis may write there: what is no key of a person is nobody."""
    heads = (one.partition(b".")[0] for one in members)
    return {int(head) for head in heads if head.isdigit() and len(head) <= 18}
