"""The spellings of the third document: workflows whose nodes request input, and apps that speak with clients."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from graphs import (
    START,
    App,
    Context,
    Event,
    FunctionNode,
    InMemorySessionService,
    LlmAgent,
    LongRunningFunctionTool,
    RequestInput,
    ResumabilityConfig,
    Runner,
    Workflow,
    types,
)


class Trip(BaseModel):
    """Where to, and how dear it is."""

    place: str
    price: int


class Grant(BaseModel):
    """What the office says."""

    approved: bool
    note: str = ""


@pytest.fixture(params=[True, False], ids=["resumable", "replayed"])
def talk(request: pytest.FixtureRequest) -> Any:
    """Says something to an app, answers its questions in order, and gives what it comes to and the questions' ids."""

    async def run(root_agent: Any, said: str, *answers: Any) -> tuple[Any, list[str]]:
        app = App(
            name="office",
            root_agent=root_agent,
            resumability_config=ResumabilityConfig(is_resumable=request.param),
        )
        runner = Runner(app=app, session_service=InMemorySessionService())
        message = types.Content(role="user", parts=[types.Part(text=said)])
        events = [event async for event in runner.run_async(user_id="ana", session_id="1", new_message=message)]
        ids = []
        for answer in answers:
            interrupt_event = next(event for event in events if event.get_function_calls())
            function_call_id = interrupt_event.content.parts[0].function_call.id
            ids.append(function_call_id)
            response = types.Content(
                role="user",
                parts=[
                    types.Part(
                        function_response=types.FunctionResponse(
                            id=function_call_id,
                            name="adk_request_input",
                            response=answer if isinstance(answer, dict) else {"result": answer},
                        )
                    )
                ],
            )
            events = []
            async for event in runner.run_async(user_id="ana", session_id="1", new_message=response):
                events.append(event)
        return events[-1].output, ids

    return run


async def test_a_yielded_request_is_answered_and_the_answer_is_the_output(talk: Any) -> None:
    async def gate(ctx: Context, node_input: str) -> Any:
        yield RequestInput(message="May the visitor in?")

    gate_node = FunctionNode(func=gate, rerun_on_resume=False)
    output, ids = await talk(Workflow(name="door", edges=[(START, gate_node)]), "knock", "let her in")
    assert output == "let her in" and len(ids[0]) == 36


@pytest.mark.parametrize(("price", "answers"), [(40, []), (900, [{"approved": True, "note": "enjoy"}])])
async def test_a_plain_function_returns_an_output_or_a_request(talk: Any, price: int, answers: list[Any]) -> None:
    def grant(trip: Trip) -> Any:
        if trip.price <= 100:
            return Grant(approved=True)
        return RequestInput(
            interrupt_id="office_grant",
            message=f"Pay for {trip.place}?",
            payload=trip,
            response_schema=Grant,
        )

    told = Trip(place="Oslo", price=price).model_dump_json()
    output, ids = await talk(Workflow(name="trips", edges=[(START, grant)]), told, *answers)
    assert output["approved"] is True and ids == ["office_grant"] * len(answers)


async def test_a_node_that_runs_again_finds_the_answer(talk: Any) -> None:
    async def chat(ctx: Context, node_input: str) -> Any:
        if ctx.resume_inputs:
            answer = next(iter(ctx.resume_inputs.values()))
            yield Event(output=f"You chose {answer}")
        else:
            yield RequestInput(message="Tea or coffee?")

    node = FunctionNode(func=chat, rerun_on_resume=True)
    output, _ = await talk(Workflow(name="bar", edges=[(START, node)]), "hello", "tea")
    assert output == "You chose tea"


async def test_one_node_walks_a_form(talk: Any) -> None:
    async def form(ctx: Context, node_input: str) -> Any:
        if not ctx.resume_inputs:
            yield RequestInput(interrupt_id="ask_street", message="Which street?")
            return
        if "ask_floor" not in ctx.resume_inputs:
            yield RequestInput(interrupt_id="ask_floor", message="Which floor?")
            return
        yield Event(output={"street": ctx.resume_inputs["ask_street"], "floor": ctx.resume_inputs["ask_floor"]})

    node = FunctionNode(func=form, rerun_on_resume=True)
    output, ids = await talk(Workflow(name="address", edges=[(START, node)]), "hello", "Main", 3)
    assert output == {"street": "Main", "floor": 3} and ids == ["ask_street", "ask_floor"]


async def test_an_answer_is_fed_back_into_a_loop(talk: Any) -> None:
    async def judge(ctx: Context, node_input: Any) -> Any:
        round_ = ctx.state.get("round", 0)
        interrupt_id = f"judge_{round_}"
        response = ctx.resume_inputs.get(interrupt_id)
        if response:
            yield Event(
                output=response,
                route="approved" if response.get("approved") else "rejected",
                state={"round": round_ + 1},
            )
            return
        yield RequestInput(interrupt_id=interrupt_id, message="Hang this picture?", response_schema=Grant)

    def repaint(node_input: Any) -> str:
        return "another picture"

    def hang(node_input: Any) -> str:
        return f"hung: {node_input['note']}"

    node = FunctionNode(func=judge, rerun_on_resume=True)
    flow = Workflow(
        name="gallery", edges=[(START, node), (node, {"rejected": repaint, "approved": hang}), (repaint, node)]
    )
    no, yes = {"approved": False}, {"approved": True, "note": "by the door"}
    output, ids = await talk(flow, "a picture", no, no, yes)
    assert output == "hung: by the door" and ids == ["judge_0", "judge_1", "judge_2"]


async def test_an_agent_pauses_through_a_long_running_tool(talk: Any) -> None:
    started: list[str] = []

    def fetch_key(room: str) -> str:
        """Ask the porter for a key."""
        started.append(room)
        return f"on its way to {room}"

    agent = LlmAgent(
        name="porter",
        model="some-model",
        instruction="When a key is needed, use fetch_key.",
        tools=[LongRunningFunctionTool(func=fetch_key)],
    )
    output, ids = await talk(agent, "room 12", "here is the key")
    assert output == "here is the key" and len(started) == 1 and len(ids) == 1


async def test_side_by_side_and_joined_with_a_default_route(talk: Any) -> None:
    def ask_cook(node_input: str) -> Any:
        return RequestInput(interrupt_id="cook", message="What is there?")

    def lay_table(node_input: str) -> str:
        return "laid"

    def serve(node_input: dict[str, Any]) -> str:
        return f"{node_input['ask_cook']}, {node_input['lay_table']}"

    flow = Workflow(name="dinner", edges=[(START, (ask_cook, lay_table), serve)])
    output, _ = await talk(flow, "hungry", "soup")
    assert output == "soup, laid"
