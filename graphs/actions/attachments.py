"""Files that people put beside a question for whoever decides it: kept as they came, never part of the answer."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from django.db import transaction
from django.utils.translation import gettext as _

from graphs import outbox, permissions
from graphs.actions import audit, hints
from graphs.actions.actors import actor_name
from graphs.actions.errors import InputInvalid, NoLongerOpen, NotFound
from graphs.models import Attachment, Interrupt
from graphs.policies.file_types import size_text, type_of

if TYPE_CHECKING:
    from graphs.actions.actors import Person

MOST_BYTES = 5 * 1024 * 1024
MOST_FILES = 20
MOST_NAME = 200


def attach(actor: Person, interrupt: Interrupt, name: str, content: bytes, *, channel: str = "form") -> Attachment:
    """Keep a file beside a question and tell who looks at it. It stays, as evidence.

    Raises NotFound for who may not see the question, NoLongerOpen once it is decided, InputInvalid for an empty file,
    one of more than `MOST_BYTES`, or one more than `MOST_FILES`.
    """
    if not permissions.can(actor, "comment", interrupt):
        raise NotFound(_("There is nothing here to attach a file to."))
    refuse(content)
    with transaction.atomic():
        locked = Interrupt.objects.select_for_update().get(pk=interrupt.pk)
        if not locked.is_waiting:
            raise NoLongerOpen(_("A file is no help any more: this question is closed."))
        if locked.attachments.count() >= MOST_FILES:
            raise InputInvalid([("/file", _("a question holds %(most)s files at most") % {"most": MOST_FILES})])
        made = Attachment.objects.create(
            interrupt=locked,
            name=plain(name),
            content=content,
            content_type=type_of(content),
            size=len(content),
            sha256=hashlib.sha256(content).hexdigest(),
            author_id=actor.pk,
            author_name=actor_name(actor),
        )
        said = {"name": made.name, "size": made.size, "sha256": made.sha256}
        audit.record(actor, "attach", "interrupt", interrupt.pk, said, channel)
        outbox.put(hints.thread_changed(interrupt.thread))
    return made


def refuse(content: bytes) -> None:
    if not content:
        raise InputInvalid([("/file", _("this file is empty"))])
    if len(content) > MOST_BYTES:
        raise InputInvalid(
            [
                (
                    "/file",
                    _("a file has %(size)s at most; this one is larger") % {"size": size_text(MOST_BYTES)},
                )
            ]
        )


def plain(name: str) -> str:
    """A file's name without folders and without what a header or a page could not hold."""
    last = name.replace("\\", "/").rpartition("/")[2]
    return "".join(char for char in last if char.isprintable())[:MOST_NAME].strip() or "file"
