"""A policy that is being edited, tried on what its queue decided last. Nothing is written."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from django.contrib.auth.models import User
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from graphs.actions import judging
from graphs.actions.trust import asked as trust_asked
from graphs.models import ApprovalQueue, Decision, Vote
from graphs.policies import policy as policies
from graphs.policies import quorum, simulation
from graphs.policies.levels import Level
from graphs.policies.simulation import Judged, Past

#: How far back it looks, and how many of those that differ are listed.
MOST = 500
LISTED = 100
#: Nothing of these is a fact that rules are about.
UNREAD = (
    *(f"interrupt__{one}" for one in ("response_schema", "search", "default", "graph_path", "risk_rules")),
    *(f"interrupt__thread__{one}" for one in ("input", "output", "error", "metadata", "active")),
)
Votes = Mapping[tuple[Any, int], list[tuple[int, str, str]]]


def simulated(user: User, queue: ApprovalQueue, spec: Mapping[str, Any]) -> dict[str, Any]:
    """What the document would have made of the last decisions of its queue that this person may see."""
    policy = policies.parse(spec)
    rows = last(user, queue)
    votes = votes_of(rows)
    judged = [(one, simulation.judge(policy, past(one, votes))) for one in rows]
    differing = [(one, found) for one, found in judged if found.differs]
    return {
        "all": len(rows),
        "differing": len(differing),
        "counts": [(heading(kind), number) for kind, number in simulation.counts([found for _, found in judged])],
        "rows": [{"decision": one, "told": told(one, found)} for one, found in differing[:LISTED]],
        "more": max(0, len(differing) - LISTED),
    }


def last(user: User, queue: ApprovalQueue) -> Sequence[Decision]:
    """The newest decisions that people made in this queue and that count."""
    rows = Decision.objects.visible_to(user).standing().filter(interrupt__queue=queue).exclude(reviewer_id=None)
    rows = rows.select_related("interrupt__queue", "interrupt__thread__conversation").defer("original", *UNREAD)
    return list(rows.order_by("-decided_at", "-pk")[:MOST])


def votes_of(rows: Sequence[Decision]) -> Votes:
    found: dict[tuple[Any, int], list[tuple[int, str, str]]] = defaultdict(list)
    cast = Vote.objects.filter(interrupt__in=[one.interrupt_id for one in rows])
    columns = ("interrupt", "round", "voter_id", "outcome", "value_digest")
    for question, round_, voter, outcome, digest in cast.values_list(*columns):
        found[question, round_].append((voter, outcome, digest))
    return found


def past(one: Decision, votes: Votes) -> Past:
    """One decision with the votes that made it; it stands for its own where none is kept."""
    asked_by = one.interrupt.thread.conversation.requester_id
    cast = votes.get((one.interrupt_id, one.round), [])
    agreed = agreeing(one, cast)
    voters = {voter for voter, _outcome, _digest in agreed} | {one.reviewer_id}
    return Past(
        facts=judging.facts_of(one.interrupt),
        outcome=one.outcome,
        risk=one.interrupt.risk,
        votes=max(1, len(agreed)),
        own=asked_by is not None and asked_by in voters,
        commented=bool(one.comment.strip()),
        trusted=bool(trust_asked(one.value)),
    )


def agreeing(one: Decision, cast: list[tuple[int, str, str]]) -> list[tuple[int, str, str]]:
    """The votes that made the verdict: every no for a no, else those of the same answer."""
    if one.outcome in quorum.NOES:
        return [vote for vote in cast if vote[1] in quorum.NOES]
    mine = {digest for voter, outcome, digest in cast if voter == one.reviewer_id and outcome == one.outcome}
    return [vote for vote in cast if vote[1] == one.outcome and vote[2] in mine]


def heading(kind: str) -> str:
    return {
        "risk": _("another risk"),
        "votes": _("too few votes"),
        "reason": _("a reason missing"),
        "own": _("decided by who asked"),
        "trust": _("“do not ask again” not allowed"),
    }[kind]


def told(one: Decision, found: Judged) -> list[str]:
    """In what one differs, in words."""
    then = _(Level(one.interrupt.risk).word)
    words = {
        "risk": _("Risk %(then)s would be %(now)s.") % {"then": then, "now": by_rule(found)},
        "votes": ngettext(
            "One more vote would be needed.", "%(count)s more votes would be needed.", found.lacking
        ) % {"count": found.lacking},
        "reason": _("A reason would be needed."),
        "own": _("Whoever asked would not decide it."),
        "trust": _("“Do not ask again” would be refused."),
    }  # fmt: skip
    return [words[kind] for kind in found.differs]


def by_rule(found: Judged) -> str:
    word = _(found.level.word)
    return f"{word} ({', '.join(found.rules)})" if found.rules else word
