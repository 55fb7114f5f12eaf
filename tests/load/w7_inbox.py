"""W7: the inbox's first page, next page and counts at 10,000 open questions, against the bare indexed query."""

from __future__ import annotations

import uuid
from typing import Any

from tests.load import ground
from tests.load.measure import Body, Row, alternate, table, timed

OPEN = 10_000


def run(kind: str) -> None:
    ground.prepare(kind)
    from django.contrib.auth.models import User

    from graphs.web import listing

    reviewer = User.objects.create_user("reviewer")
    queues = fill(reviewer)
    first = listing.Filter()
    after = listing.parse(query(listing.page(reviewer, first).next))

    rows = [
        Row("first page, all that this person may see", alternate(page(reviewer, first), bare(queues)), "<= 3"),
        Row("next page", alternate(page(reviewer, after), bare(queues)), "<= 3"),
        Row("counts of every queue", alternate(counts(reviewer), bare_count(queues)), "<= 3"),
    ]
    table(f"W7 inbox at {OPEN} open questions ({kind})", rows)


def query(cursor: str) -> Any:
    from django.http import QueryDict

    return QueryDict(f"after={cursor}")


def fill(reviewer: Any) -> list[int]:
    """Questions in four queues, two of which are the reviewer's."""
    from graphs.actions.queues import default
    from graphs.models import ApprovalQueue, Interrupt, QueueMembership, Task, Thread
    from tests.load import threads

    asked = threads.advance(threads.start("pause", threads.KILOBYTE))
    model = Interrupt.objects.get(thread=asked)
    queues = [default(), *(ApprovalQueue.objects.create(slug=f"q{n}", title=f"Queue {n}") for n in range(3))]
    QueueMembership.objects.bulk_create(QueueMembership(queue=queue, user=reviewer) for queue in queues[:2])
    task = Task.objects.get(pk=model.task_id)
    rows = []
    for number in range(OPEN):
        row = Interrupt.objects.get(pk=model.pk) if number == 0 else clone(model)
        row.pk, row.key, row.queue, row.message = uuid.uuid4(), f"k{number}", queues[number % 4], f"Question {number}"
        row.task, row.thread = task, Thread(pk=asked.pk)
        rows.append(row)
    Interrupt.objects.bulk_create(rows, batch_size=500)
    return [queue.pk for queue in queues[:2]]


def clone(row: Any) -> Any:
    fields = {field.attname: getattr(row, field.attname) for field in row._meta.concrete_fields}
    return type(row)(**fields)


def page(reviewer: Any, wanted: Any) -> Body:
    from graphs.web import listing

    def body() -> float:
        found: list[Any] = []
        seconds = timed(lambda: found.append(listing.page(reviewer, wanted)))
        assert len(found[0].rows) == listing.PAGE
        return seconds

    return body


def counts(reviewer: Any) -> Body:
    from graphs.web import listing

    return lambda: timed(lambda: listing.counted_queues(reviewer))


def bare(queues: list[int]) -> Body:
    marks = ", ".join(["%s"] * len(queues))
    return statement(
        "SELECT id, message, created_at FROM graphs_interrupt "
        f"WHERE queue_id IN ({marks}) AND status IN ('open', 'needs_info') ORDER BY created_at DESC, id DESC LIMIT 51",
        queues,
    )


def bare_count(queues: list[int]) -> Body:
    marks = ", ".join(["%s"] * len(queues))
    return statement(
        f"SELECT queue_id, count(*) FROM graphs_interrupt WHERE queue_id IN ({marks}) "
        "AND status IN ('open', 'needs_info') GROUP BY queue_id",
        queues,
    )


def statement(sql: str, values: list[int]) -> Body:
    from django.db import connection

    def body() -> None:
        with connection.cursor() as cursor:
            cursor.execute(sql, values)
            cursor.fetchall()

    return lambda: timed(body)
