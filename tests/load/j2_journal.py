"""J2: answering a node that has settled 1,000 effects before its question, against one that has settled 10."""

from __future__ import annotations

from collections import deque
from typing import Any

from tests.load import ground
from tests.load.measure import Body, Row, alternate, table, timed

ROUNDS = 7


def run(kind: str) -> None:
    ground.prepare(kind)
    from tests.load import threads

    def waiting(effects: int) -> deque[Any]:
        found = deque(threads.start("settled", {"effects": effects}) for _ in range(ROUNDS + 1))
        for thread in found:
            threads.advance(thread)
        return found

    def resume(found: deque[Any]) -> Body:
        def body() -> float:
            thread = found.popleft()
            threads.decide(thread)
            seconds = timed(lambda: threads.advance(thread))
            assert thread.status == "completed", thread.status
            return seconds

        return body

    rows = [
        Row(
            f"resume over {more} journal entries; over {less}",
            alternate(resume(waiting(more)), resume(waiting(less)), ROUNDS),
        )
        for more, less in ((100, 10), (1000, 10), (1000, 100))
    ]
    table(f"J2 resume by length of the journal ({kind})", rows)
