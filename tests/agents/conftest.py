from __future__ import annotations

from tests.engine.conftest import clock, no_failpoint, restarted, store

__all__ = ["clock", "no_failpoint", "restarted", "store"]
