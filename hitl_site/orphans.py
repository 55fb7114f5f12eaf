"""No process of ours outlives the one that started it, not even when that one is killed with SIGKILL."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Callable

PR_SET_PDEATHSIG = 1
# Looked up once, at import: what runs between fork and exec must not load libraries.
LIBC = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def end_with_parent(parent: int) -> None:
    """Ask the kernel to kill this process when `parent` dies. The kernel watches the thread that forked, so callers
    start their children from their main thread. Elsewhere than on Linux this does nothing and `up` clears leftovers."""
    if LIBC is None:
        return
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        # It died between the fork and the line above; no signal will come any more.
        os._exit(1)


def tied_to_caller() -> Callable[[], None]:
    """A `preexec_fn` for subprocess.Popen."""
    parent = os.getpid()
    return lambda: end_with_parent(parent)
