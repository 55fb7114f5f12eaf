"""When votes make a verdict: so many that agree, or so many noes (S01)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from graphs.policies.policy import Policy

NOES = ("rejected", "cancelled")


@dataclass(frozen=True, slots=True)
class Ballot:
    """One person's vote: votes agree when outcome and the digest of the canonical value are the same."""

    voter_id: int
    outcome: str
    value_digest: str


@dataclass(frozen=True, slots=True)
class Tally:
    """The ballot that won, or None; yes and no votes so far, and how many more of the leading kind it takes."""

    verdict: Ballot | None
    approvals: int
    rejections: int
    needed: int


def tally(policy: Policy, ballots: Sequence[Ballot]) -> Tally:
    """Count the ballots of one round in the order in which they came; a person counts once, by their first."""
    first = {one.voter_id: one for one in reversed(ballots)}
    counted = [one for one in ballots if first[one.voter_id] is one]
    noes = [one for one in counted if one.outcome in NOES]
    yeses = Counter((one.outcome, one.value_digest) for one in counted if one.outcome not in NOES)
    leading = max(yeses.values(), default=0)
    needed = policy.quorum - leading
    if len(noes) >= policy.rejects:
        return Tally(noes[-1], len(counted) - len(noes), len(noes), 0)
    if needed <= 0:
        chosen = next(one for one in counted if yeses.get((one.outcome, one.value_digest)) == leading)
        return Tally(chosen, len(counted) - len(noes), len(noes), 0)
    return Tally(None, len(counted) - len(noes), len(noes), needed)


def possible(policy: Policy, eligible: int) -> bool:
    """Whether so many people can agree to a yes. With fewer all they could ever say is no."""
    return eligible >= policy.quorum


def why_not(policy: Policy, eligible: int) -> str:
    """Why so many people cannot reach a yes, in words; empty where they can."""
    if possible(policy, eligible):
        return ""
    if not eligible:
        return "Nobody may decide."
    people = "1 person may" if eligible == 1 else f"{eligible} people may"
    return f"It takes {policy.quorum} votes that agree, and only {people} decide."


def stalemate(policy: Policy, eligible: int) -> bool:
    """Whether everybody can have voted without a verdict: too few for a yes, and too few noes to stop it."""
    return eligible < policy.quorum + policy.rejects - 1
