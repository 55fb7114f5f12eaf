"""Remarks beside a thread or one of its questions; they never answer anything (U02)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from django.contrib.auth.models import User
from django.db import connection, transaction
from django.utils.translation import gettext as _

from graphs import outbox, permissions
from graphs.actions import audit, hints
from graphs.actions.actors import actor_name
from graphs.actions.errors import InputInvalid, NotFound
from graphs.models import Comment, CommentKind, Interrupt, OutboxMessage, Thread, Watch

if TYPE_CHECKING:
    from graphs.actions.actors import Person

TEXT_LIMIT = 10_000
#: A user name as a remark names it; an address of mail is none.
NAMED = re.compile(r"(?<![\w@.+-])@([\w.@+-]{1,150})")
MOST_NAMED = 20


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
        raise NotFound(_("There is nothing here to comment on."))
    about = interrupt.thread if interrupt else thread
    assert about is not None
    with transaction.atomic():
        comment = keep(actor, about, interrupt, text, CommentKind.REMARK)
        kind = "interrupt" if interrupt else "thread"
        audit.record(actor, "comment", kind, interrupt.pk if interrupt else about.uid, {"comment": comment.pk}, channel)
        outbox.put([*hints.thread_changed(about), *mentioned(comment)])
    return comment


def keep(actor: Person, thread: Thread, interrupt: Interrupt | None, text: str, kind: CommentKind) -> Comment:
    """Write the row. Raises InputInvalid for an empty or overlong text."""
    assert connection.in_atomic_block
    text = text.strip()
    if not text or len(text) > TEXT_LIMIT or "\x00" in text:
        raise InputInvalid([("/text", _("write between 1 and %(most)s characters") % {"most": TEXT_LIMIT})])
    return Comment.objects.create(
        thread=thread, interrupt=interrupt, author_id=actor.pk, author_name=actor_name(actor), text=text, kind=kind
    )


def mentioned(comment: Comment) -> list[OutboxMessage]:
    """Have the people watch the question whom a remark names, and return the hints to their pages. A name grants
    nothing: whoever may not see the question is not told of it."""
    if comment.interrupt is None:
        return []
    found = [one for one in named(comment.text) if permissions.can(one, "view", comment.interrupt)]
    for one in found:
        mark = {"mentioned_by_name": comment.author_name}
        Watch.objects.update_or_create(user=one, interrupt=comment.interrupt, defaults=mark)
    groups = [f"user.{one.pk}" for one in found]
    return [outbox.hint(groups, {"topic": "inbox", "interrupt": str(comment.interrupt_id)})] if groups else []


def named(text: str) -> list[User]:
    """The people whose user names stand in a text behind an @."""
    names = [name.rstrip(".-+") for name in NAMED.findall(text)][:MOST_NAMED]
    return list(User.objects.filter(username__in=names, is_active=True).order_by("pk"))
