"""What the clock does: turn what the database says into wake-ups. Cheap and idempotent; several may run (R6)."""

from __future__ import annotations

from typing import Any

from django.db.models.functions import Now

from graphs.models import Heartbeat


def beat(name: str, info: Any = None) -> None:
    """Note that this process is alive, in the database's clock."""
    Heartbeat.objects.update_or_create(name=name, defaults={"at": Now(), "info": info})
