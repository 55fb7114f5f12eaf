"""Saving a queue's policy: who may, over which version, what is refused, and what open questions make of it."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from graphs.actions import policies
from graphs.actions.errors import InputInvalid, NotAllowed, NotFound, Overtaken, status_of
from graphs.models import ApprovalQueue, AuditEntry, QueuePolicy
from tests.actions.conftest import Asked
from tests.actions.test_races import together
from tests.people import People

pytestmark = pytest.mark.django_db(transaction=True)


def edited(base: int = 0, note: str = "why", **spec: Any) -> policies.Edited:
    return policies.Edited(spec, base, note)


def refused(people: People, **spec: Any) -> list[tuple[str, str]]:
    with pytest.raises(InputInvalid) as caught:
        policies.save(people.administrator, people.finance, edited(**spec))
    assert status_of(caught.value) == 422 and not QueuePolicy.objects.exists()
    return caught.value.problems


def test_s01_a_saved_policy_is_a_version_in_force_with_its_entry(people: People) -> None:
    made = policies.save(people.administrator, people.finance, edited(quorum=2))
    queue = ApprovalQueue.objects.get(slug="finance")
    assert (queue.policy_version, queue.policy_spec) == (made.version, made.spec) == (1, {"quorum": 2})
    assert (made.author_id, made.author_name, made.note) == (people.administrator.pk, "administrator", "why")
    entry = AuditEntry.objects.get(action="change_policy")
    assert (entry.object_id, entry.actor_name, entry.channel) == ("finance", "administrator", "form")
    assert entry.data == {"version": 1, "note": "why", "changed": ["quorum"]}


def test_open_questions_follow_the_policy_at_once(people: People, asked: Asked) -> None:
    rule = {"name": "always", "level": "high"}
    policies.save(people.administrator, people.finance, edited(risk=[rule], due_minutes=60))
    row = asked.row()
    assert (row.policy_version, row.risk, row.risk_rules) == (1, 2, ["always"]) and row.due_at is not None


def test_s02_only_who_administers_the_queue_saves(people: People) -> None:
    for user in (people.decider, people.viewer, people.grouped, people.operator):
        with pytest.raises(NotAllowed):
            policies.save(user, people.finance, edited(quorum=2))
    for user in (people.stranger, people.other_team, people.requester, people.inactive):
        with pytest.raises(NotFound):
            policies.save(user, people.finance, edited(quorum=2))
    assert not QueuePolicy.objects.exists() and not AuditEntry.objects.filter(action="change_policy").exists()


def test_f21_the_second_of_two_editors_learns_who_came_first(people: People) -> None:
    policies.save(people.administrator, people.finance, edited(quorum=2))
    with pytest.raises(Overtaken, match="administrator put version 1 in force") as caught:
        policies.save(people.administrator, people.finance, edited(quorum=3))
    assert status_of(caught.value) == 409 and caught.value.version == 1
    assert ApprovalQueue.objects.get(slug="finance").policy_spec == {"quorum": 2}


def test_one_that_loses_between_its_check_and_its_write_writes_nothing(
    people: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    def meanwhile(*_given: Any) -> None:
        ApprovalQueue.objects.filter(slug="finance").update(policy_version=7)

    monkeypatch.setattr(policies, "require", meanwhile)
    with pytest.raises(Overtaken):
        policies.save(people.administrator, people.finance, edited(quorum=2))
    assert not QueuePolicy.objects.exists() and not AuditEntry.objects.filter(action="change_policy").exists()


def test_what_is_wrong_is_said_at_its_place(people: People) -> None:
    assert [place for place, _ in refused(people, quorum=0, colour="red")] == ["/colour", "/quorum"]
    assert [place for place, _ in refused(people, note="  ", quorum=2)] == ["/note"]
    assert [place for place, _ in refused(people, note="x" * 301, quorum=2)] == ["/note"]
    assert refused(people, quorum=1) == [("", "says the same as the policy in force")]
    names = [{"name": f"{n}", "level": "low", "when": [{"path": "/payload/a", "op": "=", "value": "x" * 1000}] * 20}
             for n in range(5)]  # fmt: skip
    assert refused(people, risk=names)[0][0] == ""


def test_s01_a_policy_that_nobody_could_decide_by_is_refused(people: People) -> None:
    problems = refused(people, quorum=4)
    assert problems == [("/quorum", "It takes 4 votes that agree, and only 3 people may decide.")]


def test_s02_questions_escalate_only_to_a_queue_that_its_editor_sees(people: People) -> None:
    def places(slug: str) -> list[str]:
        return [place for place, _ in refused(people, escalate_minutes=5, escalate_to=slug)]

    assert places("legal") == places("nowhere") == places("finance") == ["/escalate_to"]
    people.legal.memberships.create(user=people.administrator, right="view")
    assert policies.save(people.administrator, people.finance, edited(escalate_minutes=5, escalate_to="legal"))


@pytest.mark.usefixtures("redis")
def test_f21_of_two_editors_at_once_one_saves_and_the_other_is_told(people: People) -> None:
    for base in range(20):
        wanted = [edited(base, quorum=1, hold_seconds=base * 2 + one) for one in (1, 2)]
        save = [partial(policies.save, people.administrator, people.finance, one) for one in wanted]
        results = together(*save)
        assert sorted(type(one).__name__ for one in results) == ["Overtaken", "QueuePolicy"]
    versions = QueuePolicy.objects.order_by("version").values_list("version", flat=True)
    assert list(versions) == list(range(1, 21))
    assert AuditEntry.objects.filter(action="change_policy").count() == 20
