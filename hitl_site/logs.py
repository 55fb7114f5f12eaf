from __future__ import annotations

import logging
import re

CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def one_line(text: str) -> str:
    return CONTROL.sub(lambda match: match.group().encode("unicode_escape").decode("ascii"), text)


class LineFormatter(logging.Formatter):
    """One event, one line. A newline in a logged value would let its author write log lines of their own, so control
    characters come out escaped, and traceback lines are marked so that none can pass for an event."""

    def format(self, record: logging.LogRecord) -> str:
        line = (
            f"{self.formatTime(record, '%Y-%m-%dT%H:%M:%S')}.{int(record.msecs):03d} "
            f"{record.levelname} {record.name} {one_line(record.getMessage())}"
        )
        if not record.exc_info:
            return line
        traceback = self.formatException(record.exc_info)
        return "\n".join([line, *(f"  | {one_line(part)}" for part in traceback.split("\n"))])
