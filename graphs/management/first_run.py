"""What an installation needs before it can start: a private folder, a key, a first person who may sign in."""

from __future__ import annotations

import fcntl
import os
import secrets
from pathlib import Path
from typing import IO

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management.base import CommandError

FIRST_NAME = "admin"


def write_private(path: Path, text: str) -> None:
    """Create `path` readable by us alone; fails when it is there already."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def prepare_folder(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.chmod(0o700)
        (folder / "log").mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise CommandError(f"The folder {folder} cannot be prepared: {error.strerror}. Set SAYSO_VAR.") from error


def take_lock(folder: Path) -> IO[str]:
    """Hold the returned file for as long as `up` runs. The kernel lets go of it even after a SIGKILL."""
    file = (folder / "up.lock").open("a+", encoding="ascii")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.seek(0)
        holder = file.read().strip() or "unknown"
        file.close()
        raise CommandError(f"Sayso is already running in {folder} (process {holder}). Stop it first.") from None
    file.truncate(0)
    file.write(str(os.getpid()))
    file.flush()
    return file


def ensure_secret_key(folder: Path) -> None:
    """The key signs sessions: one for each installation, never in the repository."""
    if settings.SECRET_KEY_IS_SET:
        return
    key = secrets.token_urlsafe(64)
    write_private(folder / "secret_key", key + "\n")
    settings.SECRET_KEY = key


def ensure_first_user(folder: Path) -> tuple[str, str] | None:
    """Name and one-time password while it has not been changed, else None. Creates the user where nobody exists."""
    note = folder / "first-login"
    people = get_user_model()._default_manager
    if not people.exists():
        password = secrets.token_urlsafe(12)
        note.unlink(missing_ok=True)
        # The note first: a password that exists nowhere but in the database would lock everybody out.
        write_private(note, f"{FIRST_NAME}\n{password}\n")
        get_user_model().objects.create_superuser(FIRST_NAME, password=password)
        return FIRST_NAME, password
    return unchanged_login(note)


def unchanged_login(note: Path) -> tuple[str, str] | None:
    try:
        name, password = note.read_text(encoding="utf-8").split()
    except (FileNotFoundError, ValueError):
        return None
    user = get_user_model()._default_manager.filter(username=name).first()
    if user is not None and user.check_password(password):
        return name, password
    note.unlink(missing_ok=True)
    return None
