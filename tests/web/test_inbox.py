from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.contrib.auth.models import Permission
from django.utils import timezone

from graphs.actions.decisions import decide
from graphs.engine.statuses import Outcome
from graphs.models import Interrupt, QueueMembership, Right, Snooze
from graphs.web import listing
from tests.actions.conftest import Asked
from tests.people import People, requested_by
from tests.records import question, statements
from tests.web.conftest import SignedIn, text_of

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def many(people: People) -> list[Interrupt]:
    """Seven questions of one thread, a minute apart, the first the oldest."""
    asked = Asked(people, *(question(path="a", key=f"k{index}", question=f"Question {index}") for index in range(7)))
    now = timezone.now()
    for index in range(7):
        moment = now - timedelta(minutes=70 - index * 10)
        Interrupt.objects.filter(pk=asked.row(index).pk).update(
            created_at=moment, expires_at=now + timedelta(hours=index) if index % 2 else None
        )
    return [asked.row(index) for index in range(7)]


def titles(answer: object) -> list[str]:
    return [row.message for row in answer.context["page"].rows]  # type: ignore[attr-defined]


def test_u07_each_count_is_the_length_of_its_list(many: list[Interrupt], people: People, signed_in: SignedIn) -> None:
    client = signed_in(people.decider)
    page = client.get("/inbox")
    for view in [*page.context["rail"], *page.context["queue_rail"]]:
        if view.count is not None:
            assert len(client.get(f"/inbox?{view.query}").context["page"].rows) == view.count
    assert [view.count for view in page.context["queue_rail"]] == [7]
    assert str(page.context["open_count"]) == "7"


def test_views_hold_what_they_say(asked: Asked, people: People, signed_in: SignedIn) -> None:
    page = signed_in(people.requester).get("/inbox")
    assert titles(page) == [] and str(page.context["open_count"]) == "0"
    assert titles(signed_in(people.requester).get("/inbox?view=asked")) == ["May I?"]
    decide(people.decider, [asked.given()], channel="form")
    client = signed_in(people.decider)
    assert titles(client.get("/inbox")) == []
    assert titles(client.get("/inbox?view=decided")) == ["May I?"]
    assert titles(client.get("/inbox?view=closed")) == ["May I?"]
    assert titles(signed_in(people.grouped).get("/inbox?view=decided")) == []
    assert titles(signed_in(people.other_team).get("/inbox?view=closed")) == []


@pytest.mark.parametrize("name", ["viewer", "operator"])
def test_what_one_may_only_read_is_nobodys_work(name: str, asked: Asked, people: People, signed_in: SignedIn) -> None:
    client = signed_in(getattr(people, name))
    page = client.get("/inbox")
    assert titles(page) == [] and str(page.context["open_count"]) == "0"
    assert str(client.get("/threads").context["open_count"]) == "0"
    (queue,) = [view for view in page.context["queue_rail"] if view.name == "Finance"]
    assert (queue.count, queue.note) == (1, "to read only")
    assert titles(client.get(f"/inbox?{queue.query}")) == ["May I?"]
    assert client.get(f"/review/{asked.row().pk}").context["next_item"] is None


def test_whoever_decides_every_queue_has_them_in_the_list(asked: Asked, people: People, signed_in: SignedIn) -> None:
    for codename in ("view_interrupt", "decide_interrupt"):
        people.stranger.user_permissions.add(Permission.objects.get(codename=codename))
    page = signed_in(people.stranger).get("/inbox")
    assert titles(page) == ["May I?"] and str(page.context["open_count"]) == "1"


def test_u07_the_parts_of_a_refreshed_list_bring_its_counts(asked: Asked, people: People, signed_in: SignedIn) -> None:
    client = signed_in(people.decider)
    for count in (1, 0):
        page = client.get("/inbox", headers={"X-Parts": "1"}).content.decode()
        badge = re.search(r'data-part="badge"[^>]*>(\d+)<', page)
        assert badge is not None and badge[1] == str(count) == str(page.count("data-id="))
        assert 'data-part="rail"' in page and 'data-part="strip"' in page
        if count:
            decide(people.decider, [asked.given()], channel="form")


def test_u15_leaving_a_team_empties_its_views_at_once(asked: Asked, people: People, signed_in: SignedIn) -> None:
    client = signed_in(people.decider)
    assert titles(client.get("/inbox?queue=finance")) == ["May I?"]
    QueueMembership.objects.filter(user=people.decider).delete()
    assert titles(client.get("/inbox?queue=finance")) == []


@pytest.mark.parametrize("sort", ["newest", "oldest", "deadline", "risk", "value"])
def test_a13_paging_neither_skips_nor_repeats(
    sort: str, many: list[Interrupt], people: People, signed_in: SignedIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "PAGE", 2)
    client, seen, query = signed_in(people.decider), [], f"sort={sort}"
    while query:
        page = client.get(f"/inbox?{query}")
        seen += titles(page)
        query = page.context["next_query"]
    assert sorted(seen) == sorted(row.message for row in many)
    newest_first = [row.message for row in reversed(many)]
    dated = ["Question 1", "Question 3", "Question 5"]
    expected = {"oldest": newest_first[::-1], "deadline": dated}.get(sort, newest_first)
    assert seen[: len(expected)] == expected


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("question 3", ["Question 3"]),
        ("QUESTION 3", ["Question 3"]),
        ("older:45m", ["Question 2", "Question 1", "Question 0"]),
        ("queue:finance question 1", ["Question 1"]),
        ("queue:legal", []),
        ("node:a older:65m", ["Question 0"]),
        ("graph:graph question 5", ["Question 5"]),
        ("status:open question 2", ["Question 2"]),
        ("status:approved", []),
        ("zzz", []),
    ],
)
def test_search_and_chips(
    text: str, found: list[str], many: list[Interrupt], people: People, signed_in: SignedIn
) -> None:
    assert titles(signed_in(people.decider).get("/inbox", {"q": text})) == found


@pytest.mark.parametrize(
    "query",
    [
        "q=%00",
        "q=older:999999999d",
        "q=older:99999w",
        "q=status:nonsense",
        "q=" + "x" * 3000,
        "q=%25_%27%22",
        "view=nonsense",
        "sort=nonsense",
        "queue=%00",
        "after=nonsense",
        "after=W10",
        "after=WzEsMl0",
        # The first day of the calendar, fourteen hours east of UTC.
        "after=WyIwMDAxLTAxLTAxVDAwOjAwOjAwKzE0OjAwIiwiNmY2ZWUxYTQtMTExMS00MTExLTgxMTEtMTExMTExMTExMTExIl0",
        "item=nonsense",
        "from=%00",
    ],
)
def test_a14_an_odd_address_is_no_fault(query: str, asked: Asked, people: People, signed_in: SignedIn) -> None:
    assert signed_in(people.decider).get(f"/inbox?{query}").status_code == 200


def test_empty_lists_say_why(asked: Asked, people: People, signed_in: SignedIn) -> None:
    assert "0 of 1 match" in text_of(signed_in(people.decider).get("/inbox?q=zzz"))
    assert signed_in(people.stranger).get("/inbox").context["empty"]["kind"] == "outside"
    assert signed_in(people.other_team).get("/inbox").context["empty"]["kind"] == "fresh"
    decide(people.decider, [asked.given()], channel="form")
    page = signed_in(people.decider).get("/inbox")
    assert page.context["empty"]["kind"] == "done" and "Your last decision was" in text_of(page)
    requested_by(asked.pen.thread, people.stranger)
    assert signed_in(people.stranger).get("/inbox?view=decided").context["empty"]["kind"] == "decided"


def test_a15_the_number_of_queries_is_constant(people: People, asked: Asked, signed_in: SignedIn) -> None:
    client = signed_in(people.decider)
    counts = []
    for extra in (0, 40):
        row = asked.row()
        Interrupt.objects.bulk_create(
            Interrupt(
                thread_id=row.thread_id,
                task_id=row.task_id,
                queue_id=row.queue_id,
                key=f"more{index}",
                node_id="a",
                graph_path=[],
                style="ask",
                message=f"More {index}",
                digest="0" * 64,
                payload={"big": "x" * 1000},
            )
            for index in range(extra)
        )
        with statements() as sent:
            assert len(titles(client.get("/inbox"))) == extra + 1
        counts.append(len(sent))
        assert not any('"payload"' in statement for statement in sent)
        # Beside the session and its person with what they are permitted: the queues, what they asked, and the rows.
        assert len([one for one in sent if re.match(r'.*? FROM "graphs_', one)]) <= 3
    assert counts[0] == counts[1] <= 7


def test_rights_decide_what_a_viewer_can_press(asked: Asked, people: People, signed_in: SignedIn) -> None:
    assert QueueMembership.objects.get(user=people.viewer).right == Right.VIEW
    page = signed_in(people.viewer).get(f"/inbox?item={asked.row().pk}")
    assert not page.context["may_decide"] and 'data-act="approve"' not in page.content.decode()
    assert 'data-act="approve"' in signed_in(people.decider).get(f"/inbox?item={asked.row().pk}").content.decode()


def test_u27_a_decided_question_is_not_pending_even_without_a_worker(
    asked: Asked, people: People, signed_in: SignedIn
) -> None:
    decide(people.decider, [asked.given(Outcome.REJECTED)], channel="form")
    page = signed_in(people.grouped).get("/inbox")
    assert titles(page) == [] and str(page.context["open_count"]) == "0"
    assert "Queued" in text_of(signed_in(people.grouped).get(f"/review/{asked.row().pk}"))


def named(page: object) -> dict[str, int | None]:
    return {view.name: view.count for view in page.context["rail"]}  # type: ignore[attr-defined]


def test_u14_a_claimed_question_is_in_the_view_of_whoever_has_it(
    asked: Asked, people: People, signed_in: SignedIn
) -> None:
    client, pk = signed_in(people.decider), asked.row().pk
    assert titles(client.get("/inbox?view=unassigned")) == ["May I?"]
    assert client.post(f"/review/{pk}/claim", {"next": "/inbox?view=mine"})["Location"] == "/inbox?view=mine"
    page = client.get("/inbox?view=mine")
    assert titles(page) == ["May I?"] and (named(page)["My items"], named(page)["Unassigned"]) == (1, 0)
    assert titles(client.get("/inbox?q=assignee:me")) == titles(client.get("/inbox?q=assignee:decider")) == ["May I?"]
    assert titles(client.get("/inbox?q=assignee:none")) == []
    assert client.post(f"/review/{pk}/release", {"next": "https://evil.example/"})["Location"] == f"/review/{pk}"
    assert titles(client.get("/inbox?view=mine")) == [] and titles(client.get("/inbox?view=unassigned")) == ["May I?"]


def test_a_snoozed_question_leaves_ones_own_lists_until_its_moment(
    asked: Asked, people: People, signed_in: SignedIn
) -> None:
    client, pk = signed_in(people.decider), asked.row().pk
    client.post(f"/review/{pk}/snooze", {"minutes": "60"})
    page = client.get("/inbox")
    assert titles(page) == [] and (named(page)["All open"], named(page)["Snoozed"]) == (0, 1)
    assert str(client.get("/threads").context["open_count"]) == "0"
    assert titles(client.get("/inbox?queue=finance")) == [] and titles(client.get("/inbox?view=snoozed")) == ["May I?"]
    assert titles(signed_in(people.grouped).get("/inbox")) == ["May I?"]
    Snooze.objects.update(until=timezone.now() - timedelta(seconds=1))
    assert titles(client.get("/inbox")) == ["May I?"] and titles(client.get("/inbox?view=snoozed")) == []
    assert client.post(f"/review/{pk}/snooze", {"until": "nonsense"}).status_code == 422


def test_u07_watched_overdue_and_asked_count_what_they_list(
    many: list[Interrupt], people: People, signed_in: SignedIn
) -> None:
    client = signed_in(people.decider)
    client.post(f"/review/{many[0].pk}/watch")
    Interrupt.objects.filter(pk=many[3].pk).update(due_at=timezone.now() - timedelta(minutes=1))
    page = client.get("/inbox")
    assert (named(page)["Watching"], named(page)["Overdue"], named(page)["My threads"]) == (1, 1, 0)
    for view in page.context["rail"]:
        if view.count is not None:
            assert len(titles(client.get(f"/inbox?{view.query}"))) == view.count
    assert titles(client.get("/inbox?view=overdue")) == ["Question 3"]
    assert named(signed_in(people.requester).get("/inbox"))["My threads"] == 7


def test_risk_value_and_deadline_order_and_chips(many: list[Interrupt], people: People, signed_in: SignedIn) -> None:
    Interrupt.objects.filter(pk=many[2].pk).update(risk=2, amount=5.5, name="refund")
    Interrupt.objects.filter(pk=many[4].pk).update(risk=3, amount=900, due_at=timezone.now() + timedelta(minutes=5))
    client = signed_in(people.decider)
    assert titles(client.get("/inbox?sort=risk"))[:3] == ["Question 4", "Question 2", "Question 6"]
    assert titles(client.get("/inbox?sort=value"))[:3] == ["Question 4", "Question 2", "Question 6"]
    assert titles(client.get("/inbox?sort=deadline"))[0] == "Question 4"
    for text, found in {
        "risk:high": ["Question 2"],
        "tool:refund": ["Question 2"],
        "due:10m": ["Question 4"],
        'requester:"requester" question 1': ["Question 1"],
        "requester:nobody": [],
    }.items():
        assert titles(client.get("/inbox", {"q": text})) == found
    page = client.get("/inbox", {"q": "risk:huge due:soon"})
    assert len(titles(page)) == 7 and text_of(page).count("(not understood)") == 2
