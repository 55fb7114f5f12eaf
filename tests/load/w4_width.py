"""W4: a fan-out of 1, 10, 100 and 500 asking nodes, answered one by one and all at once."""

from __future__ import annotations

from tests.load import ground, langgraph_peer
from tests.load.measure import Body, Pair, Row, alternate, table, timed

ROUNDS = {1: 7, 10: 7, 100: 5, 500: 5}


def run(kind: str) -> None:
    ground.prepare(kind)
    from tests.load import threads

    def started(width: int) -> threads.Thread:
        return threads.advance(threads.start(f"wide_{width}", threads.KILOBYTE))

    def singly(width: int) -> Body:
        def body() -> float:
            thread = started(width)

            def answer() -> None:
                for asked in threads.open_of(thread):
                    threads.decide_these(thread, [asked])
                    threads.advance(thread)

            seconds = timed(answer)
            assert thread.status == "completed", thread.status
            return seconds

        return body

    def together(width: int) -> Body:
        def body() -> float:
            thread = started(width)

            def answer() -> None:
                threads.decide(thread)
                threads.advance(thread)

            seconds = timed(answer)
            assert thread.status == "completed", thread.status
            return seconds

        return body

    rows, each = [], []
    for wide, narrow in ((10, 1), (100, 10), (500, 100)):
        pair = alternate(singly(wide), singly(narrow), ROUNDS[wide])
        rows.append(Row(f"{wide} questions one by one; {narrow}", pair, f"<= {wide // narrow} (linear)"))
        each.append(Row(f"{wide}, an answer; {narrow}, an answer", Pair(pair.ours / wide, pair.other / narrow), "<= 1"))
    for wide in (10, 100, 500):
        pair = alternate(together(wide), together(1), ROUNDS[wide])
        rows.append(Row(f"{wide} questions all at once; 1", pair, "<= 8" if wide == 500 else ""))
    if peer := langgraph_peer.fan(100, at_once=False):
        rows.append(Row("100 one by one, LangGraph's", alternate(singly(100), peer, 5), "<= 0.05"))
    if peer := langgraph_peer.fan(500, at_once=True):
        rows.append(Row("500 all at once, LangGraph's", alternate(together(500), peer, 5)))
    table(f"W4 width ({kind})", rows)
    table("W4 per answer", each)
