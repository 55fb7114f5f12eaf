"""Faults of other products that concern guarded tool calls (E10 to E12, E23)."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from graphs.agents.agent import Agent
from graphs.agents.approvals import AgentState
from graphs.agents.hooks import BeforeToolCallEvent
from graphs.agents.models import ScriptedModel, ToolCall
from graphs.agents.tool_node import ToolNode
from graphs.agents.tools import tool
from graphs.engine.context import Context
from graphs.engine.errors import DefinitionError
from graphs.engine.graph import CompiledGraph, Graph
from graphs.engine.hooks import HookRegistry
from graphs.engine.messages import Message
from graphs.engine.outputs import Event
from graphs.engine.ports import Answer, ThreadRef
from graphs.engine.statuses import Outcome, ThreadStatus
from tests.engine.runs import resume, start

Store = Any


class Vault:
    """A tool that moves money, and what it moved."""

    def __init__(self) -> None:
        self.moved: list[Any] = []

    @tool
    def move(self, amount: float, account: str = "main") -> str:
        """Move money."""
        self.moved.append((amount, account))
        return f"moved {amount}"


class Rewrites:
    """A hook that bounds amounts, and counts how often it was asked."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()

    def register_hooks(self, registry: HookRegistry) -> None:
        registry.add_callback(BeforeToolCallEvent, self.bound)

    def bound(self, event: BeforeToolCallEvent) -> None:
        self.calls[event.tool_use["name"]] += 1
        event.tool_use["input"]["amount"] = min(event.tool_use["input"]["amount"], 100)


def bank(agent: Agent) -> CompiledGraph:
    return Graph.new("bank").node("agent", agent).entry("agent").terminal("agent").compile()


MOVE = ToolCall("move", {"amount": 500})


async def test_e10_the_same_call_rejected_three_times_ends_the_run(store: Store) -> None:
    vault = Vault()
    model = ScriptedModel([MOVE] * 10)
    graph = bank(Agent("clerk", model, tools=[vault.move], approve=["move"]))
    await start(graph, store)
    for _ in range(2):
        assert (await resume(graph, store, rejected={"agent": "no"})).status is ThreadStatus.INTERRUPTED
    result = await resume(graph, store, rejected={"agent": "no"})
    assert result.status is ThreadStatus.REJECTED
    assert result.output == "The same call of move was proposed 3 times, and rejected each time."
    assert len(store.questions(ThreadRef("bank", "run-1"))) == 3 and len(model.seen) == 3 and vault.moved == []


async def test_e10_other_arguments_are_another_call(store: Store) -> None:
    amounts = [500, 400, 500, 300]
    model = ScriptedModel([*(ToolCall("move", {"amount": amount}) for amount in amounts), "I give up."])
    graph = bank(Agent("clerk", model, tools=[Vault().move], approve=["move"]))
    await start(graph, store)
    for _ in amounts:
        result = await resume(graph, store, rejected={"agent": "no"})
    assert result.output == "I give up."


async def test_e10_holds_for_a_tool_node_in_a_loop(store: Store) -> None:
    def talk(ctx: Context) -> Any:
        message = Message.tool_call_message({"name": "move", "input": {"amount": 5}})
        return Event(output=message, state={"messages": message})

    graph = Graph.new("bank").node("talk", talk)
    graph.node("tools", ToolNode([Vault().move], approve=["move"], max_rejections=2))
    graph.edge("talk", "tools").edge("tools", "talk", when=lambda output: True).node("end", lambda: None)
    compiled = graph.edge("tools", "end", default=True).entry("talk").terminal("end").compile()
    await start(compiled, store)
    assert (await resume(compiled, store, rejected={"tools": "no"})).paused
    assert (await resume(compiled, store, rejected={"tools": "no"})).status is ThreadStatus.REJECTED


async def test_e11_edited_arguments_run_with_their_types_and_both_versions_are_kept(store: Store) -> None:
    vault = Vault()
    graph = bank(Agent("clerk", ScriptedModel([MOVE, "done"]), tools=[vault.move], approve=["move"]))
    paused = await start(graph, store)
    state = AgentState.of(paused).approve(arguments={"amount": 12.5, "account": "007"})
    await resume(graph, store, dict(state.resume().replies))
    assert vault.moved == [(12.5, "007")] and isinstance(vault.moved[0][0], float)
    (asked,) = store.questions(ThreadRef("bank", "run-1"))
    assert asked.value["arguments"] == {"amount": 500}
    assert asked.decision.value["arguments"] == {"amount": 12.5, "account": "007"}


@pytest.mark.parametrize("where", ["agent", "run"])
async def test_e12_a_hook_that_rewrites_arguments_comes_before_the_card(store: Store, where: str) -> None:
    vault, hook = Vault(), Rewrites()
    agent = Agent(
        "clerk",
        ScriptedModel([MOVE, "done"]),
        tools=[vault.move],
        approve=["move"],
        hooks=[hook] if where == "agent" else [],
    )
    graph = bank(agent)
    hooks = [] if where == "agent" else [hook]
    (asked,) = (await start(graph, store, hooks=hooks)).interrupts
    assert asked.value["arguments"] == asked.metadata["arguments"] == {"amount": 100}
    result = await resume(graph, store, {"agent": {"approved": True}}, hooks=hooks)
    assert result.output == "done" and vault.moved == [(100, "main")] and hook.calls == {"move": 1}


async def test_e12_what_a_hook_cancels_is_asked_of_nobody(store: Store) -> None:
    class Cancels:
        def register_hooks(self, registry: HookRegistry) -> None:
            registry.add_callback(BeforeToolCallEvent, self.cancel)

        def cancel(self, event: BeforeToolCallEvent) -> None:
            event.cancel_tool = "The vault is closed."

    vault, model = Vault(), ScriptedModel([MOVE, "done"])
    graph = bank(Agent("clerk", model, tools=[vault.move], approve=["move"], hooks=[Cancels()]))
    assert (await start(graph, store)).output == "done" and vault.moved == []
    (told,) = model.seen[-1][-1].tool_results
    assert told["content"] == [{"text": "The vault is closed."}] and told["outcome"] == "cancelled"


async def test_e12_a_hook_may_ask_and_its_question_names_the_call(store: Store) -> None:
    class Asks:
        def register_hooks(self, registry: HookRegistry) -> None:
            registry.add_callback(BeforeToolCallEvent, self.ask)

        def ask(self, event: BeforeToolCallEvent) -> None:
            if event.interrupt("vault", reason={"amount": event.tool_use["input"]["amount"]}) != "y":
                event.cancel_tool = True

    vault = Vault()
    call = ToolCall("move", {"amount": 500}, "use-1")
    graph = bank(Agent("clerk", ScriptedModel([call, call, "done"]), tools=[vault.move], hooks=[Asks()]))
    (asked,) = (await start(graph, store)).interrupts
    assert (asked.name, asked.reason, asked.tool_call_id) == ("vault", {"amount": 500}, "use-1")
    assert (await resume(graph, store, {"agent": "y"})).paused and vault.moved == [(500, "main")]
    assert (await resume(graph, store, {"agent": "n"})).output == "done" and len(vault.moved) == 1


async def test_e12_a_cancelled_question_of_a_hook_cancels_the_tool_and_not_the_agent(store: Store) -> None:
    class Asks:
        def register_hooks(self, registry: HookRegistry) -> None:
            registry.add_callback(BeforeToolCallEvent, lambda event: event.interrupt("vault"))

    vault, model = Vault(), ScriptedModel([MOVE, "done"])
    graph = bank(Agent("clerk", model, tools=[vault.move], hooks=[Asks()]))
    (asked,) = (await start(graph, store)).interrupts
    await store.answer(ThreadRef("bank", "run-1"), [Answer(asked.id, Outcome.CANCELLED, None, "Not today.")])
    assert (await resume(graph, store)).output == "done" and vault.moved == []
    assert model.seen[-1][-1].tool_results[0]["content"] == [{"text": "Not today."}]


@pytest.mark.parametrize("amounts", [[500], [500, 5, 700]])
async def test_e23_an_approval_rule_is_not_evaluated_again_for_a_decided_call(store: Store, amounts: list[int]) -> None:
    asked_rule: Counter[float] = Counter()
    moved: list[float] = []

    def large(amount: float) -> bool:
        asked_rule[amount] += 1
        return amount > 100

    @tool(require_confirmation=large)
    def move(amount: float, ctx: Context) -> str:
        """Move money."""
        moved.append(amount)
        return "moved"

    model = ScriptedModel([[ToolCall("move", {"amount": amount}) for amount in amounts], "done"])
    graph = bank(Agent("clerk", model, tools=[move]))
    paused = await start(graph, store)
    assert [one.value["arguments"]["amount"] for one in paused.interrupts] == [one for one in amounts if one > 100]
    for question in paused.interrupts:
        result = await resume(graph, store, {question.id: {"approved": True}})
    assert result.output == "done" and sorted(moved) == sorted(amounts)
    assert asked_rule == dict.fromkeys(amounts, 1)


async def test_e23_an_async_rule_and_a_misfitting_call(store: Store) -> None:
    async def always(amount: float) -> bool:
        return True

    move = tool(name="move", require_confirmation=always)(lambda amount: f"moved {amount}")
    model = ScriptedModel([[ToolCall("move", {"amount": 1}), ToolCall("move", {"road": 1})], "done"])
    graph = bank(Agent("clerk", model, tools=[move]))
    assert len((await start(graph, store)).interrupts) == 1
    assert (await resume(graph, store, {"agent": {"approved": True}})).output == "done"
    fine, misfit = model.seen[-1][-1].tool_results
    assert fine["status"] == "success" and misfit["status"] == "error"


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(DefinitionError, match="two tools named 'move'"):
        ToolNode([Vault().move, Vault().move])
