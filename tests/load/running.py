"""A whole running installation to measure from outside, and the stamps that its nodes leave."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.load import ground

PATIENCE = 30.0


@contextmanager
def installation(kind: str) -> Iterator[Path]:
    """`up` in an empty folder on the chosen database; this process shares its database and Redis. Yields the folder."""
    import os

    from tests.processes.installation import Installation

    with tempfile.TemporaryDirectory(prefix="sayso-load-") as folder:
        more = {"DATABASE_URL": ground.start_postgres()} if kind == "postgres" else {}
        running = Installation(
            Path(folder), SAYSO_GRAPHS="tests.load.definitions", PYTHONPATH=str(ground.ROOT), **more
        ).start()
        os.environ |= {"PYTHONPATH": str(ground.ROOT), "SAYSO_LOAD_ADDRESS": f"http://127.0.0.1:{running.port}", **more}
        try:
            ground.prepare("", var=str(running.var))
            yield running.var
        finally:
            from django.db import connections

            connections.close_all()
            running.stop()


def stamp(var: Path, name: str) -> float:
    """When the node passed that place, in seconds since the epoch; waits for it."""
    path = var / "stamps" / name
    deadline = time.monotonic() + PATIENCE
    while not path.exists():
        assert time.monotonic() < deadline, f"no stamp {name} within {PATIENCE:.0f} s"
        time.sleep(0.001)
    return float(path.read_text())
