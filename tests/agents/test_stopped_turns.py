"""A turn that was rejected or cancelled: the model is shown in the next one what was said and done in it, and no call
of a tool stands open in the history."""

from __future__ import annotations

from typing import Any

from graphs.agents.agent import Agent
from graphs.agents.models import ScriptedModel, ToolCall
from graphs.agents.results import Status
from graphs.agents.teams.builder import GraphBuilder
from graphs.agents.tool_context import ToolContext
from graphs.agents.tools import LongRunningFunctionTool, tool
from graphs.engine import replaying
from graphs.engine.messages import Message
from graphs.engine.ports import ThreadRef
from graphs.engine.runner import GraphRunner, Runner
from graphs.engine.statuses import ThreadStatus
from tests.agents.files import DELETE, Disk, responses
from tests.agents.test_teams import NodeGate, respond

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
