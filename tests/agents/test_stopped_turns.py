"""A turn that was rejected or cancelled: the model is shown in the next one what was said and done in it, and no call
of a tool stands open in the history."""

from __future__ import annotations

from typing import Any

import pytest

from graphs.agents.agent import Agent
from graphs.agents.hooks import BeforeModelCallEvent
from graphs.agents.models import ScriptedModel, ToolCall
from graphs.agents.results import Status
from graphs.agents.teams.builder import GraphBuilder
from graphs.agents.tool_context import ToolContext
from graphs.agents.tools import LongRunningFunctionTool, tool
from graphs.engine import failpoints, replaying
from graphs.engine.asking import request_human_input
from graphs.engine.hooks import HookRegistry
from graphs.engine.interrupts import GraphInterrupt, Interrupt
from graphs.engine.messages import Message
from graphs.engine.ports import Answer, ThreadRef
from graphs.engine.runner import GraphRunner, Runner
from graphs.engine.statuses import Outcome, ThreadStatus
from graphs.engine.workflow import compiled
from tests.agents.files import DELETE, Disk, responses
from tests.agents.members import NodeGate, respond

Store = Any


@tool(context=True)
def count(tool_context: ToolContext) -> str:
    """Count."""
    state = tool_context.agent.state
    state.set("counted", (state.get("counted") or 0) + 1)
    return "counted"


def shown(agent: Agent) -> list[tuple[str, str]]:
    """What the model was last shown: who said it, and what."""
    return [(one.role, one.text()) for one in agent.model.seen[-1]]  # type: ignore[union-attr]


def check_closed(said: list[Message]) -> None:
    called = [call["toolUseId"] for one in said for call in one.tool_calls]
    assert called == [result["toolUseId"] for one in said for result in one.tool_results]


async def test_the_next_turn_knows_of_one_that_ended_as_rejected() -> None:
    disk = Disk()
    replies = [ToolCall("count"), DELETE, DELETE, "Hello."]
    agent = Agent("keeper", ScriptedModel(replies), tools=[disk.delete, count], approve=["delete"], max_rejections=2)
    result = await agent.invoke_async("tidy")
    while result.stop_reason == "interrupt":
        result = await agent.invoke_async(responses(result, {"approved": False, "reason": "Keep it"}))
    assert result.stop_reason == "rejected" and str(result) == "(This turn was rejected before it ended.)"
    assert str(await agent.invoke_async("and now?")) == "Hello."
    said = shown(agent)
    assert [said[0], *said[-3:]] == [
        ("user", "tidy"),
        ("user", "Keep it"),
        ("assistant", "(This turn was rejected before it ended.)"),
        ("user", "and now?"),
    ]
    assert agent.state.get() == {"counted": 1}, "what its tools did is not forgotten either"
    check_closed(agent.messages)


def team(*replies: Any, tools: Any = (), disk: Disk | None = None) -> tuple[Any, Agent]:
    """Two members side by side: one that works, and one whose cancellation ends the turn."""
    keeper = Agent(
        "keeper", ScriptedModel([*replies, "Hello."]), tools=[(disk or Disk()).delete, *tools], approve=["delete"]
    )
    builder = GraphBuilder("pair").add_node(keeper).add_node(Agent("other", ScriptedModel(["Bye."])))
    builder.set_entry_point("keeper").set_entry_point("other").set_hook_providers([NodeGate("other")])
    return builder.build(), keeper


async def stopped_by_the_other(built: Any) -> None:
    paused = await built.invoke_async("tidy")
    done = await built.invoke_async(respond(paused, "n", "node"))
    assert done.status is Status.CANCELLED


async def test_a_call_that_waited_when_its_turn_was_cancelled_is_told_as_never_made() -> None:
    disk = Disk()
    built, keeper = team([ToolCall("count", {}, "c"), DELETE], tools=[count], disk=disk)
    await stopped_by_the_other(built)
    assert (await built.invoke_async("and now?")).interrupts
    assert shown(keeper) == [
        ("user", "tidy"),
        ("assistant", ""),
        ("user", "counted\nNot called: the turn was cancelled before."),
        ("assistant", "(This turn was cancelled before it ended.)"),
        ("user", "and now?"),
    ]
    assert disk.deleted == []
    cells = (await built.session.snapshot()).cells
    assert cells["channel:|agent_state:keeper"] == {"counted": 1}


async def test_z46_what_a_long_running_tool_gave_is_not_its_result_in_the_next_turn_either() -> None:
    built, keeper = team(
        [ToolCall("ship", {}, "s")], tools=[LongRunningFunctionTool(lambda: "provisional", name="ship")]
    )
    await stopped_by_the_other(built)
    await built.invoke_async("and now?")
    assert ("user", "Nobody gave a result: the turn was cancelled before.") in shown(keeper)
    assert "provisional" not in str(keeper.model.seen)  # type: ignore[union-attr]


async def test_what_a_person_said_no_to_stays_a_no_in_the_next_turn() -> None:
    built, keeper = team([DELETE, ToolCall("count", {}, "c"), ToolCall("delete", {"path": "b"}, "d")], tools=[count])
    paused = await built.invoke_async("tidy")
    first = next(one for one in paused.interrupts if one.metadata.get("arguments") == {"path": "old/a.txt"})
    no = [{"interruptResponse": {"interruptId": first.id, "response": {"approved": False, "reason": "Mine"}}}]
    half = await built.invoke_async(no)
    await built.invoke_async(respond(half, "n", "node"))
    await built.invoke_async("and now?")
    results = [one for message in keeper.model.seen[-1] for one in message.tool_results]  # type: ignore[union-attr]
    assert [one["content"][0].get("text") for one in results] == [
        "Mine",
        "counted",
        "Not called: the turn was cancelled before.",
    ]
    assert [one.get("outcome") for one in results] == ["rejected", None, None]


async def test_a_thread_with_such_turns_can_be_replayed(store: Store) -> None:
    built, _ = team([DELETE])
    run = GraphRunner().graph(built.graph).thread("run-1").hook(store)
    paused = await run.arun("tidy")
    gate = next(one.id for one in paused.interrupts if one.name == "node")
    ended = await Runner.arun_graph_from_checkpoint(
        built.graph, checkpointer=store, thread_id="run-1", resume={gate: "n"}
    )
    assert ended.status is ThreadStatus.CANCELLED
    await run.arun("and now?")
    ref, found = ThreadRef("pair", "run-1"), await store.load(ThreadRef("pair", "run-1"))
    assert await replaying.compare(built.graph, store, ref) == replaying.Compared(0, found.step)


# A turn that ends by its own question


def paying(*calls: Any, tools: Any, **options: Any) -> tuple[Agent, list[int], ScriptedModel]:
    """An agent whose first reply pays and makes other calls beside."""
    paid: list[int] = []

    @tool
    def pay(n: int) -> str:
        """Pay."""
        paid.append(n)
        return f"paid {n}"

    model = ScriptedModel([[ToolCall("pay", {"n": 5}, "p"), *calls], "Hello.", "Again."])
    return Agent("clerk", model, tools=[pay, *tools], **options), paid, model


async def cancelled(graph: Any, store: Store, comment: str = "never mind") -> Any:
    """The first run goes on with its only question cancelled."""
    run = GraphRunner().graph(graph).thread("run-1").hook(store)
    found = await store.load(ThreadRef(graph.id, "run-1"))
    (one,) = [q for record in found.tasks.values() for q in record.interrupts if q.decision is None]
    await store.answer(ThreadRef(graph.id, "run-1"), [Answer(one.id, Outcome.CANCELLED, None, comment)])
    return await GraphRunner().graph(graph).resume_from(store, "run-1").arun(), run


async def test_f9_a_call_that_ran_is_told_where_the_doubt_about_another_one_is_cancelled(
    store: Store, restarted: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    @tool(crash="at_most_once")
    def ship() -> str:
        """Ship."""
        return "shipped"

    agent, paid, model = paying(ToolCall("ship", {}, "s"), tools=[ship], execution="sequential")
    graph = compiled(agent)
    run = GraphRunner().graph(graph).thread("run-1").hook(store)
    monkeypatch.setenv("SAYSO_FAILPOINT", "after_effect:raise:3")  # behind the model's reply and the first call
    with pytest.raises(failpoints.Crash):
        await run.arun("hi")
    store = restarted(store)
    paused = await GraphRunner().graph(graph).resume_from(store, "run-1").arun()
    assert paused.paused and paused.interrupts[0].style == "effect"
    ended, run = await cancelled(graph, store)
    assert ended.status is ThreadStatus.CANCELLED and paid == [5]
    await run.arun("and now?")
    assert [(one.role, one.text()) for one in model.seen[-1]] == [
        ("user", "hi"),
        ("assistant", ""),
        ("user", "paid 5\nIt is not known whether this call was made: the turn was cancelled in it."),
        ("assistant", "(This turn was cancelled before it ended.)"),
        ("user", "and now?"),
    ]


def raised() -> str:
    raise GraphInterrupt(Interrupt(question="Really?", id="q", node_id="clerk"))


@pytest.mark.parametrize("ask", [raised, lambda: str(request_human_input(None, "Really?"))], ids=["raised", "asked"])
async def test_g04_a_cancelled_question_of_a_tool_ends_that_call_and_not_the_turn(store: Store, ask: Any) -> None:
    @tool
    def confirm() -> str:
        """Confirm."""
        return str(ask())

    agent, paid, model = paying(ToolCall("confirm", {}, "c"), tools=[confirm])
    graph = compiled(agent)
    await GraphRunner().graph(graph).thread("run-1").hook(store).arun("hi")
    ended, _ = await cancelled(graph, store)
    assert (ended.status, paid) == (ThreadStatus.COMPLETED, [5])
    assert model.seen[-1][-1].text() == "paid 5\nnever mind"


class AsksAtTheModel:
    """A hook that asks before the model is called again."""

    def register_hooks(self, registry: HookRegistry) -> None:
        registry.add_callback(BeforeModelCallEvent, self.ask)

    def ask(self, event: BeforeModelCallEvent) -> None:
        if event.agent.messages[-1].tool_results:
            request_human_input(None, "Go on?")


async def test_what_was_done_is_told_where_a_hook_s_question_is_cancelled(store: Store) -> None:
    agent, paid, model = paying(tools=[], hooks=[AsksAtTheModel()])
    graph = compiled(agent)
    await GraphRunner().graph(graph).thread("run-1").hook(store).arun("hi")
    ended, run = await cancelled(graph, store)
    assert (ended.status, paid) == (ThreadStatus.CANCELLED, [5])
    await run.arun("and now?")
    assert [one.text() for one in model.seen[-1]] == [
        "hi",
        "",
        "paid 5",
        "(This turn was cancelled before it ended.)",
        "and now?",
    ]
