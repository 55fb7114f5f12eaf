"""What a queue's policy makes of a question: where it goes, its risk with the rules that say so, and its times."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from graphs.engine.trust import GATE
from graphs.models import ApprovalQueue, Interrupt
from graphs.policies import deadlines, risk, routes
from graphs.policies import policy as policies

#: What the clock of a question consists of; `expires_at` is only a policy's where no author named one.
TIMES = ("look_by", "due_at", "remind_at", "escalate_at")


def facts(
    *, payload: Any, metadata: Any, kind: str, name: str, graph: str, node: str, reason: Any, requester: str, queue: str
) -> dict[str, Any]:
    """The document that the rules of a policy are about. The payload of a call that wants approval is its arguments."""
    details = metadata if isinstance(metadata, Mapping) else {}
    gated = kind == GATE
    return {
        "payload": details.get("arguments") if gated else payload,
        "graph": graph,
        "node": node,
        "tool": str(details.get("tool") or name) if gated else name,
        "reason": reason,
        "requester": requester,
        "queue": queue,
    }


def facts_of(row: Interrupt) -> dict[str, Any]:
    """The same document of a question that is stored; its queue and its thread's conversation are loaded with it. What
    it is made of never changes, so a decided question has the facts that it was decided by."""
    return facts(
        payload=row.payload,
        metadata=row.metadata,
        kind=row.kind,
        name=row.name,
        graph=row.thread.graph_id,
        node=row.node_id,
        reason=row.reason,
        requester=row.thread.conversation.requester_name,
        queue=row.queue.slug,
    )


def routed(queues: Iterable[ApprovalQueue], given: Mapping[str, Any]) -> ApprovalQueue | None:
    """The queue whose rules bring a question with these facts to it; None where none do."""
    known = {queue.slug: queue for queue in queues if queue.policy_spec}
    slug = routes.pick([(slug, policies.parse(queue.policy_spec)) for slug, queue in known.items()], given)
    return known[slug] if slug is not None else None


def judged(queue: ApprovalQueue, given: Mapping[str, Any], opened_at: datetime, expires_at: datetime | None) -> Any:
    """The columns of a question that opens in this queue now. A deadline that its author named stays as it is."""
    policy = policies.parse(queue.policy_spec)
    times = deadlines.times(policy, opened_at)
    fields = {**weighed(queue, policy, given), **{name: getattr(times, name) for name in TIMES}}
    return fields if expires_at else {**fields, **ending(policy, times)}


def weighed(queue: ApprovalQueue, policy: policies.Policy, given: Mapping[str, Any]) -> dict[str, Any]:
    found = risk.assess(policy, given)
    return {
        "policy_version": queue.policy_version,
        "risk": int(found.level),
        "risk_rules": list(found.rules) or None,
        "amount": risk.amount(policy, given["payload"]),
    }


def ending(policy: policies.Policy, times: deadlines.Times) -> dict[str, Any]:
    outcome = policy.expire_outcome if times.expires_at else "expired"
    return {"expires_at": times.expires_at, "expiry_outcome": outcome}


def judged_again(row: Interrupt) -> dict[str, Any]:
    """The columns of an open question under the policy that its queue has now. What happened already stays: a reminder
    is not sent twice, nothing is escalated twice, and the time for which its clock stood still is added again."""
    policy = policies.parse(row.queue.policy_spec)
    fields = weighed(row.queue, policy, facts_of(row))
    if row.escalated_at is not None:
        # Its times are those of the queue where it was asked, and were kept when it moved.
        return fields
    stood = timedelta(seconds=row.paused_seconds or 0)
    times = deadlines.shifted(deadlines.times(policy, row.created_at), stood)
    fields |= {name: getattr(times, name) for name in TIMES}
    if row.reminded_at is not None:
        fields["remind_at"] = None
    own = row.expires_at is not None and row.expiry_outcome == "expired"
    return fields if own else {**fields, **ending(policy, times)}
