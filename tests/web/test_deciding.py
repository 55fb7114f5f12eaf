from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client

from graphs.actions.decisions import decide
from graphs.engine.statuses import InterruptStatus, Outcome
from graphs.models import Comment, Decision, Interrupt, Thread
from tests.actions.conftest import Asked
from tests.people import People
from tests.records import question
from tests.web.conftest import SignedIn, form_of, text_of

pytestmark = pytest.mark.django_db(transaction=True)

FORM = {
    "type": "object",
    "properties": {
        "amount": {"type": "integer", "maximum": 100, "title": "Amount"},
        "code": {"type": "string", "pattern": "^[0-9]+$", "title": "Code"},
    },
    "required": ["amount"],
    "additionalProperties": False,
}


def ask(people: People, **fields: Any) -> Asked:
    return Asked(people, question(**fields))


def post(client: Client, asked: Asked, act: str, **fields: Any) -> Any:
    return client.post(f"/review/{asked.row().pk}", form_of(asked.row(), act, **fields))


def test_approving_leads_to_the_receipt(asked: Asked, people: People, signed_in: SignedIn) -> None:
    client = signed_in(people.decider)
    answer = post(client, asked, "approve", comment="looks right")
    assert (answer.status_code, answer["Location"]) == (303, f"/review/{asked.row().pk}")
    decision = Decision.objects.get()
    assert (decision.outcome, decision.comment, decision.channel) == ("approved", "looks right", "form")
    page = text_of(client.get(answer["Location"]))
    for shown in (
        "decider",
        "approved",
        "looks right",
        f"Recorded as no. {decision.audit_seq}",
        "via form",
        "version 1",
    ):
        assert shown in page
    assert decision.digest[:12] in page and "Queued" in page


@pytest.mark.parametrize(("act", "tone"), [("approve", "green"), ("reject", "red")])
def test_the_receipt_has_the_colour_of_its_verdict(
    act: str, tone: str, asked: Asked, people: People, signed_in: SignedIn
) -> None:
    client = signed_in(people.decider)
    page = client.get(post(client, asked, act)["Location"]).content.decode()
    assert f'class="bubble bubble-receipt tone-{tone}"' in page
    # One colour for one person, in the corner and in the conversation.
    assert len(set(re.findall(r'avatar hue-(\d)" aria-hidden="true">D<', page))) == 1


@pytest.mark.parametrize(("act", "outcome"), [("approve", "approved"), ("reject", "rejected"), ("answer", "answered")])
def test_each_button_is_its_own_verdict(
    act: str, outcome: str, asked: Asked, people: People, signed_in: SignedIn
) -> None:
    assert post(signed_in(people.decider), asked, act, free="words").status_code == 303
    decision = Decision.objects.get()
    assert (decision.outcome, decision.value) == (outcome, "words" if act == "answer" else None)


@pytest.mark.parametrize(
    ("free", "kind", "value"),
    [("12", "text", "12"), ("12", "json", 12), ("false", "json", False), ("null", "json", None), ("[]", "json", [])],
)
def test_z32_free_answers_keep_their_type(
    free: str, kind: str, value: Any, asked: Asked, people: People, signed_in: SignedIn
) -> None:
    assert post(signed_in(people.decider), asked, "answer", free=free, free_kind=kind).status_code == 303
    assert Decision.objects.get().value == value


def test_u28_the_original_option_is_what_is_answered(people: People, signed_in: SignedIn) -> None:
    asked = ask(people, style="request_human_input", metadata={"options": [10, "10", {"value": False, "label": "No"}]})
    page = text_of(signed_in(people.decider).get(f"/review/{asked.row().pk}"))
    assert '"10"' in page and "No" in page
    assert post(signed_in(people.decider), asked, "answer", f="2").status_code == 303
    assert Decision.objects.get().value is False


@pytest.mark.parametrize(("act", "expected"), [("approve", True), ("reject", False)])
def test_a_verdict_in_the_schema_is_set_by_the_button(
    act: str, expected: bool, people: People, signed_in: SignedIn
) -> None:
    schema = {
        "type": "object",
        "properties": {"approved": {"type": "boolean"}, "note": {"type": "string"}},
        "required": ["approved"],
    }
    asked = ask(people, style="interrupt", response_schema=schema)
    # What is posted under its name changes nothing (S09).
    answer = post(signed_in(people.decider), asked, act, **{"f/note": "n", "f/approved": "1"})
    assert answer.status_code == 303
    assert Decision.objects.get().value == {"note": "n", "approved": expected}


@pytest.mark.parametrize(
    ("fields", "shown"),
    [
        ({"f/amount": "", "f/code": "1"}, "This is needed."),
        ({"f/amount": "ten", "f/code": "2"}, "Enter a whole number."),
        ({"f/amount": "101", "f/code": "3"}, "Amount"),
        ({"f/amount": "5", "f/code": "abc"}, "Code"),
    ],
)
def test_u11_a_form_that_breaks_the_schema_comes_back_whole(
    fields: dict[str, str], shown: str, people: People, signed_in: SignedIn
) -> None:
    asked = ask(people, style="interrupt", response_schema=FORM)
    answer = post(signed_in(people.decider), asked, "answer", comment="my words", **fields)
    page = answer.content.decode()
    assert answer.status_code == 422 and asked.row().status == InterruptStatus.OPEN
    assert "to mend" in page and shown in text_of(answer)
    assert f'value="{fields["f/code"]}"' in page and ">my words</textarea>" in page
    assert 'aria-invalid="true"' in page and 'href="#f-' in page
    assert not Decision.objects.exists()


def test_a_rejection_asks_for_no_complete_form(people: People, signed_in: SignedIn) -> None:
    asked = ask(people, style="interrupt", response_schema=FORM)
    assert post(signed_in(people.decider), asked, "reject").status_code == 303
    assert Decision.objects.get().value is None


def test_what_was_not_offered_cannot_be_pressed(people: People, signed_in: SignedIn) -> None:
    asked = ask(people, style="request_input", response_schema=FORM)
    for act in ("reject", "approve", "cancel", "expire", ""):
        assert post(signed_in(people.decider), asked, act, **{"f/amount": "5"}).status_code == 422
    assert asked.row().status == InterruptStatus.OPEN


def test_f21_losing_a_race_is_told_with_the_receipt_and_what_was_typed(
    asked: Asked, people: People, signed_in: SignedIn
) -> None:
    before = form_of(asked.row(), "approve", comment="my long reasoning")
    decide(people.grouped, [asked.given(Outcome.REJECTED, comment="no")], channel="form")
    answer = signed_in(people.decider).post(f"/review/{asked.row().pk}", before)
    page = text_of(answer)
    assert answer.status_code == 409
    assert "grouped rejected this" in page and "Your answer was not used" in page
    assert "my long reasoning" in page and "Recorded as no." in page
    assert Decision.objects.count() == 1 and "data-decide" not in answer.content.decode()


def test_a_late_answer_is_told_who_decided_not_what_its_form_lacks(people: People, signed_in: SignedIn) -> None:
    asked = ask(people, style="interrupt", response_schema=FORM)
    before = form_of(asked.row(), "answer")
    decide(people.grouped, [asked.given(Outcome.ANSWERED, {"amount": 1})], channel="form")
    answer = signed_in(people.decider).post(f"/review/{asked.row().pk}", before)
    assert answer.status_code == 409 and "grouped answered this" in text_of(answer)


def test_the_same_submission_twice_shows_the_first_receipt(asked: Asked, people: People, signed_in: SignedIn) -> None:
    before = form_of(asked.row(), "approve")
    client = signed_in(people.decider)
    assert [client.post(f"/review/{asked.row().pk}", before).status_code for _ in range(2)] == [303, 303]
    assert Decision.objects.count() == 1


def test_what_was_approved_is_what_runs(asked: Asked, people: People, signed_in: SignedIn) -> None:
    client = signed_in(people.decider)
    seen = form_of(asked.row(), "approve", comment="keep me")
    Interrupt.objects.filter(pk=asked.row().pk).update(version=2, digest="e" * 64, message="Another question?")
    answer = client.post(f"/review/{asked.row().pk}", seen)
    page = answer.content.decode()
    assert answer.status_code == 409 and "changed while you were reading" in page
    # The page is the new question's, ready to be decided, with what was typed.
    assert 'name="version" value="2"' in page and "Another question?" in page and "keep me" in page
    assert asked.row().status == InterruptStatus.OPEN
    assert "a" * 32 not in page


@pytest.mark.parametrize("tampered", [{"version": "x"}, {"version": "٣"}, {"digest": "0" * 64}, {"version": "9" * 40}])
def test_a_tampered_form_decides_nothing(
    tampered: dict[str, str], asked: Asked, people: People, signed_in: SignedIn
) -> None:
    answer = signed_in(people.decider).post(f"/review/{asked.row().pk}", form_of(asked.row(), "approve") | tampered)
    assert answer.status_code == 409 and asked.row().status == InterruptStatus.OPEN


def test_u08_a_withdrawn_question_says_why(asked: Asked, people: People, signed_in: SignedIn) -> None:
    before = form_of(asked.row(), "approve")
    Interrupt.objects.filter(pk=asked.row().pk).update(
        status=InterruptStatus.WITHDRAWN, closed_because="The thread was cancelled by Mia."
    )
    client = signed_in(people.decider)
    assert "cancelled by Mia" in text_of(client.get(f"/review/{asked.row().pk}"))
    answer = client.post(f"/review/{asked.row().pk}", before)
    assert answer.status_code == 409 and "cancelled by Mia" in text_of(answer)
    assert client.get("/inbox").context["page"].rows == []


def test_a_viewer_is_refused_and_keeps_what_was_typed(asked: Asked, people: People, signed_in: SignedIn) -> None:
    answer = post(signed_in(people.viewer), asked, "approve", comment="kept")
    assert answer.status_code == 403 and "kept" in text_of(answer) and asked.row().status == InterruptStatus.OPEN


@pytest.mark.parametrize("comment", ["x" * 10_001, "a\x00b"])
def test_a_comment_that_cannot_be_kept_is_told(comment: str, asked: Asked, people: People, signed_in: SignedIn) -> None:
    answer = post(signed_in(people.decider), asked, "approve", comment=comment)
    assert answer.status_code == 422 and "comment" in text_of(answer).lower()
    assert asked.row().status == InterruptStatus.OPEN


@pytest.mark.parametrize("free", ["a\x00b", '{"a": NaN}', '"\\ud800"', "[" * 200 + "]" * 200])
def test_values_that_are_no_json_are_told(free: str, asked: Asked, people: People, signed_in: SignedIn) -> None:
    kind = "text" if free.startswith("a") else "json"
    assert post(signed_in(people.decider), asked, "answer", free=free, free_kind=kind).status_code == 422
    assert asked.row().status == InterruptStatus.OPEN


def test_an_answer_of_five_megabytes_is_refused(asked: Asked, people: People, signed_in: SignedIn) -> None:
    answer = post(signed_in(people.decider), asked, "answer", free="x" * 5_000_000)
    assert answer.status_code in (400, 413) and asked.row().status == InterruptStatus.OPEN


def test_u02_a_comment_answers_nothing(asked: Asked, people: People, signed_in: SignedIn) -> None:
    client = signed_in(people.decider)
    status = Thread.objects.get().status
    answer = client.post(f"/review/{asked.row().pk}/comments", {"text": " Who is this? ", "act": "approve"})
    assert answer.status_code == 303
    assert Comment.objects.get().text == "Who is this?" and "Who is this?" in text_of(client.get(answer["Location"]))
    assert asked.row().status == InterruptStatus.OPEN and Thread.objects.get().status == status
    assert client.post(f"/review/{asked.row().pk}/comments", {"text": "x" * 10_001}).status_code == 422
    assert Comment.objects.count() == 1


def test_without_a_script_a_remark_takes_nothing_of_an_unsent_answer(people: People, signed_in: SignedIn) -> None:
    asked = ask(people, style="interrupt", response_schema=FORM)
    client = signed_in(people.decider)
    address = f"/review/{asked.row().pk}"
    page = client.get(address).content.decode()
    # Both stand in the decision's form; the remark's button sends it elsewhere.
    assert 'name="text" rows="1" maxlength="10000" placeholder="Write a remark" data-grow form="decide"' in page
    assert f'formnovalidate formaction="{address}/comments"' in page
    typed = form_of(asked.row(), "", comment="half a reason", **{"f/amount": "7x", "f/code": "12"})
    answer = client.post(f"{address}/comments", typed | {"text": "Who is this?"})
    page = answer.content.decode()
    assert answer.status_code == 200 and Comment.objects.get().text == "Who is this?" and "Who is this?" in page
    assert ">half a reason</textarea>" in page and 'value="7x"' in page and 'value="12"' in page
    assert "to mend" not in page and f'value="{"a" * 32}"' in page and asked.row().status == InterruptStatus.OPEN
    long = client.post(f"{address}/comments", typed | {"text": "y" * 10_001})
    assert (
        long.status_code == 422 and "half a reason" in long.content.decode() and "y" * 10_001 in long.content.decode()
    )
    Interrupt.objects.update(version=2, message="Another question?")
    late = client.post(f"{address}/comments", typed | {"text": "Still there?"})
    assert (
        late.status_code == 409 and "changed while you were reading" in text_of(late) and Comment.objects.count() == 2
    )
    decide(people.grouped, [asked.given(Outcome.ANSWERED, {"amount": 1})], channel="form")
    assert client.post(f"{address}/comments", typed | {"text": "Too late"}).status_code == 303


def test_u01_a_second_question_shows_the_receipt_of_the_first(people: People, signed_in: SignedIn) -> None:
    asked = Asked(people, question(key="one", question="First?"), question(key="two", question="Second?"))
    decide(people.grouped, [asked.given(comment="go on")], channel="form")
    page = text_of(signed_in(people.decider).get(f"/review/{asked.row(1).pk}"))
    assert "First?" in page and "grouped" in page and "go on" in page and page.count("Second?") >= 2


def test_next_item_follows_the_list_it_came_from(people: People, signed_in: SignedIn) -> None:
    asked = Asked(people, question(key="one", question="First?"), question(key="two", question="Second?"))
    client = signed_in(people.decider)
    answer = client.post(f"/review/{asked.row().pk}?from=sort%3Doldest", form_of(asked.row(), "approve"))
    assert answer["Location"].endswith("?from=sort%3Doldest")
    page = client.get(answer["Location"])
    assert page.context["next_item"].pk == asked.row(1).pk and page.context["back"] == "/inbox?sort=oldest"


def test_f12_a_decision_without_redis_is_recorded_and_says_so(
    asked: Asked, people: People, signed_in: SignedIn
) -> None:
    # No server runs in these tests: nothing can be enqueued, and nothing of it reaches the reviewer.
    client = signed_in(people.decider)
    answer = post(client, asked, "approve")
    Thread.objects.update(ready_at="2020-01-01T00:00:00Z")
    assert "Recorded and still queued, position 1" in text_of(client.get(answer["Location"]))
