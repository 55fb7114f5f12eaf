"""The demo fills an empty installation, and stays out of one that has people of its own."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from graphs.actions import audit
from graphs.jobs.threads import advance
from graphs.library import operations
from graphs.management.commands.demo import POLICIES, QUEUES
from graphs.models import ApprovalQueue, Interrupt, Thread
from graphs.policies.risk import Level

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("redis")]


def demo(**options: str) -> str:
    output = StringIO()
    call_command("demo", stdout=output, **options)
    return output.getvalue()


@pytest.fixture(autouse=True)
def own_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Keep the agent that deletes files away from those of this machine's user."""
    monkeypatch.setattr(operations, "gettempdir", lambda: str(tmp_path))


def test_the_demo_leaves_questions_in_every_queue() -> None:
    said = demo()
    for _ in range(Thread.objects.count()):
        advance()
    assert set(Interrupt.objects.waiting().values_list("queue__slug", flat=True)) == set(QUEUES)
    assert Thread.objects.filter(status="failed").count() == 0
    assert "ana" in said
    assert audit.verify().ok


def test_agents_wait_before_what_they_may_not_do_alone_and_one_conversation_is_over() -> None:
    demo()
    for _ in range(Thread.objects.count()):
        advance()
    gates = Interrupt.objects.waiting().filter(kind="tool_approval").order_by("thread__graph_id")
    assert [(one.thread.graph_id, one.queue.slug, one.metadata["tool"]) for one in gates] == [
        ("operations", "operations", "delete_files"),
        ("research", "editors", "publish"),
        ("support", "payments", "refund"),
    ]
    (done,) = Thread.objects.filter(graph_id="support", status="completed")
    assert "19.90 was paid back" in str(done.output)


def test_the_password_is_random_and_shown_once() -> None:
    first = demo().split("password ")[1].split()[0]
    assert User.objects.get(username="ana").check_password(first)
    second = demo().split("password ")[1].split()[0]
    assert first != second


def test_its_policies_are_in_force_and_judge_what_waits() -> None:
    demo()
    for _ in range(Thread.objects.count()):
        advance()
    versions = dict(ApprovalQueue.objects.filter(slug__in=POLICIES).values_list("slug", "policy_version"))
    assert versions == dict.fromkeys(POLICIES, 1)
    large = Interrupt.objects.get(message__contains="A-4733")
    assert (large.risk, large.risk_rules) == (Level.HIGH, ["amount over 1 000"]) and large.due_at is not None
    assert not Interrupt.objects.filter(stuck_since__isnull=False).exists()


def test_it_may_run_twice_without_a_second_set_of_people_and_queues() -> None:
    demo()
    people, queues = User.objects.count(), ApprovalQueue.objects.count()
    demo()
    assert (User.objects.count(), ApprovalQueue.objects.count()) == (people, queues)


def test_s34_an_installation_with_people_of_its_own_is_refused_with_exit_2() -> None:
    User.objects.create_user("real", "real@example.org", "a long enough one")
    with pytest.raises(CommandError) as refusal:
        demo()
    assert refusal.value.returncode == 2
    assert User.objects.count() == 1


def test_a_real_account_of_a_demo_name_is_never_taken_over(settings: object) -> None:
    settings.DEBUG = True  # type: ignore[attr-defined]
    User.objects.create_user("ana", "ana@example.org", "a long enough one")
    with pytest.raises(CommandError, match="real account"):
        demo()
    assert User.objects.get(username="ana").check_password("a long enough one")
