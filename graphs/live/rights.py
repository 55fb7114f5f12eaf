"""What a socket may hear, asked anew of the database each time: rights change while it is open (F34)."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from types import SimpleNamespace
from typing import cast

from django.conf import settings
from django.contrib.auth import get_user
from django.contrib.auth.models import User

from graphs.live.hints import Hint
from graphs.models import ApprovalQueue, Interrupt, Thread
from graphs.permissions import operates


@dataclass(frozen=True, slots=True)
class Rights:
    """The groups that one signed-in person belongs to now. They come from the session, never from the client."""

    user: User
    groups: frozenset[str]


def current(session_key: str | None) -> Rights | None:
    """The rights behind a session; None once it has ended, its password was changed or its person deactivated."""
    if not session_key:
        return None
    store = import_module(settings.SESSION_ENGINE).SessionStore(session_key)
    # `get_user` checks the session's hash against the password of now, which a copy kept in the socket could not.
    user = get_user(cast("object", SimpleNamespace(session=store)))  # type: ignore[arg-type]
    if not user.is_authenticated or not user.is_active:
        return None
    return Rights(user, groups_of(user))


def groups_of(user: User) -> frozenset[str]:
    queues = ApprovalQueue.objects.of(user).values_list("pk", flat=True)
    own = {f"user.{user.pk}", *(f"queue.{pk}" for pk in queues)}
    return frozenset(own | {"operators"} if operates(user) else own)


def visible(user: User, uids: Iterable[str]) -> set[str]:
    """Which of these threads this person may see now; unknown and foreign ones look alike."""
    wanted = {found for uid in uids if (found := parsed(uid)) is not None}
    return {str(uid) for uid in Thread.objects.visible_to(user).filter(uid__in=wanted).values_list("uid", flat=True)}


def forwarded(user: User, hints: Sequence[Hint]) -> list[Hint]:
    """Those of these hints that this person may hear now. Of a thread's question one may hear less than of the thread:
    who looks at it is for those who may see the question itself."""
    seen = visible(user, [hint["thread"] for hint in hints if "thread" in hint])
    asked = {found for hint in hints if hint["topic"] == "presence" if (found := parsed(hint.get("interrupt")))}
    rows = Interrupt.objects.visible_to(user).filter(pk__in=asked) if asked else Interrupt.objects.none()
    known = {str(pk) for pk in rows.values_list("pk", flat=True)}
    return [
        hint
        for hint in hints
        if ("thread" not in hint or hint["thread"] in seen)
        and (hint["topic"] != "presence" or hint.get("interrupt") in known)
    ]


def parsed(text: object) -> uuid.UUID | None:
    try:
        return uuid.UUID(text) if isinstance(text, str) else None
    except ValueError:
        return None
