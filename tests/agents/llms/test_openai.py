"""The client of OpenAI-compatible servers, against a real server on a real socket."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from graphs.agents.agent import Agent
from graphs.agents.llms.openai import OpenAIModel
from graphs.agents.models import ModelKeyMissing, ModelRefused, ModelReply, ModelUnavailable
from graphs.agents.named import configured_or, resolve, use_models
from graphs.agents.outcomes import AgentFailed
from graphs.agents.tools import tool
from graphs.engine.messages import Message
from tests.agents.files import Disk, Gate, responses
from tests.agents.llms.server import CALLED, KEY, Chat, call, serving, text

HELLO = [Message.text_message("hello")]


@pytest.fixture
def chat(monkeypatch: pytest.MonkeyPatch) -> Iterator[Chat]:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with serving() as server:
        yield server


def model(chat: Chat, **options: Any) -> OpenAIModel:
    return OpenAIModel("gpt-test", **{"api_key": KEY, "base_url": chat.url, "max_retries": 2, "timeout": 5, **options})


async def test_a_reply_comes_in_pieces_and_then_whole_with_what_it_used(chat: Chat) -> None:
    chat.script = [text("Hel", "lo.")]
    pieces = [one async for one in model(chat, temperature=0).stream(HELLO, [], "Be kind.")]
    usage = {"tokens": 10, "input_tokens": 7, "output_tokens": 3}
    assert pieces == ["Hel", "lo.", ModelReply("Hello.", (), usage, "end_turn")]
    (sent,) = chat.requests
    assert sent["messages"] == [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "hello"}]
    assert (sent["model"], sent["temperature"], sent["stream"]) == ("gpt-test", 0, True) and "tools" not in sent


async def test_an_agent_pauses_in_a_tool_and_its_resume_calls_no_server(chat: Chat) -> None:
    disk = Disk()
    arguments = '{"path": "old/a.txt"}'
    chat.script = [[*call("look", arguments, "c1"), *call("delete", arguments, "c2", 1), *CALLED], text("Done.")]
    agent = Agent("keeper", model(chat), "Tidy.", [disk.look, disk.delete], hooks=[Gate()])
    paused = await agent.invoke_async("tidy")
    assert (disk.looked, disk.deleted, len(chat.requests)) == (["old/a.txt"], [], 1)
    done = await agent.invoke_async(responses(paused, "y"))
    assert (str(done), disk.deleted, len(chat.requests)) == ("Done.", ["old/a.txt"], 2)
    sent = chat.requests[1]
    assert [one["role"] for one in sent["messages"]] == ["system", "user", "assistant", "tool", "tool"]
    assert [one["tool_call_id"] for one in sent["messages"][3:]] == ["c1", "c2"]
    assert sent["messages"][2]["tool_calls"][1]["function"] == {"name": "delete", "arguments": '{"path":"old/a.txt"}'}
    assert [one["function"]["name"] for one in sent["tools"]] == ["look", "delete"]


async def test_a_failed_tool_is_told_as_an_error(chat: Chat) -> None:
    @tool
    def look() -> str:
        """Look."""
        raise OSError("locked")

    chat.script = [[*call("look", ""), *CALLED], text("Sorry.")]
    assert str(await Agent(model=model(chat), tools=[look]).invoke_async("go")) == "Sorry."
    assert chat.requests[1]["messages"][-1]["content"] == "Error: OSError: locked"


@pytest.mark.parametrize("arguments", ['{"path": ', "[1]", '"x"', "NaN"])
async def test_arguments_that_are_no_object_are_told_to_the_model_and_run_nothing(chat: Chat, arguments: str) -> None:
    disk = Disk()
    chat.script = [[*call("delete", arguments), *CALLED], text("I will try again.")]
    agent = Agent(model=model(chat), tools=[disk.delete])
    assert str(await agent.invoke_async("go")) == "I will try again." and disk.deleted == []
    assert "no JSON object" in chat.requests[1]["messages"][-1]["content"]


@pytest.mark.parametrize("fault", [(429, "Slow down", {"retry-after-ms": "5"}), (500, "Oops"), (503, "Down")])
async def test_what_may_pass_is_tried_again_and_then_said(chat: Chat, fault: Any) -> None:
    quick = (*fault, *([{"retry-after-ms": "5"}] if len(fault) == 2 else []))
    chat.script = [quick, quick, text("Here.")]
    assert (await model(chat).complete(HELLO, [], "")).text == "Here."
    chat.script = [quick] * 3
    with pytest.raises(ModelUnavailable, match=rf"not available \({fault[0]}\): {fault[1]}"):
        await model(chat).complete(HELLO, [], "")


async def test_a_reply_that_breaks_off_is_asked_for_again_only_while_nothing_of_it_was_told(chat: Chat) -> None:
    chat.script = [("cut", call("look", "{}")), text("Whole.")]
    pieces = [one async for one in model(chat).stream(HELLO, [], "")]
    assert pieces[0] == "Whole."
    chat.script = [("cut", text("Half")[:1]), text("never asked for")]
    told = []
    with pytest.raises(ModelUnavailable, match="broke off"):
        async for piece in model(chat).stream(HELLO, [], ""):
            told.append(piece)
    assert told == ["Half"] and len(chat.script) == 1


async def test_a_server_that_hangs_is_given_up(chat: Chat) -> None:
    chat.script = [("hang", text("Half")[:1])]
    with pytest.raises(ModelUnavailable):
        await model(chat, timeout=0.2, max_retries=0).complete(HELLO, [], "")


@pytest.mark.parametrize(
    ("entry", "error", "told"),
    [
        ((404, "no such model"), ModelRefused, "knows no model 'gpt-test'"),
        ((400, "maximum context length is 8192 tokens"), ModelRefused, "maximum context length"),
    ],
)
async def test_what_the_server_refuses_is_said_with_its_reason(chat: Chat, entry: Any, error: Any, told: str) -> None:
    chat.script = [entry]
    with pytest.raises(error, match=told):
        await model(chat).complete(HELLO, [], "")


async def test_a_refused_or_missing_key_is_said_and_never_shown(chat: Chat) -> None:
    with pytest.raises(ModelRefused, match="OPENAI_API_KEY") as refused:
        await model(chat, api_key="sk-wrong-and-secret").complete(HELLO, [], "")
    assert "sk-wrong" not in str(refused.value) and "sk-wrong" not in repr(model(chat, api_key="sk-wrong"))
    with pytest.raises(ModelKeyMissing, match="OPENAI_API_KEY"):
        await model(chat, api_key=None).complete(HELLO, [], "")


async def test_a_server_that_is_not_there_is_said(chat: Chat) -> None:
    with pytest.raises(ModelUnavailable, match="cannot be reached"):
        await model(chat, base_url="http://127.0.0.1:9/v1", max_retries=0).complete(HELLO, [], "")


async def test_a_model_s_failure_leaves_the_conversation_and_a_retry_goes_on(chat: Chat) -> None:
    disk = Disk()
    chat.script = [[*call("look", '{"path": "a"}'), *CALLED], (404, "gone"), text("Back.")]
    agent = Agent(model=model(chat), tools=[disk.look])
    with pytest.raises(AgentFailed, match="model_refused"):
        await agent.invoke_async("go")
    assert str(await agent.retry_async()) == "Back." and disk.looked == ["a"]


async def test_the_setting_makes_models_of_a_server_and_shipped_agents_use_it(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", chat.url)
    shipped = Agent(model=configured_or(resolve(None)))
    assert str(await shipped.invoke_async("hi")) == "You said: hi"
    use_models("openai:gpt-set")
    try:
        chat.script = [text("Real."), text("Own.")]
        assert str(await shipped.invoke_async("again")) == "Real."
        assert str(await Agent(model="gpt-own").invoke_async("hi")) == "Own."
    finally:
        use_models("")
    assert [one["model"] for one in chat.requests] == ["gpt-set", "gpt-own"]
