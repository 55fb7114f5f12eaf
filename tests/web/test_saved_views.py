"""Views under a name: kept, shared, changed, deleted, and what is left of them when something is gone."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import User

from graphs.models import ApprovalQueue, AuditEntry, Interrupt, QueueMembership, Right, SavedView
from tests.actions.conftest import Asked
from tests.people import People
from tests.records import question, statements
from tests.web.conftest import SignedIn, text_of
from tests.web.test_inbox import titles

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def many(people: People) -> Asked:
    return Asked(people, *(question(key=f"k{n}", question=f"Question {n}") for n in range(4)))


def kept(owner: User, query: str, queue: ApprovalQueue | None = None, title: str = "Mine") -> SavedView:
    return SavedView.objects.create(owner=owner, title=title, query=query, queue=queue)


def test_a_view_is_kept_with_its_filter_and_counts_what_it_lists(
    many: Asked, people: People, signed_in: SignedIn
) -> None:
    client = signed_in(people.decider)
    answer = client.post("/inbox/views", {"title": " Threes ", "from": "q=3&sort=oldest&nonsense=1"})
    view = SavedView.objects.get()
    assert answer.status_code == 303 and answer["Location"] == f"/inbox?q=3&sort=oldest&saved={view.pk}"
    page = client.get(answer["Location"])
    (line,) = page.context["saved_rail"]
    assert (line.name, line.active, line.count) == ("Threes", True, 1) and titles(page) == ["Question 3"]
    assert page.context["title"] == "Threes" and not any(one.active for one in page.context["rail"])
    assert AuditEntry.objects.filter(action="save_view").get().data["query"] == "q=3&sort=oldest"
    # Every other list has it in its rail too, with the same number (U07).
    assert client.get("/inbox").context["saved_rail"][0].count == 1
    changed = client.get(f"/inbox?q=Question&saved={view.pk}")
    assert changed.context["refiltered"] and "Changed since “Threes” was saved" in text_of(changed)
    form = {"title": "All of them", "refilter": "1", "from": f"q=Question&saved={view.pk}"}
    client.post(f"/inbox/views/{view.pk}", form)
    view.refresh_from_db()
    assert (view.title, view.query) == ("All of them", "q=Question")


@pytest.mark.parametrize("title", ["", "  ", "x" * 81, "Taken", "a\x00b"])
def test_a_name_that_cannot_be_is_kept_in_its_form(
    title: str, many: Asked, people: People, signed_in: SignedIn
) -> None:
    kept(people.decider, "", title="Taken")
    answer = signed_in(people.decider).post("/inbox/views", {"title": title, "team": "finance", "from": "q=3"})
    assert answer.status_code == 422 and SavedView.objects.count() == 1 and titles(answer) == ["Question 3"]
    page = answer.content.decode()
    assert 'value="finance" selected' in page and 'aria-describedby="view-problem"' in page
    assert re.search(r'<details class="menu views-menu" open', page)


def test_only_who_decides_in_a_queue_shares_with_its_team(many: Asked, people: People, signed_in: SignedIn) -> None:
    form = {"title": "Ours", "team": "finance", "from": ""}
    for user in (people.viewer, people.other_team, people.requester):
        assert signed_in(user).post("/inbox/views", form).status_code == 403
    assert signed_in(people.grouped).post("/inbox/views", form).status_code == 303
    view = SavedView.objects.get()
    viewer = signed_in(people.viewer)
    assert viewer.get("/inbox").context["saved_rail"][0].name == "Ours"
    assert viewer.post(f"/inbox/views/{view.pk}", {"title": "Mine"}).status_code == 403
    assert viewer.post(f"/inbox/views/{view.pk}/delete").status_code == 403
    assert signed_in(people.other_team).post(f"/inbox/views/{view.pk}/delete").status_code == 404
    # Who administers the queue may take it from the team.
    assert signed_in(people.administrator).post(f"/inbox/views/{view.pk}/delete").status_code == 303
    assert not SavedView.objects.exists() and Interrupt.objects.count() == 4


def test_u15_who_leaves_the_team_sees_neither_the_view_nor_its_items(
    many: Asked, people: People, signed_in: SignedIn
) -> None:
    view = kept(people.grouped, "queue=finance", people.finance)
    client, address = signed_in(people.decider), f"/inbox?queue=finance&saved={view.pk}"
    page = client.get(address)
    assert len(titles(page)) == 4 and page.context["saved_rail"][0].count == 4
    QueueMembership.objects.filter(user=people.decider).delete()
    page = client.get(address)
    assert titles(page) == [] and page.context["saved_rail"] == []
    assert "no longer shared with you" in text_of(page) and "Finance" not in text_of(page)
    # In another team by then: what is shown is that team's, never the view's filter on something else.
    QueueMembership.objects.create(queue=people.legal, user=people.decider, right=Right.DECIDE)
    assert client.get(address).context["wanted"].queue == ""


def test_a_view_with_dead_parts_opens_and_names_them(many: Asked, people: People, signed_in: SignedIn) -> None:
    ghost = User.objects.create_user("ghost", first_name="Gus", last_name="Ost")
    query = "view=yesterday&queue=payments&q=risk:extreme+assignee:ghost+requester:%22Gus Ost%22&sort=colour"
    view = kept(people.decider, query)
    client = signed_in(people.decider)
    said = text_of(client.get(f"/inbox?{query}&saved={view.pk}"))
    for word in ("“yesterday”", "“colour”", "“payments” is gone", "“risk:extreme” is not understood"):
        assert word in said
    assert "Nobody called" not in said
    ghost.is_active = False
    ghost.save()
    said = text_of(client.get(f"/inbox?{query}&saved={view.pk}"))
    assert "“ghost” has an account" in said and "“Gus Ost” has an account" in said
    assert "data-dead" not in client.get("/inbox").content.decode()


def test_the_inbox_begins_with_the_chosen_view_while_it_is_there(
    many: Asked, people: People, signed_in: SignedIn
) -> None:
    view = kept(people.grouped, "q=2", people.finance)
    client = signed_in(people.decider)
    assert client.get("/")["Location"] == "/inbox"
    client.post(f"/inbox/views/{view.pk}", {"default": "on"})
    assert client.get("/")["Location"] == f"/inbox?q=2&saved={view.pk}"
    view.queue = None
    view.save()
    assert client.get("/")["Location"] == "/inbox"


def test_a15_saved_views_are_counted_in_one_statement(many: Asked, people: People, signed_in: SignedIn) -> None:
    client = signed_in(people.decider)
    sent: list[int] = []
    for number in range(3):
        kept(people.decider, f"q={number}", title=f"View {number}")
        with statements() as found:
            client.get("/inbox")
        sent.append(len(found))
    assert len(set(sent)) == 1


def test_choices_are_ones_own_and_only_those_that_there_are(people: People, signed_in: SignedIn) -> None:
    client = signed_in(people.decider)
    assert client.post("/preferences", {"density": "compact", "next": "//evil.example"})["Location"] == "/inbox"
    assert "is-compact" in client.get("/inbox").content.decode()
    assert client.post("/preferences", {"keys": "off"}, headers={"x-parts": "1"}).status_code == 204
    assert client.post("/preferences", {"density": "tiny"}).status_code == 422
    assert "is-compact" not in signed_in(people.grouped).get("/inbox").content.decode()
