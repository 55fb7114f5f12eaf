from __future__ import annotations

import logging
import sys

from hitl_site.logs import LineFormatter


def record(message: str, *arguments: object, exc_info: object = None) -> logging.LogRecord:
    return logging.LogRecord("graphs.test", logging.INFO, __file__, 1, message, arguments, exc_info)  # type: ignore[arg-type]


def test_a_logged_value_cannot_write_a_line_of_its_own() -> None:
    forged = "name\n2026-01-01T00:00:00.000 ERROR root forged\r\x1b[31m\u2028"
    line = LineFormatter().format(record("signed in: %s", forged))
    assert "\n" not in line
    assert len(line.splitlines()) == 1
    assert "\x1b" not in line
    assert "\\n2026" in line


def test_a_traceback_is_kept_and_marked() -> None:
    try:
        raise ValueError("first\nsecond")
    except ValueError:
        text = LineFormatter().format(record("failed", exc_info=sys.exc_info()))
    first, *rest = text.splitlines()
    assert first.endswith("failed")
    assert rest
    assert all(line.startswith("  | ") for line in rest)
