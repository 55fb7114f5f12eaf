from __future__ import annotations

import csv
import io
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from graphs.actions import looks, undoing
from graphs.actions.actors import TIMEOUT
from graphs.actions.decisions import decide
from graphs.engine.statuses import Outcome
from graphs.models import ApprovalQueue, Interrupt, Look, insight
from graphs.web.tables import COUNT, SPAN, TEXT, Column, Table
from tests.actions.conftest import Asked
from tests.actions.policies import enforce, past
from tests.people import People
from tests.records import question
from tests.web.conftest import SignedIn, text_of

pytestmark = pytest.mark.django_db(transaction=True)

FORM = {"type": "object", "properties": {"amount": {"type": "number"}}}


def whole(days: int = 30) -> insight.Scope:
    since = timezone.now() - timedelta(days=days)
    return insight.Scope(tuple(ApprovalQueue.objects.values_list("pk", flat=True)), since)


def several(people: People, count: int) -> Asked:
    made = [
        question(key=f"ask{number}", value={"amount": 5}, response_schema=FORM, name="pay" if number % 2 else "")
        for number in range(count)
    ]
    return Asked(people, *made)


def took(asked: Asked, number: int, minutes: float) -> None:
    """Make a question so old that its decision now took so many minutes, give or take the time of the test."""
    past(asked.row(number), created_at=minutes)


def yes(people: People, asked: Asked, number: int, by: User | None = None, amount: int = 5, **how: Any) -> None:
    given = asked.given(number=number, value={"amount": amount})
    decide(by or people.decider, [given], channel=how.get("channel", "form"))


@pytest.mark.parametrize("path", ["/insights", "/insights/table.csv"])
def test_s08_the_numbers_are_for_who_administers_a_queue_and_operators(
    path: str, people: People, signed_in: SignedIn
) -> None:
    for user in (people.administrator, people.operator):
        assert signed_in(user).get(path).status_code == 200
        assert 'href="/insights"' in signed_in(user).get("/inbox").content.decode()
    for user in (people.decider, people.viewer, people.requester, people.stranger, people.other_team):
        assert signed_in(user).get(path).status_code == 403
        assert 'href="/insights"' not in signed_in(user).get("/inbox").content.decode()


def test_s02_nobody_sees_the_numbers_of_a_queue_that_is_not_theirs(people: People, signed_in: SignedIn) -> None:
    asked = several(people, 3)
    yes(people, asked, 0)
    Interrupt.objects.filter(pk=asked.row(1).pk).update(queue=people.legal)
    for address in ("/insights", "/insights?queue=legal", "/insights?queue=%00&days=x"):
        page = text_of(signed_in(people.administrator).get(address))
        assert "Open now 1 " in page and "Legal" not in page
    assert "Open now 2 " in text_of(signed_in(people.operator).get("/insights"))
    assert "Open now 1 " in text_of(signed_in(people.operator).get("/insights?queue=legal"))


@pytest.mark.parametrize(
    ("minutes", "median", "mean", "p90"),
    [
        ([10], 10, 10, 10),
        ([10, 20], 15, 15, 20),
        ([10, 20, 90], 20, 40, 90),
        (list(range(10, 110, 10)), 55, 55, 90),
        (list(range(10, 120, 10)), 60, 60, 100),
    ],
)
def test_the_median_stands_beside_mean_and_90th_percentile(
    minutes: list[int], median: float, mean: float, p90: float, people: People
) -> None:
    asked = several(people, len(minutes))
    for number, length in enumerate(minutes):
        took(asked, number, length)
        yes(people, asked, number)
    found = insight.totals(whole()).spans
    told = [found.median, found.mean, found.p90]
    assert all(one is not None for one in told) and found.n == len(minutes)
    assert [round(one.total_seconds() / 60) for one in told if one] == [round(median), round(mean), round(p90)]


def test_every_decision_that_counts_is_one_of_the_kinds(people: People) -> None:
    asked = several(people, 6)
    yes(people, asked, 0)
    yes(people, asked, 1, amount=9)
    decide(people.decider, [asked.given(Outcome.REJECTED, number=2)], channel="bulk")
    decide(people.decider, [asked.given(Outcome.ANSWERED, number=3, value={"amount": 5})], channel="form")
    decide(TIMEOUT, [asked.given(Outcome.EXPIRED, number=4)], channel="clock")
    found = insight.totals(whole())
    assert (found.n, found.people, found.by_clock) == (5, 4, 1)
    assert found.shares == {"approved": 1, "edited": 1, "rejected": 1, "answered": 1}
    assert insight.waiting(whole().queues) == {"open": 1, "overdue": 0}
    by_channel = {one.key: one.n for one in insight.grouped(whole(), "channel")}
    assert by_channel == {"bulk": 1, "clock": 1, "form": 3}
    assert {one.key: one.n for one in insight.grouped(whole(), "tool")} == {"graph · a": 3, "pay": 2}
    assert [(one.key, one.n) for one in insight.grouped(whole(), "queue")] == [("Finance", 5)]


def test_what_was_due_counts_as_in_time_or_late(people: People) -> None:
    asked = several(people, 4)
    for number, due in ((0, -5), (1, 5), (2, -9)):
        past(asked.row(number), due_at=due)
    for number in (0, 1, 3):
        yes(people, asked, number)
    found = insight.totals(whole())
    assert (found.due, found.in_time, found.n) == (2, 1, 3)
    past(asked.row(2), due_at=1)
    assert insight.waiting(whole().queues) == {"open": 1, "overdue": 1}


def test_u25_what_was_undone_is_counted_apart(people: People) -> None:
    enforce(people.finance, hold_seconds=600)
    asked = several(people, 2)
    yes(people, asked, 0)
    yes(people, asked, 1)
    undoing.undo(people.decider, str(asked.row(1).pk))
    assert insight.undone(whole()) == (1, 2)
    assert insight.totals(whole()).n == 1


def test_the_first_look_is_that_of_somebody_else_than_the_requester(people: People) -> None:
    asked = several(people, 2)
    for number in (0, 1):
        took(asked, number, 60)
    for user, minutes in ((people.requester, 59), (people.decider, 20), (people.viewer, 30)):
        looks.note(user, asked.row(0))
        Look.objects.filter(user=user).update(first_at=timezone.now() - timedelta(minutes=minutes))
    looks.note(people.requester, asked.row(1))
    found = insight.first_looks(whole())
    assert found.n == 1 and found.median is not None and round(found.median.total_seconds() / 60) == 30


def test_the_period_ends_before_what_is_older(people: People) -> None:
    asked = several(people, 2)
    took(asked, 0, 60 * 24 * 40)
    yes(people, asked, 1)
    assert sum(insight.arrivals(whole(30)).values()) == 1
    assert sum(insight.arrivals(whole(90)).values()) == 2
    assert [one.n for one in insight.daily(whole()).values()] == [1]


def test_how_a_person_decides_is_told_by_what_they_opened(people: People) -> None:
    asked = several(people, 4)
    # Opened and read long ago; opened just now; opened long ago with long values closed; never opened.
    for number, read in ((0, True), (1, True), (2, False)):
        looks.note(people.decider, asked.row(number), read_all=read)
    for number in (0, 2):
        Look.objects.filter(interrupt=asked.row(number).pk).update(first_at=timezone.now() - timedelta(minutes=9))
    for number in range(3):
        yes(people, asked, number)
    decide(people.grouped, [asked.given(Outcome.REJECTED, number=3)], channel="bulk")
    looks.note(people.grouped, asked.row(3))
    Look.objects.filter(interrupt=asked.row(1).pk).update(first_at=asked.row(1).decisions.get().decided_at)
    assert insight.reviewers(whole()) == [
        insight.Reviewer("decider", n=3, quick=1, unread=1, unopened=0, yes=3),
        insight.Reviewer("grouped", n=1, quick=0, unread=1, unopened=1, yes=0),
    ]


@pytest.mark.parametrize(("n", "yes", "sign"), [(50, 50, True), (49, 49, False), (51, 50, False)])
def test_never_saying_no_says_something_from_fifty_decisions_on(n: int, yes: int, sign: bool) -> None:
    assert insight.Reviewer("x", n, 0, 0, 0, yes).always_yes is sign


def test_the_page_says_of_how_many_each_number_is_made(people: People, signed_in: SignedIn) -> None:
    asked = several(people, 3)
    yes(people, asked, 0)
    decide(people.decider, [asked.given(Outcome.REJECTED, number=1)], channel="form")
    page = signed_in(people.administrator).get("/insights?days=7")
    text = text_of(page)
    assert "Came in and decided 3 → 2 in 7 days" in text and "n = 2" in text.replace("\xa0", " ")
    assert "Approved 50 % 1" in text and "Rejected 50 % 1" in text and "mean" in text and "median" in text
    html = page.content.decode()
    assert html.count('data-chart="days"') == 2 and html.count('table data-table="days"') == 1
    assert html.count('<th scope="row" data-v="20') == 7
    assert "Nothing was decided in this time" in text_of(signed_in(people.operator).get("/insights?queue=legal"))


@pytest.mark.parametrize("table", ["days", "tool", "queue", "channel", "people"])
def test_every_table_is_a_file_that_no_spreadsheet_runs(table: str, people: People, signed_in: SignedIn) -> None:
    people.decider.first_name = "=cmd()"
    people.decider.save()
    ApprovalQueue.objects.filter(slug="finance").update(title="@Finance")
    asked = several(people, 1)
    yes(people, asked, 0, channel="+form")
    answer = signed_in(people.administrator).get(f"/insights/table.csv?table={table}&days=7")
    assert answer["Content-Type"].startswith("text/csv") and f"insights-{table}-7.csv" in answer["Content-Disposition"]
    rows = list(csv.DictReader(io.StringIO(answer.content.decode())))
    assert len(rows) == (7 if table == "days" else 1) and rows[-1]["decided"] == "1"
    firsts = {"queue": "'@Finance", "channel": "'+form", "people": "'=cmd()", "tool": "graph · a"}
    assert next(iter(rows[-1].values())) == firsts.get(table, f"{timezone.localdate()}")


def test_the_number_of_queries_is_constant(people: People, signed_in: SignedIn) -> None:
    browser = signed_in(people.administrator)
    asked = several(people, 12)
    yes(people, asked, 0)
    with CaptureQueriesContext(connection) as few:
        browser.get("/insights")
    for number in range(1, 12):
        yes(people, asked, number, by=people.grouped if number % 3 else None, channel=f"c{number}")
    with CaptureQueriesContext(connection) as many:
        browser.get("/insights?days=90")
    assert len(many) == len(few)


def test_a_table_tells_nothing_where_there_is_nothing() -> None:
    table = Table("x", "X", [Column("a", "A", TEXT), Column("b", "B", COUNT), Column("c", "C", SPAN)], [["", 0, None]])
    assert list(table.plain()) == [["", "0", ""]]
    assert [[cell.text for cell in row] for row in table.cells()] == [["", "0", ""]]


def test_votes_on_one_question_agree_or_do_not(people: People, signed_in: SignedIn) -> None:
    enforce(people.finance, quorum=2, rejects=2)
    asked = several(people, 3)
    for number, second in ((0, Outcome.APPROVED), (1, Outcome.REJECTED)):
        yes(people, asked, number)
        value = {"amount": 5} if second is Outcome.APPROVED else None
        decide(people.grouped, [asked.given(second, value, number)], channel="form")
    yes(people, asked, 2)
    # A question on which one person has voted so far says nothing about agreement.
    assert insight.agreement(whole()) == (1, 2)
    page = text_of(signed_in(people.administrator).get("/insights"))
    assert "50 % of the questions on which several people voted" in page


def test_how_much_is_changed_where_anything_is(people: People, signed_in: SignedIn) -> None:
    asked = several(people, 3)
    for number, amount in enumerate((5, 6, 7)):
        yes(people, asked, number, amount=amount)
    edits = signed_in(people.administrator).get("/insights").context["edits"]
    assert edits == {"n": 2, "median": 1}
