"""Evidence of one question, sealed: what was asked, seen, said and recorded, in a file that shows if it is altered."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

import orjson
from django.db import transaction
from django.utils.translation import gettext as _

from graphs import permissions
from graphs.actions import audit, sealing
from graphs.actions.errors import NotFound

if TYPE_CHECKING:
    from graphs.actions.actors import Person
    from graphs.models import AuditEntry, Interrupt

EVIDENCE = "evidence"
PURPOSE = "evidence pack"


def seal(
    actor: Person, interrupt: Interrupt, files: Mapping[str, bytes], *, channel: str = "form"
) -> tuple[bytes, AuditEntry]:
    """A zip of `files` with the signed manifest of their digests, and the audit entry that it was made.

    Raises NotFound for who may not see the question.
    """
    if not permissions.can(actor, "view", interrupt):
        raise NotFound(_("There is no such question."))
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in sorted(files.items())}
    whole = hashlib.sha256(orjson.dumps(digests, option=orjson.OPT_SORT_KEYS)).hexdigest()
    with transaction.atomic():
        entry = audit.record(actor, EVIDENCE, "interrupt", interrupt.pk, {"files": whole}, channel)
    facts = {
        "question": str(interrupt.pk),
        "version": interrupt.version,
        "digest": interrupt.digest,
        "made_at": entry.at.isoformat(),
        "made_by": entry.actor_name,
        "audit_entry": {"seq": entry.seq, "digest": entry.digest, "previous": entry.previous},
    }
    return sealing.packed(PURPOSE, facts, files, digests), entry
