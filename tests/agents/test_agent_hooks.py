"""Family H: hooks around an agent's tool calls, and tools that ask themselves (H01 to H22, H38 to H42)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from graphs.agents.agent import Agent
from graphs.agents.hooks import (
    AfterInvocationEvent,
    AfterModelCallEvent,
    AfterToolCallEvent,
    BeforeInvocationEvent,
    BeforeModelCallEvent,
    BeforeToolCallEvent,
    MessageAddedEvent,
)
from graphs.agents.models import ScriptedModel, ToolCall
from graphs.agents.outcomes import AgentFailed
from graphs.agents.tool_context import ToolContext
from graphs.agents.tools import tool
from graphs.engine.asking import interrupt
from graphs.engine.errors import AnswerMismatch, InputMismatch, ThreadBusy
from graphs.engine.hooks import HookRegistry
from tests.agents.files import DELETE, LOOK, SECOND, BatchGate, Disk, Gate, Watch, keeper, responses, results_of


class On:
    """One callback on one event."""

    def __init__(self, event: Any, callback: Any) -> None:
        self.event = event
        self.callback = callback

    def register_hooks(self, registry: HookRegistry) -> None:
        registry.add_callback(self.event, self.callback)


def asks(name: str, heard: list[Any] | None = None) -> On:
    def ask(event: BeforeToolCallEvent) -> None:
        answer = event.interrupt(name)
        if heard is not None:
            heard.append(answer)

    return On(BeforeToolCallEvent, ask)


# One call


async def test_h01_a_hook_that_asks_about_one_call_lets_the_other_run() -> None:
    disk = Disk()
    result = await keeper(disk, [[LOOK, DELETE], "Done."], Gate()).invoke_async("tidy")
    assert (disk.looked, disk.deleted) == (["old/a.txt"], [])
    assert result.stop_reason == "interrupt"
    (one,) = result.interrupts
    assert (one.name, one.reason, bool(one.id)) == ("gate", {"path": "old/a.txt"}, True)


async def test_h02_a_yes_runs_the_tool_once_and_calls_no_model_for_the_resume() -> None:
    disk = Disk()
    agent = keeper(disk, [[LOOK, DELETE], "Done."], Gate())
    paused = await agent.invoke_async("tidy")
    done = await agent.invoke_async(responses(paused, "y"))
    assert (done.stop_reason, str(done), disk.deleted, disk.looked) == (
        "end_turn",
        "Done.",
        ["old/a.txt"],
        ["old/a.txt"],
    )
    assert len(agent.model.seen) == 2  # type: ignore[union-attr]
    assert results_of(agent) == [
        ("look-1", "success", {"path": "old/a.txt", "age": 9}),
        ("delete-1", "success", "old/a.txt is gone"),
    ]


@pytest.mark.parametrize(
    ("text", "told"), [("Not that one.", "Not that one."), (True, "The call of delete was cancelled.")]
)
async def test_h03_h04_a_no_is_an_error_result_with_the_hook_s_text_or_the_usual_one(text: Any, told: str) -> None:
    disk = Disk()
    agent = keeper(disk, [DELETE, "I left it."], Gate(text=text))
    done = await agent.invoke_async(responses(await agent.invoke_async("tidy"), "n"))
    assert (done.stop_reason, disk.deleted) == ("end_turn", [])
    assert results_of(agent) == [("delete-1", "error", told)]


# A batch


async def test_h05_a_batch_hook_asks_once_and_nothing_of_the_batch_runs_before() -> None:
    disk, gate = Disk(), Gate()
    paused = await keeper(disk, [[DELETE, SECOND, LOOK], "Done."], BatchGate(), gate).invoke_async("tidy")
    assert [one.name for one in paused.interrupts] == ["batch"]
    assert (disk.looked, disk.deleted, gate.fired) == ([], [], 0)


async def test_h06_an_approved_batch_goes_on_to_the_hooks_of_each_call_and_a_cancelled_one_to_none() -> None:
    disk, watch = Disk(), Watch()
    agent = keeper(disk, [[DELETE, SECOND], "Done."], BatchGate(), watch)
    await agent.invoke_async(responses(await agent.invoke_async("tidy"), "y"))
    assert disk.deleted == ["old/a.txt", "old/b.txt"] and [one[1] for one in watch.calls] == ["success", "success"]
    disk, gate = Disk(), Gate()
    agent = keeper(disk, [[DELETE, SECOND], "Done."], BatchGate(), gate)
    await agent.invoke_async(responses(await agent.invoke_async("tidy"), "n"))
    assert (disk.deleted, gate.fired) == ([], 0)
    assert results_of(agent) == [("delete-1", "error", "None of them."), ("delete-2", "error", "None of them.")]


async def test_h07_the_batch_is_not_asked_about_again_while_its_calls_are() -> None:
    disk, batch = Disk(), BatchGate()
    agent = keeper(disk, [[DELETE, SECOND], "Done."], batch, Gate())
    result = await agent.invoke_async("tidy")
    seen = [[one.name for one in result.interrupts]]
    result = await agent.invoke_async(responses(result, "y"))
    seen.append([one.name for one in result.interrupts])
    result = await agent.invoke_async(responses(result, "y")[:1])
    seen.append([one.name for one in result.interrupts])
    result = await agent.invoke_async(responses(result, "y"))
    assert seen == [["batch"], ["gate", "gate"], ["gate"]] and batch.fired == 2
    assert (result.stop_reason, disk.deleted) == ("end_turn", ["old/a.txt", "old/b.txt"])


# Tools that ask


async def test_h08_a_tool_that_asks_starts_again_and_its_call_returns_the_answer() -> None:
    begun = []

    @tool(context=True)
    def remove(tool_context: ToolContext, path: str) -> bool:
        """Remove a file."""
        begun.append(tool_context.tool_use["input"])
        return bool(tool_context.interrupt("sure", reason={"path": path}) == "y")

    agent = Agent(model=ScriptedModel([ToolCall("remove", {"path": "a"}), "Done."]), tools=[remove])
    paused = await agent.invoke_async("go")
    assert (paused.interrupts[0].name, paused.interrupts[0].reason) == ("sure", {"path": "a"})
    assert "tool_context" not in json.dumps(remove.schema)
    await agent.invoke_async(responses(paused, "y"))
    assert begun == [{"path": "a"}] * 2
    assert agent.model.seen[-1][-1].tool_results[0]["content"] == [{"json": True}]  # type: ignore[union-attr]


async def test_h09_two_questions_of_one_tool_or_hook_come_one_after_the_other() -> None:
    heard: list[Any] = []

    @tool(context=True)
    async def pick(tool_context: ToolContext) -> str:
        """Pick a place."""
        heard.append((tool_context.interrupt("city"), tool_context.interrupt("street")))
        return "picked"

    def both(event: BeforeToolCallEvent) -> None:
        heard.append((event.interrupt("first"), event.interrupt("second")))

    agent = Agent(model=ScriptedModel([ToolCall("pick"), "Done."]), tools=[pick], hooks=[On(BeforeToolCallEvent, both)])
    result, asked = await agent.invoke_async("go"), []
    while result.interrupts:
        asked += [one.name for one in result.interrupts]
        result = await agent.invoke_async(responses(result, lambda one: f"{one.name}!"))
    assert asked == ["first", "second", "city", "street"]
    assert heard == [("first!", "second!"), ("city!", "street!")]


async def test_h10_h14_two_hooks_of_one_event_ask_together_and_in_their_order() -> None:
    fired: list[str] = []
    rest = On(BeforeToolCallEvent, lambda event: fired.append("third"))
    paused = await keeper(Disk(), [DELETE, "Done."], asks("one"), asks("two"), rest).invoke_async("tidy")
    assert [one.name for one in paused.interrupts] == ["one", "two"] and fired == ["third"]


async def test_h11_what_was_not_answered_is_asked_again_under_the_same_id() -> None:
    disk = Disk()
    agent = keeper(disk, [DELETE, "Done."], asks("one"), asks("two"))
    paused = await agent.invoke_async("tidy")
    again = await agent.invoke_async(responses(paused, "y")[:1])
    assert [one.id for one in again.interrupts] == [paused.interrupts[1].id] and disk.deleted == []
    assert (await agent.invoke_async(responses(again, "y"))).stop_reason == "end_turn"


async def test_h12_two_hooks_under_one_name_are_an_error_that_names_it() -> None:
    with pytest.raises(AgentFailed, match="'same'"):
        await keeper(Disk(), [DELETE, "Done."], asks("same"), asks("same")).invoke_async("tidy")


async def test_h13_a_hook_and_its_tool_may_use_one_name_for_two_questions() -> None:
    heard: list[Any] = []

    @tool(context=True)
    def delete(tool_context: ToolContext) -> str:
        """Delete."""
        heard.append(tool_context.interrupt("sure"))
        return "gone"

    agent = Agent(model=ScriptedModel([ToolCall("delete"), "Done."]), tools=[delete], hooks=[asks("sure", heard)])
    first = await agent.invoke_async("go")
    second = await agent.invoke_async(responses(first, "hook"))
    assert first.interrupts[0].id != second.interrupts[0].id
    await agent.invoke_async(responses(second, "tool"))
    assert heard == ["hook", "tool"]


# After the calls


async def test_h15_each_result_is_told_once_in_the_pass_in_which_it_came_about() -> None:
    watch = Watch()
    agent = keeper(Disk(), [[LOOK, DELETE], "Done."], Gate(), watch)
    paused = await agent.invoke_async("tidy")
    assert (watch.calls, watch.batches) == ([("look-1", "success", None)], [["look-1"]])
    await agent.invoke_async(responses(paused, "y"))
    assert watch.calls[1:] == [("delete-1", "success", None)] and watch.batches[1:] == [["delete-1"]]


async def test_h16_a_cancelled_call_is_told_with_its_cancellation() -> None:
    watch = Watch()
    agent = keeper(Disk(), [DELETE, "Done."], Gate(text="No."), watch)
    await agent.invoke_async(responses(await agent.invoke_async("tidy"), "n"))
    assert watch.calls == [("delete-1", "error", "No.")]


@pytest.mark.parametrize("answer", ["y", "n"])
async def test_h17_after_a_batch_that_asked_nothing_is_told_before_its_answer(answer: str) -> None:
    watch = Watch()
    agent = keeper(Disk(), [[DELETE, LOOK], "Done."], BatchGate(), watch)
    paused = await agent.invoke_async("tidy")
    assert (watch.calls, watch.batches) == ([], [])
    await agent.invoke_async(responses(paused, answer))
    assert watch.batches == [["delete-1", "look-1"]]


async def test_an_after_hook_s_result_is_what_the_model_sees() -> None:
    def hide(event: AfterToolCallEvent) -> None:
        event.result["content"] = [{"text": "hidden"}]

    agent = keeper(Disk(), [LOOK, "Done."], On(AfterToolCallEvent, hide))
    await agent.invoke_async("look")
    assert results_of(agent) == [("look-1", "success", "hidden")]


async def test_h18_h19_concurrent_calls_run_beside_one_that_waits_and_sequential_ones_after_it() -> None:
    last = ToolCall("look", {"path": "old/c.txt"}, "look-2")
    for execution, before in (("concurrent", ["old/a.txt", "old/c.txt"]), ("sequential", ["old/a.txt"])):
        disk = Disk()
        agent = keeper(disk, [[LOOK, DELETE, last], "Done."], Gate(), execution=execution)
        paused = await agent.invoke_async("tidy")
        assert disk.looked == before
        await agent.invoke_async(responses(paused, "y"))
        assert (disk.looked, disk.deleted) == (["old/a.txt", "old/c.txt"], ["old/a.txt"])
        assert [one[0] for one in results_of(agent)] == ["look-1", "delete-1", "look-2"]


# What it may be called with


@pytest.mark.parametrize(
    "given", ["go on", None, "", [{"text": "go on"}], {"role": "user", "content": [{"text": "x"}]}]
)
async def test_h20_a_paused_agent_takes_nothing_but_responses(given: Any) -> None:
    disk = Disk()
    agent = keeper(disk, [DELETE, "Done."], Gate())
    paused = await agent.invoke_async("tidy")
    with pytest.raises((ThreadBusy, InputMismatch)):
        await agent.invoke_async(given)
    with pytest.raises(InputMismatch, match="stand alone"):
        await agent.invoke_async([*responses(paused, "y"), {"text": "and more"}])
    assert disk.deleted == []
    assert (await agent.invoke_async(responses(paused, "y"))).stop_reason == "end_turn" and disk.deleted


async def test_h21_a_response_while_nothing_waits_is_refused_and_says_so() -> None:
    agent = keeper(Disk(), ["Hello."])
    response = [{"interruptResponse": {"interruptId": "x", "response": "y"}}]
    with pytest.raises(AnswerMismatch, match="has not begun and waits for no response"):
        await agent.invoke_async(response)
    await agent.invoke_async("hi")
    with pytest.raises(AnswerMismatch, match="is completed and waits for no response"):
        await agent.invoke_async(response)


@pytest.mark.parametrize("block", [{"interruptId": "x"}, {"response": "y"}, {"interruptId": 5, "response": "y"}, "y"])
async def test_h22_a_response_without_its_id_or_answer_is_refused(block: Any) -> None:
    agent = keeper(Disk(), [DELETE, "Done."], Gate())
    paused = await agent.invoke_async("tidy")
    with pytest.raises(InputMismatch, match="needs an interruptId"):
        await agent.invoke_async([{"interruptResponse": block}])
    with pytest.raises(InputMismatch, match="answered twice"):
        await agent.invoke_async(responses(paused, "y") * 2)
    with pytest.raises(AnswerMismatch):
        await agent.invoke_async([{"interruptResponse": {"interruptId": "unknown", "response": "y"}}])
    assert (await agent.invoke_async(responses(paused, "y"))).stop_reason == "end_turn"


async def test_h38_a_response_given_with_the_question_answers_it_at_once() -> None:
    heard: list[Any] = []
    ask = On(BeforeToolCallEvent, lambda event: heard.append(event.interrupt("q", response="known")))

    @tool(context=True)
    def look(tool_context: ToolContext) -> str:
        """Look."""
        return str(tool_context.interrupt("q", response="told"))

    agent = Agent(model=ScriptedModel([ToolCall("look"), "Done."]), tools=[look], hooks=[ask])
    assert (await agent.invoke_async("go")).stop_reason == "end_turn"
    assert heard == ["known"] and results_of(agent)[0][2] == "told"


async def test_h39_async_hooks_and_tools_ask_like_others() -> None:
    async def ask(event: BeforeToolCallEvent) -> None:
        if event.interrupt("hook") != "y":
            event.cancel_tool = True

    @tool
    async def look() -> Any:
        """Look."""
        return interrupt(message="Where?")

    agent = Agent(model=ScriptedModel([ToolCall("look"), "Done."]), tools=[look], hooks=[On(BeforeToolCallEvent, ask)])
    asked = await agent.invoke_async(responses(await agent.invoke_async("go"), "y"))
    assert [one.question for one in asked.interrupts] == ["Where?"]
    await agent.invoke_async(responses(asked, "there"))
    assert results_of(agent)[0][2] == "there"


async def test_h40_a_tool_that_fails_after_its_approval_is_an_error_result_and_the_turn_goes_on() -> None:
    @tool
    def delete(path: str) -> str:
        """Delete."""
        raise OSError(f"{path} is locked")

    agent = Agent(model=ScriptedModel([DELETE, "It is locked."]), tools=[delete], hooks=[Gate()])
    done = await agent.invoke_async(responses(await agent.invoke_async("tidy"), "y"))
    assert str(done) == "It is locked." and results_of(agent) == [("delete-1", "error", "OSError: old/a.txt is locked")]


async def test_h41_the_result_has_a_stop_reason_and_a_message_that_is_json() -> None:
    agent = keeper(Disk(), [DELETE, "Done."], Gate())
    paused = await agent.invoke_async("tidy")
    assert json.loads(json.dumps(paused.message))["content"][0]["toolUse"]["name"] == "delete"
    done = await agent.invoke_async(responses(paused, "y"))
    assert (done.stop_reason, done.interrupts) == ("end_turn", ())
    assert json.loads(json.dumps(done.message)) == {"role": "assistant", "content": [{"text": "Done."}]}


@pytest.mark.parametrize(
    "event",
    [
        BeforeInvocationEvent,
        AfterInvocationEvent,
        BeforeModelCallEvent,
        AfterModelCallEvent,
        MessageAddedEvent,
        AfterToolCallEvent,
    ],
)
async def test_h42_no_other_event_can_ask_and_says_which_can(event: Any) -> None:
    agent = keeper(Disk(), [LOOK, "Done."], On(event, lambda fired: fired.interrupt("q")))
    with pytest.raises(AgentFailed, match="BeforeToolCallEvent, BeforeToolsEvent and BeforeNodeCallEvent can"):
        await agent.invoke_async("go")
    snapshot = await agent.session.snapshot()
    assert snapshot is not None and not [one for task in snapshot.tasks.values() for one in task.interrupts]
