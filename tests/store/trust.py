"""What every store promises of trust: kept with the answer that gave it, within its scope, until it ends (Z54)."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from graphs.engine.interrupts import Interrupt
from graphs.engine.ports import Answer, Checkpointer, ThreadRef
from graphs.engine.statuses import Outcome
from graphs.engine.trust import Grant


def gate(**arguments: Any) -> Interrupt:
    """A question before a call of `delete` by `keeper`."""
    shown = {"agent": "keeper", "tool": "delete", "arguments": arguments}
    place = {"key": "tool:0.0/approve", "path": "keeper", "visit": 1, "node_id": "keeper", "digest": "d"}
    return Interrupt(
        id=str(uuid.uuid4()),
        question="May I?",
        style="tool",
        kind="tool_approval",
        name="delete",
        metadata=shown,
        **place,
    )


def trusting(question: Interrupt, **trust: Any) -> Answer:
    """Yes to it, and to more."""
    return Answer(question.id, Outcome.APPROVED, {"approved": True, "trust": {"scope": "thread", **trust}})


class TrustSpecification:
    """The part of the store specification about trust; `StoreSpecification` brings its ways to call a store."""

    begin: Any
    answer: Any
    ask: Any
    call: Any

    def grants(self, store: Checkpointer, ref: ThreadRef) -> Sequence[Grant]:
        found: Sequence[Grant] = self.call(store.grants, ref)
        return found

    def given(self, store: Checkpointer, ref: ThreadRef, **trust: Any) -> Grant:
        self.begin(store, ref)
        (question,) = self.ask(store, ref, gate(path="a/b"))
        self.answer(store, ref, trusting(question, **trust))
        return self.grants(store, ref)[-1]

    def test_z54_trust_is_kept_with_the_answer_that_gave_it(self, store: Checkpointer, ref: ThreadRef) -> None:
        grant = self.given(store, ref, arguments={"path": {"like": "a/*"}}, seconds=600)
        assert (grant.agent, grant.tool, grant.scope, grant.granted_by) == ("keeper", "delete", "thread", "Ana")
        assert grant.arguments == {"path": {"like": "a/*"}} and grant.expires_at is not None
        assert grant.covers("keeper", "delete", {"path": "a/c"}) and not grant.covers("keeper", "delete", {"path": "b"})

    def test_z54_an_answer_without_trust_leaves_none(self, store: Checkpointer, ref: ThreadRef) -> None:
        self.begin(store, ref)
        (question,) = self.ask(store, ref, gate(path="a"))
        self.answer(store, ref, Answer(question.id, Outcome.APPROVED, {"approved": True}))
        assert list(self.grants(store, ref)) == []

    def test_z54_a_thread_s_trust_reaches_no_other_thread(self, store: Checkpointer, ref: ThreadRef) -> None:
        self.given(store, ref)
        other = ThreadRef(ref.graph_id, uuid.uuid4().hex)
        self.begin(store, other)
        assert list(self.grants(store, other)) == []

    def test_z54_an_agent_s_trust_reaches_its_graph_s_threads_only(self, store: Checkpointer, ref: ThreadRef) -> None:
        graph = f"graph-{uuid.uuid4().hex}"
        grant = self.given(store, ThreadRef(graph, "one"), scope="agent")
        other, foreign = ThreadRef(graph, "two"), ref
        self.begin(store, other)
        self.begin(store, foreign)
        assert [one.id for one in self.grants(store, other)] == [grant.id]
        assert list(self.grants(store, foreign)) == []

    def test_z54_what_was_decided_of_a_tool_is_found_in_its_thread(self, store: Checkpointer, ref: ThreadRef) -> None:
        self.given(store, ref)
        other = ThreadRef(ref.graph_id, uuid.uuid4().hex)
        self.begin(store, other)
        first, *_ = self.ask(store, other, gate(path="a"), replace(gate(path="b"), key="tool:0.1/approve"))
        assert list(self.call(store.decided, other, "delete")) == []
        self.answer(store, other, Answer(first.id, Outcome.REJECTED, None, "No."))
        (found,) = self.call(store.decided, other, "delete")
        assert (found.id, found.decision.outcome, found.metadata["arguments"]) == (
            first.id,
            Outcome.REJECTED,
            {"path": "a"},
        )
        assert list(self.call(store.decided, other, "other")) == []

    def test_z54_revoked_trust_is_gone_at_once_and_only_once(self, store: Checkpointer, ref: ThreadRef) -> None:
        grant = self.given(store, ref)
        assert self.call(store.revoke, ref, grant.id, actor="Ben") is True
        assert list(self.grants(store, ref)) == []
        assert self.call(store.revoke, ref, grant.id) is False
        assert self.call(store.revoke, ref, "no such thing") is False
