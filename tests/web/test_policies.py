"""The policy's editor: real fields, the same as JSON, errors at their fields, and nothing lost that was typed."""

from __future__ import annotations

import json
import re
from html import unescape
from typing import Any

import pytest
from django.http import HttpResponse

from graphs.models import ApprovalQueue, QueuePolicy
from graphs.web import policy_forms
from tests.actions.policies import enforce
from tests.people import People
from tests.web.conftest import SignedIn, text_of

pytestmark = pytest.mark.django_db(transaction=True)

WHOLE = {
    "quorum": 2,
    "self_approval": False,
    "reason": "always",
    "step_up": "critical",
    "hold_seconds": 10,
    "trust": False,
    "risk": [
        {"name": "large", "level": "high", "when": [{"path": "/payload/amount", "op": ">", "value": 1000}]},
        {"name": "any", "level": "medium"},
    ],
    "routes": [{"name": "money", "priority": 7, "when": [{"path": "/tool", "op": "=", "value": "pay"}]}],
    "due_minutes": 240,
    "remind_minutes_before": 30,
    "escalate_minutes": 300,
    "expire_minutes": 480,
    "expire_outcome": "rejected",
    "amount_path": "/amount",
    "hours": {
        "zone": "Europe/Lisbon",
        "days": {"mon": [["09:00", "12:00"], ["13:00", "17:00"]], "fri": [["22:00", "02:00"]]},
        "holidays": ["2026-12-25"],
    },
}


def fields_of(page: HttpResponse) -> dict[str, str]:
    """What a browser would send of the editor's form."""
    text = page.content.decode()
    form = text[text.index("data-decide") :]
    found = dict(re.findall(r'<input[^>]*type="(?:hidden|text|number)"[^>]*name="([^"]+)" value="([^"]*)"', form))
    found |= dict(re.findall(r'<input[^>]*type="(?:text|number)"[^>]*name="([^"]+)" value="([^"]*)"', form))
    found |= dict(re.findall(r'<input type="radio" name="([^"]+)" value="([^"]*)" checked', form))
    found |= dict(re.findall(r'<textarea[^>]*name="([^"]+)"[^>]*>\n?([^<]*)</textarea>', form))
    for name, options in re.findall(r'<select[^>]*name="([^"]+)"[^>]*>(.*?)</select>', form):
        chosen = re.findall(r'<option value="([^"]*)" selected', options)
        found[name] = chosen[0] if chosen else ""
    found.pop("csrfmiddlewaretoken", None)
    return {name: unescape(value) for name, value in found.items()}


def sent(signed_in: SignedIn, people: People, act: str = "save", **changed: Any) -> HttpResponse:
    """The editor opened and sent with some fields filled in otherwise."""
    browser = signed_in(people.administrator)
    fields = fields_of(browser.get("/queues/finance/policy"))
    named = {"p/note": "why", "act": act} | {name.replace("__", "/"): value for name, value in changed.items()}
    return browser.post("/queues/finance/policy", fields | named)


def test_s02_the_editor_is_for_who_administers_the_queue(people: People, signed_in: SignedIn) -> None:
    assert signed_in(people.administrator).get("/queues/finance/policy").status_code == 200
    assert "Edit the policy" in text_of(signed_in(people.administrator).get("/queues/finance"))
    for user in (people.decider, people.viewer, people.operator):
        assert signed_in(user).get("/queues/finance/policy").status_code == 403
        assert signed_in(user).post("/queues/finance/policy", {"act": "save", "base": "0"}).status_code == 403
        assert "Edit the policy" not in text_of(signed_in(user).get("/queues/finance"))
    assert signed_in(people.stranger).get("/queues/finance/policy").status_code == 404
    assert not QueuePolicy.objects.exists()


def test_a_policy_is_saved_from_its_fields(people: People, signed_in: SignedIn) -> None:
    answer = sent(signed_in, people, p__quorum="2", p__reason="2")
    assert answer.status_code == 303 and answer["Location"] == "/queues/finance?from=0&to=1#history"
    assert QueuePolicy.objects.get().spec == {"quorum": 2, "reason": "always"}
    assert "quorum" in text_of(signed_in(people.administrator).get(answer["Location"]))


def test_every_key_comes_back_from_the_form_as_it_was(people: People, signed_in: SignedIn) -> None:
    enforce(people.finance, **WHOLE)
    answer = sent(signed_in, people, p__hold_seconds="20")
    assert answer.status_code == 303
    assert QueuePolicy.objects.get(version=2).spec == WHOLE | {"hold_seconds": 20}


def test_what_is_wrong_stands_beside_its_field_with_what_was_typed(people: People, signed_in: SignedIn) -> None:
    enforce(people.finance, **WHOLE)
    answer = sent(signed_in, people, p__due_minutes="900", p__risk__0__when='[{"path": "payload"}]')
    page = answer.content.decode()
    assert answer.status_code == 422 and "must be a JSON pointer that begins with" in text_of(answer)
    assert 'value="900"' in page and "[{&quot;path&quot;: &quot;payload&quot;}]" in page
    broken = sent(signed_in, people, p__risk__0__when="[{")
    assert broken.status_code == 422 and "This is not JSON" in text_of(broken)
    late = sent(signed_in, people, p__due_minutes="900")
    assert late.status_code == 422 and "it expires before that, after 480 minutes" in text_of(late)
    zone = sent(signed_in, people, p__hours__zone="Mars/Base", p__hours__days__mon="9 to 5")
    assert zone.status_code == 422 and "must be the name of a time zone" in text_of(zone)
    assert "must be two times of day" in text_of(zone) and 'value="9 to 5"' in zone.content.decode()
    silent = sent(signed_in, people, p__quorum="1", p__note=" ")
    assert silent.status_code == 422 and "say in a few words why it changes" in text_of(silent)
    assert QueuePolicy.objects.count() == 1


def test_s01_one_that_nobody_could_decide_by_is_refused_at_its_quorum(people: People, signed_in: SignedIn) -> None:
    answer = sent(signed_in, people, p__quorum="9")
    assert answer.status_code == 422 and "only 3 people may decide" in text_of(answer)


def test_f21_the_slower_of_two_editors_keeps_what_was_typed(people: People, signed_in: SignedIn) -> None:
    browser = signed_in(people.administrator)
    fields = fields_of(browser.get("/queues/finance/policy")) | {"act": "save", "p/quorum": "3", "p/note": "late"}
    assert sent(signed_in, people, p__quorum="2").status_code == 303
    answer = browser.post("/queues/finance/policy", fields)
    assert answer.status_code == 409 and "administrator put version 1 in force" in text_of(answer)
    again = fields_of(answer)
    assert (again["p/quorum"], again["p/note"], again["base"]) == ("3", "late", "1")
    assert ApprovalQueue.objects.get(slug="finance").policy_spec == {"quorum": 2}
    assert browser.post("/queues/finance/policy", again | {"act": "save"}).status_code == 303
    for base in ("", "-1", "x", "9" * 40):
        assert browser.post("/queues/finance/policy", again | {"act": "save", "base": base}).status_code == 409


def test_rows_come_and_go_without_a_script(people: People, signed_in: SignedIn) -> None:
    answer = sent(signed_in, people, p__quorum="2", op="add:p/risk")
    fields = fields_of(answer)
    assert answer.status_code == 200 and fields["p/risk"] == "0" and fields["p/quorum"] == "2"
    assert not QueuePolicy.objects.exists()
    fields |= {"p/risk/0/name": "all", "p/risk/0/level": "2", "act": "save"}
    assert signed_in(people.administrator).post("/queues/finance/policy", fields).status_code == 303
    assert QueuePolicy.objects.get().spec["risk"] == [{"name": "all", "level": "high"}]


def test_the_document_as_json_fills_the_form_in(people: People, signed_in: SignedIn) -> None:
    answer = sent(signed_in, people, "document", document=json.dumps(WHOLE))
    assert answer.status_code == 200 and not QueuePolicy.objects.exists()
    saved = signed_in(people.administrator).post("/queues/finance/policy", fields_of(answer) | {"act": "save"})
    assert saved.status_code == 303 and QueuePolicy.objects.get().spec == WHOLE
    for text, told in (("{", "This is not JSON"), ("[]", "must be an object"), ('{"quorum": NaN}', "NaN is not JSON"),
                       ('{"<b>": 1}', "is no key of a policy")):  # fmt: skip
        wrong = sent(signed_in, people, "document", document=text)
        assert wrong.status_code == 422 and told in text_of(wrong) and '<b>"' not in wrong.content.decode()


def test_words_in_the_json_stay_while_the_form_is_worked_on(people: People, signed_in: SignedIn) -> None:
    assert '"quorum": 2' in fields_of(sent(signed_in, people, p__quorum="2", op="add:p/risk"))["document"]
    kept = sent(signed_in, people, p__quorum="2", op="add:p/risk", document='{"quorum": 7')
    assert fields_of(kept)["document"].strip() == '{"quorum": 7'
    tried = signed_in(people.administrator).post("/queues/finance/policy", fields_of(kept) | {"act": "simulate"})
    assert fields_of(tried)["document"].strip() == '{"quorum": 7'


def test_what_only_says_the_usual_is_no_part_of_the_document() -> None:
    assert policy_forms.document(policy_forms.laid_out(None)) == {}
    assert policy_forms.document(policy_forms.laid_out(WHOLE)) == WHOLE
    assert policy_forms.spans("09:00 – 12:00,") == [["09:00", "12:00"]]
