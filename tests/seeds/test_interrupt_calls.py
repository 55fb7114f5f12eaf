"""The spellings of the second document: `interrupt()` in tools and nodes, and graphs that are invoked and streamed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from graphs import (
    Event,
    Graph,
    InMemoryCheckpointer,
    Message,
    ResponseGranularity,
    StreamEvent,
    ToolNode,
    interrupt,
    pending_interrupt,
    tool,
)

YES_OR_NO = {
    "type": "object",
    "properties": {"approved": {"type": "boolean", "description": "Whether the bike may be lent"}},
    "required": ["approved"],
}
LENT: list[Any] = []


@pytest.fixture(autouse=True)
def nothing_lent() -> None:
    LENT.clear()


async def hand_over(bike: str) -> str:
    LENT.append(bike)
    return "key 7"


async def lend(bike: str, days: float) -> str:
    """Lend a bike, but ask first."""
    verdict = interrupt(
        {"bike": bike, "days": days},
        message=f"Lend the {bike} for {days} days?",
        reason="tool_approval",
        response_schema=YES_OR_NO,
    )
    if not verdict or not verdict.get("approved"):
        return f"The {bike} stays here."
    key = await hand_over(bike)
    return f"The {bike} is yours: {key}"


def shop(*calls: tuple[str, dict[str, Any]], tools: list[Any]) -> Any:
    """A graph in which an assistant's message calls tools, compiled with a store."""

    def assistant() -> Event:
        message = Message.tool_call_message(*({"name": name, "input": given} for name, given in calls))
        return Event(output=message, state={"messages": message})

    graph = Graph.new("shop").node("assistant", assistant).node("tools", ToolNode(tools))
    return graph.edge("assistant", "tools").entry("assistant").compile(checkpointer=InMemoryCheckpointer())


LEND = ("lend", {"bike": "tandem", "days": 2})
HELLO = {"messages": [Message.text_message("The tandem for two days, please")]}


async def test_invoke_pauses_in_the_tool_and_the_answer_lets_it_finish() -> None:
    app = shop(LEND, tools=[lend])
    config = {"thread_id": "loan-1"}
    result = await app.ainvoke(HELLO, config=config, response_granularity=ResponseGranularity.FULL)
    pending = pending_interrupt(result["state"])
    assert pending is not None
    assert pending.message == "Lend the tandem for 2 days?" and pending.value == {"bike": "tandem", "days": 2}
    assert pending.reason == "tool_approval" and pending.tool_call_id == "call-0"
    assert pending.response_schema == YES_OR_NO and LENT == []
    meta = result["state"]["execution_meta"]
    assert (meta["interrupt_reason"], meta["interrupt_data"]["interrupt"]["id"]) == ("interrupt", pending.id)
    done = await app.ainvoke({"resume": {"approved": True}}, config=config)
    assert done["messages"][-1].text() == "The tandem is yours: key 7" and LENT == ["tandem"]


@pytest.mark.parametrize("answer", [None, {"approved": False}])
async def test_a_no_and_a_cancellation_both_decline(answer: Any) -> None:
    app = shop(LEND, tools=[lend])
    await app.ainvoke(HELLO, config={"thread_id": "loan-1"})
    done = await app.ainvoke({"resume": answer}, config={"thread_id": "loan-1"})
    assert done["messages"][-1].text() == "The tandem stays here." and LENT == []


async def test_a_stream_shows_the_pause_as_an_update_at_the_full_level_alone() -> None:
    async def paused(thread_id: str, level: ResponseGranularity) -> list[Any]:
        found = []
        chunks: AsyncIterator[Any] = shop(LEND, tools=[lend]).astream(
            HELLO, config={"thread_id": thread_id}, response_granularity=level
        )
        async for chunk in chunks:
            if chunk.event == StreamEvent.UPDATES and chunk.data.get("status") == "interrupted":
                found.append(chunk.data.get("interrupt"))
        return found

    (told,) = await paused("a", ResponseGranularity.FULL)
    assert (told["message"], told["value"]["bike"]) == ("Lend the tandem for 2 days?", "tandem")
    assert await paused("b", ResponseGranularity.LOW) == await paused("c", ResponseGranularity.PARTIAL) == []


async def test_several_interrupts_are_answered_one_resume_after_the_other() -> None:
    async def fit() -> str:
        size = interrupt({"sizes": ["S", "M"]}, message="Which size?")
        bell = interrupt({"bells": ["ding", "dong"]}, message="Which bell?")
        return f"{size} with {bell}"

    app = shop(("fit", {}), tools=[fit])
    await app.ainvoke(HELLO, config={"thread_id": "t"})
    second = await app.ainvoke({"resume": "M"}, config={"thread_id": "t"}, response_granularity="full")
    pending = pending_interrupt(second["state"])
    assert pending is not None and pending.message == "Which bell?"
    done = await app.ainvoke({"resume": "dong"}, config={"thread_id": "t"})
    assert done["messages"][-1].text() == "M with dong"


async def test_a_form_stops_early_where_its_first_answer_is_none() -> None:
    async def survey() -> str:
        stars = interrupt({"stars": [1, 2, 3]}, message="How was it?")
        if not stars:
            return "no survey"
        words = interrupt({"stars": stars}, message="Why?")
        return f"{stars}: {words}"

    app = Graph.new("survey").node("survey", survey).entry("survey").compile()
    await app.ainvoke({"guest": "Bo"}, config={"thread_id": "t"})
    done = await app.ainvoke({"resume": None}, config={"thread_id": "t"})
    assert done["messages"][-1].text() == "no survey"


async def test_code_before_the_call_runs_in_each_pass_and_code_behind_it_once() -> None:
    ran: list[str] = []

    async def deposit(amount: float) -> str:
        ran.append("checked")
        if interrupt({"amount": amount}, message=f"Keep {amount} as a deposit?"):
            ran.append("kept")
        return "noted"

    app = Graph.new("deposit").node("deposit", deposit).entry("deposit").compile()
    await app.ainvoke({"amount": 50}, config={"thread_id": "t"})
    await app.ainvoke({"resume": True}, config={"thread_id": "t"})
    assert ran == ["checked", "checked", "kept"]


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_tool_that_finished_is_not_run_again_beside_one_that_waits(streamed: bool) -> None:
    ran: list[str] = []

    async def look_up() -> str:
        ran.append("look_up")
        return "free"

    async def hold() -> str:
        ran.append("hold")
        interrupt({"bike": "tandem"})
        return "held"

    app = shop(("look_up", {}), ("hold", {}), tools=[look_up, hold])

    async def call(input: Any) -> None:
        if streamed:
            async for _ in app.astream(input, config={"thread_id": "t"}):
                pass
        else:
            await app.ainvoke(input, config={"thread_id": "t"})

    await call(HELLO)
    await call({"resume": True})
    assert ran.count("look_up") == 1 and ran.count("hold") == 2


async def test_except_exception_lets_the_pause_through_and_base_exception_fails_the_run() -> None:
    async def careful() -> str:
        try:
            interrupt({"query": "May I?"})
        except Exception as error:
            return f"Error: {error}"
        return "went on"

    async def greedy() -> str:
        try:
            interrupt({"query": "May I?"})
        except BaseException as error:
            return f"Error: {error}"
        return "went on"

    paused = await shop(("careful", {}), tools=[careful]).ainvoke(HELLO, config={"thread_id": "t"})
    assert paused["meta"]["status"] == "interrupted"
    # Stricter than the document: the run does not go on as if nobody had wanted to ask.
    failed = await shop(("greedy", {}), tools=[greedy]).ainvoke(HELLO, config={"thread_id": "t"})
    assert failed["meta"]["status"] == "failed" and failed["meta"]["error"]["type"] == "pause_swallowed"


def test_outside_a_run_it_is_a_runtime_error() -> None:
    with pytest.raises(RuntimeError, match=r"interrupt\(\) can only be called while a graph node or tool is running"):
        interrupt({"query": "May I?"})


async def test_a_decorated_tool_asks_like_a_plain_one() -> None:
    @tool
    async def sell(bike: str, price: float) -> str:
        """Sell a bike with a person's consent."""
        consent = interrupt(
            {"bike": bike, "price": price},
            message=f"Sell the {bike} for {price}?",
            reason="sale_approval",
            response_schema={"type": "object", "properties": {"approved": {"type": "boolean"}}},
        )
        return "sold" if consent and consent.get("approved") else "kept"

    app = shop(("sell", {"bike": "racer", "price": 900}), tools=[sell])
    await app.ainvoke(HELLO, config={"thread_id": "t"})
    done = await app.ainvoke({"resume": {"approved": True}}, config={"thread_id": "t"})
    assert done["messages"][-1].text() == "sold"


@pytest.mark.parametrize(
    ("answer", "way"), [({"way": "paint"}, "painted"), ({"way": "x"}, "scrapped"), (None, "mended")]
)
async def test_the_answer_chooses_the_way_inside_a_node(answer: Any, way: str) -> None:
    async def workshop(data: dict[str, Any]) -> str:
        choice = interrupt(
            {"options": ["mend", "paint", "scrap"]},
            message="What shall be done?",
            response_schema={"type": "object", "properties": {"way": {"type": "string"}}},
        )
        chosen = choice.get("way") if choice else "mend"
        if chosen == "mend":
            return "mended"
        return "painted" if chosen == "paint" else "scrapped"

    app = Graph.new("workshop").node("workshop", workshop).entry("workshop").compile()
    await app.ainvoke({"data": {"bike": "old"}}, config={"thread_id": "t"})
    done = await app.ainvoke({"resume": answer}, config={"thread_id": "t"})
    assert done["messages"][-1].text() == way


async def test_structural_pauses_stop_around_a_node() -> None:
    graph = Graph.new("tour").node("plan", lambda: "planned").node("ride", lambda plan: f"{plan}, ridden")
    app = (
        graph.edge("plan", "ride")
        .entry("plan")
        .compile(checkpointer=InMemoryCheckpointer(), interrupt_before=["ride"], interrupt_after=["ride"])
    )
    paused = await app.ainvoke({"guest": "Bo"}, config={"thread_id": "t"}, response_granularity="full")
    pending = pending_interrupt(paused["state"])
    assert pending is not None and pending.reason == "interrupt_before"
    await app.ainvoke({"resume": True}, config={"thread_id": "t"})
    done = await app.ainvoke({"resume": True}, config={"thread_id": "t"})
    assert done["meta"]["status"] == "completed" and done["messages"][-1].text() == "planned, ridden"
