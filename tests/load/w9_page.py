"""W9: the inbox's whole page at 1,000, 10,000 and 100,000 open questions in five queues, against that of 100."""

from __future__ import annotations

import uuid
from typing import Any

from tests.load import ground
from tests.load.measure import Body, Row, alternate, table, timed
from tests.load.w7_inbox import clone

SIZES = (1_000, 10_000, 100_000)
FEW = 100
QUEUES = 5
ADDRESSES = {"all": "/inbox", "one queue": "/inbox?queue=many-1", "search": "/inbox?q=question+4"}


def run(kind: str) -> None:
    ground.prepare(kind)
    from graphs.models import Interrupt
    from tests.load import threads

    model = Interrupt.objects.get(thread=threads.advance(threads.start("pause", threads.KILOBYTE)))
    few, many = Member("few"), Member("many")
    few.fill(model, FEW)
    rows = []
    for size in SIZES:
        many.fill(model, size)
        for name, address in ADDRESSES.items():
            pair = alternate(many.page(address), few.page(address.replace("many-", "few-")))
            rows.append(Row(f"{size} open, {name}; {FEW} open", pair, "1"))
    table(f"W9 page of the inbox for a member of {QUEUES} queues ({kind})", rows)


class Member:
    """Somebody who decides in five queues of their own."""

    def __init__(self, name: str) -> None:
        from django.contrib.auth.models import User
        from django.test import Client

        from graphs.models import ApprovalQueue, QueueMembership

        user = User.objects.create_user(name)
        self.queues = [ApprovalQueue.objects.create(slug=f"{name}-{n}", title=f"{name} {n}") for n in range(QUEUES)]
        rights = (QueueMembership(queue=queue, user=user, right="decide") for queue in self.queues)
        QueueMembership.objects.bulk_create(rights)
        self.client = Client(headers={"host": "localhost"})
        self.client.force_login(user)
        self.open = 0

    def fill(self, model: Any, size: int) -> None:
        """Copies of this question, until so many are open."""
        from graphs.models import Interrupt

        while self.open < size:
            numbers = range(self.open, min(size, self.open + 5_000))
            Interrupt.objects.bulk_create([self.copy(model, number) for number in numbers], batch_size=500)
            self.open = numbers.stop

    def copy(self, model: Any, number: int) -> Any:
        row = clone(model)
        queue = self.queues[number % QUEUES]
        row.pk, row.key, row.queue_id = uuid.uuid4(), f"{queue.slug}.{number}", queue.pk
        row.message, row.search = f"Question {number}", f"question {number}"
        return row

    def page(self, address: str) -> Body:
        def body() -> float:
            got: list[Any] = []
            seconds = timed(lambda: got.append(self.client.get(address)))
            assert got[0].content.count(b'class="qrow') >= 10, got[0].status_code
            return seconds

        return body
