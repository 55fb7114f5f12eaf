"""W2: start, pause, load in a fresh object, resume, complete; against LangGraph, and against as many bare commits."""

from __future__ import annotations

from tests.load import ground, langgraph_peer
from tests.load.measure import Row, alternate, table, timed


def run(kind: str) -> None:
    ground.prepare(kind)
    from tests.load import threads

    def cycle() -> None:
        thread = threads.start("pause", threads.KILOBYTE)
        threads.advance(thread)
        threads.decide(thread)
        assert threads.advance(thread).status == "completed"

    bare = ground.Bare()
    commits = commits_of(cycle)

    def floor() -> float:
        return timed(lambda: [bare.commit("x" * 1200) for _ in range(commits)])

    def ours() -> float:
        return timed(cycle)

    rows = [Row(f"start, pause, resume; {commits} bare commits", alternate(ours, floor))]
    if peer := langgraph_peer.pause():
        rows.append(Row("start, pause, resume; LangGraph's", alternate(ours, peer), "<= 0.65"))
    table(f"W2 suspend and resume ({kind})", rows)


def commits_of(cycle: object) -> int:
    """How many commits one cycle makes, counted where Django makes them."""
    from django.db import connection

    count = 0
    commit = connection.commit

    def counted() -> None:
        nonlocal count
        count += 1
        commit()

    cycle()  # type: ignore[operator]
    connection.commit = counted  # type: ignore[method-assign]
    try:
        cycle()  # type: ignore[operator]
    finally:
        del connection.commit
    return count
