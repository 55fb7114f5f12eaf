"""Family T, the calls of a compiled graph: input, answers, levels, streams, turns (on each store)."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections import Counter
from typing import Any

import pytest

from graphs.engine.context import Context
from graphs.engine.errors import (
    AlreadyAnswered,
    AnswerInvalid,
    AnswerMismatch,
    InputMismatch,
    ThreadBusy,
    ThreadEnded,
    UnknownThread,
)
from graphs.engine.graph import Graph
from graphs.engine.invocation.granularity import KINDS, ResponseGranularity, StreamEvent
from graphs.engine.invocation.responses import pending_interrupt
from graphs.engine.messages import Message
from graphs.engine.outputs import Event, RequestInput
from graphs.engine.ports import Answer, ThreadRef
from graphs.engine.runner import Runner
from graphs.engine.statuses import Outcome
from tests.engine.calls import CONFIG, FULL, HELLO, LOW, PARTIAL, SCHEMA, answered, asking, paused, single
from tests.engine.runs import works

Store = Any


async def test_t20_a_full_stream_tells_the_pause_after_it_is_stored(store: Store) -> None:
    graph = single(asking({"n": 1}, message="go?"), store)
    seen = []
    async for chunk in graph.astream(HELLO, CONFIG, FULL):
        seen.append(chunk)
        if chunk.event is StreamEvent.UPDATES and chunk.data["status"] == "interrupted":
            snapshot = await store.load(ThreadRef("desk", "desk-7"))
            assert snapshot.status == "interrupted"
            assert chunk.data["interrupt"]["message"] == "go?" and chunk.data["interrupt"]["value"] == {"n": 1}
    updates = [one.data["status"] for one in seen if one.event is StreamEvent.UPDATES]
    assert updates == ["invoked", "interrupted"]
    assert seen[-1].meta["interrupts"][0]["message"] == "go?"
    assert pending_interrupt(seen[-1].data) is not None


async def test_t21_who_stops_reading_at_the_pause_can_resume_later(store: Store) -> None:
    graph = single(asking(message="go?"), store)
    async for chunk in graph.astream(HELLO, CONFIG, FULL):
        if chunk.data.get("status") == "interrupted":
            break
    chunks = [chunk async for chunk in graph.astream({"resume": "yes"}, CONFIG, FULL)]
    assert chunks[-1].meta["status"] == "completed" and chunks[-1].meta["output"] == "yes"


@pytest.mark.parametrize("level", [LOW, PARTIAL, FULL, "low", "partial", "full"])
async def test_t22_each_level_sends_its_kinds_and_no_others(store: Store, level: Any) -> None:
    def answer() -> Any:
        return Event(output=1, state={"messages": Message.text_message("On its way", "assistant")})

    graph = Graph.new("desk").node("answer", answer).node("ask", asking()).edge("answer", "ask")
    compiled = graph.entry("answer").terminal("ask").compile(checkpointer=store)
    chunks = [chunk async for chunk in compiled.astream(HELLO, CONFIG, level)]
    wanted = KINDS[ResponseGranularity(level)]
    assert {one.event for one in chunks} <= wanted
    assert {one.event for one in chunks} == wanted - {StreamEvent.ERROR}
    assert next(one.data.text() for one in chunks if one.event is StreamEvent.MESSAGE) == "On its way"
    assert all(not one.meta for one in chunks[:-1])
    assert chunks[-1].meta["status"] == "interrupted" and len(chunks[-1].meta["interrupts"]) == 1
    keys = {LOW: {"messages", "meta"}, PARTIAL: {"messages", "meta", "context", "summary"}}
    full = {"messages", "meta", "context", "summary", "state"}
    result = await compiled.ainvoke(None, CONFIG, level)
    assert set(result) == keys.get(ResponseGranularity(level), full)
    assert len(result["meta"]["interrupts"]) == 1


async def test_t22_a_failure_is_an_error_chunk_at_every_level(store: Store) -> None:
    def breaks() -> None:
        raise ValueError("no crane")

    for level in ResponseGranularity:
        graph = single(breaks, store)
        chunks = [chunk async for chunk in graph.astream(HELLO, {"thread_id": str(level)}, level)]
        assert chunks[-1].event is StreamEvent.ERROR and chunks[-1].data["message"] == "no crane"
        assert chunks[-1].meta["status"] == "failed" and chunks[-1].meta["error"]["path"] == "work"


async def test_t23_a_plain_message_to_a_paused_thread_is_refused(store: Store) -> None:
    graph = single(asking(message="go?"), store)
    (asked,) = (await paused(graph))["meta"]["interrupts"]
    for call in (graph.ainvoke(HELLO, CONFIG), anext(aiter(graph.astream(HELLO, CONFIG)))):
        with pytest.raises(ThreadBusy) as refused:
            await call
        assert refused.value.open_ids == [asked["id"]]
    still = await graph.ainvoke(None, CONFIG, FULL)
    assert [one["id"] for one in still["meta"]["interrupts"]] == [asked["id"]]
    assert len(still["context"]) == 1


async def test_t24_an_answer_where_nothing_is_asked_is_refused(store: Store) -> None:
    graph = single(works(Counter(), "work"), store)
    with pytest.raises(UnknownThread):
        await answered(graph, "yes")
    await paused(graph)
    with pytest.raises(ThreadEnded, match="asks nothing"):
        await answered(graph, "yes")
    with pytest.raises(AnswerMismatch):
        await answered(graph, "yes", interrupt_id="3f0c1d5e-0000-4000-8000-000000000000")


async def test_t24_the_same_answer_by_id_twice_is_a_replay_and_another_one_a_conflict(store: Store) -> None:
    graph = single(asking(), store)
    (asked,) = (await paused(graph))["meta"]["interrupts"]
    first = await answered(graph, "yes", interrupt_id=asked["id"])
    again = await answered(graph, "yes", interrupt_id=asked["id"])
    assert first["meta"] == again["meta"]
    with pytest.raises(AlreadyAnswered):
        await answered(graph, "no", interrupt_id=asked["id"])


async def test_t25_the_state_carries_the_pause_under_execution_meta(store: Store) -> None:
    result = await paused(single(asking({"n": 1}, message="go?"), store))
    meta = result["state"]["execution_meta"]
    assert meta["interrupt_reason"] == "interrupt"
    assert meta["interrupt_data"]["interrupt"]["value"] == {"n": 1}
    assert "interrupt" not in result and len(result["meta"]["interrupts"]) == 1
    done = await answered(single(asking({"n": 1}, message="go?"), store), "yes")
    assert done["state"]["execution_meta"]["interrupt_reason"] is None
    assert pending_interrupt(done["state"]) is None


@pytest.mark.parametrize(
    "input",
    [
        {},
        [],
        "go",
        {"messages": []},
        {"messages": ""},
        {"interrupt_id": "x"},
        {"resume": 1, "messages": []},
        {"resume": 1, "interrupt_id": ""},
    ],
)
async def test_t26_what_is_neither_input_nor_answer_is_refused(store: Store, input: Any) -> None:
    with pytest.raises(InputMismatch):
        await single(asking(), store).ainvoke(input, CONFIG)
    assert await store.load(ThreadRef("desk", "desk-7")) is None


async def test_t26_null_resumes_and_a_misfit_does_not(store: Store) -> None:
    graph = single(asking(response_schema=SCHEMA), store)
    await paused(graph)
    with pytest.raises(AnswerInvalid):
        await answered(graph, {"go": "perhaps"})
    assert (await answered(graph, None))["meta"]["status"] == "completed"


async def test_t27_a_streamed_answer_tells_the_rest(store: Store) -> None:
    graph = Graph.new("desk").node("ask", asking()).node("then", lambda: "shipped").edge("ask", "then")
    compiled = graph.entry("ask").terminal("then").compile(checkpointer=store)
    await paused(compiled)
    chunks = [chunk async for chunk in compiled.astream({"resume": 1}, CONFIG, FULL)]
    told = [(one.data["status"], one.data["node_id"]) for one in chunks if one.event is StreamEvent.UPDATES]
    assert told == [("invoked", "ask"), ("finished", "ask"), ("invoked", "then"), ("finished", "then")]
    assert chunks[-1].meta["output"] == "shipped"


async def test_t30_a_loop_asks_once_on_each_visit_under_a_new_id(store: Store) -> None:
    graph = Graph.new("loop").node("ask", asking(message="again?")).node("end", lambda: "done")
    graph.edge("ask", "ask", when="again").edge("ask", "end", default=True)
    compiled = graph.entry("ask").terminal("end").compile(checkpointer=store)
    result = await paused(compiled)
    seen = [result["meta"]["interrupts"][0]]
    for _ in range(3):
        result = await answered(compiled, "again")
        seen.append(result["meta"]["interrupts"][0])
    assert [one["visit"] for one in seen] == [1, 2, 3, 4] and len({one["id"] for one in seen}) == 4
    assert (await answered(compiled, "enough"))["meta"]["output"] == "done"


async def test_t31_a_new_message_is_a_new_turn_that_knows_the_earlier_ones(store: Store) -> None:
    def reply(ctx: Context) -> Any:
        count = len(ctx.state["messages"])
        return Event(output=count, state={"messages": Message.text_message(f"{count} so far", "assistant")})

    graph = single(reply, store)
    first = await graph.ainvoke(HELLO, CONFIG)
    second = await graph.ainvoke({"messages": "And the box?"}, CONFIG, FULL)
    assert first["messages"][-1].text() == "1 so far"
    assert [one.text() for one in second["messages"]] == ["3 so far"]
    texts = ["Ship the crate", "1 so far", "And the box?", "3 so far"]
    assert [one.text() for one in second["context"]] == texts
    assert [one.role for one in second["state"]["messages"]] == ["user", "assistant"] * 2


async def test_t31_a_turn_that_was_called_off_is_followed_by_the_next(store: Store) -> None:
    graph = single(lambda: RequestInput("ship", "Ship it?"), store)
    asked = await graph.ainvoke(HELLO, CONFIG)
    answer = Answer(asked["meta"]["interrupts"][0]["id"], Outcome.CANCELLED, None, "called off")
    run = Runner.configure().graph(graph).resume_from(store, CONFIG["thread_id"])
    assert (await run.arun(resume=[answer])).status == "cancelled"
    again = await graph.ainvoke({"messages": "Try once more"}, CONFIG)
    assert (again["meta"]["status"], len(again["meta"]["interrupts"])) == ("interrupted", 1)
    assert (await graph.ainvoke({"resume": "yes"}, CONFIG))["meta"]["status"] == "completed"


async def test_t31_other_channels_of_the_input_are_state(store: Store) -> None:
    def weigh(ctx: Context) -> Any:
        return Event(output=ctx.state["crates"], state={"summary": "weighed"})

    graph = Graph.new("desk", state={"crates": "add"}).node("weigh", weigh).entry("weigh").terminal("weigh")
    compiled = graph.compile(checkpointer=store)
    await compiled.ainvoke({"crates": 2}, CONFIG)
    result = await compiled.ainvoke({"crates": 3, "messages": ["more"]}, CONFIG, FULL)
    assert result["state"]["crates"] == 5 and result["summary"] == "weighed"
    assert [one.text() for one in result["context"]] == ["more"]


async def test_t31_a_lone_parameter_takes_the_whole_input_or_the_channel_of_its_name(store: Store) -> None:
    def weigh(kilos: float) -> Any:
        return kilos

    def read(data: dict[str, Any]) -> Any:
        return data

    given = {"kilos": 2.5, "crate": "blue"}
    assert (await single(weigh, store).ainvoke(given))["meta"]["output"] == 2.5
    assert (await single(read, store).ainvoke(given))["meta"]["output"] == given
    refused = await single(weigh, store).ainvoke({"kilos": "heavy"})
    assert refused["meta"]["error"]["type"] == "input_mismatch"


async def test_t32_without_a_checkpointer_the_thread_resumes_in_the_process() -> None:
    graph = Graph.new("desk").node("ask", asking()).entry("ask").terminal("ask").compile()
    assert (await graph.ainvoke(HELLO, CONFIG))["meta"]["status"] == "interrupted"
    assert (await graph.ainvoke({"resume": "yes"}, CONFIG))["meta"]["output"] == "yes"


async def test_t32_without_a_thread_id_each_call_is_a_thread_of_its_own(store: Store) -> None:
    graph = single(asking(), store)
    ids = {(await graph.ainvoke(HELLO))["meta"]["thread_id"] for _ in range(2)}
    assert len(ids) == 2 and all(ids)
    chunk = await anext(aiter(graph.astream(HELLO)))
    assert chunk.thread_id and chunk.thread_id not in ids


async def test_a_graph_that_keeps_no_messages_answers_with_its_output(store: Store) -> None:
    graph = single(asking(), store)
    assert (await paused(graph))["messages"] == []
    result = await answered(graph, {"n": 1})
    assert [one.text() for one in result["messages"]] == ['{"n":1}']
    assert result["state"]["messages"] == [Message.text_message("Ship the crate")]


async def test_text_of_a_node_comes_as_message_chunks_as_it_is_made(store: Store) -> None:
    async def talks(ctx: Context) -> str:
        for part in ("On ", "its way"):
            ctx.stream(part)
        return "On its way"

    chunks = [chunk async for chunk in single(talks, store).astream(HELLO, CONFIG)]
    assert [one.data.text() for one in chunks] == ["On ", "its way", "On its way"]


SYNC = """
import sys
from graphs import Graph, Message, ResponseGranularity, StreamEvent, interrupt, pending_interrupt

FULL = ResponseGranularity.FULL
graph = Graph.new("desk").node("ask", lambda: interrupt({"n": 1}, message="go?")).entry("ask").terminal("ask").compile()
config = {"thread_id": "t"}
result = graph.invoke({"messages": [Message.text_message("hello")]}, config=config, response_granularity=FULL)
assert pending_interrupt(result["state"]).message == "go?"
result = graph.invoke({"resume": "yes"}, config=config)
assert result["messages"][-1].text() == "yes", result
for chunk in graph.stream({"messages": [Message.text_message("again")]}, config=config, response_granularity=FULL):
    if chunk.event == StreamEvent.UPDATES and chunk.data.get("status") == "interrupted":
        assert chunk.data["interrupt"]["value"] == {"n": 1}
        break
rest = list(graph.stream({"resume": "no"}, config=config))
assert rest[-1].meta["output"] == "no"
try:
    list(graph.stream({"resume": "no"}, config=config))
except Exception as error:
    sys.exit(0 if type(error).__name__ == "ThreadEnded" else str(error))
sys.exit("an answer to nothing was taken")
"""


def test_t32_the_sync_twins_need_no_event_loop() -> None:
    done = subprocess.run([sys.executable, "-c", SYNC], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


async def test_two_answers_at_once_by_bare_resume_make_one_win(store: Store) -> None:
    graph = single(asking(), store)
    await paused(graph)
    ended = await asyncio.gather(*(answered(graph, value) for value in ("a", "b")), return_exceptions=True)
    assert any(isinstance(one, dict) for one in ended)
    (stored,) = store.questions(ThreadRef("desk", "desk-7"))
    final = await graph.ainvoke(None, CONFIG)
    assert final["meta"]["output"] == stored.decision.value
