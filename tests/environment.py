"""Loaded by pytest before the settings: each process of a test run gets a folder, a key and nothing else of ours."""

from __future__ import annotations

import atexit
import os
import secrets
import shutil
import tempfile

for name in [name for name in os.environ if name.startswith("SAYSO_") and name != "SAYSO_TEST_DATABASE"]:
    del os.environ[name]
for name in ("DATABASE_URL", "DATABASE_URL_FILE", "REDIS_URL", "REDIS_URL_FILE", "DEBUG", "ALLOWED_HOSTS"):
    os.environ.pop(name, None)

VAR = tempfile.mkdtemp(prefix="sayso-test-")
OWNER = os.getpid()


def remove() -> None:
    if os.getpid() == OWNER:
        shutil.rmtree(VAR, ignore_errors=True)


atexit.register(remove)
os.environ["SAYSO_VAR"] = VAR
os.environ["SECRET_KEY"] = secrets.token_urlsafe(48)
