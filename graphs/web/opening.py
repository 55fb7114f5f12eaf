"""One question for one reader: what every page and act beside it begins with."""

from __future__ import annotations

import uuid

from django.contrib.auth.models import User
from django.http import Http404

from graphs.models import Interrupt


def opened(user: User, interrupt_id: uuid.UUID) -> Interrupt:
    """One question that this person may see; a foreign id is the same as a missing one (S02)."""
    rows = Interrupt.objects.visible_to(user).select_related(
        "queue", "task", "thread", "thread__conversation", "assignee"
    )
    found = rows.filter(pk=interrupt_id).first()
    if found is None:
        raise Http404
    return found
