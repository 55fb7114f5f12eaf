from __future__ import annotations

from datetime import timedelta

import pytest
from django.conf import settings
from django.utils import timezone
from redis import Redis

from graphs import outbox, queue
from graphs.actions import deadlines, handing_back, leases, stuck, sweeping
from graphs.actions.decisions import decide
from graphs.engine.errors import LeaseLost
from graphs.engine.statuses import InterruptStatus, ThreadStatus
from graphs.models import Decision, Heartbeat, Interrupt, Lease, OutboxMessage, Thread
from graphs.models.clock import Now
from tests.actions.conftest import Asked
from tests.people import People
from tests.records import Pen, question

pytestmark = pytest.mark.django_db(transaction=True)


def expire_lease() -> None:
    Lease.objects.filter(expires_at__isnull=False).update(expires_at=Now() - timedelta(seconds=1))


def test_a_dead_holders_thread_is_ready_again_and_its_writes_bounce() -> None:
    pen = Pen()
    pen.claim()
    assert sweeping.free_dead_leases() == 0
    expire_lease()
    assert sweeping.free_dead_leases() == 1
    assert pen.thread.status == ThreadStatus.READY
    with pytest.raises(LeaseLost):
        pen.write(1)
    dead = pen.store
    pen.claim()
    pen.write(1)
    pen.store = dead
    with pytest.raises(LeaseLost):
        pen.write(2)


def test_a_renewed_lease_is_not_dead_and_a_lost_one_cannot_be_renewed() -> None:
    from graphs import store

    pen = Pen()
    held = pen.claim()
    expire_lease()
    assert store.renew(held.thread_id, held.token, 5)
    assert sweeping.free_dead_leases() == 0
    expire_lease()
    sweeping.free_dead_leases()
    assert not store.renew(held.thread_id, held.token, 5)


def test_the_heart_beats_while_the_block_runs(settings: object) -> None:
    settings.SAYSO_LEASE_SECONDS = 1  # type: ignore[attr-defined]
    pen = Pen()
    held = pen.claim()
    first = Lease.objects.get(pk=held.thread_id).expires_at
    with leases.kept(held) as lost:
        deadline = timezone.now() + timedelta(seconds=20)
        while Lease.objects.get(pk=held.thread_id).expires_at == first and timezone.now() < deadline:
            lost.wait(0.05)
        assert Lease.objects.get(pk=held.thread_id).expires_at > first
        Lease.objects.update(token=99)
        assert lost.wait(20)


def test_a_thread_that_no_job_survives_is_set_aside() -> None:
    pen = Pen()
    for _ in range(leases.PATIENCE):
        assert leases.claim() is not None
        expire_lease()
        sweeping.free_dead_leases()
    assert leases.claim() is None
    thread = pen.thread
    assert thread.status == ThreadStatus.QUARANTINED
    assert thread.error["type"] == "Quarantined"


def test_progress_of_any_kind_is_no_reason_to_set_it_aside() -> None:
    pen = Pen()
    for step in range(1, 2 * leases.PATIENCE):
        pen.claim()
        if step % 2:
            pen.ask(question("a", ordinal=step))
        else:
            pen.write(pen.thread.step + 1)
        expire_lease()
        sweeping.free_dead_leases()
    assert pen.thread.status == ThreadStatus.READY


def test_the_longest_waiting_thread_is_claimed_first() -> None:
    pens = [Pen() for _ in range(3)]
    Thread.objects.filter(pk=pens[1].thread.pk).update(ready_at=timezone.now() - timedelta(hours=1))
    order = [leases.claim() for _ in range(3)]
    assert [held.ref for held in order if held] == [pens[1].ref, pens[0].ref, pens[2].ref]
    assert leases.claim() is None


def test_handing_over_makes_it_ready_or_waiting_with_the_reason() -> None:
    pen = Pen()
    assert leases.hand_over(pen.claim())
    assert pen.thread.status == ThreadStatus.READY
    held = pen.claim()
    assert leases.hand_over(held, ThreadStatus.WAITING_VERSION, why="no such node")
    assert (pen.thread.status, pen.thread.error["message"]) == (ThreadStatus.WAITING_VERSION, "no such node")
    assert not leases.hand_over(held)


def test_a_thread_that_waits_for_its_version_is_offered_again_after_a_while() -> None:
    pen = Pen()
    leases.hand_over(pen.claim(), ThreadStatus.WAITING_VERSION, why="x")
    assert sweeping.reconsider_versions() == 0
    Thread.objects.update(updated_at=timezone.now() - timedelta(hours=1))
    assert sweeping.reconsider_versions() == 1
    assert pen.thread.status == ThreadStatus.READY


def test_a_deadline_with_a_default_decides_and_one_without_does_not(people: People) -> None:
    past = timezone.now() - timedelta(seconds=5)
    asked = Asked(
        people,
        question("a", expires_at=past, has_default=True, default=False),
        question("b", expires_at=past),
        question("c", expires_at=timezone.now() + timedelta(hours=1), has_default=True, default=True),
    )
    assert deadlines.expire_due() == 1
    assert deadlines.expire_due() == 0
    decision = Decision.objects.get()
    assert (str(decision.interrupt_id), decision.outcome, decision.value) == (asked.questions[0].id, "expired", False)
    assert (decision.reviewer_name, decision.reviewer_id) == ("system:timeout", None)
    assert asked.row(1).status == asked.row(2).status == InterruptStatus.OPEN
    assert asked.pen.thread.status == ThreadStatus.READY


def test_a_verdict_that_nobody_woke_for_is_found_once(people: People, asked: Asked) -> None:
    decide(people.decider, [asked.given()], channel="form")
    Thread.objects.update(status=ThreadStatus.INTERRUPTED)
    Thread.objects.update(updated_at=timezone.now() - timedelta(minutes=1))
    assert sweeping.revive_answered() == 1
    assert sweeping.revive_answered() == 0
    asked.pen.claim()
    asked.pen.write(2, status=ThreadStatus.INTERRUPTED)
    assert sweeping.revive_answered() == 0


def test_what_was_not_said_is_said_by_the_sweep(redis: str, people: People, asked: Asked) -> None:
    OutboxMessage.objects.update(published_at=None, created_at=timezone.now() - timedelta(minutes=10))
    left = OutboxMessage.objects.count()
    assert left
    assert sweeping.publish_left_over() == left
    assert sweeping.publish_left_over() == 0


def test_ready_threads_are_rung_for_as_far_as_there_is_room(redis: str) -> None:
    for _ in range(5):
        Pen()
    assert sweeping.ring_for_ready() == sweeping.JOBS_A_WORKER
    assert sweeping.ring_for_ready() == 0
    assert queue.depth() == sweeping.JOBS_A_WORKER
    # An emptied Redis is noticed by nothing but its emptiness.
    Redis.from_url(redis).flushall()
    assert sweeping.ring_for_ready() == sweeping.JOBS_A_WORKER
    for number in range(2):
        sweeping.beat(f"worker-threads-{number}")
    assert sweeping.ring_for_ready() == sweeping.JOBS_A_WORKER


def test_a_message_is_published_after_its_commit_and_marked(redis: str, people: People, asked: Asked) -> None:
    decide(people.decider, [asked.given()], channel="form")
    assert queue.depth() == 1
    assert not OutboxMessage.objects.filter(published_at=None, attempts=0, kind="wake").exists()


def test_a_hint_reaches_the_sockets_of_its_group_in_the_layers_own_format(redis: str) -> None:
    from asgiref.sync import async_to_sync
    from channels.layers import get_channel_layer

    async def heard() -> object:
        layer = get_channel_layer()
        assert layer is not None
        channel = await layer.new_channel()
        await layer.group_add("queue.7", channel)
        outbox.send(["operators", "queue.7"], {"topic": "inbox", "queue": 7})
        return await layer.receive(channel)

    assert async_to_sync(heard)() == {"type": "hint", "data": {"topic": "inbox", "queue": 7}}


def test_old_hints_are_not_repeated_and_old_messages_are_forgotten(redis: str) -> None:
    old = timezone.now() - timedelta(days=30)
    OutboxMessage.objects.create(kind="hint", payload={"groups": ["x"], "data": {}}, created_at=old)
    OutboxMessage.objects.create(kind="wake", payload={}, created_at=old, published_at=old)
    assert sweeping.publish_left_over() == 1
    sweeping.tidy()
    assert OutboxMessage.objects.count() == 1


def test_a_whole_sweep_counts_what_it_did(redis: str, people: People, asked: Asked) -> None:
    pen = Pen()
    pen.claim()
    expire_lease()
    Interrupt.objects.update(expires_at=timezone.now() - timedelta(1), has_default=True)
    swept = sweeping.sweep()
    assert (swept.leases, swept.expired) == (1, 1)
    assert swept.rung >= 1
    assert sweeping.sweep() == sweeping.Swept()


def test_a_heartbeat_is_one_row_by_name() -> None:
    sweeping.beat("clock")
    sweeping.beat("clock", {"pid": 1})
    row = Heartbeat.objects.get()
    assert (row.name, row.info) == ("clock", {"pid": 1})
    assert abs(timezone.now() - row.at) < timedelta(seconds=60)
    assert settings.SAYSO_LEASE_SECONDS >= 1


def test_a_fault_in_one_part_stops_no_other_and_is_logged(
    redis: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken() -> int:
        raise ValueError("one bad row")

    pen = Pen()
    pen.claim()
    expire_lease()
    monkeypatch.setattr(sweeping, "free_dead_leases", broken)
    monkeypatch.setattr(sweeping, "tidy", broken)
    other = Pen()
    assert sweeping.sweep() == sweeping.Swept(rung=1)
    assert "one bad row" in caplog.text and other.thread.status == ThreadStatus.READY
    own = ["cancel_overdue", "revive_answered", "reconsider_versions", "publish_left_over", "ring_for_ready"]
    others = {
        sweeping: own,
        deadlines: ["expire_due", "refresh_judged", "escalate_due", "remind_due"],
        handing_back: ["end_delegations", "begin_delegations", "release_leavers"],
        stuck: ["find_stuck"],
    }
    for module, names in others.items():
        for name in names:
            monkeypatch.setattr(module, name, broken)
    with pytest.raises(ValueError, match="one bad row"):
        sweeping.sweep()


def test_a_message_that_nobody_takes_for_weeks_is_counted_as_far_as_the_column_goes() -> None:
    from graphs import store

    message = OutboxMessage.objects.create(kind="wake", payload={}, attempts=32_766)
    for _ in range(3):
        store.mark_unsaid([message.pk])
    message.refresh_from_db()
    assert message.attempts == 32_767


@pytest.mark.parametrize("gone", ["dead", "slice is up"])
def test_a_thread_whose_cancel_was_pressed_begins_nothing_more(people: People, gone: str) -> None:
    from graphs.actions import threads
    from graphs.models import ThreadEvent

    pen = Pen()
    held = pen.claim()
    (asked,) = pen.ask(question())
    threads.cancel(people.operator, pen.thread, "enough")
    assert pen.thread.status == ThreadStatus.RUNNING
    if gone == "dead":
        expire_lease()
        assert sweeping.free_dead_leases() == 1
    else:
        leases.hand_over(held)
    other = Pen()
    taken = leases.claim()
    assert taken is not None and taken.ref == other.ref
    assert (pen.thread.status, pen.thread.error["message"]) == (ThreadStatus.CANCELLED, "enough")
    assert Interrupt.objects.get(pk=asked.id).status == InterruptStatus.WITHDRAWN
    assert ThreadEvent.objects.filter(thread=pen.thread, type="graph.end").count() == 1
    with pytest.raises(LeaseLost):
        pen.write(1)


def test_heartbeats_go_with_a_clean_end_or_after_a_day() -> None:
    for name in ("clock", "worker-threads-1", "worker-threads-2"):
        sweeping.beat(name)
    Heartbeat.objects.filter(name="worker-threads-1").update(at=timezone.now() - timedelta(days=2))
    sweeping.tidy()
    sweeping.stop_beating("clock")
    assert list(Heartbeat.objects.values_list("name", flat=True)) == ["worker-threads-2"]
