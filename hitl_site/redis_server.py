"""Where Redis comes from. Nothing is persisted there: the database is the truth and Redis is a doorbell."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path
from urllib.parse import quote

# The kernel's limit is 108 bytes with the closing zero; some clients count a little more tightly.
SOCKET_PATH_LIMIT = 100


def socket_path(var: Path) -> Path:
    """The private socket of the installation in `var`: the same for every process, whichever asks."""
    path = var / "redis.sock"
    if len(os.fsencode(path)) <= SOCKET_PATH_LIMIT:
        return path
    name = hashlib.sha256(os.fsencode(var)).hexdigest()[:16]
    return Path(tempfile.gettempdir()) / f"sayso-{os.getuid()}-{name}" / "redis.sock"


def private_url(var: Path) -> str:
    return f"unix://{quote(str(socket_path(var)))}"
