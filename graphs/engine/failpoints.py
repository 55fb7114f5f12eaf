"""Named places where a test makes the process die or the call fail, to prove that recovery holds at each of them.

`SAYSO_FAILPOINT=name:kill` or `name:raise`, with `:nth` for the nth time the place is reached; empty in production.
"""

from __future__ import annotations

import os
import signal
from collections import Counter

_reached: Counter[str] = Counter()


class Crash(BaseException):
    """Stands for the death of the process: nothing in the engine may handle it, so nothing is tidied up."""


def reach(name: str) -> None:
    """Say that the place `name` is reached; dies or raises `Crash` here where the environment asks for it."""
    wanted = os.environ.get("SAYSO_FAILPOINT")
    if not wanted:
        return
    place, _, rest = wanted.partition(":")
    if place != name:
        return
    how, _, nth = rest.partition(":")
    _reached[wanted] += 1
    if _reached[wanted] != int(nth or 1):
        return
    if how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    raise Crash(name)


def reset() -> None:
    """Count the places from the start again (for tests that set the variable twice)."""
    _reached.clear()
