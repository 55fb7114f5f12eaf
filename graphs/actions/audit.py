"""The audit chain: one per installation, append-only, keyed, each entry holding the digest of the one before it."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC
from functools import cache
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db import connection
from django.utils import timezone

from graphs import store
from graphs.actions import origins
from graphs.actions.actors import actor_id, actor_name
from graphs.engine import canonical
from graphs.models import AuditEntry, Counter

if TYPE_CHECKING:
    from graphs.actions.actors import Actor

HEAD = "audit"
GENESIS = "0" * 64


@dataclass(frozen=True, slots=True)
class Head:
    """The newest entry: what to export to somewhere that the database's owner cannot write."""

    seq: int
    digest: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What `verify` found: `checked` entries hold; `bad_seq` is the first that does not and `problem` says why."""

    ok: bool
    checked: int
    bad_seq: int | None = None
    problem: str = ""


def record(
    actor: Actor,
    action: str,
    object_type: str,
    object_id: object,
    data: Mapping[str, Any] | None = None,
    channel: str = "",
) -> AuditEntry:
    """Append one entry within the caller's transaction, so that the act and its record are one (R2).

    Takes the lock of the chain's head until that transaction ends: call it after thread and interrupt are locked.
    """
    assert connection.in_atomic_block
    seq, previous = store.next_of_chain(HEAD)
    entry = AuditEntry(
        seq=seq,
        at=timezone.now(),
        actor_id=actor_id(actor),
        actor_name=actor_name(actor),
        action=action,
        object_type=object_type,
        object_id=str(object_id),
        channel=channel,
        data=facts(data),
        previous=previous or GENESIS,
    )
    entry.digest = sign(entry)
    store.extend_chain(HEAD, entry)
    return entry


def facts(data: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """What an entry says of its act, with where that came from; both are signed with it."""
    origin = origins.told()
    return {**(data or {}), "origin": origin} if origin else None if data is None else dict(data)


def head() -> Head:
    """The chain's head as the database has it."""
    counter = Counter.objects.filter(pk=HEAD).first()
    return Head(counter.value, counter.text or GENESIS) if counter else Head(0, GENESIS)


def verify(exported: Head | None = None) -> Verdict:
    """Walk the whole chain and name the first bad entry, or what is missing after the exported head.

    Without an exported head a chain cut off at its end, head row included, looks whole: that is why heads are exported.
    """
    last, began = Head(0, GENESIS), head()
    matched = exported is None or exported.seq == 0
    for entry in AuditEntry.objects.order_by("seq").iterator(chunk_size=1000):
        problem = fault(entry, last)
        if not problem and exported and entry.seq == exported.seq:
            matched = entry.digest == exported.digest
            problem = "" if matched else f"entry {entry.seq} is not the one whose digest was exported"
        if problem:
            return Verdict(False, last.seq, last.seq + 1, problem)
        last = Head(entry.seq, entry.digest)
    return ending(last, began, head(), exported if not matched else None)


def fault(entry: AuditEntry, last: Head) -> str:
    if entry.seq != last.seq + 1:
        return f"entry {last.seq + 1} is missing: the next one is {entry.seq}"
    if entry.previous != last.digest:
        return f"entry {entry.seq} does not follow the one before it"
    if not hmac.compare_digest(sign(entry), entry.digest):
        return f"entry {entry.seq} was altered, or the audit key is not the one it was signed with"
    return ""


def ending(last: Head, began: Head, stored: Head, unmatched: Head | None) -> Verdict:
    """Whether the walk came to the head. Others append meanwhile: it ends between the heads before and after it."""
    missing = max(began, stored, key=lambda one: one.seq) if last.seq < began.seq else stored
    if not began.seq <= last.seq <= stored.seq or any(one.seq == last.seq and one != last for one in (began, stored)):
        return Verdict(False, last.seq, last.seq + 1, f"entries {last.seq + 1} to {missing.seq} are missing")
    if unmatched:
        return Verdict(
            False, last.seq, last.seq + 1, f"entries {last.seq + 1} to {unmatched.seq}, the exported head, are missing"
        )
    return Verdict(True, last.seq)


def sign(entry: AuditEntry) -> str:
    content = [
        entry.seq,
        entry.at.astimezone(UTC).isoformat(timespec="microseconds"),
        entry.actor_id,
        entry.actor_name,
        entry.action,
        entry.object_type,
        entry.object_id,
        entry.channel,
        entry.data,
        entry.previous,
    ]
    secret = settings.SAYSO_AUDIT_KEY or settings.SECRET_KEY
    return hmac.new(chain_key(secret), canonical.dumps(content), hashlib.sha256).hexdigest()


def seal(purpose: str, content: bytes) -> str:
    """The signature of a document that leaves the installation; one of another purpose is another signature."""
    secret = settings.SAYSO_AUDIT_KEY or settings.SECRET_KEY
    return hmac.new(chain_key(secret, f"sayso {purpose} 1"), content, hashlib.sha256).hexdigest()


@cache
def chain_key(secret: str, purpose: str = "sayso audit chain 1") -> bytes:
    """A key of its own, so that nothing else signed with the installation's secret can be passed off as an entry."""
    return hmac.new(secret.encode(), purpose.encode(), hashlib.sha256).digest()
