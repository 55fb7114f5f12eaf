from __future__ import annotations

from graphs.engine.statuses import ENDED, InterruptStatus, ThreadStatus
from graphs.models.moves import ANSWERABLE, INTERRUPT_MOVES, THREAD_MOVES, question_sources, sources


def test_every_status_has_its_line() -> None:
    assert set(THREAD_MOVES) == set(ThreadStatus)
    assert set(INTERRUPT_MOVES) == set(InterruptStatus)


def test_every_status_can_be_reached_from_the_first_one() -> None:
    for moves, first in ((THREAD_MOVES, ThreadStatus.READY), (INTERRUPT_MOVES, InterruptStatus.OPEN)):
        reached, frontier = {first}, {first}
        while frontier:
            frontier = {target for status in frontier for target in moves[status]} - reached  # type: ignore[index]
            reached |= frontier
        assert reached == set(moves)


def test_nothing_moves_to_itself_and_what_has_ended_goes_on_with_a_next_turn_alone() -> None:
    assert all(status not in targets for status, targets in THREAD_MOVES.items())
    for end in (ThreadStatus.COMPLETED, ThreadStatus.REJECTED, ThreadStatus.CANCELLED):
        assert THREAD_MOVES[end] == {ThreadStatus.READY, ThreadStatus.RUNNING}
    assert not INTERRUPT_MOVES[InterruptStatus.WITHDRAWN] | INTERRUPT_MOVES[InterruptStatus.SUPERSEDED]


def test_only_a_running_thread_comes_to_an_end_of_its_own() -> None:
    for end in ENDED - {ThreadStatus.CANCELLED}:
        assert sources(end) == [ThreadStatus.RUNNING]


def test_only_open_questions_are_answered() -> None:
    assert set(question_sources(InterruptStatus.CLOSED)) == set(ANSWERABLE)
