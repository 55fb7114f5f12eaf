"""When a failed node is tried again."""

from __future__ import annotations

from dataclasses import dataclass

from graphs.engine.errors import DefinitionError


@dataclass(frozen=True, slots=True)
class NodeRetryPolicy:
    """At most `max_attempts` passes, for errors of `retry_on`; the wait grows from `backoff` seconds by `factor` up to
    `max_backoff`. A pause is no failure: it is never retried, whatever `retry_on` says (G15)."""

    max_attempts: int = 3
    retry_on: tuple[type[BaseException], ...] | type[BaseException] = (Exception,)
    backoff: float = 0.0
    factor: float = 2.0
    max_backoff: float = 60.0

    def __post_init__(self) -> None:
        if self.max_attempts < 1:
            raise DefinitionError(f"max_attempts must be 1 or more, not {self.max_attempts}")

    def retries(self, error: BaseException, attempt: int) -> bool:
        """Whether an error of the attempt `attempt` (from 1) is followed by another one."""
        return attempt < self.max_attempts and isinstance(error, self.retry_on)

    def wait(self, attempt: int) -> float:
        """Seconds to wait after the attempt `attempt`."""
        return min(self.max_backoff, self.backoff * self.factor ** (attempt - 1))


ONCE = NodeRetryPolicy(max_attempts=1)
