"""Conversations: messages start runs, function responses answer them (seed 002, family W)."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from pydantic import BaseModel

from graphs.engine.context import Context
from graphs.engine.conversation.apps import App, ResumabilityConfig, RunEvent
from graphs.engine.conversation.content import Content, FunctionResponse, Part, types
from graphs.engine.conversation.conversations import InMemorySessionService
from graphs.engine.errors import AlreadyAnswered, AnswerInvalid, AnswerMismatch, ThreadBusy, UnknownThread
from graphs.engine.functions import FunctionNode
from graphs.engine.graph import Graph
from graphs.engine.outputs import Event, RequestInput
from graphs.engine.ports import ThreadRef
from graphs.engine.runner import Runner
from graphs.engine.statuses import ThreadStatus
from graphs.engine.workflow import START, Workflow

Store = Any


class Verdict(BaseModel):
    approved: bool
    note: str = ""


def asking(calls: Counter[str], schema: Any = None, interrupt_id: str | None = None) -> Workflow:
    """prepare → gate (asks) → publish."""

    def prepare(node_input: Any) -> str:
        calls["prepare"] += 1
        return f"draft of {node_input}"

    def gate(node_input: str) -> Any:
        calls["gate"] += 1
        return RequestInput(interrupt_id, "Publish?", {"draft": node_input}, schema)

    def publish(node_input: Any) -> dict[str, Any]:
        calls["publish"] += 1
        return {"published": node_input}

    return Workflow("asking", [(START, prepare, gate, publish)])


def runner(root: Any, store: Store, *, resumable: bool = True) -> Runner:
    app = App("tests", root, ResumabilityConfig(is_resumable=resumable))
    return Runner(app=app, session_service=store)


def reply(*answers: tuple[str, Any], text: str = "") -> Content:
    parts = [Part(function_response=FunctionResponse(id, "adk_request_input", given)) for id, given in answers]
    return Content("user", [*parts, *([Part(text=text)] if text else [])])


async def say(run: Runner, message: Any = None, session: str = "s", **options: Any) -> list[RunEvent]:
    events = run.run_async(user_id="ana", session_id=session, new_message=message, **options)
    return [event async for event in events]


def asked(events: list[RunEvent]) -> list[Any]:
    return [call for event in events for call in event.get_function_calls()]


def final(events: list[RunEvent]) -> RunEvent:
    assert events[-1].is_final_response()
    return events[-1]


async def test_w46_a_question_is_a_function_call_and_its_response_resumes(store: Store) -> None:
    calls: Counter[str] = Counter()
    run = runner(asking(calls, Verdict, "manager"), store)
    events = await say(run, types.Content(role="user", parts=[types.Part(text="a plan")]))
    assert events[-1].content is not None
    call = events[-1].content.parts[0].function_call
    assert call is not None and (call.name, call.id) == ("adk_request_input", "manager")
    assert call.args["message"] == "Publish?" and call.args["payload"] == {"draft": "draft of a plan"}
    assert call.args["response_schema"]["required"] == ["approved"]
    done = final(await say(run, reply(("manager", {"approved": True}))))
    assert done.output == {"published": {"approved": True, "note": ""}}
    assert calls == {"prepare": 1, "gate": 1, "publish": 1}


async def test_w46_without_a_session_service_the_process_remembers() -> None:
    run = Runner(agent=asking(Counter()), session_service=InMemorySessionService())
    (call,) = asked(await say(run, "x"))
    assert final(await say(run, reply((call.id, {"result": 1})))).output == {"published": 1}
    other = Runner(app=App("plain", asking(Counter())))
    (call,) = asked(await say(other, "x"))
    assert final(await say(other, reply((call.id, {"result": 2})))).output == {"published": 2}


@pytest.mark.parametrize(
    ("schema", "response", "received"),
    [
        (None, {"result": "yes"}, "yes"),
        (int, {"result": 7}, 7),
        (Verdict, {"approved": False}, {"approved": False, "note": ""}),
        ({"type": "object", "required": ["result"]}, {"result": 3}, {"result": 3}),
        (None, {"a": 1, "result": 2}, {"a": 1, "result": 2}),
    ],
)
async def test_w20_w21_w22_a_scalar_is_unwrapped_and_a_dict_comes_as_it_is(
    store: Store, schema: Any, response: Any, received: Any
) -> None:
    run = runner(asking(Counter(), schema), store)
    (call,) = asked(await say(run, "x"))
    assert final(await say(run, reply((call.id, response)))).output == {"published": received}


async def test_w23_a_missing_field_is_refused_and_the_question_stays_open(store: Store) -> None:
    run = runner(asking(Counter(), Verdict), store)
    (call,) = asked(await say(run, "x"))
    with pytest.raises(AnswerInvalid, match="approved"):
        await say(run, reply((call.id, {"note": "fine"})))
    assert final(await say(run, reply((call.id, {"approved": True})))).output["published"]["approved"] is True


@pytest.mark.parametrize("value", [False, 0, "", [], {}, None])
async def test_w24_w25_empty_answers_are_answers(store: Store, value: Any) -> None:
    run = runner(asking(Counter(), {"type": ["boolean", "integer", "string", "array", "object", "null"]}), store)
    (call,) = asked(await say(run, "x"))
    assert final(await say(run, reply((call.id, {"result": value})))).output == {"published": value}


async def test_w25_null_is_refused_where_the_schema_does_not_allow_it(store: Store) -> None:
    run = runner(asking(Counter(), str), store)
    (call,) = asked(await say(run, "x"))
    with pytest.raises(AnswerInvalid):
        await say(run, reply((call.id, {"result": None})))


@pytest.mark.parametrize("resumable", [True, False])
async def test_w31_a_restart_between_question_and_answer_changes_nothing(
    store: Store, restarted: Callable[[Store], Store], resumable: bool
) -> None:
    calls: Counter[str] = Counter()
    (call,) = asked(await say(runner(asking(calls), store, resumable=resumable), "x"))
    fresh = runner(asking(calls), restarted(store), resumable=resumable)
    assert final(await say(fresh, reply((call.id, {"result": "ok"})))).output == {"published": "ok"}
    assert calls == {"prepare": 1, "gate": 1, "publish": 1}


async def test_w33_each_node_is_told_with_its_status_and_its_open_questions(store: Store) -> None:
    run = runner(asking(Counter(), interrupt_id="q"), store)
    events = await say(run, "x")
    states = [event.actions.agent_state["nodes"] for event in events if event.actions.agent_state]
    assert states[0] == {"prepare": {"status": "running"}}
    assert states[1] == {"prepare": {"status": "completed"}}
    assert states[-1] == {
        "prepare": {"status": "completed"},
        "gate": {"status": "waiting", "interrupts": ["q"]},
    }
    assert not any(event.actions.end_of_agent for event in events)
    ended = await say(run, reply(("q", {"result": 1})))
    assert {node["status"] for node in ended[-1].actions.agent_state["nodes"].values()} == {"completed"}
    assert [event.actions.end_of_agent for event in ended].count(True) == 1 and ended[-1].actions.end_of_agent


async def test_w33_replay_is_the_default_and_tells_no_state(store: Store) -> None:
    bare = Runner(agent=asking(Counter()), session_service=store)
    for run in (bare, runner(asking(Counter()), store, resumable=False)):
        events = await say(run, "x")
        assert asked(events) and all(event.actions.agent_state is None for event in events)


@pytest.mark.parametrize("resumable", [True, False])
async def test_w34_w44_a_failed_run_goes_on_by_its_id_at_the_failed_node_with_its_answer(
    store: Store, resumable: bool
) -> None:
    calls: Counter[str] = Counter()

    def first(node_input: str) -> str:
        calls["first"] += 1
        return node_input

    async def gate(ctx: Context) -> AsyncIterator[Any]:
        if "q" not in ctx.resume_inputs:
            yield RequestInput("q", "Sure?")
            return
        calls["gate"] += 1
        if calls["gate"] == 1:
            raise ValueError("the mail server is away")
        yield Event(output=ctx.resume_inputs["q"])

    flow = Workflow("failing", [(START, first, FunctionNode(gate, rerun_on_resume=True))])
    run = runner(flow, store, resumable=resumable)
    await say(run, "x")
    failed = final(await say(run, reply(("q", {"result": "yes"}))))
    assert failed.error_code == "ValueError" and "mail server" in failed.error_message
    events = await say(run, invocation_id=failed.invocation_id)
    assert not asked(events) and final(events).output == "yes"
    assert calls == {"first": 1, "gate": 2}


async def test_w34_a_run_of_another_conversation_cannot_be_named(store: Store) -> None:
    run = runner(asking(Counter()), store)
    (event, *_) = await say(run, "x")
    for wrong in (event.invocation_id.replace("ana", "bea"), "ana/s/7", "", None):
        with pytest.raises(UnknownThread):
            await say(run, invocation_id=wrong)
    with pytest.raises(UnknownThread):
        await say(run, session="other", invocation_id=event.invocation_id)
    again = await say(run, invocation_id=event.invocation_id)
    assert len(asked(again)) == 1


async def test_w38_an_unknown_id_is_refused_with_the_open_ones_and_nothing_changes(store: Store) -> None:
    run = runner(asking(Counter(), interrupt_id="q"), store)
    await say(run, "x")
    before = await store.load(ThreadRef("asking", "ana/s/1"))
    (question,) = [one for record in before.tasks.values() for one in record.interrupts]
    for wrong in ("nothing", "", "0f2b7c1e-7c0f-4a58-9f54-1f5a5f0c7a11"):
        with pytest.raises(AnswerMismatch, match=question.id):
            await say(run, reply(("q", {"result": 1}), (wrong, {"result": 1})))
    after = await store.load(ThreadRef("asking", "ana/s/1"))
    assert (after.step, after.status, after.tasks) == (before.step, before.status, before.tasks)


async def test_w39_free_text_beside_an_answer_is_refused(store: Store) -> None:
    run = runner(asking(Counter(), interrupt_id="q"), store)
    await say(run, "x")
    for message in (reply(("q", {"result": 1}), text="and hello"), Content("user", []), Content("user", [Part()])):
        with pytest.raises(AnswerMismatch, match="message"):
            await say(run, message)
    assert final(await say(run, reply(("q", {"result": 1})))).output == {"published": 1}
    assert await store.load(ThreadRef("asking", "ana/s/2")) is None


async def test_w40_answers_to_two_runs_are_checked_together_and_processed_each_for_itself(store: Store) -> None:
    run = runner(asking(Counter(), Verdict), store)
    (one,), (two,) = [asked(await say(run, text)) for text in ("x", "y")]
    with pytest.raises(AnswerInvalid):
        await say(run, reply((one.id, {"approved": True}), (two.id, {"note": "no verdict"})))
    with pytest.raises(AnswerMismatch):
        await say(run, reply((one.id, {"approved": True}), ("nothing", {"approved": True})))
    for number in (1, 2):
        assert (await store.load(ThreadRef("asking", f"ana/s/{number}"))).status is ThreadStatus.INTERRUPTED
    events = await say(run, reply((one.id, {"approved": True}), (two.id, {"approved": False})))
    ended = [event.output["published"]["approved"] for event in events if event.is_final_response()]
    assert sorted(ended) == [False, True]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
async def test_w41_w42_a_message_starts_a_run_beside_those_that_wait_and_each_is_answerable(
    store: Store, order: tuple[int, int]
) -> None:
    run = runner(asking(Counter()), store)
    calls = [asked(await say(run, text))[0] for text in ("x", "y")]
    assert calls[0].args["payload"] != calls[1].args["payload"]
    assert asked(await say(run, "elsewhere", session="other"))[0].id not in {call.id for call in calls}
    for index in order:
        done = final(await say(run, reply((calls[index].id, {"result": index}))))
        assert done.output == {"published": index} and done.invocation_id == f"ana/s/{index + 1}"


async def test_w41_z36_the_same_explicit_id_in_two_runs_is_refused_and_the_global_ids_answer(store: Store) -> None:
    run = runner(asking(Counter(), interrupt_id="q"), store)
    await say(run, "x")
    await say(run, "y")
    with pytest.raises(AnswerMismatch, match="names 2 open questions") as refused:
        await say(run, reply(("q", {"result": 1})))
    for id in refused.value.open_ids:
        assert final(await say(run, reply((id, {"result": 1})))).output == {"published": 1}


async def test_z34_the_same_answer_again_changes_nothing_and_another_is_refused(store: Store) -> None:
    calls: Counter[str] = Counter()
    run = runner(asking(calls), store)
    (call,) = asked(await say(run, "x"))
    first = final(await say(run, reply((call.id, {"result": 1}))))
    assert final(await say(run, reply((call.id, {"result": 1})))).output == first.output
    with pytest.raises(AlreadyAnswered):
        await say(run, reply((call.id, {"result": 2})))
    assert calls["publish"] == 1


async def test_a_message_to_a_graph_that_is_no_workflow_is_its_next_turn(store: Store) -> None:
    def ask(node_input: str) -> Any:
        return RequestInput("q", "Sure?") if node_input == "ask" else node_input

    graph = Graph.new("turns").node("ask", ask).entry("ask").terminal("ask").compile()
    run = runner(graph, store)
    assert final(await say(run, "one")).invocation_id == final(await say(run, "two")).invocation_id
    await say(run, "ask")
    with pytest.raises(ThreadBusy):
        await say(run, "three")
    assert final(await say(run, reply(("q", {"result": 4})))).output == 4


async def test_a_text_that_says_json_fills_the_input_schema(store: Store) -> None:
    def days(node_input: dict[str, int]) -> int:
        return node_input["days"]

    schema = {"type": "object", "properties": {"days": {"type": "integer"}}, "required": ["days"]}
    run = runner(Workflow("form", [(START, days)], input_schema=schema), store)
    assert final(await say(run, '{"days": 3}')).output == 3


async def test_streamed_pieces_are_partial_events(store: Store) -> None:
    def talk(ctx: Context) -> str:
        for piece in ("to", "day"):
            ctx.stream(piece)
        return "today"

    events = await say(runner(Workflow("talk", [(START, talk)]), store), "x")
    pieces = [event.content.parts[0].text for event in events if event.partial and event.content]
    assert pieces == ["to", "day"] and final(events).content.parts[0].text == "today"


async def test_long_and_strange_names_still_name_their_own_conversation(store: Store) -> None:
    run = runner(asking(Counter()), store)
    for user, session in (("a/b", "c"), ("a", "b/c"), ("x" * 300, "c"), ("é ü", "#")):
        events = [one async for one in run.run_async(user_id=user, session_id=session, new_message="x")]
        assert events[-1].invocation_id.endswith("/1") and len(events[-1].invocation_id) <= 200
