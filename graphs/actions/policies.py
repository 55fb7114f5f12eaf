"""Queues' policies: a change is a version of its own, saved only over the one that its editor was opened at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import orjson
from django.db import IntegrityError, connection, transaction
from django.utils.translation import gettext as _

from graphs import permissions
from graphs.actions import audit, deadlines
from graphs.actions.actors import actor_id, actor_name
from graphs.actions.errors import InputInvalid, NotAllowed, NotFound, NotPossible, Overtaken, too_long
from graphs.models import ApprovalQueue, Conversation, Interrupt, PolicyProposal, QueuePolicy, Thread
from graphs.policies import checking, quorum, wording
from graphs.policies import policy as policies

if TYPE_CHECKING:
    from graphs.actions.actors import Person

LONGEST_NOTE = 300
#: The document is read with its queue, at every question that opens.
MOST_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Edited:
    """A policy as its editor sends it: the document, the version that it was opened at, and why it changes."""

    spec: Mapping[str, Any]
    base: int
    note: str


def save(actor: Person, queue: ApprovalQueue, edited: Edited, *, channel: str = "form") -> QueuePolicy | PolicyProposal:
    """Put a new version of a queue's policy in force; open questions get its risk and times (S01). Where the policy in
    force asks for four eyes it becomes a proposal, which `proposals.confirm` puts in force.

    Raises NotFound, NotAllowed, InputInvalid with the place of each problem, Overtaken where another version came
    first.
    """
    allowed(actor, queue)
    with transaction.atomic():
        now = latest(queue, edited.base)
        require(actor, now, edited)
        if policies.parse(now.policy_spec).four_eyes:
            return proposed(actor, now, edited, channel)
        version = enforced(actor, now, edited, author_of(actor), channel)
    # In transactions of its own: what is more than one sweep's worth, the clock does within seconds.
    deadlines.refresh_judged()
    return version


def allowed(actor: Person, queue: ApprovalQueue) -> None:
    ruling = permissions.ruling(actor, "administer", queue)
    if ruling:
        return
    if permissions.can(actor, "view", queue):
        raise NotAllowed(ruling.reason)
    raise NotFound(_("There is no such queue."))


def latest(queue: ApprovalQueue, base: int) -> ApprovalQueue:
    """The queue as it is now, if its policy is still the one that was edited. Raises Overtaken, who came first."""
    now = ApprovalQueue.objects.get(pk=queue.pk)
    if now.policy_version != base:
        raise overtaken(now)
    return now


def overtaken(now: ApprovalQueue) -> Overtaken:
    row = QueuePolicy.objects.filter(queue=now, version=now.policy_version).first()
    return Overtaken(now.policy_version, row.author_name if row else "", row.created_at if row else None)


def proposed(actor: Person, now: ApprovalQueue, edited: Edited, channel: str) -> PolicyProposal:
    """Keep the change until somebody else confirms it. Raises NotPossible where another one waits already."""
    assert connection.in_atomic_block
    id_, name = author_of(actor)
    try:
        with transaction.atomic():
            made = PolicyProposal.objects.create(
                queue=now,
                spec=dict(edited.spec),
                base=edited.base,
                note=edited.note.strip(),
                author_id=id_,
                author_name=name,
            )
    except IntegrityError as error:
        first = PolicyProposal.objects.waiting().filter(queue=now).first()
        who = first.author_name if first else _("Somebody")
        raise NotPossible(
            _("%(who)s has proposed a change already: confirm or refuse that one first.") % {"who": who}
        ) from error
    facts = {"proposal": made.pk, "base": made.base, "note": made.note}
    facts["changed"] = changed_keys(now.policy_spec, made.spec)
    audit.record(actor, "propose_policy", "queue", now.slug, facts, channel)
    return made


def author_of(actor: Person) -> tuple[int | None, str]:
    return actor_id(actor), actor_name(actor)


def enforced(
    actor: Person, now: ApprovalQueue, edited: Edited, author: tuple[int | None, str], channel: str
) -> QueuePolicy:
    """The compare-and-set itself, with its version and audit entry, within the caller's transaction. `author` wrote
    it, `actor` puts it in force."""
    assert connection.in_atomic_block
    number, spec = edited.base + 1, dict(edited.spec)
    still = ApprovalQueue.objects.filter(pk=now.pk, policy_version=edited.base)
    if not still.update(policy_version=number, policy_spec=spec):
        raise overtaken(ApprovalQueue.objects.get(pk=now.pk))
    version = QueuePolicy.objects.create(
        queue=now,
        version=number,
        spec=spec,
        note=edited.note.strip(),
        author_id=author[0],
        author_name=author[1],
    )
    facts = {"version": number, "note": version.note, "changed": changed_keys(now.policy_spec, spec)}
    facts |= {} if author[0] == actor_id(actor) else {"proposed_by": author[1]}
    audit.record(actor, "change_policy", "queue", now.slug, facts, channel)
    return version


def changed_keys(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> list[str]:
    return [key for key, _old, _new in wording.differences(before, after)]


def require(actor: Person, now: ApprovalQueue, edited: Edited) -> None:
    """What a document has to be to come into force. Raises InputInvalid."""
    found = checking.problems(edited.spec) + note_problems(edited.note)
    found = found or whole_problems(actor, now, edited.spec)
    if found:
        raise InputInvalid(found)


def note_problems(note: str) -> list[tuple[str, str]]:
    if not note.strip():
        return [("/note", _("say in a few words why it changes: the history shows it"))]
    wrong = len(note.strip()) > LONGEST_NOTE or "\x00" in note
    return [("/note", too_long(LONGEST_NOTE))] if wrong else []


def whole_problems(actor: Person, now: ApprovalQueue, spec: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What is wrong with a document whose every key is right."""
    if len(orjson.dumps(spec)) > MOST_BYTES:
        return [("", _("is too long: at most %(most)s KiB of JSON") % {"most": MOST_BYTES // 1024})]
    if not changed_keys(now.policy_spec, spec):
        return [("", _("says the same as the policy in force"))]
    found = [("/escalate_to", why) for why in [unreachable(actor, now, spec)] if why]
    return found + unworkable(now, spec)


def unworkable(now: ApprovalQueue, spec: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What the people of the queue could never do by a document: decide, or change it again."""
    why = undecidable(now, spec)
    found = [("/quorum", why)] if why else []
    if spec.get("four_eyes") and len(permissions.administrators(now.pk)[:2]) < 2:
        found.append(("/four_eyes", _("only one person may administer this queue, so nobody could confirm a change")))
    return found


def unreachable(actor: Person, now: ApprovalQueue, spec: Mapping[str, Any]) -> str:
    """Why questions cannot move to the queue that a document names. One that this person does not see is as good as
    missing, unless the policy names it already (S02)."""
    slug = spec.get("escalate_to") or ""
    if not slug or slug == policies.parse(now.policy_spec).escalate_to:
        return ""
    if slug == now.slug:
        return _("name another queue than this one")
    seen = ApprovalQueue.objects.visible_to(actor).filter(slug=slug).exists()
    return "" if seen else _("there is no queue %(slug)s that you may see") % {"slug": f"{slug!r}"}


def undecidable(queue: ApprovalQueue, spec: Mapping[str, Any] | None) -> str:
    """Why nobody, or too few, could decide a question that somebody outside of the team asks, if this were the queue's
    policy; empty where they can."""
    policy = policies.parse(spec)
    there = ApprovalQueue(pk=queue.pk, slug=queue.slug, title=queue.title, policy_spec=spec)
    asked = Interrupt(queue=there, thread=Thread(conversation=Conversation()))
    return quorum.why_not(policy, len(list(islice(permissions.able(asked), policy.quorum))))
