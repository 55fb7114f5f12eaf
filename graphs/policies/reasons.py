"""When a decision needs words of its own."""

from __future__ import annotations

from graphs.policies.levels import Level
from graphs.policies.policy import Policy


def needed(policy: Policy, risk: int, no: bool) -> bool:
    """By the policy, and whatever it says where the risk is high; `no` is a decision against what is asked."""
    return policy.reason == "always" or (policy.reason == "reject" and no) or risk >= Level.HIGH
