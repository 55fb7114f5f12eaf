from __future__ import annotations

import re
import uuid
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from django.utils import timezone

from graphs.actions import audit
from graphs.actions import trust as actions
from graphs.actions.actors import System
from graphs.actions.decisions import decide
from graphs.actions.errors import NotAllowed, NotFound, NotPossible
from graphs.agents.approvals import gate_schema
from graphs.engine.interrupts import Interrupt
from graphs.engine.statuses import Outcome
from graphs.models import AuditEntry, Decision, Trust
from tests.actions.conftest import Asked
from tests.people import People, member
from tests.records import question
from tests.web.conftest import SignedIn, text_of

CALL = {"agent": "keeper", "tool": "delete_file", "arguments": {"path": "logs/a.txt", "days": 5}}
SCHEMA = gate_schema(
    {"type": "object", "properties": {"path": {"type": "string"}, "days": {"type": "integer"}}, "required": ["path"]}
)


def gate() -> Interrupt:
    given = {"style": "tool", "kind": "tool_approval", "name": "delete_file", "metadata": CALL, "value": CALL}
    return question(question="keeper wants to call delete_file", response_schema=SCHEMA, **given)


@pytest.fixture
def asked(people: People) -> Asked:
    return Asked(people, gate())


def form(page: str) -> dict[str, str]:
    """What a browser would send of the page's form without touching it."""
    part = page[page.index('<form id="decide"') : page.index("</form>", page.index('<form id="decide"'))]
    inputs = [dict(re.findall(r'(\w+)="([^"]*)"', one)) for one in re.findall(r"<input[^>]*>", part)]
    texts = dict(re.findall(r'<textarea[^>]*name="([^"]+)"[^>]*>\n?([^<]*)</textarea>', part))
    return {one["name"]: one.get("value", "") for one in inputs if one.get("name")} | texts


def posted(browser: Any, asked: Asked, **chosen: str) -> Any:
    address = reverse("review", args=[asked.row().pk])
    page = browser.get(address).content.decode()
    return browser.post(address, {**form(page), "act": "approve", **chosen})


def given(asked: Asked, user: User | System, **trust: Any) -> Trust:
    value = {"approved": True, "trust": {"scope": "thread", **trust}}
    decide(user, [asked.given(Outcome.APPROVED, value)], channel="form")
    return Trust.objects.get()


@pytest.mark.django_db(transaction=True)
def test_s04_a_card_shows_no_raw_mark_of_direction_but_in_inputs(people: People, signed_in: SignedIn) -> None:
    turned = "\u202egpj.exe"
    call = {"agent": "keeper", "tool": turned, "arguments": {"path": turned, turned: turned}}
    message = f"keeper wants {turned}\n{turned}"
    asked = Asked(
        people,
        question(
            question=message,
            response_schema=SCHEMA,
            style="tool",
            kind="tool_approval",
            name=turned,
            metadata=call,
            value=call,
        ),
    )
    page = signed_in(people.decider).get(reverse("review", args=[asked.row().pk])).content.decode()
    shown = re.sub(r"<input[^>]*>|<textarea.*?</textarea>|<select[^>]*>", "", page, flags=re.DOTALL)
    assert [shown[max(0, at.start() - 90) : at.end() + 9] for at in re.finditer("\u202e", shown)] == []
    assert "‹U+202E›gpj.exe" in shown


@pytest.mark.django_db(transaction=True)
class TestGiving:
    def test_z54_the_card_offers_trust_for_a_gated_call_and_stores_what_was_chosen(
        self, people: People, asked: Asked, signed_in: SignedIn
    ) -> None:
        chosen = {"trust_scope": "conversation", "trust_span": "3600", "trust_rule.path": "like"}
        answer = posted(
            signed_in(people.decider), asked, **chosen, **{"trust_like.path": "logs/*", "trust_rule.days": "any"}
        )
        assert answer.status_code == 303
        found = Trust.objects.get()
        assert (found.tool, found.agent, found.scope) == ("delete_file", "keeper", "conversation")
        assert found.arguments == {"path": {"like": "logs/*"}, "days": {}}
        assert found.granted_by_name == "decider" and found.expires_at is not None
        assert timedelta(minutes=59) < found.expires_at - timezone.now() <= timedelta(hours=1)

    def test_z54_a_span_that_was_not_offered_is_refused(
        self, people: People, asked: Asked, signed_in: SignedIn
    ) -> None:
        answer = posted(signed_in(people.decider), asked, trust_scope="thread", trust_span="999")
        assert answer.status_code == 422 and "one of the times that are offered" in text_of(answer)
        assert asked.row().status == "open" and not Trust.objects.exists()

    def test_z54_an_untouched_card_gives_no_trust(self, people: People, asked: Asked, signed_in: SignedIn) -> None:
        assert posted(signed_in(people.decider), asked).status_code == 303
        assert not Trust.objects.exists()

    def test_z54_a_rejection_gives_no_trust_whatever_was_chosen(
        self, people: People, asked: Asked, signed_in: SignedIn
    ) -> None:
        assert posted(signed_in(people.decider), asked, act="reject", trust_scope="thread").status_code == 303
        assert not Trust.objects.exists()

    def test_z54_a_pattern_that_the_call_itself_does_not_fit_is_refused_and_kept(
        self, people: People, asked: Asked, signed_in: SignedIn
    ) -> None:
        chosen = {"trust_scope": "thread", "trust_rule.path": "like", "trust_like.path": "other/*", "comment": "hm"}
        answer = posted(signed_in(people.decider), asked, **chosen)
        page = answer.content.decode()
        assert answer.status_code == 422 and "the call that is asked about does not fit this" in text_of(answer)
        assert 'value="other/*"' in page and ">hm</textarea>" in page
        assert re.search(r'<option value="thread" selected', page)
        assert asked.row().status == "open" and not Trust.objects.exists()

    def test_z54_every_thread_of_an_agent_is_for_who_administers_the_queue(
        self, people: People, asked: Asked, signed_in: SignedIn
    ) -> None:
        page = signed_in(people.decider).get(reverse("review", args=[asked.row().pk])).content.decode()
        assert 'value="agent"' not in page and 'value="conversation"' in page
        assert posted(signed_in(people.decider), asked, trust_scope="agent").status_code == 403
        assert asked.row().status == "open"
        assert posted(signed_in(people.administrator), asked, trust_scope="agent").status_code == 303
        assert Trust.objects.get().scope == "agent"

    @pytest.mark.parametrize(
        "trust",
        [
            "yes",
            {},
            {"scope": "everything"},
            {"scope": "thread", "seconds": 0},
            {"scope": "thread", "seconds": True},
            {"scope": "thread", "arguments": {"path": "logs/*"}},
            {"scope": "thread", "arguments": {"path": {"like": 5}}},
            {"scope": "thread", "arguments": {"path": {"like": "l*", "is": "l"}}},
            {"scope": "thread", "arguments": []},
            {"scope": "thread", "until": "ever"},
            {"scope": "thread", "arguments": {"unknown": {"is": 1}}},
        ],
    )
    def test_z54_trust_that_is_none_is_refused_with_its_place(self, people: People, asked: Asked, trust: Any) -> None:
        refused = pytest.raises(Exception, match=r"trust|object|scope|nothing|seconds|fit|either")
        with refused:
            decide(people.decider, [asked.given(Outcome.APPROVED, {"approved": True, "trust": trust})], channel="form")
        assert asked.row().status == "open" and not Trust.objects.exists()


@pytest.mark.django_db(transaction=True)
class TestEditing:
    def value(self, asked: Asked) -> Any:
        return Decision.objects.get(interrupt=asked.row()).value

    def test_e11_the_form_holds_the_proposed_arguments_and_sends_none_that_were_left_alone(
        self, people: People, asked: Asked, signed_in: SignedIn
    ) -> None:
        browser = signed_in(people.decider)
        page = browser.get(reverse("review", args=[asked.row().pk])).content.decode()
        assert {"logs/a.txt", "5"} <= set(form(page).values())
        assert posted(browser, asked).status_code == 303
        assert self.value(asked) == {"approved": True}

    def test_e11_edited_arguments_are_sent_whole_with_their_types(
        self, people: People, asked: Asked, signed_in: SignedIn
    ) -> None:
        days = next(name for name, value in form(self.page(people, asked, signed_in)).items() if value == "5")
        assert posted(signed_in(people.decider), asked, **{days: "7"}).status_code == 303
        assert self.value(asked) == {"approved": True, "arguments": {"path": "logs/a.txt", "days": 7}}

    def test_e11_emptied_arguments_are_no_approval_of_those_that_were_proposed(
        self, people: People, asked: Asked, signed_in: SignedIn
    ) -> None:
        fields = form(self.page(people, asked, signed_in))
        names = {value: name for name, value in fields.items() if not name.startswith("trust")}
        answer = posted(signed_in(people.decider), asked, **{names["5"]: "", names["logs/a.txt"]: ""})
        assert answer.status_code == 422 and asked.row().status == "open"

    def test_z54_trust_is_compared_with_what_the_reviewer_made_of_the_call(
        self, people: People, asked: Asked, signed_in: SignedIn
    ) -> None:
        days = next(name for name, value in form(self.page(people, asked, signed_in)).items() if value == "5")
        assert posted(signed_in(people.decider), asked, **{days: "7"}, trust_scope="thread").status_code == 303
        assert Trust.objects.get().arguments == {"path": {"is": "logs/a.txt"}, "days": {"is": 7}}

    def page(self, people: People, asked: Asked, signed_in: SignedIn) -> str:
        address = reverse("review", args=[asked.row().pk])
        return str(signed_in(people.decider).get(address).content.decode())


@pytest.mark.django_db(transaction=True)
class TestRevoking:
    def test_z54_the_page_lists_trust_and_revokes_it(self, people: People, asked: Asked, signed_in: SignedIn) -> None:
        one = given(asked, people.decider, arguments={"path": {"like": "logs/*"}})
        browser = signed_in(people.viewer)
        shown = text_of(browser.get(reverse("trust")))
        assert "delete_file by keeper" in shown and "Path is like logs/*" in shown and "in one thread" in shown
        assert "given by decider" in shown and "Revoke it" not in shown
        assert browser.post(reverse("trust_revoke", args=[one.pk])).status_code == 403
        browser = signed_in(people.grouped)
        assert "Revoke it" in text_of(browser.get(reverse("trust")))
        assert browser.get(reverse("trust_revoke", args=[one.pk])).status_code == 405
        assert browser.post(reverse("trust_revoke", args=[one.pk])).status_code == 303
        one.refresh_from_db()
        assert one.revoked_at is not None and one.revoked_by_name == "grouped"
        assert actions.reaching(asked.pen.thread) == []
        assert "Everything is asked about" in text_of(browser.get(reverse("trust")))
        assert "revoked by grouped" in text_of(browser.get(reverse("trust") + "?show=ended"))
        assert browser.post(reverse("trust_revoke", args=[one.pk])).status_code == 409

    def test_z54_a_stranger_sees_and_revokes_nothing(self, people: People, asked: Asked, signed_in: SignedIn) -> None:
        one = given(asked, people.decider)
        for user in (people.stranger, people.other_team):
            browser = signed_in(user)
            assert "delete_file" not in text_of(browser.get(reverse("trust")))
            assert browser.post(reverse("trust_revoke", args=[one.pk])).status_code == 404
        assert signed_in(people.requester).post(reverse("trust_revoke", args=[one.pk])).status_code == 403
        assert signed_in(people.operator).post(reverse("trust_revoke", args=[uuid.uuid4()])).status_code == 404
        with pytest.raises(NotFound):
            actions.revoke(people.stranger, one)
        with pytest.raises(NotAllowed):
            actions.revoke(people.viewer, one)

    def test_z54_giving_and_revoking_are_in_the_audit_chain(self, people: People, asked: Asked) -> None:
        one = given(asked, people.decider, seconds=60)
        actions.revoke(people.operator, one, channel="admin")
        entries = {entry.action: entry for entry in AuditEntry.objects.about("trust", str(one.pk))}
        assert set(entries) == {"trust", "revoke"}
        assert entries["trust"].data["tool"] == "delete_file" and entries["trust"].data["scope"] == "thread"
        assert (entries["revoke"].actor_name, entries["revoke"].channel) == ("operator", "admin")
        assert audit.verify().ok
        with pytest.raises(NotPossible):
            actions.revoke(people.operator, one)

    def test_z54_what_has_run_out_lets_nothing_through(self, people: People, asked: Asked) -> None:
        one = given(asked, people.decider, seconds=60)
        assert [grant.id for grant in actions.reaching(asked.pen.thread)] == [str(one.pk)]
        Trust.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
        assert actions.reaching(asked.pen.thread) == []
        with pytest.raises(NotPossible):
            actions.revoke(people.decider, one)

    def test_the_list_is_searched_and_paged(self, people: People, asked: Asked, signed_in: SignedIn) -> None:
        one = given(asked, people.decider)
        for number in range(60):
            Trust.objects.create(
                graph_id="g", agent="other", tool=f"tool{number:02}", scope="agent", queue=people.finance
            )
        browser = signed_in(member("reader", people.legal, "view"))
        assert "tool59" not in text_of(browser.get(reverse("trust")))
        browser = signed_in(people.viewer)
        first = browser.get(reverse("trust")).content.decode()
        assert first.count("trust-item") == 50
        older = re.search(r'href="([^"]*before=[^"]*)"', first)
        assert older is not None
        assert browser.get(older[1].replace("&amp;", "&")).content.decode().count("trust-item") == 11
        assert "delete_file" in text_of(browser.get(reverse("trust") + "?q=delete")) and one.tool == "delete_file"
        assert "Nothing matches" in text_of(browser.get(reverse("trust") + "?q=nowhere"))
        assert browser.get(reverse("trust") + "?before=nonsense&show=odd").status_code == 200
