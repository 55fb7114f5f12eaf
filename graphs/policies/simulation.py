"""What a policy would have made of decisions that were made already. It looks back and changes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from graphs.policies import quorum, reasons, risk
from graphs.policies.levels import Level
from graphs.policies.policy import Policy

#: In what a policy can differ from what people did, in the order in which it is told.
KINDS = ("risk", "votes", "reason", "own", "trust")


@dataclass(frozen=True, slots=True)
class Past:
    """A decision as far as a policy has a say in it: the facts of its question, how many votes made it, whether the
    one who had asked was among them, whether words came with it, and whether it said not to ask again."""

    facts: Mapping[str, Any]
    outcome: str
    risk: int
    votes: int = 1
    own: bool = False
    commented: bool = False
    trusted: bool = False

    @property
    def no(self) -> bool:
        return self.outcome in quorum.NOES


@dataclass(frozen=True, slots=True)
class Judged:
    """The same under another policy: its risk by which rules, how many votes it lacked, and the kinds of `KINDS` in
    which that differs from what was done."""

    level: Level
    rules: tuple[str, ...]
    lacking: int
    differs: tuple[str, ...]


def judge(policy: Policy, past: Past) -> Judged:
    """One decision under a policy. A vote of who asked counts for nothing where the policy forbids that (S01)."""
    found = risk.assess(policy, past.facts)
    own = past.own and not policy.self_approval
    lacking = (policy.rejects if past.no else policy.quorum) - (past.votes - own)
    differs = {
        "risk": int(found.level) != past.risk,
        # The vote that does not count is told as such: without it there is no other to miss.
        "votes": (policy.rejects if past.no else policy.quorum) > past.votes,
        "reason": not past.commented and reasons.needed(policy, found.level, past.no),
        "own": own,
        "trust": past.trusted and not policy.trust,
    }
    return Judged(found.level, found.rules, max(0, lacking), tuple(kind for kind in KINDS if differs[kind]))


def counts(judged: list[Judged]) -> Iterator[tuple[str, int]]:
    """How many differ in each kind, those with none left out."""
    for kind in KINDS:
        if number := sum(kind in one.differs for one in judged):
            yield kind, number
