"""Several questions of one thread stand side by side, and each is decided by itself."""

from __future__ import annotations

from graphs.actions import decisions
from graphs.models import Interrupt
from tests.actions.conftest import Asked
from tests.people import People
from tests.records import question
from tests.web.conftest import SignedIn, text_of


def both(people: People) -> Asked:
    values = ({"amount": 10}, {"amount": 20})
    return Asked(
        people, *(question(key=f"k{at}", question=f"Question {at}?", value=value) for at, value in enumerate(values))
    )


def test_the_questions_of_one_thread_stand_side_by_side(people: People, signed_in: SignedIn) -> None:
    asked, client = both(people), signed_in(people.decider)
    page = client.get(f"/review/{asked.row(0).pk}")
    text = text_of(page)
    assert "2 questions are open in this thread" in text and "Amount 20" in text
    assert page.content.decode().count('aria-current="step"') == 1
    assert f'/review/{asked.row(1).pk}"' in page.content.decode()
    decisions.decide(people.decider, [asked.given(number=0)], channel="form")
    # The other one is untouched, and the first still stands beside it with its outcome.
    page = client.get(f"/review/{asked.row(1).pk}")
    assert asked.row(1).status == "open" and [one.pk for one in page.context["steps"]] == [
        asked.row(0).pk,
        asked.row(1).pk,
    ]
    assert "1 question is open in this thread" in text_of(page)


def test_s02_a_question_of_a_queue_that_one_does_not_see_is_not_beside_it(people: People, signed_in: SignedIn) -> None:
    asked = both(people)
    Interrupt.objects.filter(pk=asked.row(1).pk).update(queue=people.legal)
    page = signed_in(people.decider).get(f"/review/{asked.row(0).pk}")
    assert "Question 1?" not in "".join(str(one.message) for one in page.context["steps"])
    assert "questions are open in this thread" not in text_of(page)


def test_a_question_that_stands_alone_has_no_steps(people: People, signed_in: SignedIn) -> None:
    page = signed_in(people.decider).get(f"/review/{Asked(people).row().pk}")
    assert "open in this thread" not in text_of(page)
