"""W3: one more pause and resume after 10, 100 and 1,000 supersteps; loading must not read the history."""

from __future__ import annotations

from tests.load import ground
from tests.load.measure import Body, Row, alternate, table

ROUNDS = 9


def run(kind: str) -> None:
    ground.prepare(kind)
    from tests.load import threads

    def resume(count: int) -> Body:
        return threads.resuming(threads.waiting("history", {"left": count}, ROUNDS + 1))

    rows = []
    for steps, reach in ((100, ""), (1000, "<= 1.15")):
        pair = alternate(resume(steps), resume(10), ROUNDS)
        rows.append(Row(f"resume after {steps} supersteps; after 10", pair, reach))
    table(f"W3 resume by length of history ({kind})", rows)
