"""Parameters under the name that another way of asking gives them: refused with the name that holds here."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def spelled(who: str, **others: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Decorate a function so that a parameter of `others` is a TypeError naming the right one. Its signature stays."""

    def around(fn: Callable[P, T]) -> Callable[P, T]:
        @functools.wraps(fn)
        def call(*args: P.args, **kwargs: P.kwargs) -> T:
            for wrong, right in others.items():
                if wrong in kwargs:
                    raise TypeError(f"{who}() takes {right}=…, not {wrong}=…")
            return fn(*args, **kwargs)

        return call

    return around
