"""The password once more, for decisions that a policy calls critical. It is checked here and goes nowhere else."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.core.cache import cache
from django.utils.translation import gettext as _

#: Wrong passwords of one person before we stop listening, and for how many seconds.
MOST = 5
PAUSE = 15 * 60


def wrong(user: User, password: str) -> str:
    """Why this password does not prove who is there; empty where it does. Guessing is slowed down by process."""
    key = f"proof.{user.pk}"
    if cache.get(key, 0) >= MOST:
        return _("Too many wrong passwords. Try again in a quarter of an hour.")
    if not password:
        return _("This question is critical: enter your password again to decide it.")
    if user.check_password(password):
        cache.delete(key)
        return ""
    cache.add(key, 0, PAUSE)
    cache.incr(key)
    return _("That is not your password.")
