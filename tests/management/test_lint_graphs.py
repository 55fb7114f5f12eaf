"""`lint_graphs`: what a graph can ask and what is wrong with it, its drawing, and its rehearsal, from the shell."""

from __future__ import annotations

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from graphs.engine.graph import Graph
from graphs.library import registry
from graphs.models import ApprovalQueue
from tests.actions import graphs
from tests.engine import linted

pytestmark = pytest.mark.django_db


def said(*arguments: str, **options: Any) -> str:
    output = StringIO()
    call_command("lint_graphs", *arguments, stdout=output, stderr=output, **options)
    return output.getvalue()


def fails(*arguments: str, code: int = 1) -> tuple[str, str]:
    output = StringIO()
    with pytest.raises(CommandError) as failure:
        call_command("lint_graphs", *arguments, stdout=output, stderr=output)
    assert failure.value.returncode == code
    return output.getvalue(), str(failure.value)


@pytest.fixture
def wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = Graph.new("wrong").node("ship", linted.acts_first).entry("ship").terminal("ship").compile()
    graphs.register(monkeypatch, graph)


def test_the_shipped_graphs_have_nothing_to_mend_and_their_pauses_are_listed() -> None:
    told = said()
    assert told.endswith("Nothing to mend.\n")
    assert "refund: 1 pause\n" in told and "queue: payments" in told
    assert "release: 3 pauses" in told and "structural  “Go on to “Roll out”?”" in told
    assert "manager  request_input" in told and "answer: {approved, granted_days?, cover?}" in told
    assert "graphs/library/refund.py:" in told


def test_a_queue_that_does_not_exist_is_a_warning_with_the_way_out() -> None:
    assert "warning [unknown-queue] review" in said("refund") and "way out: make the queue" in said("refund")
    ApprovalQueue.objects.create(slug="payments", title="Payments")
    assert "unknown-queue" not in said("refund")


@pytest.mark.usefixtures("wrong")
def test_what_is_wrong_fails_with_the_place_and_the_way_out() -> None:
    told, why = fails("wrong")
    assert why == "1 finding to mend."
    assert "error [effect-before-question] ship tests/engine/linted.py:" in told and "way out: wrap the call" in told
    (looked,) = json.loads(fails("wrong", "--json")[0])
    assert looked["graph_id"] == "wrong" and looked["pauses"][0]["message"] == "Ship?"
    assert looked["findings"][0]["rule"] == "effect-before-question" and looked["findings"][0]["line"] > 0


def test_a_module_that_cannot_be_used_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = registry.Entry("broken", "my_graphs", None, "no module named my_graphs")
    monkeypatch.setattr(registry, "entries", lambda: (entry,))
    told, _ = fails()
    assert "error [definition]: my_graphs: no module named my_graphs" in told


def test_a_graph_that_there_is_not_is_named_with_those_that_there_are() -> None:
    assert "There is no graph 'refunds'; there are" in fails("refunds", code=2)[1]


def test_it_draws_graphs_as_mermaid() -> None:
    told = said("refund", "--mermaid")
    assert told.startswith('---\ntitle: "Refund an order"\n---\nflowchart TD\n') and told.count("flowchart") == 1
    assert said("--mermaid").count("flowchart TD") >= 4


def test_it_rehearses_a_graph() -> None:
    given = {"order": "A-4721", "amount": 80, "customer": "ana@example.org"}
    told = said("refund", "--rehearse", json.dumps(given), "--stubs", '{"transfer": {"reference": "RF-1"}}')
    assert "1. round 1, review asks “Refund order A-4721, 80.00 EUR” (queue payments)" in told
    assert "answered: approved null (made up)" in told
    assert 'not done: once \'transfer\' of pay, taken as {"reference": "RF-1"}' in told
    assert "It ends as completed" in told and '"paid": true' in told


def test_a_rehearsal_takes_answers_and_tells_json() -> None:
    given = {"author": "Ana", "text": "hello"}
    answers = {"tone": "harsh", "Check what Ana claims": {"approved": False, "finding": "no"}}
    arguments = ("moderation", "--rehearse", json.dumps(given), "--answers", json.dumps(answers), "--json")
    told = json.loads(said(*arguments))
    assert [one["given"] for one in told["asked"]] == [True, True]
    assert told["output"] == {"publish": False, "spam": False, "tone": "harsh", "finding": "no"}


def test_a_rehearsal_that_fails_says_which_results_were_made_up() -> None:
    told, why = fails("refund", "--rehearse", '{"order": "A-1", "amount": 70, "customer": "a@b.org"}')
    assert "It ends as failed" in told and "error: TypeError" in told
    assert why == "The rehearsal failed; where an effect's result is needed, give one: --stubs '{\"transfer\": …}'"


@pytest.mark.parametrize(
    ("arguments", "code", "why"),
    [
        (("--rehearse", "{}"), 2, "--rehearse takes one GRAPH."),
        (("refund", "--rehearse", "{"), 2, "the input is no JSON"),
        (("moderation", "--rehearse", '{"author": "a", "text": "b"}', "--answers", '{"facts": 3}'), 1, "facts: "),
    ],
)
def test_a_rehearsal_that_cannot_be_says_why(arguments: tuple[str, ...], code: int, why: str) -> None:
    assert why in fails(*arguments, code=code)[1]


def test_a_graph_that_there_is_not_may_be_in_a_module_that_could_not_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = registry.Entry("my_graphs", "my_graphs", None, "ImportError: no soap")
    monkeypatch.setattr(registry, "entries", lambda: (broken,))
    assert "my_graphs: ImportError: no soap" in fails("desk", code=2)[1]


def test_a_rehearsal_says_which_answers_and_stubs_nothing_asked_for() -> None:
    given = json.dumps({"order": "A-4721", "amount": 80, "customer": "ana@example.org"})
    stubs = '{"transfer": {"reference": "R"}, "transfers": 1}'
    told = said("refund", "--rehearse", given, "--answers", '{"reviews": true}', "--stubs", stubs)
    assert "note: answers['reviews'] was not used: no question goes by this name; there were 'review'" in told
    assert "note: stubs['transfers'] was not used: no effect has this key; there were 'transfer'" in told
