"""The operators' admin shows every table, and lets nobody write history in it."""

from __future__ import annotations

from typing import Any

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse

from graphs.actions import decisions, threads
from graphs.engine.statuses import Outcome
from graphs.jobs.threads import advance
from graphs.models import ApprovalQueue, AuditEntry, Decision, Interrupt, Thread, ThreadEvent

pytestmark = pytest.mark.django_db(transaction=True)
ORDER = {"order": "A-1", "amount": 180, "currency": "EUR", "customer": "a@example.org", "reason": "<b>broken</b>"}
TABLES = [model for model in apps.get_app_config("graphs").get_models() if model.__name__ != "QueueMembership"]
HISTORY = [AuditEntry, Decision, ThreadEvent]


@pytest.fixture
def operator() -> User:
    return User.objects.create_superuser("operator", "operator@example.org", "a long enough one")


@pytest.fixture
def signed_in(operator: User) -> Client:
    client = Client()
    client.force_login(operator)
    return client


@pytest.fixture
def decided(redis: str, operator: User) -> Thread:
    """A thread that has been started, asked, answered and finished: something in every table."""
    thread = threads.start(operator, "refund", ORDER)
    advance()
    asked = Interrupt.objects.get(thread=thread)
    given = decisions.Given(str(asked.pk), asked.version, asked.digest, Outcome.APPROVED)
    decisions.decide(operator, [given], channel="form")
    advance()
    return thread


def page(model: Any, name: str, *arguments: Any) -> str:
    return reverse(f"admin:graphs_{model._meta.model_name}_{name}", args=arguments)


@pytest.mark.parametrize("model", TABLES, ids=lambda model: model.__name__)
def test_every_table_is_listed_and_each_row_opens(decided: Thread, signed_in: Client, model: Any) -> None:
    assert model in admin.site._registry
    listing = signed_in.get(page(model, "changelist"), {"q": "a"} if admin.site._registry[model].search_fields else {})
    assert listing.status_code == 200
    row = model.objects.order_by("pk").last()
    if row is not None:
        assert signed_in.get(page(model, "change", row.pk)).status_code == 200


def test_payloads_are_escaped_and_readable(decided: Thread, signed_in: Client) -> None:
    asked = Interrupt.objects.get(thread=decided)
    body = signed_in.get(page(Interrupt, "change", asked.pk)).content.decode()
    assert "&lt;b&gt;broken&lt;/b&gt;" in body
    assert "<b>broken" not in body


@pytest.mark.parametrize("model", HISTORY, ids=lambda model: model.__name__)
def test_s29_history_takes_no_change_and_no_deletion_even_from_a_superuser(
    decided: Thread, signed_in: Client, model: Any
) -> None:
    row = model.objects.order_by("pk").last()
    before = model.objects.filter(pk=row.pk).values().get()
    assert signed_in.post(page(model, "change", row.pk), {"action": "other"}).status_code == 403
    assert signed_in.post(page(model, "delete", row.pk), {"post": "yes"}).status_code == 403
    assert signed_in.post(page(model, "add"), {}).status_code == 403
    assert model.objects.filter(pk=row.pk).values().get() == before


def test_rows_link_from_decision_to_question_to_thread(decided: Thread, signed_in: Client) -> None:
    asked = Interrupt.objects.get(thread=decided)
    decision = signed_in.get(page(Decision, "change", asked.decisions.get().pk)).content.decode()
    assert page(Interrupt, "change", asked.pk) in decision
    question = signed_in.get(page(Interrupt, "change", asked.pk)).content.decode()
    assert page(Thread, "change", decided.pk) in question
    assert reverse("review", args=[asked.pk]) in signed_in.get(page(Interrupt, "changelist")).content.decode()


def test_cancel_from_the_admin_is_the_action_and_is_audited(redis: str, operator: User, signed_in: Client) -> None:
    thread = threads.start(operator, "refund", ORDER)
    chosen = {"action": "cancel", "_selected_action": [thread.pk]}
    signed_in.post(page(Thread, "changelist"), chosen)
    thread.refresh_from_db()
    assert thread.status == "cancelled"
    assert AuditEntry.objects.filter(action="cancel", object_id=str(thread.uid)).count() == 1


def test_editing_a_queue_leaves_an_audit_entry(signed_in: Client, operator: User) -> None:
    queue = ApprovalQueue.objects.create(slug="payments", title="Payments")
    form = {
        "slug": "payments", "title": "Money", "description": "",
        "memberships-TOTAL_FORMS": "1", "memberships-INITIAL_FORMS": "0",
        "memberships-0-user": operator.pk, "memberships-0-group": "", "memberships-0-right": "decide",
    }  # fmt: skip
    assert signed_in.post(page(ApprovalQueue, "change", queue.pk), form).status_code == 302
    entry = AuditEntry.objects.get(action="change_queue")
    assert entry.data == {
        "title": "Money",
        "members": [{"user": operator.pk, "group": None, "right": "decide"}],
        "origin": {"ip": "127.0.0.1", "agent": ""},
    }


def test_people_without_the_operators_rights_do_not_get_in(decided: Thread, charlie: User) -> None:
    client = Client()
    client.force_login(charlie)
    answer = client.get(page(Thread, "changelist"))
    assert answer.status_code == 302
    assert "/login" in answer.headers["Location"]


STEERED = {
    "suspend": ("interrupted", "suspended"),
    "resume": ("suspended", "ready"),
    "retry": ("failed", "ready"),
    "cancel": ("interrupted", "cancelled"),
}


@pytest.mark.parametrize("act", STEERED)
def test_operators_steer_from_the_admin_through_the_same_actions(
    redis: str, operator: User, signed_in: Client, act: str
) -> None:
    before, after = STEERED[act]
    thread = threads.start(operator, "refund", ORDER)
    Thread.objects.update(status=before)
    chosen = {"action": act, "_selected_action": [thread.pk]}
    answer = signed_in.post(page(Thread, "changelist"), chosen, follow=True)
    thread.refresh_from_db()
    assert thread.status == after and str(thread) in answer.content.decode()
    entry = AuditEntry.objects.get(action=act)
    assert (entry.actor_id, entry.channel) == (operator.pk, "admin")
    again = signed_in.post(page(Thread, "changelist"), chosen, follow=True)
    assert "this one is" in again.content.decode() or "This thread is" in again.content.decode()
    assert AuditEntry.objects.filter(action=act).count() == 1


@pytest.mark.parametrize("act", STEERED)
def test_who_only_reads_the_admin_steers_nothing_there(redis: str, operator: User, charlie: User, act: str) -> None:
    thread = threads.start(operator, "refund", ORDER)
    Thread.objects.update(status=STEERED[act][0])
    charlie.is_staff = True
    charlie.save()
    charlie.user_permissions.add(Permission.objects.get(codename="view_thread"))
    client = Client()
    client.force_login(charlie)
    chosen = {"action": act, "_selected_action": [thread.pk]}
    answer = client.post(page(Thread, "changelist"), chosen, follow=True)
    thread.refresh_from_db()
    assert thread.status == STEERED[act][0] and "Only the requester and operators" in answer.content.decode()
    assert not AuditEntry.objects.filter(action=act).exists()
