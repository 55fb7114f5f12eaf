"""What a server asks in the middle of a call (H37), and what becomes of it when a process dies meanwhile (Z55)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from graphs.agents.agent import Agent
from graphs.agents.mcp.elicitation import Elicitation
from graphs.agents.models import ScriptedModel, ToolCall
from graphs.engine.errors import AnswerInvalid
from graphs.engine.messages import Message
from graphs.engine.ports import Answer, ThreadRef
from graphs.engine.runner import Runner
from graphs.engine.statuses import InterruptStatus, Outcome, ThreadStatus
from tests.agents.files import responses
from tests.agents.mcp.shops import Shop, buyer, graph_of, told
from tests.engine.runs import resume, retry, start

Store = Any
ORDER = ToolCall("order", {"item": "hat"}, "call-1")
REF = ThreadRef("shopping", "run-1")


async def test_h37_accepted_questions_come_one_after_the_other(
    server: Callable[..., Any], shop: Shop, memory: Store
) -> None:
    agent = buyer(server(), ORDER)
    paused = await start(graph_of(agent), memory)
    (asked,) = paused.interrupts
    assert (asked.message, asked.kind, asked.tool_call_id) == ("Which size of hat?", "elicitation", "call-1")
    assert asked.value == {"server": "shop", "tool": "order", "arguments": {"item": "hat"}}
    assert asked.metadata == {"agent": "buyer", "tool": "order", "arguments": {"item": "hat"}}
    assert asked.response_schema["properties"]["size"]["maximum"] == 9

    again = buyer(server(), ORDER)
    paused = await resume(graph_of(again), memory, {asked.id: {"size": 3}})
    (sure,) = paused.interrupts
    assert (sure.message, sure.id == asked.id) == ("Order size 3?", False)

    done = await resume(graph_of(again), memory, {sure.id: {"approved": True}})
    assert (done.status, done.output) == (ThreadStatus.COMPLETED, "Done.")
    assert told(again) == ("success", "size 3, sure: accept approved=True")
    assert shop.ran == ["order"] * 3, "the tool starts anew with each answer"


async def test_h37_the_reviewer_declines(server: Callable[..., Any], memory: Store) -> None:
    agent = buyer(server(), ORDER)
    (asked,) = (await start(graph_of(agent), memory)).interrupts
    await resume(graph_of(agent), memory, rejected={asked.id: "No hats."})
    assert told(agent) == ("success", "size: decline")


@pytest.mark.parametrize("outcome", [Outcome.CANCELLED, Outcome.EXPIRED])
async def test_h37_the_reviewer_cancels_or_time_is_up(shop: Shop, memory: Store, outcome: Outcome) -> None:
    shop.open()
    agent = buyer(shop.served(expires_in=60), ORDER)
    (asked,) = (await start(graph_of(agent), memory)).interrupts
    assert asked.expires_at is not None
    await memory.answer(REF, [Answer(asked.id, outcome)])
    await resume(graph_of(agent), memory)
    assert told(agent) == ("success", "size: cancel")


async def test_h37_content_that_does_not_fit_is_refused_to_the_reviewer(shop: Shop, memory: Store) -> None:
    shop.open()
    agent = buyer(shop.served(), ORDER)
    graph = graph_of(agent)
    (asked,) = (await start(graph, memory)).interrupts
    for wrong in ({"size": 12}, {"size": "large"}, {}, "large"):
        with pytest.raises(AnswerInvalid):
            await resume(graph, memory, {asked.id: wrong})
    with pytest.raises(AnswerInvalid):
        approved = [Answer(asked.id, Outcome.APPROVED)]
        await Runner.arun_graph_from_checkpoint(graph, checkpointer=memory, thread_id="run-1", resume=approved)
    assert (await resume(graph, memory)).interrupts == (asked,) and shop.ran == ["order"]


async def test_h37_a_field_named_as_the_verdict_is_the_servers_own(shop: Shop, memory: Store) -> None:
    shop.open()
    agent = buyer(shop.served(), ORDER)
    graph = graph_of(agent)
    (asked,) = (await start(graph, memory)).interrupts
    (sure,) = (await resume(graph, memory, {asked.id: {"size": 1}})).interrupts
    await resume(graph, memory, {sure.id: {"approved": False}})
    assert told(agent) == ("success", "size 1, sure: accept approved=False")


async def test_h37_a_callback_answers_first_and_a_person_where_it_does_not(shop: Shop, memory: Store) -> None:
    shop.open()
    seen: list[Elicitation] = []

    async def answers(asked: Elicitation) -> Any:
        seen.append(asked)
        return {"action": "accept", "content": {"size": 4}} if "size of" in asked.message else None

    agent = buyer(shop.served(elicitation=answers), ORDER)
    graph = graph_of(agent)
    (sure,) = (await start(graph, memory)).interrupts
    assert sure.message == "Order size 4?"
    assert (seen[0].server, seen[0].tool, seen[0].arguments) == ("shop", "order", {"item": "hat"})
    await resume(graph, memory, rejected={sure.id: ""})
    assert told(agent) == ("success", "size 4, sure: decline None")
    assert [one.message for one in seen] == ["Which size of hat?", "Order size 4?"], "what it said is kept"


@pytest.mark.parametrize(
    ("said", "result"),
    [
        ({"action": "decline"}, ("success", "size: decline")),
        ({"action": "cancel"}, ("success", "size: cancel")),
        ("yes", ("error", "TypeError: an elicitation callback gives an action")),
    ],
)
async def test_h37_a_plain_callback_declines_and_cancels_too(shop: Shop, said: Any, result: tuple[str, str]) -> None:
    shop.open()
    agent = buyer(shop.served(elicitation=lambda asked: said), ORDER)
    assert str(await agent.invoke_async("go")) == "Done."
    status, text = told(agent)
    assert status == result[0] and text.startswith(result[1])


async def test_h37_a_callback_that_raises_is_an_error_of_the_call(shop: Shop) -> None:
    shop.open()

    def raises(asked: Elicitation) -> None:
        raise LookupError("no idea")

    agent = buyer(shop.served(elicitation=raises), ORDER)
    assert str(await agent.invoke_async("go")) == "Done." and told(agent) == ("error", "LookupError: no idea")


async def test_h37_a_plain_yes_needs_no_content(shop: Shop, memory: Store) -> None:
    shop.open()
    agent = buyer(shop.served(), "confirm")
    (asked,) = (await start(graph_of(agent), memory)).interrupts
    await resume(graph_of(agent), memory, {asked.id: {}})
    assert told(agent) == ("success", "said accept")


async def test_h37_a_page_to_open_is_a_question_too(shop: Shop, memory: Store) -> None:
    shop.open()
    agent = buyer(shop.served(), "sign")
    (asked,) = (await start(graph_of(agent), memory)).interrupts
    assert (asked.message, asked.value["url"]) == ("Sign the contract.", "https://sign.example/c/1")
    await resume(graph_of(agent), memory, {asked.id: {}})
    assert told(agent) == ("success", "signing: accept")


@pytest.mark.parametrize("signed", [True, False])
async def test_h37_a_page_to_visit_before_the_call_is_a_question_too(shop: Shop, memory: Store, signed: bool) -> None:
    shop.open()
    agent = buyer(shop.served(), "ship")
    (asked,) = (await start(graph_of(agent), memory)).interrupts
    assert (asked.message, asked.value["url"], asked.kind) == ("Sign.", "https://sign.example/c/2", "elicitation")
    if signed:
        shop.flag("signed")
    await resume(graph_of(agent), memory, {asked.id: {}})
    wanted = "PagesFirst: the MCP server shop wants a person to visit a page: URL elicitation required"
    assert told(agent) == (("success", "shipped") if signed else ("error", wanted))


async def test_h37_a_page_that_nobody_wants_to_visit_ends_the_call(shop: Shop, memory: Store) -> None:
    shop.open()
    agent = buyer(shop.served(), "ship")
    (asked,) = (await start(graph_of(agent), memory)).interrupts
    await resume(graph_of(agent), memory, rejected={asked.id: ""})
    assert told(agent)[0] == "error" and shop.ran == ["ship"] * 2


async def test_questions_of_two_calls_at_once_are_told_apart(shop: Shop, memory: Store) -> None:
    shop.open()
    calls = [ToolCall("order", {"item": item}, item) for item in ("hat", "coat")]
    agent = buyer(shop.served(), calls)
    graph = graph_of(agent)
    hat, coat = (await start(graph, memory)).interrupts
    assert (hat.message, coat.message) == ("Which size of hat?", "Which size of coat?")
    await resume(graph, memory, {coat.id: {"size": 9}}, rejected={hat.id: ""})
    (sure,) = (await resume(graph, memory)).interrupts
    assert (sure.message, sure.tool_call_id) == ("Order size 9?", "coat")
    await resume(graph, memory, {sure.id: {"approved": True}})
    texts = [one["content"][0]["text"] for one in agent.model.seen[-1][-1].tool_results]  # type: ignore[union-attr]
    assert texts == ["size: decline", "size 9, sure: accept approved=True"]


async def test_a_question_asked_in_an_effect_in_doubt_is_no_doubt(shop: Shop, memory: Store) -> None:
    shop.open()
    agent = buyer(shop.served(crash="at_most_once"), "confirm")
    (asked,) = (await start(graph_of(agent), memory)).interrupts
    assert asked.kind == "elicitation"
    await resume(graph_of(agent), memory, {asked.id: {}})
    assert told(agent) == ("success", "said accept")


async def test_a_call_that_was_agreed_to_asks_through_the_agent_that_called_its_agent(shop: Shop) -> None:
    shop.open()
    inner = Agent("inner", ScriptedModel([ORDER, _as_told]), tools=[shop.served()], approve=["order"])
    outer = Agent("outer", ScriptedModel([ToolCall("inner", {"input": "a hat"}), _as_told]), tools=[inner])
    asked = await outer.invoke_async("go")
    assert asked.interrupts[0].message == "inner wants to call order" and shop.ran == []
    asked = await outer.invoke_async(responses(asked, {"approved": True}))
    assert asked.interrupts[0].metadata["child"] == "inner" and asked.interrupts[0].kind == "elicitation"
    asked = await outer.invoke_async(responses(asked, {"size": 2}))
    done = await outer.invoke_async(responses(asked, {"approved": True}))
    assert str(done) == "size 2, sure: accept approved=True"


async def test_h26_a_direct_call_asks_a_callback_and_nobody_else(shop: Shop) -> None:
    shop.open()
    agent = buyer(shop.served(elicitation=lambda asked: {"action": "decline"}), "greet")
    (told_once,) = agent.tool.order(item="hat")["content"]
    assert told_once == {"text": "size: decline"}
    with pytest.raises(RuntimeError, match="nobody can answer where it is called directly"):
        buyer(shop.served(), "greet").tool.order(item="hat")


def _as_told(messages: Sequence[Message]) -> str:
    return messages[-1].text()


async def test_z55_the_server_is_killed_while_its_question_is_open(
    shop: Shop, store: Store, restarted: Callable[[Store], Store]
) -> None:
    shop.open()
    (asked,) = (await start(graph_of(buyer(shop.served(), ORDER)), store)).interrupts
    shop.kill()
    assert (await resume(graph_of(buyer(shop.served(), ORDER)), restarted(store))).interrupts == (asked,)
    shop.open()
    agent = buyer(shop.served(), ORDER)
    (sure,) = (await resume(graph_of(agent), restarted(store), {asked.id: {"size": 2}})).interrupts
    shop.kill()
    shop.open()
    await resume(graph_of(agent), restarted(store), {sure.id: {"approved": True}})
    assert told(agent) == ("success", "size 2, sure: accept approved=True")


async def test_z55_a_server_that_stays_away_is_an_error_result(shop: Shop, memory: Store) -> None:
    shop.open()
    agent = buyer(shop.served(), ORDER)
    (asked,) = (await start(graph_of(agent), memory)).interrupts
    shop.kill()
    done = await resume(graph_of(agent), memory, {asked.id: {"size": 2}})
    assert (done.status, done.output) == (ThreadStatus.COMPLETED, "Done.")
    status, text = told(agent)
    assert status == "error" and "shop cannot be reached at http://127.0.0.1:" in text


async def test_z55_a_new_process_of_ours_without_the_server_fails_and_can_be_tried_again(
    shop: Shop, memory: Store
) -> None:
    shop.open()
    (asked,) = (await start(graph_of(buyer(shop.served(), "confirm")), memory)).interrupts
    shop.kill()
    failed = await resume(graph_of(buyer(shop.served(), "confirm")), memory, {asked.id: {}})
    assert failed.status is ThreadStatus.FAILED and failed.error["type"] == "tool_server_unavailable"
    shop.open()
    agent = buyer(shop.served(), "confirm")
    assert (await retry(graph_of(agent), memory)).output == "Done."
    assert told(agent) == ("success", "said accept"), "with the answer that was given"


async def test_z55_an_answer_that_the_server_asks_for_no_more_is_not_lost_silently(shop: Shop, memory: Store) -> None:
    shop.open()
    agent = buyer(shop.served(), "confirm")
    (asked,) = (await start(graph_of(agent), memory)).interrupts
    shop.flag("quiet")
    await resume(graph_of(agent), memory, rejected={asked.id: "no"})
    status, text = told(agent)
    assert status == "error" and "without asking again 'Really?'" in text
    assert "(decline) had no part in it. It gave: done without asking" in text


async def test_z55_a_question_that_has_changed_is_asked_anew(shop: Shop, memory: Store) -> None:
    shop.open()
    agent = buyer(shop.served(), "confirm")
    graph = graph_of(agent)
    (asked,) = (await start(graph, memory)).interrupts
    shop.flag("changed")
    (newer,) = (await resume(graph, memory, {asked.id: {}})).interrupts
    assert newer.message == "Really, now that it is dearer?" and newer.revision == 1
    assert [one.status for one in memory.questions(REF)] == [InterruptStatus.SUPERSEDED, InterruptStatus.OPEN]
    await resume(graph, memory, rejected={newer.id: ""})
    assert told(agent) == ("success", "said decline")
