"""Family H: swarms and graphs of agents (H27 to H36, H41), and a rejected or cancelled node (Z39)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from graphs.agents.agent import Agent
from graphs.agents.models import ScriptedModel, ToolCall
from graphs.agents.results import MultiAgentResult, Status
from graphs.agents.sessions import FileSessionManager
from graphs.agents.teams.builder import GraphBuilder, TeamState
from graphs.agents.teams.swarm import Swarm
from graphs.agents.teams.team import Team
from graphs.agents.tool_context import ToolContext
from graphs.agents.tools import tool
from graphs.engine.errors import DefinitionError
from graphs.engine.graph import Graph
from graphs.engine.hooks import BeforeNodeCallEvent, HookRegistry
from graphs.engine.ports import Commit, Delta, ThreadRef
from graphs.engine.runner import GraphRunner
from graphs.engine.statuses import ThreadStatus
from tests.agents.files import DELETE, Disk, Gate, keeper
from tests.engine.runs import resume, start

Store = Any


class NodeGate:
    """Asks before these nodes run."""

    def __init__(self, *nodes: str) -> None:
        self.nodes = nodes

    def register_hooks(self, registry: HookRegistry) -> None:
        registry.add_callback(BeforeNodeCallEvent, self.ask)

    def ask(self, event: BeforeNodeCallEvent) -> None:
        if event.node_id in self.nodes and event.interrupt("node", reason={"node": event.node_id}) != "y":
            event.cancel_node = f"{event.node_id} was not wanted."


def says(name: str, *replies: Any, **options: Any) -> Agent:
    return Agent(name, ScriptedModel(list(replies)), **options)


def hands(to: str, message: str = "go on", id: str = "hand-1", **more: Any) -> ToolCall:
    return ToolCall("handoff_to_agent", {"agent_name": to, "message": message, **more}, id)


@tool
def note(text: str) -> str:
    """Note something."""
    return f"noted {text}"


def asking(name: str) -> Agent:
    """An agent whose tool asks."""

    @tool(context=True)
    def check(tool_context: ToolContext) -> str:
        """Check."""
        return str(tool_context.interrupt(f"{name}-question"))

    return says(name, ToolCall("check"), lambda said: f"{name} heard {said[-1].text()}", tools=[check])


def respond(result: MultiAgentResult, answer: Any, *names: str) -> list[dict[str, Any]]:
    return [
        {"interruptResponse": {"interruptId": one.id, "response": answer}}
        for one in result.interrupts
        if not names or one.name in names
    ]


def text(result: MultiAgentResult, name: str) -> str:
    return str(result.results[name].result.message["content"][0]["text"])


def chain(*hooks: Any, manager: Any = None, disk: Disk | None = None) -> Team:
    builder = GraphBuilder().add_node(says("inspector", "Two are old."), "inspector")
    builder.add_node(keeper(disk or Disk(), [DELETE, "Deleted."]), "cleanup")
    builder.add_edge("inspector", "cleanup").set_entry_point("inspector")
    builder.set_hook_providers(list(hooks))
    return (builder.set_session_manager(manager) if manager else builder).build()


# Swarms


async def test_h27_a_hook_stops_a_swarm_before_its_member_ran_and_a_yes_runs_it() -> None:
    disk = Disk()
    swarm = Swarm([keeper(disk, [DELETE, "Deleted."])], hooks=[NodeGate("keeper")])
    paused = await swarm.invoke_async("clean up")
    assert (paused.status, disk.deleted) == (Status.INTERRUPTED, [])
    assert [(one.name, one.reason) for one in paused.interrupts] == [("node", {"node": "keeper"})]
    done = await swarm.invoke_async(respond(paused, "y"))
    assert (done.status, disk.deleted, text(done, "keeper")) == (Status.COMPLETED, ["old/a.txt"], "Deleted.")


async def test_h27_h41_a_no_cancels_the_member_with_the_text_as_its_message() -> None:
    disk = Disk()
    swarm = Swarm([keeper(disk, [DELETE, "Deleted."])], hooks=[NodeGate("keeper")])
    done = await swarm.invoke_async(respond(await swarm.invoke_async("clean up"), "n"))
    assert (done.status, disk.deleted) == (Status.CANCELLED, [])
    assert done.results["keeper"].status is Status.CANCELLED
    assert "keeper was not wanted." in json.dumps(done.results["keeper"].result.message)


async def test_h28_a_member_s_tool_pauses_the_swarm_and_its_handover_still_happens() -> None:
    disk = Disk()
    first = keeper(disk, [[hands("writer"), DELETE], "Handed over."], Gate())
    writer = says("writer", lambda said: f"wrote about: {said[-1].text()}")
    swarm = Swarm([first, writer])
    paused = await swarm.invoke_async("tidy")
    assert (paused.status, [one.name for one in paused.interrupts]) == (Status.INTERRUPTED, ["gate"])
    assert paused.results["keeper"].status is Status.INTERRUPTED
    done = await swarm.invoke_async(respond(paused, "y"))
    assert (done.status, done.execution_order, disk.deleted) == (Status.COMPLETED, ("keeper", "writer"), ["old/a.txt"])
    assert "The task: tidy" in str(done.output) and "keeper hands over to you: go on" in str(done.output)


async def test_h29_a_handover_and_a_question_of_one_batch_hand_over_exactly_once() -> None:
    writer = says("writer", "written")
    swarm = Swarm([keeper(Disk(), [[hands("writer"), DELETE], "Over."], Gate()), writer])
    await swarm.invoke_async(respond(await swarm.invoke_async("tidy"), "y"))
    assert len(writer.model.seen) == 1  # type: ignore[union-attr]


async def test_only_the_first_handover_counts_and_unknown_agents_are_told_to_the_model() -> None:
    first = says("a", [hands("nobody", id="1"), hands("b", id="2"), hands("c", id="3")], "Over.")
    swarm = Swarm([first, says("b", "b did it"), says("c", "c did it")])
    done = await swarm.invoke_async("go")
    assert (done.execution_order, done.output) == (("a", "b"), "b did it")
    told = [one["content"][0]["text"] for one in first.model.seen[-1][-1].tool_results]  # type: ignore[union-attr]
    assert "there are b, c" in told[0] and "goes on" in told[1] and "already" in told[2]


async def test_a_swarm_that_hands_over_for_ever_is_told_to_finish() -> None:
    def ping(name: str, other: str) -> Agent:
        return says(name, *[hands(other, id=str(n)) if n % 2 == 0 else "over" for n in range(20)])

    swarm = Swarm([ping("a", "b"), ping("b", "a")], max_handoffs=3)
    done = await swarm.invoke_async("go")
    assert (done.status, done.execution_order) == (Status.COMPLETED, ("a", "b", "a", "b"))


async def test_a_swarm_s_next_prompt_begins_with_its_first_member_again() -> None:
    swarm = Swarm([says("a", hands("b"), "over", "hello"), says("b", "done")])
    await swarm.invoke_async("first")
    again = await swarm.invoke_async("second")
    assert (again.execution_order, again.output, list(again.results)) == (("a",), "hello", ["a"])


@pytest.mark.parametrize("nodes", [[], ["a"], [says("a"), says("a")]])
def test_a_swarm_of_no_agents_or_twins_is_refused(nodes: Any) -> None:
    with pytest.raises(DefinitionError):
        Swarm(nodes)


@pytest.mark.parametrize("id", ["hand-1", "note-1"])
async def test_h28_a_rejected_handover_never_happens_also_where_the_model_repeats_a_call_s_id(id: str) -> None:
    first = says("a", hands("b"), ToolCall("note", {"text": "t"}, id), "I finish.", tools=[note], approve=["handoff*"])
    swarm = Swarm([first, says("b", "PAID")])
    done = await swarm.invoke_async(respond(await swarm.invoke_async("go"), {"approved": False, "reason": "No."}))
    assert (done.execution_order, done.output) == (("a",), "I finish.")


@pytest.mark.parametrize("id", ["hand-1", "note-1"])
async def test_h28_a_handover_happens_also_where_a_later_call_of_the_same_id_fails(id: str) -> None:
    swarm = Swarm([says("a", hands("b"), ToolCall("note", {}, id), "Over.", tools=[note]), says("b", "PAID")])
    done = await swarm.invoke_async("go")
    assert (done.execution_order, done.output) == (("a", "b"), "PAID")


@pytest.mark.parametrize("gated", ["b", "c"])
async def test_h29_of_two_handovers_of_one_reply_only_the_first_that_is_made_succeeds_also_over_a_pause(
    gated: str,
) -> None:
    first = says(
        "a",
        [hands("b", id="1"), hands("c", id="2")],
        "Over.",
        approve=[lambda name, given: given.get("agent_name") == gated],
    )
    swarm = Swarm([first, says("b", "b did it"), says("c", "c did it")])
    done = await swarm.invoke_async(respond(await swarm.invoke_async("go"), {"approved": True}))
    went = "c" if gated == "b" else "b"
    assert done.execution_order == ("a", went)
    told = {one["toolUseId"]: one["status"] for one in first.model.seen[-1][-1].tool_results}  # type: ignore[union-attr]
    assert told == ({"1": "success", "2": "error"} if went == "b" else {"1": "error", "2": "success"})


async def test_h28_a_handover_goes_to_whom_the_reviewer_made_it_go() -> None:
    writer = says("c", lambda said: said[-1].text())
    swarm = Swarm([says("a", hands("b"), "Over.", approve=["handoff*"]), says("b", "b did it"), writer])
    edited = {"approved": True, "arguments": {"agent_name": "c", "message": "mind the date"}}
    done = await swarm.invoke_async(respond(await swarm.invoke_async("go"), edited))
    assert done.execution_order == ("a", "c") and "a hands over to you: mind the date" in str(done.output)


# Graphs of agents


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


def wide(manager: Any = None) -> Team:
    """a and b ask, c does not, and all lead to a join."""
    builder = GraphBuilder("wide")
    for agent in (says("root", "begun"), asking("a"), asking("b"), says("c", "c is done")):
        builder.add_node(agent)
    builder.add_node(says("join", lambda said: said[-1].text()))
    for name in "abc":
        builder.add_edge("root", name).add_edge(name, "join")
    builder.set_entry_point("root")
    return (builder.set_session_manager(manager) if manager else builder).build()


@pytest.mark.parametrize("kept", [False, True])
async def test_h31_h32_h36_nodes_that_ask_at_once_are_answered_one_by_one(tmp_path: Path, kept: bool) -> None:
    team = wide()

    def built() -> Team:
        return wide(FileSessionManager("wide", tmp_path)) if kept else team

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


async def test_a_handover_s_context_reaches_whom_it_is_meant_for() -> None:
    writer = says("writer", lambda said: said[-1].text())
    done = await Swarm([says("a", hands("writer", context={"found": 3}), "Over."), writer]).invoke_async("go")
    assert 'What a knows: {"found":3}' in str(done.output)
    tools = Swarm([says("a"), writer]).graph.nodes["a"].body.toolbox.tools  # type: ignore[union-attr]
    assert set(tools["handoff_to_agent"].schema["properties"]) == {"agent_name", "message", "context"}


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


async def test_a_handover_that_never_took_place_is_forgotten_with_its_turn() -> None:
    heard: list[str] = []

    def note(said: Any) -> str:
        heard.append(said[-1].text())
        return "hello"

    swarm = Swarm([says("a", hands("b"), "Over.", note), says("b", hands("a"), "Back.")], hooks=[NodeGate("b")])
    assert (await swarm.invoke_async(respond(await swarm.invoke_async("first"), "n"))).status is Status.CANCELLED
    again = await swarm.invoke_async("second")
    assert (again.execution_order, list(again.results), heard) == (("a",), ["a"], ["second"])


async def test_h41_a_turn_s_result_names_nobody_who_was_cancelled_in_an_earlier_one() -> None:
    first = says("a", hands("b"), "Over.", hands("c"), "Over.")
    swarm = Swarm([first, says("b"), says("c")], hooks=[NodeGate("b", "c")])
    for name in ("b", "c"):
        done = await swarm.invoke_async(respond(await swarm.invoke_async(f"ask {name}"), "n"))
        assert (done.status, done.execution_order, list(done.results)) == (Status.CANCELLED, ("a", name), ["a", name])
        assert (done.results[name].status, done.results["a"].status) == (Status.CANCELLED, Status.COMPLETED)
        assert done.output == "Over."


async def test_h41_a_member_that_failed_in_a_turn_that_was_given_up_is_not_in_the_next_one() -> None:
    def fails(said: Any) -> str:
        raise ConnectionError("gone")

    swarm = Swarm([says("a", hands("b"), "Over.", hands("c"), "Over."), says("b", fails), says("c", fails)])
    assert list((await swarm.invoke_async("one")).results) == ["a", "b"]
    store, snapshot = swarm.session.checkpointer, await swarm.session.snapshot()
    assert snapshot is not None
    gone = Commit(snapshot.step + 1, ThreadStatus.CANCELLED, Delta(), lambda: snapshot.cells)
    await store.commit(snapshot.ref, gone)
    failed = await swarm.invoke_async("two")
    assert (failed.status, failed.execution_order, list(failed.results)) == (Status.FAILED, ("a", "c"), ["a", "c"])


async def test_a_team_comes_to_what_its_last_member_says_also_as_a_part_of_another_graph(store: Store) -> None:
    swarm = Swarm([says("a", hands("b"), "Over."), says("b", "B did it.")])
    graph = Graph.new("outer").node("team", swarm).entry("team").compile()
    assert (await start(graph, store)).output == "B did it."
    builder = GraphBuilder("pair").add_node(says("c", "more")).add_node(says("d", "enough"))
    builder.add_edge("c", "d", condition=lambda state: "more" in str(state.results["c"].result)).set_entry_point("c")
    alone = await GraphRunner().graph(builder.build().graph).thread("pair").hook(store).arun("go")
    assert alone.output == "enough"
