"""Family G: agents whose tools need a person (G28 to G32), and family Z where it concerns them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from graphs.agents.agent import Agent
from graphs.agents.approvals import AgentState, NestedAgentInterrupt
from graphs.agents.hooks import BeforeToolCallEvent
from graphs.agents.models import ModelReply, ScriptedModel, ToolCall
from graphs.agents.tools import tool
from graphs.engine.asking import interrupt
from graphs.engine.context import Context
from graphs.engine.errors import AnswerInvalid, AnswerMismatch
from graphs.engine.graph import Budgets, Graph
from graphs.engine.hooks import HookRegistry
from graphs.engine.interrupts import GraphResume, Interrupt, InterruptException
from graphs.engine.ports import ThreadRef
from graphs.engine.statuses import Outcome, ThreadStatus
from tests.engine.runs import keeps, resume, retry, start

Store = Any


class Desk:
    """A free tool and a dangerous one, and how often each ran."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.deleted: list[str] = []

    @tool
    def look(self, path: str) -> str:
        """Look at a file."""
        self.calls["look"] += 1
        return f"{path} is old"

    @tool
    async def delete(self, path: str, ctx: Context) -> dict[str, Any]:
        """Delete a file."""
        self.calls["delete"] += 1
        self.deleted.append(path)
        return {"deleted": path, "key": ctx.idempotency_key}


class Widening:
    """A hook that a later build of the graph has: it rewrites the arguments."""

    def register_hooks(self, registry: HookRegistry) -> None:
        registry.add_callback(BeforeToolCallEvent, self.widen)

    def widen(self, event: BeforeToolCallEvent) -> None:
        if event.tool_use["name"] == "delete":
            event.tool_use["input"] = {"path": "everything"}


BATCH = [ToolCall("look", {"path": "a"}), ToolCall("delete", {"path": "a"})]


def desk_graph(script: Sequence[Any], desk: Desk, **options: Any) -> tuple[Any, ScriptedModel]:
    model = ScriptedModel(script)
    agent = Agent("clerk", model, "Tidy up.", tools=[desk.look, desk.delete], **{"approve": ["del*"], **options})
    graph = Graph.new("office").node("agent", agent).node("after", keeps([])).edge("agent", "after")
    return graph.entry("agent").terminal("after").compile(), model


def tool_results(messages: Sequence[dict[str, Any]]) -> list[Any]:
    return [block["toolResult"] for message in messages for block in message["content"] if "toolResult" in block]


async def test_g28_a_gated_call_pauses_and_the_free_one_ran_once(store: Store) -> None:
    desk = Desk()
    graph, model = desk_graph([BATCH, "done"], desk)
    result = await start(graph, store)
    assert result.status is ThreadStatus.INTERRUPTED
    assert desk.calls == {"look": 1}
    (asked,) = result.interrupts
    lifted = NestedAgentInterrupt.lift(asked)
    assert lifted is not None
    assert (lifted.tool_name, lifted.arguments, lifted.agent) == ("delete", {"path": "a"}, "clerk")
    assert lifted.call_id == asked.tool_call_id == "call-0-1"
    assert result.state.pending_interrupts == {"agent": asked}
    assert len(model.seen) == 1


@pytest.mark.parametrize(("plain", "runs"), [(True, 1), (False, 0)])
async def test_g29_a_plain_yes_or_no_to_a_gated_call_is_taken(store: Store, plain: Any, runs: int) -> None:
    desk = Desk()
    graph, _ = desk_graph([BATCH, "done"], desk)
    await start(graph, store)
    done = await resume(graph, store, {"agent": plain})
    assert done.status is ThreadStatus.COMPLETED and desk.calls.get("delete", 0) == runs


@pytest.mark.parametrize("plain", [1, "yes", [True]])
async def test_g32_what_is_neither_yes_nor_no_to_a_gated_call_is_told_what_is(store: Store, plain: Any) -> None:
    desk = Desk()
    graph, _ = desk_graph([BATCH, "done"], desk)
    await start(graph, store)
    with pytest.raises(AnswerInvalid, match=r'give \{"approved": true\}'):
        await resume(graph, store, {"agent": plain})
    assert "delete" not in desk.calls


@pytest.mark.parametrize("how", ["ask", "raise"])
async def test_g28_a_tool_may_defer_from_its_own_body(store: Store, how: str) -> None:
    ran: Counter[str] = Counter()

    def transfer(amount: int) -> Any:
        ran["transfer"] += 1
        if how == "raise":
            raise InterruptException(Interrupt(question=f"Transfer {amount}?"))
        answer = interrupt({"amount": amount}, message=f"Transfer {amount}?")
        ran["paid"] += 1
        return answer

    model = ScriptedModel([ToolCall("transfer", {"amount": 5}), "done"])
    graph = (
        Graph.new("bank").node("agent", Agent("a", model, tools=[transfer])).entry("agent").terminal("agent").compile()
    )
    result = await start(graph, store)
    lifted = NestedAgentInterrupt.lift(result.interrupts[0])
    assert lifted is not None
    assert (lifted.tool_name, lifted.arguments, lifted.call_id) == ("transfer", {"amount": 5}, "call-0-0")
    assert result.interrupts[0].question == "Transfer 5?"
    result = await resume(graph, store, {"agent": "yes"})
    assert result.output == "done"
    assert tool_results(model.seen[-1])[0]["content"] == [{"text": "yes"}]
    assert ran == ({"transfer": 2, "paid": 1} if how == "ask" else {"transfer": 2})


async def test_g29_an_approved_call_runs_once_and_the_agent_goes_on(
    store: Store, restarted: Callable[[Store], Store]
) -> None:
    desk = Desk()
    graph, model = desk_graph([BATCH, "all tidy"], desk)
    paused = await start(graph, store)
    state = AgentState.of(paused, "agent").approve(approver="ana", reason="it is old")
    result = await answer_with(graph, restarted(store), state.resume())
    assert result.status is ThreadStatus.COMPLETED and result.output == "all tidy"
    assert desk.calls == {"look": 1, "delete": 1}
    assert len(model.seen) == 2
    (asked,) = store.questions(ThreadRef("office", "run-1"))
    assert asked.decision.value == {"approved": True, "approver": "ana", "reason": "it is old"}
    look, delete = tool_results(model.seen[-1])
    assert look["content"] == [{"text": "a is old"}]
    assert delete["content"][0]["json"]["key"] == "office/run-1/agent/1/tool:0.1/call/0"


async def test_g30_a_rejected_call_does_not_run_and_the_model_sees_why(store: Store) -> None:
    desk = Desk()
    graph, model = desk_graph([BATCH, "sorry"], desk)
    paused = await start(graph, store)
    state = AgentState.of(paused).reject(message="We still need it.")
    result = await answer_with(graph, store, state.resume())
    assert result.output == "sorry"
    assert desk.calls == {"look": 1}
    refused = tool_results(model.seen[-1])[1]
    assert refused["status"] == "error" and refused["content"] == [{"text": "We still need it."}]
    (asked,) = store.questions(ThreadRef("office", "run-1"))
    assert asked.decision.outcome is Outcome.REJECTED


async def test_g31_a_second_gated_call_asks_anew(store: Store) -> None:
    desk = Desk()
    graph, _ = desk_graph([BATCH, ToolCall("delete", {"path": "b"}), "done"], desk)
    first = (await start(graph, store)).interrupts[0]
    result = await resume(graph, store, {"agent": {"approved": True}})
    (second,) = result.interrupts
    assert second.id != first.id and second.value == {"tool": "delete", "arguments": {"path": "b"}}
    result = await resume(graph, store, {"agent": {"approved": True}})
    assert result.output == "done" and desk.deleted == ["a", "b"]
    assert desk.calls == {"look": 1, "delete": 2}


async def test_g32_a_wrong_typed_reply_is_refused_and_consumes_nothing(store: Store) -> None:
    desk = Desk()
    graph, _ = desk_graph([BATCH, "done"], desk)
    await start(graph, store)
    for wrong in (42, "yes", {"approved": "yes"}, {}):
        with pytest.raises(AnswerInvalid) as caught:
            await resume(graph, store, {"agent": wrong})
        assert caught.value.problems
    assert (await resume(graph, store, {"agent": {"approved": True}})).output == "done"
    assert desk.calls == {"look": 1, "delete": 1}


async def test_z15_undecided_calls_stay_open_and_an_unknown_one_is_refused(store: Store) -> None:
    desk = Desk()
    graph, _ = desk_graph([[ToolCall("delete", {"path": name}) for name in "abc"], "done"], desk)
    paused = await start(graph, store)
    assert len(paused.interrupts) == 3
    state = AgentState.of(paused)
    with pytest.raises(AnswerMismatch):
        state.approve("unknown")
    with pytest.raises(AnswerMismatch):
        state.approve()
    partly = await answer_with(graph, store, state.approve("call-0-1").resume())
    assert [one.tool_call_id for one in partly.interrupts] == ["call-0-0", "call-0-2"]
    assert desk.deleted == ["b"]
    rest = AgentState.of(partly).approve("call-0-0").reject("call-0-2", message="keep c")
    assert (await answer_with(graph, store, rest.resume())).output == "done"
    assert sorted(desk.deleted) == ["a", "b"]


async def test_z16_the_card_shows_tool_and_arguments_under_a_digest_that_binds_the_call(store: Store) -> None:
    desk = Desk()
    graph, _ = desk_graph([BATCH, "done"], desk)
    asked = (await start(graph, store)).interrupts[0]
    assert asked.value == {"tool": "delete", "arguments": {"path": "a"}}
    assert len(asked.digest) == 64
    # The same place with other arguments is another question: the old answer does not let it run.
    changed, _ = desk_graph([BATCH, "done"], desk, hooks=[Widening()])
    result = await resume(changed, store, {"agent": {"approved": True}})
    assert result.status is ThreadStatus.INTERRUPTED
    assert result.interrupts[0].value["arguments"] == {"path": "everything"}
    assert desk.deleted == []


async def test_e11_edited_arguments_are_what_runs(store: Store) -> None:
    desk = Desk()
    graph, _ = desk_graph([BATCH, "done"], desk)
    paused = await start(graph, store)
    state = AgentState.of(paused).approve(arguments={"path": "b"})
    await answer_with(graph, store, state.resume())
    assert desk.deleted == ["b"]


async def test_z43_a_tool_that_catches_every_exception_still_pauses(store: Store) -> None:
    def careful() -> Any:
        try:
            return interrupt("sure?")
        except Exception:
            return "swallowed"

    model = ScriptedModel([ToolCall("careful"), "done"])
    graph = Graph.new("g").node("agent", Agent("a", model, tools=[careful])).entry("agent").terminal("agent").compile()
    assert (await start(graph, store)).status is ThreadStatus.INTERRUPTED
    assert (await resume(graph, store, {"agent": "yes"})).output == "done"
    assert tool_results(model.seen[-1])[0]["content"] == [{"text": "yes"}]


async def test_t13_a_failing_tool_beside_a_pausing_one_is_told_to_the_model_once(store: Store) -> None:
    ran: Counter[str] = Counter()

    def breaks() -> None:
        ran["breaks"] += 1
        raise ValueError("no disk")

    def waits() -> Any:
        return interrupt("go?")

    model = ScriptedModel([[ToolCall("breaks"), ToolCall("waits")], "done"])
    agent = Agent("a", model, tools=[breaks, waits])
    graph = Graph.new("g").node("agent", agent).entry("agent").terminal("agent").compile()
    assert (await start(graph, store)).paused
    await resume(graph, store, {"agent": "y"})
    broken, _ = tool_results(model.seen[-1])
    assert broken["status"] == "error" and "no disk" in broken["content"][0]["text"]
    assert ran == {"breaks": 1}


async def test_tokens_are_counted_once_however_often_the_agent_pauses(store: Store) -> None:
    desk = Desk()
    script = [ModelReply(tool_calls=(ToolCall("delete", {"path": "a"}, "c1"),), usage={"tokens": 70}), "done"]
    model = ScriptedModel(script)
    agent = Agent("clerk", model, tools=[desk.delete], approve=["delete"])
    graph = Graph.new("g", budgets=Budgets(tokens=100)).node("agent", agent).node("next", keeps([]))
    compiled = graph.edge("agent", "next").entry("agent").terminal("next").compile()
    await start(compiled, store)
    result = await resume(compiled, store, {"agent": {"approved": True}})
    assert result.status is ThreadStatus.COMPLETED


async def test_z04_a_failed_model_call_is_retried_without_asking_again(store: Store) -> None:
    desk = Desk()

    def flaky(messages: Any) -> str:
        desk.calls["flaky"] += 1
        if desk.calls["flaky"] == 1:
            raise ConnectionError("gone")
        return "done"

    graph, _ = desk_graph([BATCH, flaky], desk)
    await start(graph, store)
    failed = await resume(graph, store, {"agent": {"approved": True}})
    assert failed.status is ThreadStatus.FAILED
    result = await retry(graph, store)
    assert result.output == "done"
    assert desk.calls == {"look": 1, "delete": 1, "flaky": 2}


async def test_a_tool_that_asks_nothing_and_unknown_or_misfitting_calls_are_errors_the_model_sees(
    store: Store,
) -> None:
    desk = Desk()
    calls = [ToolCall("nothing"), ToolCall("look", {"road": 1}), ToolCall("look", {"path": "z"})]
    graph, model = desk_graph([calls, "done"], desk)
    assert (await start(graph, store)).output == "done"
    unknown, misfit, fine = tool_results(model.seen[-1])
    assert unknown["status"] == misfit["status"] == "error" and fine["status"] == "success"


def test_a_tool_shows_neither_self_nor_context() -> None:
    assert list(Desk().delete.schema["properties"]) == ["path"]
    assert Desk().delete.spec["description"] == "Delete a file."


async def answer_with(graph: Any, store: Store, answer: GraphResume) -> Any:
    return await resume(graph, store, dict(answer.replies), dict(answer.rejected))
