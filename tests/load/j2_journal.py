"""J2: answering a node that has settled 1,000 effects before its question, against one that has settled 10."""

from __future__ import annotations

from tests.load import ground
from tests.load.measure import Body, Row, alternate, table

ROUNDS = 7


def run(kind: str) -> None:
    ground.prepare(kind)
    from tests.load import threads

    def resume(count: int) -> Body:
        return threads.resuming(threads.waiting("settled", {"effects": count}, ROUNDS + 1))

    rows = [
        Row(
            f"resume over {more} journal entries; over {less}",
            alternate(resume(more), resume(less), ROUNDS),
        )
        for more, less in ((100, 10), (1000, 10), (1000, 100))
    ]
    table(f"J2 resume by length of the journal ({kind})", rows)
