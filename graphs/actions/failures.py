"""What the log says of a thread that failed."""

from __future__ import annotations

import logging

from graphs.engine.ports import Commit, ThreadRef

logger = logging.getLogger(__name__)


def log_failure(ref: ThreadRef, commit: Commit) -> None:
    """Say in the log which node failed, how and where; never with what message, since that may hold data."""
    error = commit.error or {}
    places = [line.strip() for line in str(error.get("traceback", "")).splitlines() if line.startswith('  File "')]
    logger.warning(
        "thread %s of %s failed in %s: %s%s",
        ref.thread_id,
        ref.graph_id,
        error.get("path") or "its graph",
        error.get("type"),
        f" at {places[-1]}" if places else "",
    )
