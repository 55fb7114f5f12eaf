"""Work beside the threads: saying what is still unsaid."""

from __future__ import annotations

from graphs.actions import sweeping


def publish() -> None:
    """Publish the outbox messages that nobody has published yet."""
    sweeping.publish_left_over()
