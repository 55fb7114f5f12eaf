"""L3: a decision's POST by 1 reviewer, by 20 on one question and by 20 on 20, against as many empty POSTs at once."""

from __future__ import annotations

import statistics
import time
import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from tests.load import running
from tests.load.measure import Pair, Row, table
from tests.load.reviewers import Reviewer, at_once

CROWD = 20
ROUNDS = 5

Act = Callable[[], tuple[int, float]]


def run(kind: str) -> None:
    with running.installation(kind):
        people = [Reviewer(f"reviewer{number}") for number in range(CROWD)]
        waiting = questions((1 + 1 + CROWD) * (ROUNDS + 1))
        rows = [
            *measured("1 reviewer", people[:1], lambda: [waiting.pop()], {303: 1}),
            *measured(f"{CROWD} on one", people, lambda: [waiting.pop()] * CROWD, {303: 1, 409: CROWD - 1}),
            *measured(f"{CROWD} on {CROWD}", people, lambda: [waiting.pop() for _ in people], {303: CROWD}),
        ]
    table(f"L3 decision POST; empty POST ({kind})", rows)


def questions(count: int) -> list[Any]:
    """So many open questions, asked by the installation's own workers."""
    from graphs.models import Interrupt
    from tests.load import threads

    for _ in range(count):
        threads.start("pause", threads.KILOBYTE)
    deadline = time.monotonic() + 10 * running.PATIENCE
    rows = Interrupt.objects.filter(status="open", thread__status="interrupted")
    while rows.count() < count:
        assert time.monotonic() < deadline, f"{rows.count()} of {count} asked"
        time.sleep(0.2)
    return list(rows)


def measured(
    name: str, people: Sequence[Reviewer], chosen: Callable[[], list[Any]], expected: dict[int, int]
) -> list[Row]:
    """One unmeasured round, then both in turn; each answer's time counts, and one decision a question."""
    ours: list[float] = []
    other: list[float] = []
    for number in range(ROUNDS + 1):
        decided = at_once([decide(person, one) for person, one in zip(people, chosen(), strict=True)])
        empty = at_once([partial(person.post, "/preferences", {}) for person in people])
        assert Counter(status for status, _ in decided) == expected, Counter(status for status, _ in decided)
        assert {status for status, _ in empty} == {204}
        if number:
            ours += [seconds for _, seconds in decided]
            other += [seconds for _, seconds in empty]
    ends = ((quantile(ours, share), quantile(other, share)) for share in (50, 95))
    return [Row(f"{name}, p{share}", Pair(*pair), "<= 3") for share, pair in zip((50, 95), ends, strict=True)]


def decide(person: Reviewer, question: Any) -> Act:
    form = {"act": "approve", "version": question.version, "digest": question.digest, "key": uuid.uuid4().hex}
    return partial(person.post, f"/review/{question.pk}", form)


def quantile(values: Sequence[float], share: int) -> float:
    return statistics.quantiles(values, n=100, method="inclusive")[share - 1]
