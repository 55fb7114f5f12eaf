"""The words of risk, in the order of their weight."""

from __future__ import annotations

from enum import IntEnum


class Level(IntEnum):
    """How much a decision can do; `Interrupt.risk` stores the number."""

    LOW = 0
    MEDIUM = 1
    HIGH = 2
    CRITICAL = 3

    @property
    def word(self) -> str:
        """As policies write it."""
        return self.name.lower()
