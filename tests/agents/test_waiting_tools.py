"""Tools whose result a person gives (W35 to W37, Z45, Z46) and tools that a person must agree to (W43)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from graphs.agents.agent import Agent, LlmAgent
from graphs.agents.models import ScriptedModel, ToolCall
from graphs.agents.named import StandIn, resolve, use_models
from graphs.agents.tools import LongRunningFunctionTool, tool
from graphs.engine.context import Context
from graphs.engine.errors import AnswerInvalid, DefinitionError
from graphs.engine.graph import CompiledGraph, Graph
from graphs.engine.ports import TaskKey, ThreadRef
from graphs.engine.statuses import Outcome, ThreadStatus
from graphs.engine.workflow import START, Workflow
from tests.engine.runs import keeps, resume, start

Store = Any


def office(agent: Agent, seen: list[Any] | None = None) -> CompiledGraph:
    """The agent, and after it a node that notes what it is given."""
    graph = Graph.new("office").node("agent", agent).node("after", keeps([] if seen is None else seen))
    return graph.edge("agent", "after").entry("agent").terminal("after").compile()


def waiting(ran: Counter[str], gives: Any = None, name: str = "request_leave", **options: Any) -> Any:
    def body(days: int) -> Any:
        """Ask somebody."""
        ran[name] += 1
        return gives

    return LongRunningFunctionTool(func=body, name=name, **options)


def told(model: ScriptedModel) -> list[Any]:
    """The results of the newest turn that the model was told."""
    return [one for message in model.seen[-1] for one in message.tool_results]


async def test_w35_the_body_ran_once_and_the_model_waits(store: Store) -> None:
    ran: Counter[str] = Counter()
    model = ScriptedModel([ToolCall("request_leave", {"days": 3}, "use-1"), "Enjoy."])
    graph = office(LlmAgent(name="clerk", model=model, instruction="Help.", tools=[waiting(ran)]))
    paused = await start(graph, store)
    assert paused.status is ThreadStatus.INTERRUPTED and ran == {"request_leave": 1} and len(model.seen) == 1
    (asked,) = paused.interrupts
    assert asked.tool_call_id == "use-1" and asked.kind == asked.reason == "long_running_tool"
    assert asked.value == {"tool": "request_leave", "arguments": {"days": 3}}
    still = await resume(graph, store)
    assert still.interrupts == paused.interrupts and len(model.seen) == 1


async def test_w36_the_answer_is_the_calls_result_and_the_body_does_not_run_again(
    store: Store, restarted: Callable[[Store], Store]
) -> None:
    ran: Counter[str] = Counter()
    model = ScriptedModel([ToolCall("request_leave", {"days": 3}, "use-1"), "Enjoy."])
    graph = office(LlmAgent("clerk", model, tools=[waiting(ran)]))
    await start(graph, store)
    result = await resume(graph, restarted(store), {"agent": {"granted": 2, "by": "Ida"}})
    assert result.output == "Enjoy." and ran == {"request_leave": 1} and len(model.seen) == 2
    (given,) = told(model)
    assert given == {
        "toolUseId": "use-1",
        "status": "success",
        "content": [{"json": {"granted": 2, "by": "Ida"}}],
    }


async def test_w37_what_the_agent_says_flows_on_only_after_the_answer(store: Store) -> None:
    seen: list[Any] = []
    model = ScriptedModel([ToolCall("request_leave", {"days": 3}), "Two days it is."])
    graph = office(LlmAgent("clerk", model, tools=[waiting(Counter())]), seen)
    await start(graph, store)
    assert seen == []
    await resume(graph, store, {"agent": "two"})
    assert seen == ["Two days it is."]


async def test_w37_holds_in_a_workflow_and_for_an_agent_that_a_node_runs(store: Store) -> None:
    def make(seen: list[Any]) -> tuple[LlmAgent, Any]:
        model = ScriptedModel([ToolCall("request_leave", {"days": 3}), "Two days it is."])
        return LlmAgent("clerk", model, tools=[waiting(Counter())]), keeps(seen)

    direct: list[Any] = []
    agent, after = make(direct)
    flow = Workflow(name="flow", edges=[(START, agent, after)]).compile()
    assert (await start(flow, store)).paused and direct == []
    assert (await resume(flow, store, {"clerk": "two"})).status is ThreadStatus.COMPLETED
    assert direct == ["Two days it is."]

    inside: list[Any] = []
    agent, after = make(inside)

    async def boss(ctx: Context, node_input: Any) -> Any:
        return await ctx.run_node(agent, node_input)

    flow = Workflow(name="boss_flow", edges=[(START, boss, after)]).compile()
    (asked,) = (await start(flow, store)).interrupts
    assert inside == [] and asked.tool_call_id == "call-0-0"
    assert (await resume(flow, store, {asked.id: "two"})).status is ThreadStatus.COMPLETED
    assert inside == ["Two days it is."]


@pytest.mark.parametrize("outcome", ["rejected", "answered"])
async def test_w36_a_rejection_is_told_as_one(store: Store, outcome: str) -> None:
    model = ScriptedModel([ToolCall("request_leave", {"days": 3}), "Sorry."])
    graph = office(LlmAgent("clerk", model, tools=[waiting(Counter())]))
    await start(graph, store)
    if outcome == "rejected":
        await resume(graph, store, rejected={"agent": "Not in May."})
        assert told(model)[0]["status"] == "error" and told(model)[0]["outcome"] == Outcome.REJECTED
    else:
        await resume(graph, store, {"agent": "Not in May."})
        assert told(model)[0]["status"] == "success" and "outcome" not in told(model)[0]
    assert told(model)[0]["content"] == [{"text": "Not in May."}]


async def test_w36_an_answer_must_fit_the_declared_schema(store: Store) -> None:
    model = ScriptedModel([ToolCall("request_leave", {"days": 3}), "Fine."])
    graph = office(LlmAgent("clerk", model, tools=[waiting(Counter(), response_schema=int)]))
    await start(graph, store)
    with pytest.raises(AnswerInvalid):
        await resume(graph, store, {"agent": "two"})
    assert (await resume(graph, store, {"agent": 2})).output == "Fine."


async def test_z45_the_model_waits_until_every_long_running_call_is_answered(store: Store) -> None:
    ran: Counter[str] = Counter()

    def look(path: str) -> str:
        ran["look"] += 1
        return path

    batch = [
        ToolCall("request_leave", {"days": 1}, "a"),
        ToolCall("look", {"path": "calendar"}, "b"),
        ToolCall("ask_boss", {"days": 1}, "c"),
    ]
    model = ScriptedModel([batch, "All clear."])
    seen: list[Any] = []
    tools = [waiting(ran), look, waiting(ran, name="ask_boss")]
    graph = office(LlmAgent("clerk", model, tools=tools), seen)
    first, second = (await start(graph, store)).interrupts
    assert [first.tool_call_id, second.tool_call_id] == ["a", "c"]
    half = await resume(graph, store, {second.id: "boss says yes"})
    assert half.interrupts == (first,) and len(model.seen) == 1 and seen == []
    result = await resume(graph, store, {first.id: "leave granted"})
    assert result.output == "All clear." and seen == ["All clear."]
    assert [one["content"][0]["text"] for one in told(model)] == ["leave granted", "calendar", "boss says yes"]
    assert ran == {"request_leave": 1, "look": 1, "ask_boss": 1}


async def test_z46_a_provisional_value_is_shown_to_the_reviewer_and_never_to_the_model(store: Store) -> None:
    model = ScriptedModel([ToolCall("request_leave", {"days": 3}), "Hm."])
    graph = office(LlmAgent("clerk", model, tools=[waiting(Counter(), gives="Approved: 3 days")]))
    (asked,) = (await start(graph, store)).interrupts
    assert asked.value["provisional"] == "Approved: 3 days" and len(model.seen) == 1
    result = await resume(graph, store, rejected={"agent": "No."})
    assert result.output == "Hm."
    assert "Approved" not in str(model.seen)
    assert told(model)[0]["status"] == "error"


async def test_z46_a_body_that_fails_asks_nobody(store: Store) -> None:
    def broken(days: int) -> None:
        raise ValueError("no calendar")

    model = ScriptedModel([ToolCall("broken", {"days": 3}), "Sorry."])
    graph = office(LlmAgent("clerk", model, tools=[LongRunningFunctionTool(func=broken)]))
    assert (await start(graph, store)).output == "Sorry."
    assert told(model)[0]["status"] == "error"


async def test_z46_edited_arguments_run_and_are_what_the_second_question_shows(store: Store) -> None:
    """A waiting tool that also needs a yes: two questions, and the later one stays the same from pass to pass."""
    given: list[int] = []

    def request_leave(days: int) -> None:
        given.append(days)

    leave = LongRunningFunctionTool(func=request_leave, require_confirmation=True)
    model = ScriptedModel([ToolCall("request_leave", {"days": 3}), "Done."])
    graph = office(LlmAgent("clerk", model, tools=[leave]))
    await start(graph, store)
    second = (await resume(graph, store, {"agent": {"approved": True, "arguments": {"days": 2}}})).interrupts[0]
    assert given == [2] and second.value["arguments"] == {"days": 2}
    result = await resume(graph, store, {second.id: "granted"})
    assert result.output == "Done." and given == [2]


@pytest.mark.parametrize("how", ["rejected", "answered no"])
async def test_w43_a_rejected_tool_never_ran_and_its_result_says_so(store: Store, how: str) -> None:
    ran: Counter[str] = Counter()

    @tool(require_confirmation=True)
    def wipe(disk: str) -> str:
        """Wipe a disk."""
        ran["wipe"] += 1
        return "wiped"

    model = ScriptedModel([ToolCall("wipe", {"disk": "a"}, "use-1"), "I did not."])
    graph = office(Agent("clerk", model, tools=[wipe]))
    (asked,) = (await start(graph, store)).interrupts
    assert asked.kind == "tool_approval" and ran == {}
    if how == "rejected":
        result = await resume(graph, store, rejected={"agent": "Never."})
    else:
        result = await resume(graph, store, {"agent": {"approved": False, "reason": "Never."}})
    assert result.output == "I did not." and ran == {}
    expected = {"toolUseId": "use-1", "status": "error", "content": [{"text": "Never."}], "outcome": "rejected"}
    assert told(model) == [expected]


async def test_w43_a_method_keeps_its_confirmation(store: Store) -> None:
    class Desk:
        @tool(require_confirmation=True)
        def wipe(self) -> str:
            return "wiped"

    graph = office(Agent("clerk", ScriptedModel([ToolCall("wipe"), "Done."]), tools=[Desk().wipe]))
    assert (await start(graph, store)).paused
    assert (await resume(graph, store, {"agent": {"approved": True}})).output == "Done."


@pytest.mark.parametrize("model", [None, "some-model-1"])
async def test_an_agent_without_a_model_asks_through_the_tools_its_instruction_names(store: Store, model: Any) -> None:
    agent = LlmAgent(name="clerk", model=model, instruction="Use request_leave.", tools=[waiting(Counter())])
    assert isinstance(agent.model, StandIn)
    graph = office(agent)
    (asked,) = (await start(graph, store, "4 days off, please")).interrupts
    assert asked.value["arguments"] == {"days": 4}
    assert (await resume(graph, store, {"agent": "granted"})).output == "granted"


def test_models_are_named_through_one_setting() -> None:
    script = ScriptedModel(["hello"])
    assert resolve(script) is script
    try:
        use_models(lambda name: ScriptedModel([name or "nameless"]))
        assert resolve("fast").replies == ["fast"] and resolve(None).replies == ["nameless"]  # type: ignore[union-attr]
        use_models("graphs.agents.named:StandIn")
        assert isinstance(resolve("fast"), StandIn)
        use_models("graphs.agents.named:Nobody")
        with pytest.raises(DefinitionError, match="SAYSO_MODELS"):
            Agent("clerk")
    finally:
        use_models("")


async def test_the_stand_in_says_what_its_tools_gave(store: Store) -> None:
    def weigh(crate: str, kilos: float, fragile: bool) -> str:
        return f"{crate}: {kilos} {fragile}"

    graph = office(Agent("clerk", None, "Use weigh.", tools=[weigh]))
    assert (await start(graph, store, "crate of 12 kg")).output == "crate of 12 kg: 12.0 True"
    stored = await store.results(ThreadRef("office", "run-1"), [TaskKey("agent", 1)])
    assert stored[TaskKey("agent", 1)].output == "crate of 12 kg: 12.0 True"


@pytest.mark.parametrize(
    ("prompt", "called"),
    [
        ("You delete files; begin with ['a/b.txt']", [["a/b.txt"]]),
        ("Delete old/a.txt and b.txt of the files.", [["old/a.txt", "b.txt"]]),
        ("Inspect the files", []),
        ("delete_files", [[]]),
    ],
)
async def test_the_stand_in_calls_a_tool_whose_words_it_was_told(prompt: str, called: Any) -> None:
    calls: list[Any] = []

    @tool
    def delete_files(paths: list[str]) -> None:
        """Delete."""
        calls.append(paths)

    await Agent(tools=[delete_files]).invoke_async(prompt)
    assert calls == called
