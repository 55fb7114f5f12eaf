"""How a figure is taken here: two things run alternately in one call, medians of at least five rounds, a ratio.

Machines are shared and noisy, so an absolute time says little; what is printed beside the ratio is for orientation.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

#: A body prepares what it likes, then returns the seconds that the measured part took.
Body = Callable[[], float]


@dataclass(frozen=True)
class Pair:
    """The medians of two things measured alternately, in seconds, and how the first compares with the second."""

    ours: float
    other: float

    @property
    def ratio(self) -> float:
        return self.ours / self.other


@dataclass(frozen=True)
class Row:
    """One line of a table: what was measured against what, the pair, and the ratio to reach."""

    name: str
    pair: Pair
    reach: str = ""


def timed(body: Callable[[], object]) -> float:
    """Seconds that one call took."""
    start = time.perf_counter()
    body()
    return time.perf_counter() - start


def alternate(ours: Body, other: Body, rounds: int = 7) -> Pair:
    """Run A B A B … and take the medians; one unmeasured round first, so that neither pays for warming up."""
    ours()
    other()
    times = [(ours(), other()) for _ in range(rounds)]
    return Pair(statistics.median(a for a, _ in times), statistics.median(b for _, b in times))


def table(title: str, rows: Sequence[Row]) -> None:
    """Print one table."""
    print(f"\n{title}\n{'-' * len(title)}")
    print(f"{'':52} {'ours ms':>10} {'other ms':>10} {'ratio':>7}  reach")
    for row in rows:
        ours, other = row.pair.ours * 1000, row.pair.other * 1000
        print(f"{row.name:52} {ours:10.2f} {other:10.2f} {row.pair.ratio:7.2f}  {row.reach}", flush=True)
