"""What stands between a question and a verdict on its page: votes, reasons, the password again, a hold, asking back."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.test import Client

from graphs.actions import decisions
from graphs.actions.errors import ProofNeeded
from graphs.engine.statuses import InterruptStatus, Outcome
from graphs.models import Comment, Conversation, Decision, Draft, Interrupt, Look, Vote, Watch
from graphs.policies.levels import Level
from tests.actions.conftest import Asked
from tests.actions.policies import enforce
from tests.people import People
from tests.records import question
from tests.web.conftest import SignedIn, form_of, text_of

pytestmark = pytest.mark.django_db(transaction=True)


def post(client: Client, asked: Asked, act: str = "approve", **fields: Any) -> Any:
    return client.post(f"/review/{asked.row().pk}", form_of(asked.row(), act, **fields))


def weigh(asked: Asked, level: Level) -> None:
    Interrupt.objects.filter(pk=asked.row().pk).update(risk=level, risk_rules=["Large amounts"])


def page_of(client: Client, asked: Asked) -> str:
    return text_of(client.get(f"/review/{asked.row().pk}"))


def with_password(user: User) -> User:
    user.set_password("open sesame")
    user.save()
    return user


def test_u24_two_people_agree_and_the_page_tells_how_many_are_missing(
    asked: Asked, people: People, signed_in: SignedIn
) -> None:
    enforce(people.finance, quorum=2)
    first = signed_in(people.decider)
    assert "0 voted, 2 that agree are needed" in page_of(first, asked)
    assert post(first, asked, comment="fine").status_code == 303
    assert (asked.row().status, Decision.objects.count(), Vote.objects.count()) == ("open", 0, 1)
    second = signed_in(people.grouped)
    shown = page_of(second, asked)
    assert "1 voted, 2 that agree are needed" in shown and "One more is needed" in shown and "fine" in shown
    assert post(first, asked, key="b" * 32).status_code in (403, 409)
    assert Vote.objects.count() == 1
    assert post(second, asked).status_code == 303
    assert Decision.objects.get().outcome == "approved"


def test_s01_the_requester_decides_nothing_of_their_own_whatever_their_right(
    asked: Asked, people: People, signed_in: SignedIn
) -> None:
    enforce(people.finance, self_approval=False)
    Conversation.objects.filter(threads=asked.pen.thread).update(requester=people.decider)
    client = signed_in(people.decider)
    answer = post(client, asked)
    assert answer.status_code == 403 and "grouped" in text_of(answer)
    assert Decision.objects.count() == 0 and asked.row().status == "open"


@pytest.mark.parametrize("act", ["approve", "reject"])
def test_a_high_risk_asks_for_a_reason_and_keeps_the_question_open(
    act: str, asked: Asked, people: People, signed_in: SignedIn
) -> None:
    weigh(asked, Level.HIGH)
    client = signed_in(people.decider)
    assert "Large amounts" in page_of(client, asked)
    answer = post(client, asked, act)
    assert answer.status_code == 422 and "write why before you decide" in text_of(answer)
    assert asked.row().status == "open"
    assert post(client, asked, act, comment="seen the invoice").status_code == 303


def test_a_rejection_needs_words_where_the_policy_says_so(asked: Asked, people: People, signed_in: SignedIn) -> None:
    enforce(people.finance, reason="reject")
    client = signed_in(people.decider)
    answer = post(client, asked, "reject")
    assert answer.status_code == 422 and "Finance asks for a reason" in text_of(answer)
    assert post(client, asked, "approve").status_code == 303


def test_a_critical_yes_is_typed_and_a_no_is_not(asked: Asked, people: People, signed_in: SignedIn) -> None:
    weigh(asked, Level.CRITICAL)
    client = signed_in(people.decider)
    page = client.get(f"/review/{asked.row().pk}").context["guard"]
    assert page.typed
    answer = post(client, asked, comment="why", typed_word="nonsense")
    assert answer.status_code == 422 and "Type" in text_of(answer)
    assert 'value="nonsense"' in answer.content.decode()
    assert post(client, asked, comment="why", typed_word=f" {page.typed.upper()} ").status_code == 303
    assert Decision.objects.get().outcome == "approved"


def test_the_password_comes_again_for_what_is_critical(asked: Asked, people: People, signed_in: SignedIn) -> None:
    enforce(people.finance, step_up="critical")
    weigh(asked, Level.CRITICAL)
    client = signed_in(with_password(people.decider))
    missing = post(client, asked, comment="why")
    assert missing.status_code == 422 and "enter your password again" in text_of(missing)
    wrong = post(client, asked, comment="why", password="open barley")
    assert wrong.status_code == 422 and "not your password" in text_of(wrong)
    assert "open barley" not in wrong.content.decode()
    assert asked.row().status == "open" and not Draft.objects.exists()
    assert post(client, asked, comment="why", password="open sesame").status_code == 303


def test_s01_no_other_way_decides_what_is_critical_without_the_password(asked: Asked, people: People) -> None:
    enforce(people.finance, step_up="critical")
    weigh(asked, Level.CRITICAL)
    for channel in ("form", "bulk", "api", "mail"):
        with pytest.raises(ProofNeeded):
            decisions.decide(people.decider, [asked.given(comment="why")], channel=channel)
    assert asked.row().status == "open"


def test_guessing_passwords_is_stopped(asked: Asked, people: People, signed_in: SignedIn) -> None:
    cache.clear()
    enforce(people.finance, step_up="critical")
    weigh(asked, Level.CRITICAL)
    client = signed_in(with_password(people.decider))
    for _ in range(5):
        assert "not your password" in text_of(post(client, asked, comment="why", password="guess"))
    answer = post(client, asked, comment="why", password="open sesame")
    assert answer.status_code == 422 and "Too many wrong passwords" in text_of(answer)
    cache.clear()


def test_u25_a_decision_on_hold_is_undone_and_its_words_come_back(
    asked: Asked, people: People, signed_in: SignedIn
) -> None:
    enforce(people.finance, hold_seconds=600)
    client = signed_in(people.decider)
    post(client, asked, comment="too fast")
    assert "data-undo" in client.get(f"/review/{asked.row().pk}").content.decode()
    address = f"/review/{asked.row().pk}/undo"
    assert signed_in(people.viewer).post(address).status_code == 403
    assert asked.row().status != "open"
    assert client.post(address).status_code == 303
    assert asked.row().status == "open"
    assert "too fast" in client.get(f"/review/{asked.row().pk}").content.decode()
    assert Decision.objects.count() == 1 and not Decision.objects.standing().exists()
    assert post(client, asked, "reject", key="c" * 32).status_code == 303
    assert Decision.objects.standing().get().outcome == "rejected"


def test_u25_nothing_is_undone_where_nothing_is_held(asked: Asked, people: People, signed_in: SignedIn) -> None:
    client = signed_in(people.decider)
    post(client, asked)
    assert "data-undo" not in client.get(f"/review/{asked.row().pk}").content.decode()
    assert client.post(f"/review/{asked.row().pk}/undo").status_code in (403, 409)
    assert asked.row().status == "closed"


def test_asking_back_stops_the_clock_and_the_requester_answers_it(
    asked: Asked, people: People, signed_in: SignedIn
) -> None:
    reviewer, requester = signed_in(people.decider), signed_in(people.requester)
    address = f"/review/{asked.row().pk}/comments"
    assert reviewer.post(address, {"text": "Which invoice?", "say": "ask"}).status_code == 303
    row = asked.row()
    assert (row.status, row.paused_at is None) == (InterruptStatus.NEEDS_INFO, False)
    assert Watch.objects.filter(user=people.decider, interrupt=row).exists()
    assert "More information was asked for" in page_of(reviewer, asked) and "Which invoice?" in page_of(
        requester, asked
    )
    assert requester.post(address, {"text": "No. 4", "say": "tell"}).status_code == 303
    row = asked.row()
    assert (row.status, row.paused_at) == (InterruptStatus.OPEN, None)
    assert list(Comment.objects.order_by("pk").values_list("kind", flat=True)) == ["asks", "tells"]
    assert post(reviewer, asked).status_code == 303


@pytest.mark.parametrize(("say", "text", "status"), [("ask", "", 422), ("tell", "x", 409), ("ask", "y" * 10001, 422)])
def test_asking_back_refuses_what_makes_no_sense(
    say: str, text: str, status: int, asked: Asked, people: People, signed_in: SignedIn
) -> None:
    answer = signed_in(people.decider).post(f"/review/{asked.row().pk}/comments", {"text": text, "say": say})
    assert answer.status_code == status
    assert asked.row().status == "open" and not Comment.objects.exists()


def test_who_may_not_decide_asks_nothing_back(asked: Asked, people: People, signed_in: SignedIn) -> None:
    address = f"/review/{asked.row().pk}/comments"
    assert signed_in(people.viewer).post(address, {"text": "Why?", "say": "ask"}).status_code == 403
    assert signed_in(people.stranger).post(address, {"text": "Why?", "say": "ask"}).status_code == 404
    assert asked.row().status == "open"


def test_who_is_named_in_a_remark_watches_the_question_if_they_may_see_it(
    asked: Asked, people: People, signed_in: SignedIn
) -> None:
    text = "@grouped and @stranger, have a look"
    signed_in(people.decider).post(f"/review/{asked.row().pk}/comments", {"text": text})
    assert set(Watch.objects.values_list("user__username", flat=True)) == {"grouped"}


def test_opening_is_noted_once_and_only_for_who_may_see(asked: Asked, people: People, signed_in: SignedIn) -> None:
    client, address = signed_in(people.decider), f"/review/{asked.row().pk}/look"
    client.get(f"/review/{asked.row().pk}")
    assert not Look.objects.exists()
    assert client.post(address).status_code == 204 and client.post(address, {"all": "1"}).status_code == 204
    assert Look.objects.filter(user=people.decider).count() == 1
    assert signed_in(people.stranger).post(address).status_code == 404


def test_what_was_decided_before_of_the_same_kind_is_shown(people: People, signed_in: SignedIn) -> None:
    earlier, now = Asked(people), Asked(people)
    decisions.decide(people.grouped, [earlier.given(Outcome.REJECTED, comment="no budget")], channel="form")
    shown = signed_in(people.decider).get(f"/review/{now.row().pk}").context["precedents"]
    assert (shown.count, shown.yes) == (1, 0) and shown.latest[0].comment == "no budget"
    assert signed_in(people.viewer).get(f"/review/{earlier.row().pk}").context["precedents"] is None


def test_what_a_yes_does_is_told_before_it_is_given(people: People, signed_in: SignedIn) -> None:
    metadata = {"effects": ["Sends 180 EUR to Ada"], "reversible": False, "on_reject": "The order stays open"}
    asked = Asked(people, question(metadata=metadata))
    shown = page_of(signed_in(people.decider), asked)
    assert "Sends 180 EUR to Ada" in shown and "The order stays open" in shown
    assert "Can it be taken back?" in shown


def test_a_policy_that_changed_meanwhile_is_read_again_before_it_counts(
    asked: Asked, people: People, signed_in: SignedIn
) -> None:
    client = signed_in(people.decider)
    form = form_of(asked.row(), "approve", policy=str(asked.row().queue.policy_version))
    enforce(people.finance, quorum=2)
    answer = client.post(f"/review/{asked.row().pk}", form)
    assert answer.status_code == 409 and asked.row().status == "open"
    assert not Vote.objects.exists() and not Decision.objects.exists()
