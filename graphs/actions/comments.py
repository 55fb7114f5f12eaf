"""Remarks beside a thread or one of its questions; they never answer anything (U02)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import transaction

from graphs import outbox, permissions
from graphs.actions import audit, hints
from graphs.actions.actors import actor_name
from graphs.actions.errors import InputInvalid, NotFound
from graphs.models import Comment, Interrupt, Thread

if TYPE_CHECKING:
    from graphs.actions.actors import Person

TEXT_LIMIT = 10_000


def add(
    actor: Person,
    interrupt: Interrupt | None = None,
    thread: Thread | None = None,
    text: str = "",
    *,
    channel: str = "form",
) -> Comment:
    """Write a remark beside a question or a thread and tell who looks at it.

    Raises NotFound where this person may not see it, InputInvalid for an empty or overlong text.
    """
    subject = interrupt or thread
    if subject is None or not permissions.can(actor, "comment", subject):
        raise NotFound("There is nothing here to comment on.")
    text = text.strip()
    if not text or len(text) > TEXT_LIMIT or "\x00" in text:
        raise InputInvalid([("/text", f"write between 1 and {TEXT_LIMIT} characters")])
    about = interrupt.thread if interrupt else thread
    assert about is not None
    with transaction.atomic():
        comment = Comment.objects.create(
            thread=about, interrupt=interrupt, author_id=actor.pk, author_name=actor_name(actor), text=text
        )
        kind = "interrupt" if interrupt else "thread"
        audit.record(actor, "comment", kind, interrupt.pk if interrupt else about.uid, {"comment": comment.pk}, channel)
        outbox.put(hints.thread_changed(about))
    return comment
