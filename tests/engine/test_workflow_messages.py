"""What comes to a conversation from outside: messages at the same time, odd ones, and other people's (each store)."""

from __future__ import annotations

import asyncio
from hashlib import sha256
from typing import Any

import pytest

from graphs.engine.context import Context
from graphs.engine.conversation.content import Content, FunctionResponse, Part
from graphs.engine.errors import AnswerMismatch, DefinitionError, PayloadError, SaysoError, UnknownThread
from graphs.engine.outputs import RequestInput
from graphs.engine.runner import Runner
from graphs.engine.workflow import START, Workflow

Store = Any
ANN = {"user_id": "ann", "session_id": "desk"}
BEN = {"user_id": "ben", "session_id": "desk"}


def desk(store: Store) -> Runner:
    def gate(ctx: Context, node_input: str) -> Any:
        return RequestInput(message="Let it through?", payload={"what": node_input})

    return Runner(agent=Workflow("desk", [(START, gate)]), session_service=store)


async def send(runner: Runner, message: Any, **where: Any) -> list[Any]:
    return [event async for event in runner.run_async(new_message=message, **where)]


def asked(events: list[Any]) -> str:
    return str(next(call.id for event in events for call in event.get_function_calls()))


def reply(id: Any, value: Any = "yes") -> Content:
    return Content("user", [Part(function_response=FunctionResponse(id, "adk_request_input", {"result": value}))])


async def test_w42_messages_at_the_same_time_start_a_run_each(store: Store) -> None:
    runner = desk(store)
    told = await asyncio.gather(*[send(runner, f"crate {number}", **ANN) for number in range(4)])
    assert len({events[-1].invocation_id for events in told}) == 4
    for events in told:
        (ended,) = [event for event in await send(runner, reply(asked(events)), **ANN) if event.final]
        assert (ended.output, ended.invocation_id) == ("yes", events[-1].invocation_id)


async def test_nobody_answers_or_goes_on_with_what_another_one_is_asked(store: Store) -> None:
    runner = desk(store)
    hers, his = await send(runner, "hers", **ANN), await send(runner, "his", **BEN)
    run = hers[-1].invocation_id
    with pytest.raises(AnswerMismatch) as refused:
        await send(runner, reply(asked(hers)), **BEN)
    assert refused.value.open_ids == [asked(his)], "nothing is told of what others are asked"
    with pytest.raises(AnswerMismatch):
        await send(runner, reply(asked(hers)), user_id="ann", session_id="other")
    with pytest.raises(UnknownThread):
        await send(runner, reply(asked(hers)), invocation_id=run, **BEN)
    with pytest.raises(UnknownThread):
        await send(runner, None, invocation_id=run, **BEN)
    await send(runner, reply(asked(hers)), **ANN)
    with pytest.raises(AnswerMismatch):
        await send(runner, reply(asked(hers)), **BEN)


async def test_a_long_name_is_shortened_to_what_nobody_else_can_be_named(store: Store) -> None:
    runner, long = desk(store), "ann." * 30
    hers = await send(runner, "hers", user_id=long, session_id="desk")
    for guess in (sha256(long.encode()).hexdigest(), hers[-1].invocation_id.split("/")[0]):
        with pytest.raises(AnswerMismatch):
            await send(runner, reply(asked(hers)), user_id=guess, session_id="desk")
    await send(runner, reply(asked(hers)), user_id=long, session_id="desk")


@pytest.mark.parametrize(
    "message", [5, ["text"], {"parts": []}, "", Content("user", []), Content("user", [5]), reply(7)]
)
async def test_what_is_no_message_is_refused_and_starts_nothing(message: Any) -> None:
    runner = Runner(agent=Workflow("desk", [(START, say_again)]))
    with pytest.raises(AnswerMismatch):
        await send(runner, message, **ANN)
    with pytest.raises(UnknownThread):
        await send(runner, None, invocation_id="ann/desk/1", **ANN)


def say_again(node_input: str) -> str:
    return node_input


@pytest.mark.parametrize("name", ["", None, 5, "\ud800"])
async def test_a_conversation_is_named_by_texts(name: Any) -> None:
    runner = Runner(agent=Workflow("desk", [(START, say_again)]))
    with pytest.raises((DefinitionError, PayloadError), match="session_id"):
        await send(runner, "go", user_id="ann", session_id=name)
    with pytest.raises(SaysoError):
        await send(runner, None, invocation_id=name or 0, **ANN)
