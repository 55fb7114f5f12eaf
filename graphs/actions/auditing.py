"""What auditors do with the chain: verifying and exporting it, each an entry of the chain itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from django.db import transaction

from graphs import permissions
from graphs.actions import audit
from graphs.actions.errors import NotAllowed

if TYPE_CHECKING:
    from graphs.actions.actors import Person
    from graphs.models import AuditEntry

VERIFY = "verify_chain"
EXPORT = "export_audit"


def verify(actor: Person, *, channel: str = "form") -> AuditEntry:
    """Walk the whole chain, and record who did and what was found. Raises NotAllowed."""
    require(actor)
    verdict = audit.verify()
    found = {"ok": verdict.ok, "checked": verdict.checked}
    bad = {} if verdict.ok else {"bad_seq": verdict.bad_seq, "problem": verdict.problem}
    with transaction.atomic():
        return audit.record(actor, VERIFY, "audit", "chain", {**found, **bad}, channel)


def note_export(actor: Person, wanted: Mapping[str, str], kind: str, *, channel: str = "form") -> AuditEntry:
    """Record that the entries before this one are exported, as `kind`, as far as they match `wanted`. It is on disk
    before the first of them leaves. Raises NotAllowed."""
    require(actor)
    facts: dict[str, Any] = {"format": kind, "filter": dict(wanted)}
    with transaction.atomic():
        return audit.record(actor, EXPORT, "audit", "chain", facts, channel)


def require(actor: Person) -> None:
    ruling = permissions.ruling(actor, "audit")
    if not ruling:
        raise NotAllowed(ruling.reason)
