"""The spellings of the first document: graphs whose nodes request human input, and runs that pause and resume."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from graphs import (
    GRAPH_END,
    NODE_INTERRUPT,
    ExecutableInput,
    Graph,
    GraphResume,
    GraphRunStatus,
    InMemoryCheckpointer,
    Interrupt,
    InterruptException,
    NodeRetryPolicy,
    Runner,
    SQLiteCheckpointer,
    request_human_input,
)


def sign(inp: ExecutableInput, ctx: Any) -> str:
    reply = request_human_input(inp, "Sign the lease?", kind="signature", page=3, options=["now", "later"])
    return f"signed {reply}"


def lease() -> Any:
    return Graph.new("lease").node("sign", sign).entry("sign").terminal("sign").compile()


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    return InMemoryCheckpointer() if request.param == "memory" else SQLiteCheckpointer(tmp_path / "leases.sqlite3")


async def test_a_run_is_suspended_with_its_question_in_result_and_state(store: Any) -> None:
    result = await Runner.arun_graph(lease(), "flat 4", hooks=[store], thread_id="lease-1")
    assert result.status == GraphRunStatus.INTERRUPTED
    (asked,) = result.interrupts
    assert (asked.node_id, asked.question, asked.kind) == ("sign", "Sign the lease?", "signature")
    assert asked.metadata == {"page": 3, "options": ["now", "later"]}
    assert result.state is not None and set(result.state.pending_interrupts) == {"sign"}


async def test_the_functional_form_resumes_with_a_reply(store: Any) -> None:
    graph = lease()
    await Runner.arun_graph(graph, "flat 4", hooks=[store], thread_id="lease-1")
    done = await Runner.arun_graph_from_checkpoint(
        graph,
        checkpointer=store,
        thread_id="lease-1",
        resume=GraphResume(replies={"sign": "now"}),
    )
    assert (done.status, done.output) == (GraphRunStatus.COMPLETED, "signed now")


async def test_the_profile_form_resumes_and_a_rejection_arrives_as_its_text(store: Any) -> None:
    graph = lease()
    await Runner.arun_graph(graph, "flat 4", hooks=[store], thread_id="lease-1")
    run = Runner.configure().graph(graph).resume_from(store, "lease-1")
    done = await run.arun("flat 4", resume=GraphResume(rejected={"sign": "not without a lawyer"}))
    assert done.output == "signed not without a lawyer"


async def test_a_reply_of_none_is_a_reply(store: Any) -> None:
    graph = lease()
    await Runner.arun_graph(graph, "flat 4", hooks=[store], thread_id="lease-1")
    reply = GraphResume(replies={"sign": None})
    done = await Runner.arun_graph_from_checkpoint(graph, checkpointer=store, thread_id="lease-1", resume=reply)
    assert done.output == "signed None"


async def test_without_a_reply_it_suspends_again_with_the_same_question(store: Any) -> None:
    graph = lease()
    first = await Runner.arun_graph(graph, "flat 4", hooks=[store], thread_id="lease-1")
    again = await Runner.arun_graph_from_checkpoint(
        graph, checkpointer=store, thread_id="lease-1", resume=GraphResume()
    )
    assert again.status == GraphRunStatus.INTERRUPTED
    assert [one.id for one in again.interrupts] == [one.id for one in first.interrupts]


async def test_a_stream_tells_the_question_before_its_end(store: Any) -> None:
    streamed = await Runner.arun_graph_streamed(lease(), "flat 4", hooks=[store], thread_id="lease-1")
    told = []
    async for event in streamed.stream_events():
        if event["type"] == NODE_INTERRUPT:
            assert isinstance(event["interrupt"], Interrupt)
            told.append((event["node_id"], event["interrupt"].question, event["graph_path"]))
        elif event["type"] == GRAPH_END:
            told.append(event["status"].value)
    assert told == [("sign", "Sign the lease?", ("lease",)), "interrupted"]
    assert streamed.status.value == "interrupted" and len(streamed.interrupts) == 1


async def test_a_resumed_run_can_be_streamed(store: Any) -> None:
    graph = lease()
    await Runner.arun_graph(graph, "flat 4", hooks=[store], thread_id="lease-1")
    run = Runner.configure().graph(graph).resume_from(store, "lease-1")
    streamed = await run.arun("flat 4", stream=True, resume=GraphResume(replies={"sign": "later"}))
    async for _ in streamed.stream_events():
        pass
    assert (streamed.status.value, streamed.output) == ("completed", "signed later")


async def test_a_finished_sibling_is_kept_and_only_the_asking_node_fires_again(store: Any) -> None:
    ran: list[str] = []

    def measure(inp: ExecutableInput) -> str:
        ran.append("measure")
        return "42 m²"

    def file(inp: ExecutableInput) -> Any:
        ran.append("file")
        return inp.input

    graph = (
        Graph.new("flat")
        .node("visit", lambda: "visited")
        .node("sign", sign)
        .node("measure", measure)
        .node("file", file)
        .edge("visit", "sign")
        .edge("visit", "measure")
        .edge("sign", "file")
        .edge("measure", "file")
        .entry("visit")
        .terminal("file")
        .compile()
    )
    first = await Runner.arun_graph(graph, "flat 4", hooks=[store], thread_id="flat-4")
    assert first.state is not None
    assert (set(first.state.pending_interrupts), first.state.node_results["measure"]) == ({"sign"}, "42 m²")
    resume = GraphResume(replies={"sign": "now"})
    done = await Runner.arun_graph_from_checkpoint(graph, checkpointer=store, thread_id="flat-4", resume=resume)
    assert done.output == {"sign": "signed now", "measure": "42 m²"}
    assert ran == ["measure", "file"]


async def test_a_node_may_raise_the_pause_itself_and_no_retry_sees_it(store: Any) -> None:
    passes: list[Any] = []

    def check(inp: ExecutableInput) -> Any:
        passes.append(inp.metadata)
        if "__resume_reply__" in inp.metadata:
            return inp.metadata["__resume_reply__"]
        raise InterruptException(Interrupt(node_id="check", question="Heating checked?"))

    graph = Graph.new("heat").node("check", check, retry=NodeRetryPolicy(max_attempts=5)).entry("check").compile()
    paused = await Runner.arun_graph(graph, "x", hooks=[store], thread_id="h")
    assert [one.question for one in paused.interrupts] == ["Heating checked?"] and len(passes) == 1
    resume = GraphResume(replies={"check": "yes"})
    done = await Runner.arun_graph_from_checkpoint(graph, checkpointer=store, thread_id="h", resume=resume)
    # Nobody is there to hand the answer to a pause that was raised by hand: it stands in the envelope.
    assert done.status == GraphRunStatus.COMPLETED and done.output == "yes"


async def test_a_suspended_run_goes_on_in_another_process(tmp_path: Path) -> None:
    first = SQLiteCheckpointer(tmp_path / "leases.sqlite3")
    await Runner.arun_graph(lease(), "flat 4", hooks=[first], thread_id="lease-1")
    first.close()
    second = SQLiteCheckpointer(tmp_path / "leases.sqlite3")
    resume = GraphResume(replies={"sign": "now"})
    done = await Runner.arun_graph_from_checkpoint(lease(), checkpointer=second, thread_id="lease-1", resume=resume)
    second.close()
    assert done.output == "signed now"
