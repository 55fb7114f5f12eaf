"""Family H: graphs of agents (H30 to H36, H41), and a rejected or cancelled node (Z39)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from graphs.agents.agent import Agent
from graphs.agents.models import ScriptedModel, ToolCall
from graphs.agents.results import Status
from graphs.agents.sessions import FileSessionManager
from graphs.agents.teams.builder import GraphBuilder, TeamState
from graphs.agents.teams.swarm import Swarm
from graphs.agents.teams.team import Team
from graphs.agents.tool_context import ToolContext
from graphs.agents.tools import tool
from graphs.engine.errors import DefinitionError
from graphs.engine.graph import Graph
from graphs.engine.ports import ThreadRef
from graphs.engine.runner import GraphRunner
from tests.agents.files import DELETE, Disk, Gate, keeper
from tests.agents.members import NodeGate, asking, hands, respond, says, text, wide
from tests.engine.runs import resume, start

Store = Any


def chain(*hooks: Any, manager: Any = None, disk: Disk | None = None) -> Team:
    builder = GraphBuilder().add_node(says("inspector", "Two are old."), "inspector")
    builder.add_node(keeper(disk or Disk(), [DELETE, "Deleted."]), "cleanup")
    builder.add_edge("inspector", "cleanup").set_entry_point("inspector")
    builder.set_hook_providers(list(hooks))
    return (builder.set_session_manager(manager) if manager else builder).build()


async def test_h30_the_first_node_is_finished_while_the_second_waits_and_then_comes_its_turn() -> None:
    disk = Disk()
    graph = chain(NodeGate("cleanup"), disk=disk)
    paused = await graph.invoke_async("look and clean")
    assert paused.results["inspector"].status is Status.COMPLETED and disk.deleted == []
    assert text(paused, "inspector") == "Two are old." and paused.execution_order == ("inspector",)
    done = await graph.invoke_async(respond(paused, "y"))
    assert (done.status, done.execution_order) == (Status.COMPLETED, ("inspector", "cleanup"))
    assert json.loads(json.dumps(done.results["cleanup"].result.message))["content"][0]["text"] == "Deleted."


async def test_z39_a_cancelled_node_ends_the_team_in_a_status_of_its_own_with_a_result() -> None:
    graph = chain(NodeGate("cleanup"))
    done = await graph.invoke_async(respond(await graph.invoke_async("go"), "n"))
    assert (done.status, done.results["cleanup"].status) == (Status.CANCELLED, Status.CANCELLED)
    assert text(done, "cleanup") == "cleanup was not wanted." and text(done, "inspector") == "Two are old."


@pytest.mark.parametrize("kept", [False, True])
async def test_h31_h32_h36_nodes_that_ask_at_once_are_answered_one_by_one(tmp_path: Path, kept: bool) -> None:
    team = wide().build()

    def built() -> Team:
        return wide().set_session_manager(FileSessionManager("wide", tmp_path)).build() if kept else team

    paused = await built().invoke_async("go")
    assert [(one.name, one.node_id) for one in paused.interrupts] == [("a-question", "a"), ("b-question", "b")]
    assert paused.results["c"].status is Status.COMPLETED and "join" not in paused.results
    half = await built().invoke_async(respond(paused, "yes", "a-question"))
    assert [one.name for one in half.interrupts] == ["b-question"] and half.results["a"].status is Status.COMPLETED
    done = await built().invoke_async(respond(half, "no", "b-question"))
    assert done.status is Status.COMPLETED and done.execution_order[-1] == "join"
    assert all(part in str(done.output) for part in ("a heard yes", "b heard no", "c is done"))


@pytest.mark.parametrize("kept", [False, True])
async def test_h33_h36_two_questions_of_one_node_take_two_submissions(tmp_path: Path, kept: bool) -> None:
    @tool(context=True)
    def check(tool_context: ToolContext, what: str) -> str:
        """Check."""
        return str(tool_context.interrupt(what))

    def built() -> Team:
        calls = [ToolCall("check", {"what": "one"}), ToolCall("check", {"what": "two"})]
        builder = GraphBuilder().add_node(says("a", calls, "Both."), "a") if not kept else GraphBuilder()
        if kept:
            builder.add_node(says("a", calls, "Both.", tools=[check]), "a")
            builder.set_session_manager(FileSessionManager("two", tmp_path))
        else:
            builder = GraphBuilder().add_node(says("a", calls, "Both.", tools=[check]), "a")
        return builder.build()

    team = built()
    paused = await team.invoke_async("go")
    team = built() if kept else team
    half = await team.invoke_async(respond(paused, "y", "one"))
    assert [one.name for one in half.interrupts] == ["two"]
    team = built() if kept else team
    assert (await team.invoke_async(respond(half, "y"))).status is Status.COMPLETED


async def test_h34_z58_conditions_see_the_results_and_what_the_call_came_with_also_after_a_pause(
    tmp_path: Path,
) -> None:
    seen: list[Any] = []

    def urgent(state: TeamState, invocation_state: Any) -> bool:
        seen.append((str(state.results["a"].result), state.task, invocation_state["level"]))
        return bool(invocation_state["level"] > 3)

    def built() -> Team:
        builder = (
            GraphBuilder()
            .add_node(asking("a"), "a")
            .add_node(says("fast", "fast"), "fast")
            .add_node(says("slow", "slow"), "slow")
        )
        builder.add_edge("a", "fast", condition=urgent)
        builder.add_edge("a", "slow", condition=lambda state: "heard" not in str(state.results["a"].result))
        return builder.set_session_manager(FileSessionManager("s", tmp_path)).build()

    paused = await built().invoke_async("the task", level=5)
    done = await built().invoke_async(respond(paused, "y"))
    assert seen == [("a heard y", "the task", 5)]
    assert (done.execution_order, done.output) == (("a", "fast"), "fast")


async def test_h35_an_agent_used_as_a_tool_asks_through_whoever_calls_it(store: Store) -> None:
    inner = asking("inner")
    outer = Agent(
        "outer", ScriptedModel([ToolCall("inner", {"input": "check it"}), lambda said: said[-1].text()]), tools=[inner]
    )
    graph = Graph.new("nested").node("outer", outer).entry("outer").terminal("outer").compile()
    paused = await start(graph, store)
    (one,) = paused.interrupts
    assert one.name == "inner-question" and one.metadata["child"] == "inner"
    done = await resume(graph, store, {one.id: "fine"})
    assert done.output == "inner heard fine"


async def test_h35_a_team_within_a_graph_within_a_team_asks_at_the_top_with_its_whole_path(store: Store) -> None:
    inner = Swarm([asking("deep")], name="swarm")
    outer = GraphBuilder("outer").add_node(inner, "middle").build()
    graph = Graph.new("top").node("outer", outer).entry("outer").terminal("outer").compile()
    paused = await start(graph, store)
    (one,) = paused.interrupts
    assert (one.name, one.node_id, one.path) == ("deep-question", "deep", "outer")
    assert one.graph_path == ("top", "outer", "outer", "middle", "swarm")
    done = await resume(graph, store, {one.id: "fine"})
    assert done.output == "deep heard fine"


@pytest.mark.parametrize("step", ["handover", "question"])
async def test_h36_a_swarm_goes_on_in_a_new_process_at_each_step(tmp_path: Path, step: str) -> None:
    disk = Disk()

    def built() -> Swarm:
        first = keeper(disk, [[hands("writer"), DELETE], "Over."], Gate())
        hooks = [NodeGate("writer")] if step == "handover" else []
        return Swarm([first, says("writer", "written")], hooks=hooks, session_manager=FileSessionManager("s", tmp_path))

    result = await built().invoke_async("tidy")
    while result.interrupts:
        result = await built().invoke_async(respond(result, "y"))
    assert (result.status, result.output, disk.deleted) == (Status.COMPLETED, "written", ["old/a.txt"])


async def test_a_team_is_called_without_a_loop_and_streams_what_its_members_say() -> None:
    heard = [event async for event in Swarm([says("a", "two words")]).stream_async("go")]
    assert [one["data"] for one in heard[:-1]] == ["two ", "words"] and {one["node_id"] for one in heard[:-1]} == {"a"}
    assert heard[-1]["result"].status is Status.COMPLETED


def test_a_team_works_without_an_event_loop() -> None:
    graph = chain(NodeGate("cleanup"))
    assert graph(respond(graph("go"), "y")).status is Status.COMPLETED


async def test_h41_a_member_that_fails_is_in_the_result_and_a_retry_goes_on() -> None:
    broken = [True]

    def reply(said: Any) -> str:
        if broken and broken.pop():
            raise ConnectionError("gone")
        return "better"

    team = GraphBuilder().add_node(says("a", reply), "a").build()
    failed = await team.invoke_async("go")
    assert (failed.status, failed.results["a"].status) == (Status.FAILED, Status.FAILED)
    assert failed.error is not None and failed.error["type"] == "ConnectionError"
    assert (await team.retry_async()).output == "better"


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: GraphBuilder().build(),
        lambda: GraphBuilder().add_node(says("a"), "a").add_node(says("b"), "a"),
        lambda: GraphBuilder().add_node(says("a"), "a").add_edge("a", "b"),
        lambda: GraphBuilder().add_node(says("a"), "a").add_edge("a", "a").build(),
    ],
)
def test_a_graph_that_cannot_run_is_refused_when_it_is_built(wrong: Any) -> None:
    with pytest.raises(DefinitionError):
        wrong()


async def test_a_turn_that_is_begun_without_the_team_begins_with_nobody_s_results(store: Store) -> None:
    """What a page says to a team's thread goes on in it, and not through the team's own call."""
    first = says("a", hands("b"), "Over.", "A alone.")
    team = Swarm([first, says("b", "B too.")])
    run = GraphRunner().graph(team.graph).thread("talk").hook(store)
    await run.arun("one")
    before = (await store.load(ThreadRef("swarm", "talk"))).cells
    assert (before["channel:|order"], before["channel:|result:b"]) == (["a", "b"], "B too.")
    assert (await run.arun("two")).output == "A alone."
    after = (await store.load(ThreadRef("swarm", "talk"))).cells
    assert (after["channel:|order"], after["channel:|result:b"], after["channel:|task"]) == (["a"], None, "two")
    assert len(after["channel:|messages:a"]) > len(before["channel:|messages:a"]), "its conversation goes on"


async def test_a_team_comes_to_what_its_last_member_says_also_as_a_part_of_another_graph(store: Store) -> None:
    swarm = Swarm([says("a", hands("b"), "Over."), says("b", "B did it.")])
    graph = Graph.new("outer").node("team", swarm).entry("team").compile()
    assert (await start(graph, store)).output == "B did it."
    builder = GraphBuilder("pair").add_node(says("c", "more")).add_node(says("d", "enough"))
    builder.add_edge("c", "d", condition=lambda state: "more" in str(state.results["c"].result)).set_entry_point("c")
    alone = await GraphRunner().graph(builder.build().graph).thread("pair").hook(store).arun("go")
    assert alone.output == "enough"
