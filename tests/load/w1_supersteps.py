"""W1: a chain of 100 nodes, one durable commit each, against the bare commit of the same bytes and LangGraph."""

from __future__ import annotations

from tests.load import ground, langgraph_peer
from tests.load.measure import Pair, Row, alternate, table, timed

STEPS = 100


def run(kind: str) -> None:
    ground.prepare(kind)
    from tests.load import threads

    def ours() -> float:
        thread = threads.start("chain_100", threads.KILOBYTE)
        seconds = timed(lambda: threads.advance(thread))
        assert thread.status == "completed", thread.status
        return seconds

    ours()
    data = "x" * bytes_per_step()
    bare = ground.Bare()

    def floor() -> float:
        return timed(lambda: [bare.commit(data) for _ in range(STEPS)])

    reach = "<= 1.6" if bare.postgres else "<= 2.5"
    rows = [Row(f"100 supersteps of {len(data)} B, bare commits", alternate(ours, floor), reach)]
    if peer := langgraph_peer.chain(STEPS):
        pair = alternate(ours, peer)
        rows.append(Row("100 supersteps, LangGraph's", pair, "<= 0.40" if bare.postgres else "<= 0.67"))
    table(f"W1 supersteps ({kind})", rows)
    table("W1 per superstep", [Row(row.name, Pair(row.pair.ours / STEPS, row.pair.other / STEPS)) for row in rows])


def bytes_per_step() -> int:
    """What the last thread wrote as text, a superstep."""
    from django.db.models import Sum
    from django.db.models.functions import Coalesce, Length

    from graphs.models import Checkpoint, Task, Thread, ThreadEvent

    last = Thread.objects.latest("pk")
    parts = ((Checkpoint, "data"), (Task, "output"), (ThreadEvent, "data"))
    sums = [
        model.objects.filter(thread=last).aggregate(size=Sum(Coalesce(Length(field), 0)))["size"]
        for model, field in parts
    ]
    return int(sum(size or 0 for size in sums) / STEPS)
