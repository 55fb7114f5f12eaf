"""A policy on what was decided already: every kind of difference, and none where there is none."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from graphs.policies.policy import parse
from graphs.policies.simulation import Judged, Past, counts, judge

PAST = Past(facts={"payload": {"amount": 180}}, outcome="approved", risk=0)


def judged(past: Past = PAST, **spec: Any) -> Judged:
    return judge(parse(spec), past)


def test_the_same_policy_differs_in_nothing() -> None:
    assert judged().differs == () and judged(quorum=1, reason="reject").differs == ()


def test_s01_votes_and_ones_own_are_counted_apart() -> None:
    assert (judged(quorum=2).differs, judged(quorum=3).lacking) == (("votes",), 2)
    assert judged(replace(PAST, votes=2), quorum=2).differs == ()
    own = replace(PAST, own=True)
    assert judged(own, self_approval=False).differs == ("own",) and judged(own, self_approval=True).differs == ()
    assert judged(replace(own, votes=2), quorum=2, self_approval=False).differs == ("own",)


def test_a_no_is_measured_by_the_noes_it_takes() -> None:
    no = replace(PAST, outcome="rejected")
    assert judged(no, quorum=3).differs == () and judged(no, rejects=2).differs == ("votes",)


def test_rules_change_the_risk_and_with_it_the_reason() -> None:
    rule = {"name": "large", "level": "high", "when": [{"path": "/payload/amount", "op": ">", "value": 100}]}
    found = judged(risk=[rule])
    assert (found.level.word, found.rules, found.differs) == ("high", ("large",), ("risk", "reason"))
    assert judged(replace(PAST, commented=True), risk=[rule]).differs == ("risk",)
    assert judged(replace(PAST, risk=2, commented=True), risk=[rule]).differs == ()


def test_a_reason_is_missed_only_where_it_would_be_asked_for() -> None:
    no = replace(PAST, outcome="cancelled")
    assert judged(reason="reject").differs == () and judged(no, reason="reject").differs == ("reason",)
    assert judged(reason="always").differs == ("reason",)
    assert judged(replace(PAST, commented=True), reason="always").differs == ()


def test_trust_is_refused_where_there_was_any() -> None:
    assert judged(trust=False).differs == () and judged(replace(PAST, trusted=True), trust=False).differs == ("trust",)


def test_counts_name_only_what_there_is() -> None:
    found = [judged(quorum=2), judged(quorum=2, reason="always"), judged()]
    assert list(counts(found)) == [("votes", 2), ("reason", 1)]
