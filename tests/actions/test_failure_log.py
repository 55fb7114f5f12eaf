"""What the worker's log says of a failed node: enough to find it, and nothing of its data."""

from __future__ import annotations

import pytest

from graphs.actions.failures import log_failure
from graphs.engine.ports import Commit, Delta, ThreadRef
from graphs.engine.statuses import ThreadStatus

TRACEBACK = 'Traceback (most recent call last):\n  File "pay.py", line 3, in pay\n    charge()\nValueError: card 4111\n'


def test_a_failed_node_is_logged_with_its_place_and_without_its_message(caplog: pytest.LogCaptureFixture) -> None:
    error = {"path": "pay", "type": "ValueError", "message": "card 4111", "traceback": TRACEBACK}
    log_failure(ThreadRef("refund", "t1"), Commit(1, ThreadStatus.FAILED, Delta(), dict, error=error))
    assert 'thread t1 of refund failed in pay: ValueError at File "pay.py", line 3, in pay' in caplog.text
    assert "4111" not in caplog.text
