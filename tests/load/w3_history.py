"""W3: one more pause and resume after 10, 100 and 1,000 supersteps; loading must not read the history."""

from __future__ import annotations

from collections import deque
from typing import Any

from tests.load import ground
from tests.load.measure import Body, Row, alternate, table, timed

ROUNDS = 9


def run(kind: str) -> None:
    ground.prepare(kind)
    from tests.load import threads

    def waiting(steps: int) -> deque[Any]:
        """Threads that ask after so many supersteps, answered and ready to go on."""
        found = deque(threads.start("history", {"left": steps}) for _ in range(ROUNDS + 1))
        for thread in found:
            threads.advance(thread)
        return found

    def resume(found: deque[Any]) -> Body:
        def body() -> float:
            thread = found.popleft()
            threads.decide(thread)
            seconds = timed(lambda: threads.advance(thread))
            assert thread.status == "completed"
            return seconds

        return body

    rows = []
    for steps, reach in ((100, ""), (1000, "<= 1.15")):
        pair = alternate(resume(waiting(steps)), resume(waiting(10)), ROUNDS)
        rows.append(Row(f"resume after {steps} supersteps; after 10", pair, reach))
    table(f"W3 resume by length of history ({kind})", rows)
