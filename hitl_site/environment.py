from __future__ import annotations

import os
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

TRUE = {"1", "true", "yes", "on"}
FALSE = {"0", "false", "no", "off", ""}


def envstr(name: str, default: str = "") -> str:
    return os.environ.get(name, default).strip()


def envbool(name: str, default: bool = False) -> bool:
    value = envstr(name, "1" if default else "0").lower()
    if value in TRUE:
        return True
    if value in FALSE:
        return False
    raise ImproperlyConfigured(f"{name} must be one of 1, 0, true, false, yes, no, on, off; it is {value!r}.")


def envint(name: str, default: int, *, minimum: int = 0) -> int:
    value = envstr(name) or str(default)
    try:
        number = int(value)
    except ValueError:
        raise ImproperlyConfigured(f"{name} must be a whole number; it is {value!r}.") from None
    if number < minimum:
        raise ImproperlyConfigured(f"{name} must be at least {minimum}; it is {number}.")
    return number


def envlist(name: str, default: str = "") -> list[str]:
    return [item.strip() for item in envstr(name, default).split(",") if item.strip()]


def envsecret(name: str, default: str = "") -> str:
    """The variable itself, or the content of the file that `<name>_FILE` points to (compose and Kubernetes secrets).

    The value never reaches an error message.
    """
    if value := envstr(name):
        return value
    if path := envstr(f"{name}_FILE"):
        try:
            return Path(path).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise ImproperlyConfigured(f"{name}_FILE names a file that cannot be read: {error}.") from None
    return default
