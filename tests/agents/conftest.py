from __future__ import annotations

from tests.engine.conftest import no_failpoint, restarted, store

__all__ = ["no_failpoint", "restarted", "store"]
