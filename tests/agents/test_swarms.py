"""Family H: swarms, whose members hand over to each other (H27 to H29)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from graphs.agents.agent import Agent
from graphs.agents.models import ToolCall
from graphs.agents.results import Status
from graphs.agents.teams.swarm import Swarm
from graphs.engine.errors import DefinitionError
from graphs.engine.ports import Commit, Delta
from graphs.engine.statuses import ThreadStatus
from tests.agents.files import DELETE, Disk, Gate, keeper
from tests.agents.members import NodeGate, hands, note, respond, says, text


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


async def test_a_handover_s_context_reaches_whom_it_is_meant_for() -> None:
    writer = says("writer", lambda said: said[-1].text())
    done = await Swarm([says("a", hands("writer", context={"found": 3}), "Over."), writer]).invoke_async("go")
    assert 'What a knows: {"found":3}' in str(done.output)
    tools = Swarm([says("a"), writer]).graph.nodes["a"].body.toolbox.tools  # type: ignore[union-attr]
    assert set(tools["handoff_to_agent"].schema["properties"]) == {"agent_name", "message", "context"}


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
