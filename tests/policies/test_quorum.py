from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from graphs.policies.policy import Policy
from graphs.policies.quorum import NOES, Ballot, possible, stalemate, tally, why_not


def yes(voter: int, value: str = "v") -> Ballot:
    return Ballot(voter, "approved", value)


def no(voter: int) -> Ballot:
    return Ballot(voter, "rejected", "")


def test_two_that_agree_on_outcome_and_value_make_a_verdict() -> None:
    policy = Policy(quorum=2)
    assert tally(policy, [yes(1)]).verdict is None and tally(policy, [yes(1)]).needed == 1
    assert tally(policy, [yes(1), yes(2, "other")]).verdict is None
    assert tally(policy, [yes(1), Ballot(2, "answered", "v")]).verdict is None
    assert tally(policy, [yes(1), yes(2, "other"), yes(3)]).verdict == yes(1)


def test_a_person_counts_once_by_their_first_vote() -> None:
    assert tally(Policy(quorum=2), [yes(1), yes(1)]).verdict is None
    assert tally(Policy(rejects=2), [no(1), no(1)]).verdict is None
    assert tally(Policy(quorum=2), [yes(1), no(1)]).rejections == 0


def test_so_many_noes_stop_it() -> None:
    policy = Policy(quorum=3, rejects=2)
    assert tally(policy, [yes(1), no(2)]).verdict is None
    assert tally(policy, [yes(1), no(2), Ballot(3, "cancelled", "")]).verdict == Ballot(3, "cancelled", "")
    assert tally(Policy(quorum=3), [yes(1), yes(2), no(3)]).verdict == no(3)


def test_who_is_too_few_and_why() -> None:
    policy = Policy(quorum=2)
    assert possible(policy, 2) and not why_not(policy, 2)
    assert "only 1 person may" in why_not(policy, 1)
    assert why_not(policy, 0) == "Nobody may decide."
    assert not possible(Policy(), 0) and possible(Policy(), 1)


BALLOTS = st.lists(
    st.builds(Ballot, st.integers(1, 6), st.sampled_from(["approved", "rejected", "cancelled"]), st.sampled_from("ab"))
)
POLICIES = st.builds(Policy, quorum=st.integers(1, 4), rejects=st.integers(1, 4))


@given(POLICIES, BALLOTS)
def test_a_verdict_has_enough_different_people_behind_it(policy: Policy, ballots: list[Ballot]) -> None:
    found = tally(policy, ballots)
    assert found.approvals + found.rejections == len({one.voter_id for one in ballots})
    if found.verdict is None:
        assert 0 < found.needed <= policy.quorum
        return
    no_more = found.verdict.outcome in NOES
    agreed = [
        one
        for one in ballots
        if (
            one.outcome in NOES
            if no_more
            else (one.outcome, one.value_digest) == (found.verdict.outcome, found.verdict.value_digest)
        )
    ]
    assert len({one.voter_id for one in agreed}) >= (policy.rejects if no_more else policy.quorum)


@given(POLICIES, st.integers(1, 6), st.data())
def test_where_no_stalemate_is_possible_everybodys_vote_makes_a_verdict(
    policy: Policy, people: int, data: st.DataObject
) -> None:
    votes = [yes(n) if data.draw(st.booleans()) else no(n) for n in range(people)]
    assert stalemate(policy, people) or tally(policy, votes).verdict is not None
