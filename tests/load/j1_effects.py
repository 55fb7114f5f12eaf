"""J1: a node with 100 effects that happen once, each stored before the next begins, against as many bare commits."""

from __future__ import annotations

from tests.load import ground
from tests.load.measure import Body, Row, alternate, table, timed

EFFECTS = 100


def run(kind: str) -> None:
    ground.prepare(kind)
    from tests.load import threads

    def ours(graph: str) -> Body:
        def body() -> float:
            thread = threads.start(graph, {"effects": EFFECTS})
            seconds = timed(lambda: threads.advance(thread))
            assert thread.status == "completed", thread.status
            return seconds

        return body

    data = "x" * 1000
    bare = ground.Bare()

    def floor() -> float:
        return timed(lambda: [bare.commit(data) for _ in range(EFFECTS)])

    rows = [
        Row(f"{EFFECTS} effects of 1 KB in a {what} node, bare commits", alternate(ours(graph), floor))
        for what, graph in (("sync", "effects"), ("async", "async_effects"))
    ]
    table(f"J1 effects ({kind})", rows)
