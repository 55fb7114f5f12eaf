"""Two at once, again and again: whoever wins, nothing is lost, doubled or left behind. Only outcomes are asserted."""

from __future__ import annotations

import threading
import time
from collections import Counter as Tally
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.db.models import Count
from django.utils import timezone

from graphs.actions import audit, comments, deadlines, leases, sweeping, threads
from graphs.actions.decisions import decide
from graphs.actions.errors import AlreadyDecided, NoLongerOpen, NotPossible, Refused
from graphs.actions.receipts import Receipt
from graphs.engine.errors import LeaseLost
from graphs.engine.statuses import InterruptStatus, Outcome, ThreadStatus
from graphs.models import AuditEntry, Checkpoint, Counter, Decision, Interrupt, Lease, OutboxMessage, Thread
from graphs.models.clock import Now
from tests.actions.conftest import Asked
from tests.people import People
from tests.records import Pen, finished, question, run

# With a Redis that answers: the rings and hints of the winners go out as they would.
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("redis")]

NIGHTLY = pytest.param(1000, marks=pytest.mark.nightly)
ROUNDS = pytest.mark.parametrize("rounds", [200, NIGHTLY])
FEWER_ROUNDS = pytest.mark.parametrize("rounds", [50, NIGHTLY])
EXPECTED = (Refused, LeaseLost)


@pytest.fixture(autouse=True)
def no_second_try(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """A decision that loses a deadlock begins again, and would hide here that there was one."""
    yield
    assert "begins again" not in caplog.text


def together(*contenders: Callable[[], Any]) -> list[Any]:
    """Let them all go at the same moment, each in a thread with a connection of its own; their results or refusals."""
    barrier = threading.Barrier(len(contenders))
    results: list[Any] = [None] * len(contenders)

    def run(place: int, contender: Callable[[], Any]) -> None:
        try:
            connection.ensure_connection()
            barrier.wait(30)
            results[place] = contender()
        except BaseException as error:
            results[place] = error
        finally:
            connection.close()

    crowd = [threading.Thread(target=run, args=item) for item in enumerate(contenders)]
    for one in crowd:
        one.start()
    for one in crowd:
        one.join(60)
        assert not one.is_alive(), "a contender hangs"
    for result in results:
        if isinstance(result, BaseException) and not isinstance(result, EXPECTED):
            raise result
    return results


def check_books(decided: int) -> None:
    """What must hold of the whole, whoever won: one decision, audit entry and number each, and an unbroken chain."""
    # A question that was answered and then asked anew is superseded, with its answer in history.
    answered = [InterruptStatus.CLOSED, InterruptStatus.SUPERSEDED]
    closed = Interrupt.objects.filter(status__in=answered, decisions__isnull=False).distinct().count()
    assert Decision.objects.count() == closed == decided
    assert AuditEntry.objects.filter(action="decide").count() == decided
    assert Interrupt.objects.annotate(many=Count("decisions")).filter(many__gt=1).count() == 0
    assert audit.verify().ok
    for counter in Counter.objects.filter(name__startswith="queue:"):
        numbers = list(Interrupt.objects.filter(queue=counter.name.split(":")[1]).values_list("seq", flat=True))
        assert len(set(numbers)) == len(numbers)
        assert max(numbers, default=0) <= counter.value


@ROUNDS
def test_two_deciders(people: People, rounds: int) -> None:
    asked = Asked(people, *(question(f"n{number}") for number in range(rounds)))
    wins: Tally[str] = Tally()
    for number in range(rounds):
        yes = asked.given(Outcome.APPROVED, number=number, comment="yes")
        no = asked.given(Outcome.REJECTED, number=number, comment="no")
        results = together(
            lambda: decide(people.decider, [yes], channel="form"),  # noqa: B023 - called in this round
            lambda: decide(people.administrator, [no], channel="form"),  # noqa: B023
        )
        (winner,) = [one[0] for one in results if isinstance(one, list)]
        (loser,) = [one for one in results if isinstance(one, AlreadyDecided)]
        assert loser.receipt == winner and not winner.replay
        wins[winner.outcome] += 1
    assert sum(wins.values()) == rounds
    check_books(rounds)
    assert OutboxMessage.objects.filter(kind="wake").count() == 1


@ROUNDS
def test_one_submission_sent_twice(people: People, rounds: int) -> None:
    asked = Asked(people, *(question(f"n{number}") for number in range(rounds)))
    for number in range(rounds):
        given = asked.given(number=number)

        def submit(given: Any = given, number: int = number) -> Receipt:
            return decide(people.decider, [given], channel="form", submission_key=f"key{number}")[0]

        receipts = together(submit, submit)
        assert sorted(receipt.replay for receipt in receipts) == [False, True]
        assert len({receipt.audit_digest for receipt in receipts}) == 1
    check_books(rounds)


@FEWER_ROUNDS
def test_one_start_sent_twice(people: People, rounds: int, monkeypatch: pytest.MonkeyPatch) -> None:
    from graphs.library import registry
    from tests.actions.test_threads import small

    graph = small()
    monkeypatch.setattr(registry, "entries", lambda: (registry.Entry("small", "tests", graph),))
    for number in range(rounds):

        def start(number: int = number) -> int:
            return threads.start(people.stranger, "small", {"amount": number}, submission_key=f"key{number}").pk

        assert len(set(together(start, start))) == 1
    assert Thread.objects.count() == rounds
    assert audit.verify().ok


@ROUNDS
def test_six_rings_for_one_thread(rounds: int) -> None:
    for _ in range(rounds):
        pen = Pen()
        held = [one for one in together(*[leases.claim] * 6) if one]
        assert len(held) == 1
        assert (held[0].ref, held[0].token) == (pen.ref, 1)
        assert leases.hand_over(held[0], ThreadStatus.WAITING_VERSION, why="done with")
    assert set(Lease.objects.values_list("token", flat=True)) == {1}


@ROUNDS
def test_two_sweepers(rounds: int) -> None:
    for number in range(1, rounds + 1):
        pen = Pen()
        pen.claim()
        past = timezone.now() - timedelta(seconds=1)
        pen.ask(question(expires_at=past, has_default=True, default=number))
        Lease.objects.filter(expires_at__isnull=False).update(expires_at=Now() - timedelta(seconds=1))
        first, second = together(sweeping.sweep, sweeping.sweep)
        assert first.leases + second.leases == 1
        assert first.expired + second.expired == 1
        lease = Lease.objects.get(pk=pen.thread.pk)
        # Once by the claim, once by the sweep, and not once more.
        assert (lease.token, lease.expires_at, pen.thread.status) == (2, None, ThreadStatus.READY)
        Thread.objects.filter(pk=pen.thread.pk).update(status=ThreadStatus.COMPLETED)
    check_books(rounds)


@ROUNDS
def test_a_decision_while_the_runner_pauses(people: People, rounds: int) -> None:
    """Whoever comes second sees the first: the thread is never left waiting for an answer that is there (F22)."""
    for _ in range(rounds):
        pen = Pen(queue="finance")
        pen.store.grips.clear()
        pen.claim()
        pen.store.queue = "finance"
        pen.store.grips.clear()
        pen.load()
        (asked,) = pen.ask(question())
        row = Interrupt.objects.get(pk=asked.id)

        def answer(row: Interrupt = row) -> Any:
            from graphs.actions.decisions import Given

            given = Given(str(row.pk), row.version, row.digest, Outcome.APPROVED)
            return decide(people.decider, [given], channel="form")

        def pause(pen: Pen = pen, asked: Any = asked) -> Any:
            return pen.write(1, status=ThreadStatus.INTERRUPTED, waiting=[asked.id])

        _, seen = together(answer, pause)
        expected = ThreadStatus.RUNNING if seen else ThreadStatus.READY
        assert pen.thread.status == expected
        Thread.objects.filter(pk=pen.thread.pk).update(status=ThreadStatus.COMPLETED)
    check_books(rounds)


@FEWER_ROUNDS
def test_a_decision_against_the_deadline(people: People, rounds: int) -> None:
    past = timezone.now() - timedelta(seconds=1)
    asked = Asked(
        people,
        *(question(f"n{number}", expires_at=past, has_default=True, default="late") for number in range(rounds)),
    )
    outcomes: Tally[str] = Tally()
    for number in range(rounds):
        row = asked.row(number)
        given = asked.given(number=number)

        def answer(given: Any = given) -> Any:
            return decide(people.decider, [given], channel="form")

        result, expired = together(answer, lambda row=row: deadlines.expire(row))  # type: ignore[misc]
        assert isinstance(result, AlreadyDecided) == expired
        outcomes[Decision.objects.get(interrupt=row).outcome] += 1
    assert sum(outcomes.values()) == rounds
    check_books(rounds)


@FEWER_ROUNDS
def test_a_decision_against_a_cancel(people: People, rounds: int) -> None:
    for _ in range(rounds):
        asked = Asked(people)
        given, thread = asked.given(), asked.pen.thread

        def answer(given: Any = given) -> Any:
            return decide(people.decider, [given], channel="form")

        def cancel(thread: Thread = thread) -> Any:
            return threads.cancel(people.requester, thread)

        answered, cancelled = together(answer, cancel)
        assert not isinstance(cancelled, NotPossible)
        assert asked.pen.thread.status == ThreadStatus.CANCELLED
        closed = asked.row().status == InterruptStatus.CLOSED
        assert closed != isinstance(answered, NoLongerOpen)
        # Nobody may take up what is cancelled, whichever came first.
        assert leases.claim() is None
    check_books(Decision.objects.count())


@FEWER_ROUNDS
def test_a_dead_holder_that_was_only_slow(rounds: int) -> None:
    """The sweep takes the lease while its holder commits: either the commit stands and was read, or it bounced."""
    pen = Pen()
    for _ in range(rounds):
        held = pen.claim()
        step = pen.thread.step + 1
        Lease.objects.update(expires_at=Now() - timedelta(seconds=1))

        def take_over() -> int:
            assert sweeping.free_dead_leases() == 1
            found, deadline = leases.claim(), time.monotonic() + 30
            while found is None and time.monotonic() < deadline:
                # A claim passes over a row that somebody has locked, be it only to learn that the token is another.
                found = leases.claim()
            assert found is not None and found.token > held.token  # noqa: B023 - called in this round
            seen = Thread.objects.get().step
            leases.hand_over(found)
            return seen

        wrote, seen = together(lambda: pen.write(step), take_over)  # noqa: B023
        stands = not isinstance(wrote, LeaseLost)
        assert seen == (step if stands else step - 1)
        Lease.objects.update(barren=0)
    steps = list(Checkpoint.objects.order_by("step").values_list("step", flat=True))
    assert steps == list(range(pen.thread.step + 1))


@FEWER_ROUNDS
def test_two_bulks_that_cross_do_not_lock_each_other_out(people: People, rounds: int) -> None:
    """Two people decide the same two questions of two threads in opposite orders, all or none."""
    one = Asked(people, *(question(f"n{number}") for number in range(rounds)))
    two = Asked(people, *(question(f"n{number}") for number in range(rounds)))
    for number in range(rounds):
        forth = [one.given(number=number), two.given(number=number)]

        def bulk(actor: User, given: Any) -> Callable[[], Any]:
            return lambda: decide(actor, given, channel="api")

        results = together(bulk(people.decider, forth), bulk(people.administrator, forth[::-1]))
        assert sorted(isinstance(result, AlreadyDecided) for result in results) == [False, True]
    check_books(2 * rounds)


class AtWork:
    """A thread with a job at work that has asked `rounds` questions: what it does next meets a decision on one."""

    def __init__(self, people: People, rounds: int) -> None:
        self.people = people
        self.asked = Asked(people, *(question(f"n{number}") for number in range(rounds)))
        Thread.objects.update(status=ThreadStatus.RUNNING)
        self.asked.pen.store.grips.clear()
        self.asked.pen.store.held = None

    def meets(self, number: int, other: Callable[[], Any]) -> list[Any]:
        given = self.asked.given(number=number)
        return together(lambda: decide(self.people.decider, [given], channel="form"), other)


@pytest.fixture
def long_lease(settings: Any) -> None:
    """Whoever holds it writes for all rounds; a machine that is slow must not take it away."""
    settings.SAYSO_LEASE_SECONDS = 3600


@FEWER_ROUNDS
def test_a_decision_against_a_remark(people: People, rounds: int) -> None:
    asked = Asked(people, *(question(f"n{number}") for number in range(rounds)))
    for number in range(rounds):
        given, row = asked.given(number=number), asked.row(number)
        results = together(
            lambda: decide(people.decider, [given], channel="form"),  # noqa: B023 - called in this round
            lambda: comments.add(people.administrator, interrupt=row, text="hm"),  # noqa: B023
        )
        assert not [one for one in results if isinstance(one, Refused)]
    check_books(rounds)


@FEWER_ROUNDS
@pytest.mark.usefixtures("long_lease")
def test_a_decision_against_a_question_of_a_sibling(people: People, rounds: int) -> None:
    sibling = AtWork(people, rounds)
    for number in range(rounds):
        later = question(f"m{number}")
        results = sibling.meets(number, lambda: sibling.asked.pen.ask(later))  # noqa: B023
        assert not [one for one in results if isinstance(one, EXPECTED)]
    check_books(rounds)


@FEWER_ROUNDS
@pytest.mark.usefixtures("long_lease")
def test_a_decision_against_the_end_of_the_step_that_asked(people: People, rounds: int) -> None:
    sibling = AtWork(people, rounds)
    pen = sibling.asked.pen
    for number in range(rounds):
        ended = [finished(f"n{number}")]
        answered, _ = sibling.meets(number, lambda: run(pen.store.record_tasks, pen.ref, ended))  # noqa: B023
        closed = sibling.asked.row(number).status == InterruptStatus.CLOSED
        assert closed != isinstance(answered, NoLongerOpen)
    check_books(Decision.objects.count())


@FEWER_ROUNDS
@pytest.mark.usefixtures("long_lease")
def test_a_decision_against_the_same_question_asked_anew(people: People, rounds: int) -> None:
    sibling = AtWork(people, rounds)
    for number in range(rounds):
        anew = question(f"n{number}", revision=1, question="other")
        answered, _ = sibling.meets(number, lambda: sibling.asked.pen.ask(anew))  # noqa: B023
        row = sibling.asked.row(number)
        assert row.status == InterruptStatus.SUPERSEDED
        assert row.decisions.exists() != isinstance(answered, NoLongerOpen)
    check_books(Decision.objects.count())
