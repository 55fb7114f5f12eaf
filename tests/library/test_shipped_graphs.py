"""The graphs that ship do what their descriptions say, on the memory store and without Django's tables."""

from __future__ import annotations

from typing import Any

import pytest

from graphs import GraphResume, GraphRunResult, InMemoryCheckpointer, Runner
from graphs.engine.graph import CompiledGraph
from graphs.library import moderation, refund, release, time_off

ORDER = {"order": "A-4721", "amount": 180.0, "currency": "EUR", "customer": "ana@example.org", "reason": "broken"}
DAYS = {"employee": "Ana", "first_day": "2027-01-04", "days": 5, "kind": "vacation", "note": ""}
POST = {"author": "Ana", "text": "The bridge opens on Monday."}
RELEASE = {"version": "2.4.0", "changes": ["faster", "safer"]}


class Play:
    """One thread of one graph: started once, then answered."""

    def __init__(self, graph: CompiledGraph, given: Any) -> None:
        self.graph, self.store = graph, InMemoryCheckpointer()
        self.result = Runner.run_graph(graph, given, hooks=[self.store], thread_id="t")

    def answer(self, replies: dict[str, Any] | None = None, rejected: dict[str, str] | None = None) -> GraphRunResult:
        resume = GraphResume(replies=replies or {}, rejected=rejected or {})
        self.result = Runner.run_graph_from_checkpoint(
            self.graph, checkpointer=self.store, thread_id="t", resume=resume
        )
        return self.result

    @property
    def asked(self) -> list[str]:
        return [question.node_id for question in self.result.interrupts]

    @property
    def output(self) -> Any:
        assert self.result.status.value == "completed", self.result
        return self.result.output


def test_refund_pays_a_small_amount_without_asking() -> None:
    play = Play(refund.app, {**ORDER, "amount": 20.0})
    assert play.output["paid"] is True


def test_refund_asks_about_a_large_amount_and_pays_on_approval() -> None:
    play = Play(refund.app, ORDER)
    assert play.asked == ["review"]
    assert play.result.interrupts[0].question == "Refund order A-4721, 180.00 EUR"
    play.answer({"review": True})
    assert play.output["paid"] is True
    assert play.output["reference"].startswith("RF-")


def test_refund_rejected_pays_nothing_and_says_why() -> None:
    play = Play(refund.app, ORDER)
    play.answer(rejected={"review": "Too late"})
    assert play.output == {"order": "A-4721", "paid": False, "because": "Too late"}


def test_time_off_grants_one_day_at_once() -> None:
    assert Play(time_off.app, {**DAYS, "days": 1}).output["granted_days"] == 1


def test_time_off_takes_the_form_of_the_manager() -> None:
    play = Play(time_off.app, DAYS)
    assert play.asked == ["manager"]
    play.answer({"manager": {"approved": True, "granted_days": 3, "cover": "Bob"}})
    assert play.output == {"employee": "Ana", "from": "2027-01-04", "granted_days": 3, "cover": "Bob"}


@pytest.mark.parametrize(("approved", "days"), [(True, 5), (False, 0)])
def test_time_off_without_a_number_grants_all_or_none(approved: bool, days: int) -> None:
    play = Play(time_off.app, DAYS)
    play.answer({"manager": {"approved": approved}})
    assert play.output["granted_days"] == days


def test_moderation_asks_two_and_joins_three() -> None:
    play = Play(moderation.app, POST)
    assert play.asked == ["tone", "facts"]
    play.answer({"facts": {"approved": True}})
    assert play.asked == ["tone"]
    play.answer({"tone": "friendly"})
    assert play.output == {"publish": True, "spam": False, "tone": "friendly", "finding": ""}


def test_moderation_rejected_tone_and_cancelled_facts_keep_the_post_back() -> None:
    play = Play(moderation.app, POST)
    play.answer({"facts": None}, rejected={"tone": "Insulting"})
    assert play.output == {"publish": False, "spam": False, "tone": "harsh", "finding": "not checked"}


def test_release_revises_until_approved_and_stops_before_the_roll_out() -> None:
    play = Play(release.app, RELEASE)
    play.answer(rejected={"review": "Mention the fix"})
    assert play.asked == ["review"]
    assert "Mention the fix" in play.result.interrupts[0].value["notes"]
    play.answer({"review": {}})
    assert play.asked == ["roll_out"]
    play.answer({"roll_out": True})
    assert play.output["released"] == "v2.4.0"
    assert play.output["drafts"] == 2
