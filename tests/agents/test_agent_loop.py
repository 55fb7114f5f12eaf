"""An agent's loop beside its hooks: state and sessions (H23 to H26), budgets, trimming, output by schema, streaming."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from graphs.agents.agent import Agent
from graphs.agents.hooks import BeforeToolCallEvent
from graphs.agents.models import ModelReply, ScriptedModel, ToolCall
from graphs.agents.outcomes import AgentFailed
from graphs.agents.sessions import FileSessionManager
from graphs.agents.tool_context import ToolContext
from graphs.agents.tools import Tool, tool
from graphs.agents.trimming import trimmed
from graphs.engine.errors import AnswerMismatch, DefinitionError, PayloadError
from graphs.engine.graph import Graph
from graphs.engine.hooks import HookRegistry
from graphs.engine.messages import Message
from tests.agents.files import DELETE, LOOK, SECOND, Disk, Gate, keeper, responses, results_of
from tests.engine.runs import resume, start

Store = Any


class Remembering:
    """Asks before a delete unless it was told to trust: in the agent's state, as seed 003 has it."""

    def __init__(self) -> None:
        self.asked = 0

    def register_hooks(self, registry: HookRegistry, **kwargs: Any) -> None:
        registry.add_callback(BeforeToolCallEvent, self.ask)

    def ask(self, event: BeforeToolCallEvent) -> None:
        if event.tool_use["name"] != "delete" or event.agent.state.get("deletes") == "t":
            return
        answer = event.interrupt("deletes")
        self.asked += 1
        if answer not in ("y", "t"):
            event.cancel_tool = "No."
        event.agent.state.set("deletes", answer)


async def test_a_change_of_the_state_outside_of_a_call_is_refused_with_the_way_there() -> None:
    agent = keeper(Disk(), ["Done."], state={"a": 1})
    for change in (lambda: agent.state.set("x", 1), lambda: agent.state.delete("a")):
        with pytest.raises(RuntimeError, match="Agent\\(state="):
            change()
    assert agent.state.get() == {"a": 1}


# Sessions


async def test_h23_a_new_process_answers_and_goes_on_like_the_old_one(tmp_path: Path) -> None:
    disk, replies = Disk(), [[LOOK, DELETE], "Done.", "You said hello."]

    def built() -> Agent:
        return keeper(disk, replies, Gate(), session_manager=FileSessionManager("s", tmp_path))

    paused = await built().invoke_async("tidy")
    second = built()
    done = await second.invoke_async(responses(paused, "y"))
    assert (str(done), disk.looked, disk.deleted) == ("Done.", ["old/a.txt"], ["old/a.txt"])
    third = built()
    assert str(await third.invoke_async("hello")) == "You said hello."
    assert [one.role for one in third.messages] == ["user", "assistant", "user", "assistant", "user", "assistant"]


async def test_h24_trust_in_the_agent_s_state_lasts_as_long_as_its_session(tmp_path: Path) -> None:
    disk, hook = Disk(), Remembering()
    replies = [DELETE, "One.", SECOND, "Two.", DELETE, "Three."]

    def built() -> Agent:
        return keeper(disk, replies, hook, session_manager=FileSessionManager("s", tmp_path))

    paused = await built().invoke_async("first")
    done = await built().invoke_async(responses(paused, "t"))
    assert done.state == {"deletes": "t"} and built().state.get("deletes") == "t"
    assert (await built().invoke_async("second")).stop_reason == "end_turn"
    assert (disk.deleted, hook.asked) == (["old/a.txt", "old/b.txt"], 1)


@pytest.mark.parametrize("answer", ["y", "n"])
async def test_h24_yes_and_no_ask_again(answer: str) -> None:
    agent = keeper(Disk(), [DELETE, "One.", SECOND, "Two."], Remembering())
    await agent.invoke_async(responses(await agent.invoke_async("first"), answer))
    assert (await agent.invoke_async("second")).stop_reason == "interrupt"


async def test_h25_without_a_session_a_rebuilt_agent_is_told_how_to_be_answered() -> None:
    paused = await keeper(Disk(), [DELETE, "Done."], Gate()).invoke_async("tidy")
    with pytest.raises(AnswerMismatch, match="same session_manager"):
        await keeper(Disk(), [DELETE, "Done."], Gate()).invoke_async(responses(paused, "y"))


@pytest.mark.parametrize("name", ["", "../x", "a/b", ".hidden", "x" * 101, 5])
def test_a_session_s_name_never_leads_out_of_its_folder(name: Any, tmp_path: Path) -> None:
    with pytest.raises(DefinitionError, match="session_id"):
        FileSessionManager(name, tmp_path)


async def test_state_that_a_tool_sets_survives_a_pause_and_a_crash_of_the_pass(store: Store) -> None:
    @tool(context=True)
    def count(tool_context: ToolContext) -> int:
        """Count."""
        seen = (tool_context.agent.state.get("n") or 0) + 1
        tool_context.agent.state.set("n", seen)
        return int(seen)

    agent = Agent(
        "counter",
        ScriptedModel([ToolCall("count"), DELETE, ToolCall("count"), "Done."]),
        hooks=[Gate()],
        tools=[count, Disk().delete],
        state={"n": 5},
    )
    graph = Graph.new("counting").node("counter", agent).entry("counter").terminal("counter").compile()
    await start(graph, store)
    result = await resume(graph, store, {"counter": "y"})
    assert result.state.values["agent_state:counter"] == {"n": 7}


async def test_state_takes_json_only() -> None:
    agent = Agent(model=ScriptedModel(["Hi."]), state={"a": 1})
    assert (agent.state.get("a"), agent.state.get(), agent.state.get("b")) == (1, {"a": 1}, None)
    with pytest.raises(PayloadError):
        Agent(state={"a": object()})


# Budgets


async def test_a_model_that_calls_for_ever_is_stopped_and_a_retry_gives_it_as_many_turns_again() -> None:
    disk = Disk()
    agent = keeper(disk, [LOOK] * 7 + ["Done."], max_turns=3)
    stopped = await agent.invoke_async("look")
    assert (stopped.stop_reason, len(disk.looked)) == ("max_turns", 3)
    assert len([one for one in agent.messages if one.role == "assistant"]) == 3
    assert (await agent.retry_async()).stop_reason == "max_turns" and len(disk.looked) == 6
    assert str(await agent.retry_async()) == "Done." and len(agent.model.seen) == 8  # type: ignore[union-attr]


async def test_a_decision_starts_the_turns_anew() -> None:
    agent = keeper(Disk(), [LOOK, LOOK, DELETE, LOOK, LOOK, "Done."], Gate(), max_turns=3)
    paused = await agent.invoke_async("tidy")
    assert str(await agent.invoke_async(responses(paused, "y"))) == "Done."


async def test_tokens_are_bounded_over_the_turns_of_an_activation() -> None:
    call = ModelReply(tool_calls=(LOOK,), usage={"tokens": 40})
    agent = keeper(Disk(), [call] * 9, max_tokens=100)
    stopped = await agent.invoke_async("look")
    assert (stopped.stop_reason, len(agent.model.seen)) == ("max_tokens", 3)  # type: ignore[union-attr]


# Bad models and tools


async def test_an_unknown_tool_broken_arguments_and_repeated_ids_are_told_to_the_model() -> None:
    disk = Disk()
    calls = [
        ToolCall("nothing", {}, "x"),
        ToolCall("delete", {}, "x", broken='{"path": '),
        ToolCall("look", {"path": "a"}, "x"),
    ]
    agent = keeper(disk, [calls, "Done."])
    assert str(await agent.invoke_async("go")) == "Done."
    told = results_of(agent)
    assert len({one[0] for one in told}) == 3 and [one[1] for one in told] == ["error", "error", "success"]
    assert "no tool named 'nothing'" in told[0][2] and "no JSON object" in told[1][2]
    assert (disk.deleted, disk.looked) == ([], ["a"])


async def test_a_tool_that_hangs_is_given_up_and_one_that_gives_no_json_is_an_error() -> None:
    @tool(timeout=0.05)
    async def hang() -> str:
        """Hang."""
        await asyncio.Event().wait()
        return ""

    @tool
    def odd() -> Any:
        """Give what is no JSON."""
        return {1, 2}

    agent = Agent(model=ScriptedModel([[ToolCall("hang"), ToolCall("odd")], "Done."]), tools=[hang, odd])
    assert str(await agent.invoke_async("go")) == "Done."
    (_, first, hung), (_, second, _) = results_of(agent)
    assert (first, second) == ("error", "error") and "longer than 0.05 s" in hung


async def test_a_model_that_raises_leaves_the_conversation_and_a_retry_goes_on() -> None:
    disk, broken = Disk(), [True]

    def reply(messages: Any) -> str:
        if broken.pop() if broken else False:
            raise ConnectionError("gone")
        return "Done."

    agent = keeper(disk, [LOOK, reply])
    with pytest.raises(AgentFailed, match="ConnectionError: gone"):
        await agent.invoke_async("look")
    assert len(agent.messages) == 1
    assert str(await agent.retry_async()) == "Done." and disk.looked == ["old/a.txt"]


# Trimming


def spoken(shape: str) -> list[Message]:
    """p: a person's message, a: a reply, c: a reply with a call, r: its result."""
    found = []
    for index, kind in enumerate(shape):
        if kind == "c":
            found.append(Message.tool_call_message({"name": "look", "toolUseId": f"c{index}"}))
        elif kind == "r":
            block = {"toolResult": {"toolUseId": f"c{index - 1}", "status": "success", "content": [{"text": "x"}]}}
            found.append(Message.tool_result_message([block]))
        else:
            found.append(Message.text_message(str(index), "user" if kind == "p" else "assistant"))
    return found


@pytest.mark.parametrize(
    ("shape", "window", "left"),
    [
        ("papapa", 3, "pa"),
        ("papapa", None, "papapa"),
        ("papapa", 6, "papapa"),
        ("pcrapcra", 5, "pcra"),
        ("pcrapcra", 3, "cra"),
        ("pcrcrcr", 4, "crcr"),
        ("pcrcrcr", 3, "cr"),
        ("pcrcrcr", 1, "cr"),
    ],
)
def test_a_trimmed_conversation_holds_no_half_exchange(shape: str, window: int | None, left: str) -> None:
    said = spoken(shape)
    shown = trimmed(said, window)
    assert shown == said[len(said) - len(left) :]


async def test_the_model_is_shown_its_window_and_everything_is_kept() -> None:
    agent = keeper(Disk(), ["1", "2", "3", "4"], window=2)
    for number in range(4):
        await agent.invoke_async(f"say {number}")
    assert len(agent.messages) == 8 and [len(one) for one in agent.model.seen] == [1, 1, 1, 1]  # type: ignore[union-attr]


# Output by schema


class Weather(BaseModel):
    city: str
    degrees: int


async def test_an_output_that_does_not_fit_is_told_to_the_model_until_it_does() -> None:
    replies = [
        "It is nice.",
        ToolCall("final_answer", {"city": "Rome"}),
        LOOK,
        ToolCall("final_answer", {"city": "Rome", "degrees": 21}),
        "And then?",
    ]
    agent = keeper(Disk(), replies, output_schema=Weather)
    done = await agent.invoke_async("weather")
    assert done.structured_output == Weather(city="Rome", degrees=21)
    seen = agent.model.seen  # type: ignore[union-attr]
    assert "final_answer" in seen[1][-1].text() and "degrees" in seen[2][-1].text()
    calls = [use["toolUseId"] for one in agent.messages for use in one.tool_calls]
    told = [one["toolUseId"] for message in agent.messages for one in message.tool_results]
    assert calls == told


@pytest.mark.parametrize(
    ("schema", "reply", "output"),
    [
        ({"type": "object", "properties": {"n": {"type": "integer"}}}, '{"n": 3}', {"n": 3}),
        (list[int], ToolCall("final_answer", {"value": [1, 2]}), [1, 2]),
    ],
)
async def test_a_node_s_output_is_what_fits_its_schema(store: Store, schema: Any, reply: Any, output: Any) -> None:
    agent = Agent("a", ScriptedModel([reply]), output_schema=schema)
    graph = Graph.new("one").node("a", agent).entry("a").terminal("a").compile()
    assert (await start(graph, store)).output == output


FINAL = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


async def test_what_is_called_beside_the_answer_is_told_as_not_called() -> None:
    disk = Disk()
    replies = [[LOOK, ToolCall("final_answer", {"n": "x"}, "no")], [LOOK, ToolCall("final_answer", {"n": 1}, "yes")]]
    agent = keeper(disk, replies, output_schema=FINAL)
    assert (await agent.invoke_async("count")).structured_output == {"n": 1} and disk.looked == []
    assert [(status, text) for _, status, text in results_of(agent)] == [
        ("error", "Not called: the answer beside it does not fit."),
        ("error", "The answer does not fit: /n: 'x' is not of type 'integer'"),
    ]
    given = [(one["status"], one["content"][0]["text"]) for one in agent.messages[-1].tool_results]
    assert given == [("error", "Not called: the answer was given."), ("success", "Taken.")]


@tool
def final_answer(n: int) -> int:
    """Give it."""
    return n


class Served:
    """A source whose only tool has the name of the answer."""

    async def list_tools(self) -> list[Tool]:
        return [final_answer]


async def test_a_tool_may_not_have_the_name_of_the_answer() -> None:
    with pytest.raises(DefinitionError, match="'a' gives its answer as 'final_answer'"):
        Agent("a", tools=[final_answer], output_schema=FINAL)
    with pytest.raises(DefinitionError, match="'a' gives its answer as 'final_answer'"):
        Agent("a", output_schema=FINAL).with_tools([final_answer])
    with pytest.raises(DefinitionError, match="give that source a prefix"):
        await Agent("a", tools=[Served()], output_schema=FINAL).toolbox.open()
    assert "final_answer" in Agent("a", tools=[final_answer]).tools


# Streaming and schemas


async def test_replies_are_streamed_word_by_word_and_calls_as_they_are_made() -> None:
    heard: list[dict[str, Any]] = []
    agent = keeper(Disk(), [LOOK, "All is well."], callback_handler=lambda **told: heard.append(told))
    events = [event async for event in keeper(Disk(), [LOOK, "All is well."]).stream_async("go")]
    await agent.invoke_async("go")
    assert "".join(one["data"] for one in heard if "data" in one) == "All is well."
    assert [one["current_tool_use"]["name"] for one in heard if "current_tool_use" in one] == ["look"]
    assert events[:-1] == heard and str(events[-1]["result"]) == "All is well."


def test_a_tool_is_described_by_its_docstring() -> None:
    @tool
    def book(city: str, nights: int = 1) -> str:
        """Book a room.

        Only where there is one.

        Args:
            city: Where.
            nights: How long.
        """
        return city

    spec = book.spec
    assert spec["description"] == "Book a room.\n\nOnly where there is one."
    rules = spec["inputSchema"]["properties"]
    assert (rules["city"]["description"], rules["nights"]["description"], rules["nights"]["default"]) == (
        "Where.",
        "How long.",
        1,
    )


@pytest.mark.parametrize("named", [True, "about"])
def test_the_context_of_a_call_never_reaches_the_schema(named: Any) -> None:
    def with_default(tool_context: ToolContext, city: str) -> str:
        return city

    def with_name(about: Any, city: str) -> str:
        return city

    made = Tool(with_default if named is True else with_name, context=named)
    assert list(made.schema["properties"]) == ["city"]


@pytest.mark.parametrize("options", [{"approve": "delete"}, {"approve": [5]}, {"execution": "odd"}, {"name": ""}])
def test_what_an_agent_cannot_be_made_of_is_refused(options: Any) -> None:
    with pytest.raises(DefinitionError):
        Agent(**options)
