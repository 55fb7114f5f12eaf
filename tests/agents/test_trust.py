"""Trust that an approval gives: within its scope nobody is asked again, and a no still counts for more (Z54)."""

from __future__ import annotations

from typing import Any

import pytest

from graphs.agents.agent import Agent
from graphs.agents.models import ScriptedModel, ToolCall
from graphs.agents.teams.builder import GraphBuilder
from graphs.agents.teams.swarm import Swarm
from graphs.agents.tool_context import ToolContext
from graphs.agents.tools import tool
from graphs.agents.trust import GATE
from graphs.engine.graph import CompiledGraph, Graph
from graphs.engine.ports import ThreadRef
from graphs.engine.runner import Runner
from graphs.engine.statuses import Outcome, ThreadStatus
from tests.agents.files import Disk
from tests.engine.runs import resume, start

Store = Any
REF = ThreadRef("trusting", "run-1")


def delete(path: str, id: str = "") -> ToolCall:
    return ToolCall("delete", {"path": path}, id)


def trusting(disk: Disk, *replies: Any, approve: Any = ("delete",)) -> CompiledGraph:
    agent = Agent("keeper", ScriptedModel([*replies, "Done."]), tools=[disk.delete], approve=approve)
    return Graph.new("trusting").node("keeper", agent).entry("keeper").terminal("keeper").compile()


def yes(**trust: Any) -> dict[str, Any]:
    return {"approved": True, "trust": {"scope": "thread", **trust}}


async def test_z54_a_trusted_call_is_not_asked_about_again(store: Store) -> None:
    disk = Disk()
    graph = trusting(disk, delete("logs/a"), delete("logs/b"), delete("etc/c"))
    await start(graph, store)
    result = await resume(graph, store, {"keeper": yes(arguments={"path": {"like": "logs/*"}})})
    assert disk.deleted == ["logs/a", "logs/b"]
    assert [one.metadata["arguments"] for one in result.interrupts] == [{"path": "etc/c"}]
    entries = {entry.key: entry.value for found in (await store.journals(REF)).values() for entry in found}
    assert entries["tool:1.0/call"]["trust"]["scope"] == "thread" and "trust" not in entries["tool:0.0/call"]


@pytest.mark.parametrize(
    ("rules", "asked"),
    [
        ({"path": {"is": "a"}}, [{"path": "a", "force": True}, {"path": "b"}]),
        ({}, [{"path": "a", "force": True}]),
        ({"force": {}}, []),
    ],
)
async def test_z54_trust_covers_no_argument_that_the_trusted_call_did_not_have(
    store: Store, rules: dict[str, Any], asked: list[Any]
) -> None:
    @tool
    def remove(path: str, force: bool = False) -> str:
        """Remove a file."""
        return path

    more = [ToolCall("remove", {"path": "a", "force": True}, "2"), ToolCall("remove", {"path": "b"}, "3")]
    model = ScriptedModel([ToolCall("remove", {"path": "a"}, "1"), more, "Done."])
    agent = Agent("keeper", model, tools=[remove], approve=["remove"])
    graph = Graph.new("trusting").node("keeper", agent).entry("keeper").terminal("keeper").compile()
    await start(graph, store)
    result = await resume(graph, store, {"keeper": yes(arguments=rules)})
    assert [one.metadata["arguments"] for one in result.interrupts] == asked


async def test_z54_an_open_question_is_not_answered_by_trust_in_its_sibling_and_its_no_counts(store: Store) -> None:
    disk = Disk()
    graph = trusting(disk, [delete("a", "1"), delete("b", "2")], delete("b"), delete("c"))
    first, second = (await start(graph, store)).interrupts
    half = await resume(graph, store, {first.id: yes()})
    assert [one.id for one in half.interrupts] == [second.id] and disk.deleted == ["a"]
    result = await resume(graph, store, rejected={second.id: "not b"})
    # The same call again: the trust would cover it, and the last word about it was no.
    assert [one.metadata["arguments"] for one in result.interrupts] == [{"path": "b"}] and disk.deleted == ["a"]
    done = await resume(graph, store, {result.interrupts[0].id: {"approved": True}})
    assert (done.status, disk.deleted) == (ThreadStatus.COMPLETED, ["a", "b", "c"])


async def test_z54_revoked_trust_asks_again(store: Store) -> None:
    disk = Disk()
    graph = trusting(disk, delete("a"), delete("b"), approve=[lambda name, arguments: True])
    await start(graph, store)
    await store.answer(REF, [_answer((await store.load(REF)).tasks, yes())])
    (grant,) = await store.grants(REF)
    assert await store.revoke(REF, grant.id)
    result = await resume(graph, store)
    assert len(result.interrupts) == 1 and disk.deleted == ["a"]


async def test_z54_trust_ends_by_itself(clock: Any) -> None:
    from graphs.engine.checkpointers.memory import InMemoryCheckpointer

    disk, store = Disk(), InMemoryCheckpointer(clock)
    graph = trusting(disk, delete("a"), delete("b"))
    await start(graph, store, clock=clock)
    await store.answer(REF, [_answer((await store.load(REF)).tasks, yes(seconds=60))])  # type: ignore[union-attr]
    clock.move(61)
    result = await resume(graph, store, clock=clock)
    assert len(result.interrupts) == 1 and disk.deleted == ["a"]


async def test_z54_an_agent_s_trust_reaches_its_other_threads_and_no_other_agent(store: Store) -> None:
    disk = Disk()
    graph = trusting(disk, delete("a"))
    await start(graph, store)
    await resume(graph, store, {"keeper": yes(scope="agent")})
    other = await Runner.arun_graph(graph, "go", checkpointer=store, thread_id="run-2")
    assert (other.status, disk.deleted) == (ThreadStatus.COMPLETED, ["a", "a"])
    stranger = Agent("stranger", ScriptedModel([delete("a"), "Done."]), tools=[disk.delete], approve=["delete"])
    built = Graph.new("trusting").node("keeper", stranger).entry("keeper").terminal("keeper").compile()
    assert (
        await Runner.arun_graph(built, "go", checkpointer=store, thread_id="run-3")
    ).status is ThreadStatus.INTERRUPTED


@pytest.mark.parametrize("path", ["logs/../etc/passwd", "etc/x", ""])
async def test_z54_a_pattern_never_covers_what_climbs_out_of_it(path: str) -> None:
    from graphs.engine.checkpointers.memory import InMemoryCheckpointer

    disk, store = Disk(), InMemoryCheckpointer()
    graph = trusting(disk, delete("logs/a"), delete(path))
    await start(graph, store)
    result = await resume(graph, store, {"keeper": yes(arguments={"path": {"like": "logs/*"}})})
    assert len(result.interrupts) == 1 and disk.deleted == ["logs/a"]


async def test_a_predicate_decides_which_calls_are_asked_about_once_each(store: Store) -> None:
    disk, asked = Disk(), []

    async def deep(name: str, arguments: Any) -> bool:
        asked.append(arguments["path"])
        return "/" in arguments["path"]

    graph = trusting(disk, [delete("a", "1"), delete("b/c", "2")], approve=[deep])
    paused = await start(graph, store)
    assert [one.metadata["arguments"]["path"] for one in paused.interrupts] == ["b/c"] and disk.deleted == ["a"]
    await resume(graph, store, {"keeper": {"approved": True}})
    assert sorted(asked) == ["a", "b/c"] and sorted(disk.deleted) == ["a", "b/c"]


async def test_a_predicate_that_takes_the_agent_sees_what_its_tools_keep() -> None:
    disk = Disk()

    @tool(context=True)
    def count(tool_context: ToolContext) -> int:
        """Count."""
        state = tool_context.agent.state
        state.set("count", (state.get("count") or 0) + 1)
        return int(state.get("count"))

    def late(name: str, arguments: Any, *, agent: Any) -> bool:
        return name == "delete" and agent.state.get("count") is not None

    says = ScriptedModel([delete("a"), ToolCall("count"), delete("b"), "Done."])
    agent = Agent("keeper", says, tools=[disk.delete, count], approve=[late])
    (question,) = (await agent.invoke_async("go")).interrupts
    assert question.metadata["arguments"] == {"path": "b"} and disk.deleted == ["a"]


def reply(question: Any, **response: Any) -> dict[str, Any]:
    return {"interruptResponse": {"interruptId": question.id, "response": response}}


def looping(agent: Agent) -> Any:
    """A team whose member comes again until it has said that it is done."""
    builder = GraphBuilder().add_node(agent).set_entry_point("keeper")
    builder.add_node(Agent("watcher", ScriptedModel(["Look again."])))
    builder.add_edge("keeper", "watcher", condition=lambda state: "More." in str(state.results["keeper"].result))
    return builder.add_edge("watcher", "keeper").build()


ALONE_OR_IN_A_TEAM = {
    "agent": lambda agent: agent,
    "swarm of one": lambda agent: Swarm([agent]),
    "swarm": lambda agent: Swarm([agent, Agent("other", ScriptedModel(["Nothing."]))]),
    "builder": lambda agent: GraphBuilder().add_node(agent).set_entry_point("keeper").build(),
    "loop": looping,
}


@pytest.mark.parametrize("made", ALONE_OR_IN_A_TEAM)
async def test_z54_a_no_stays_a_no_in_the_next_turn_whatever_was_trusted_beside_it(made: str) -> None:
    disk = Disk()
    says = [[delete("a", "1"), delete("secret", "2")], "One.", delete("b"), delete("secret"), "Two."]
    keeper = Agent("keeper", ScriptedModel(says), tools=[disk.delete], approve=["delete"])
    called = ALONE_OR_IN_A_TEAM[made](keeper)
    first, second = (await called.invoke_async("go")).interrupts
    no = {"approved": False, "reason": "never"}
    assert not (await called.invoke_async([reply(first, **yes()), reply(second, **no)])).interrupts
    again = await called.invoke_async("again")
    assert [one.metadata["arguments"] for one in again.interrupts] == [{"path": "secret"}] and disk.deleted == [
        "a",
        "b",
    ]
    await called.invoke_async([reply(again.interrupts[0], approved=True)])
    assert disk.deleted == ["a", "b", "secret"]


async def test_z54_a_no_stays_a_no_at_a_later_visit_of_a_loop() -> None:
    disk = Disk()
    says = [[delete("a", "1"), delete("secret", "2")], "More.", delete("secret"), "Done."]
    team = looping(Agent("keeper", ScriptedModel(says), tools=[disk.delete], approve=["delete"]))
    first, second = (await team.invoke_async("go")).interrupts
    later = await team.invoke_async([reply(first, **yes()), reply(second, approved=False, reason="never")])
    assert [one.metadata["arguments"] for one in later.interrupts] == [{"path": "secret"}] and disk.deleted == ["a"]


async def test_z54_a_no_stays_a_no_at_a_later_visit_of_a_loop_that_keeps_no_conversation(store: Store) -> None:
    disk = Disk()
    replies = iter([[delete("a", "1"), delete("secret", "2")], "More.", delete("secret"), "Done."])
    agent = Agent("keeper", ScriptedModel(lambda said: next(replies)), tools=[disk.delete], approve=["delete"])
    built = Graph.new("trusting").node("keeper", agent).node("check", lambda said: said).entry("keeper")
    built = built.edge("keeper", "check").edge("check", "keeper", when=lambda said: said == "More.").terminal("check")
    first, second = (await start(built.compile(), store)).interrupts
    result = await resume(built.compile(), store, {first.id: yes()}, rejected={second.id: "never"})
    assert [one.metadata["arguments"] for one in result.interrupts] == [{"path": "secret"}] and disk.deleted == ["a"]


async def test_z54_a_no_stays_a_no_in_the_next_run_of_a_team_that_is_a_tool() -> None:
    disk = Disk()
    replies = iter([[delete("a", "1"), delete("secret", "2")], "One.", delete("secret"), "Two."])
    agent = Agent("keeper", ScriptedModel(lambda said: next(replies)), tools=[disk.delete], approve=["delete"])
    calls = [ToolCall("tidy", {"input": "go"}), "Tidied.", ToolCall("tidy", {"input": "again"}), "Tidied again."]
    boss = Agent("boss", ScriptedModel(calls), tools=[Swarm([agent]).as_tool(name="tidy")])
    first, second = (await boss.invoke_async("go")).interrupts
    await boss.invoke_async([reply(first, **yes()), reply(second, approved=False, reason="never")])
    again = await boss.invoke_async("again")
    assert [one.metadata["arguments"] for one in again.interrupts] == [{"path": "secret"}] and disk.deleted == ["a"]


def _answer(tasks: Any, value: Any) -> Any:
    from graphs.engine.ports import Answer

    (question,) = [one for task in tasks.values() for one in task.interrupts]
    assert question.kind == GATE
    return Answer(question.id, Outcome.APPROVED, value)
