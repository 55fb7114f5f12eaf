"""The spellings of the fourth document: agents whose hooks and tools ask, and their sessions.

No model is set, so the stand-in speaks for all of them: it calls the tools that a prompt names.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from graphs import (
    AfterToolCallEvent,
    AfterToolsEvent,
    Agent,
    AgentResult,
    BeforeToolCallEvent,
    BeforeToolsEvent,
    HookProvider,
    HookRegistry,
    Status,
    ToolContext,
    tool,
)

OPENED: list[str] = []


@pytest.fixture(autouse=True)
def all_closed() -> None:
    OPENED.clear()


@tool
def open_gates(gates: list[str]) -> bool:
    """Open gates of the lock."""
    OPENED.extend(gates)
    return True


@tool
def measure_level(chamber: str) -> dict[str, Any]:
    """Measure the water in a chamber."""
    return {"chamber": chamber, "metres": 3}


class KeeperHook(HookProvider):
    """Asks the lock keeper before gates are opened."""

    def __init__(self, lock: str) -> None:
        self.lock = lock

    def register_hooks(self, registry: HookRegistry, **kwargs: Any) -> None:
        registry.add_callback(BeforeToolCallEvent, self.ask)

    def ask(self, event: BeforeToolCallEvent) -> None:
        if event.tool_use["name"] != "open_gates":
            return
        answer = event.interrupt(f"{self.lock}-keeper", reason={"gates": event.tool_use["input"]["gates"]})
        if answer.lower() != "y":
            event.cancel_tool = "The keeper keeps them shut"


class ConvoyHook(HookProvider):
    """Asks once for all that a reply wants to do."""

    def __init__(self, text: str | bool = "No convoy today") -> None:
        self.text = text

    def register_hooks(self, registry: HookRegistry, **kwargs: Any) -> None:
        registry.add_callback(BeforeToolsEvent, self.ask)

    def ask(self, event: BeforeToolsEvent) -> None:
        wanted = [one["toolUse"]["name"] for one in event.message["content"] if "toolUse" in one]
        if "open_gates" not in wanted:
            return
        if event.interrupt("convoy", reason={"tools": wanted}).lower() != "y":
            event.cancel = self.text


def keeper(*hooks: Any, **options: Any) -> Agent:
    return Agent(
        hooks=list(hooks),
        system_prompt="You open gates for boats that wait",
        tools=[open_gates, measure_level],
        callback_handler=None,
        **options,
    )


def answered(agent: Any, result: Any, answer: Any, name: str = "") -> Any:
    """Answer what is open, as somebody at a terminal would, until nothing is any more."""
    while getattr(result, "stop_reason", "") == "interrupt" or getattr(result, "status", "") == Status.INTERRUPTED:
        responses = []
        for interrupt in result.interrupts:
            if name in ("", interrupt.name):
                responses.append({"interruptResponse": {"interruptId": interrupt.id, "response": answer}})
        result = agent(responses)
    return result


def told(agent: Agent) -> list[tuple[str, Any]]:
    """What the model was told of the calls it made, oldest first."""
    return [
        (one["status"], one["content"][0].get("text", one["content"][0].get("json")))
        for message in agent.messages
        for one in message.tool_results
    ]


# Hooks

ASKED = "Boats wait at gates=<['north', 'south']>"


@pytest.mark.parametrize("answer", ["y", "Y"])
def test_a_yes_to_the_hook_lets_the_tool_run_once(answer: str) -> None:
    agent = keeper(KeeperHook("canal"))
    result = agent(ASKED)
    assert result.stop_reason == "interrupt" and OPENED == []
    assert [(one.name, one.reason) for one in result.interrupts] == [
        ("canal-keeper", {"gates": ["north", "south"]}),
    ]
    done = answered(agent, result, answer, "canal-keeper")
    assert (done.stop_reason, OPENED, told(agent)) == ("end_turn", ["north", "south"], [("success", True)])
    assert json.loads(json.dumps(done.message))["role"] == "assistant"


@pytest.mark.parametrize("answer", ["n", "", "later"])
def test_any_other_answer_is_what_the_hook_makes_of_it(answer: str) -> None:
    agent = keeper(KeeperHook("canal"))
    done = answered(agent, agent(ASKED), answer)
    assert (done.stop_reason, OPENED) == ("end_turn", [])
    assert told(agent) == [("error", "The keeper keeps them shut")]


def test_the_other_tool_of_the_reply_runs_and_needs_nobody() -> None:
    agent = keeper(KeeperHook("canal"))
    result = agent(f"{ASKED}; measure_level too")
    assert result.stop_reason == "interrupt"
    done = answered(agent, result, "n")
    assert sorted(status for status, _ in told(agent)) == ["error", "success"] and str(done)


@pytest.mark.parametrize(("answer", "opened"), [("y", ["north", "south"]), ("n", [])])
def test_a_batch_is_asked_about_once_and_runs_or_is_cancelled_as_a_whole(answer: str, opened: list[str]) -> None:
    calls: list[str] = []

    class Count(HookProvider):
        def register_hooks(self, registry: HookRegistry) -> None:
            registry.add_callback(BeforeToolCallEvent, lambda event: calls.append(event.tool_use["name"]))

    agent = keeper(ConvoyHook(), Count())
    result = agent(f"{ASKED}; measure_level too")
    assert [(one.name, one.reason) for one in result.interrupts] == [
        ("convoy", {"tools": ["open_gates", "measure_level"]})
    ]
    assert calls == []
    answered(agent, result, answer)
    assert opened == OPENED
    if answer == "y":
        assert sorted(calls) == ["measure_level", "open_gates"]
    else:
        assert calls == [] and told(agent) == [("error", "No convoy today")] * 2


def test_a_batch_that_is_cancelled_without_words_gets_the_usual_ones() -> None:
    agent = keeper(ConvoyHook(True))
    answered(agent, agent(ASKED), "n")
    assert told(agent) == [("error", "The calls were cancelled.")]


def test_hooks_of_one_event_ask_together_and_one_hook_asks_one_thing_after_the_other() -> None:
    class Twice(HookProvider):
        def register_hooks(self, registry: HookRegistry) -> None:
            registry.add_callback(BeforeToolCallEvent, self.ask)

        def ask(self, event: BeforeToolCallEvent) -> None:
            if event.interrupt("weather") == "y" and event.interrupt("traffic") != "y":
                event.cancel_tool = "Too many boats"

    agent = keeper(KeeperHook("canal"), Twice())
    first = agent(ASKED)
    assert [one.name for one in first.interrupts] == ["canal-keeper", "weather"]
    second = agent([{"interruptResponse": {"interruptId": one.id, "response": "y"}} for one in first.interrupts])
    assert [one.name for one in second.interrupts] == ["traffic"] and OPENED == []
    answered(agent, second, "n")
    assert told(agent) == [("error", "Too many boats")]


def test_what_comes_after_calls_is_told_once_for_each_result() -> None:
    seen: list[Any] = []

    class Log(HookProvider):
        def register_hooks(self, registry: HookRegistry, **kwargs: Any) -> None:
            registry.add_callback(AfterToolCallEvent, lambda event: seen.append(event.tool_use["name"]))
            registry.add_callback(AfterToolsEvent, lambda event: seen.append(len(event.message["content"])))

    agent = keeper(KeeperHook("canal"), Log())
    result = agent(f"{ASKED}; measure_level too")
    assert seen == ["measure_level", 1]
    answered(agent, result, "y")
    assert seen == ["measure_level", 1, "open_gates", 1]


# Tools


class Gatehouse:
    """A tool that is a method and asks for itself."""

    def __init__(self, lock: str) -> None:
        self.lock = lock

    @tool(context=True)
    def open_gates(self, tool_context: ToolContext, gates: list[str]) -> bool:
        """Open gates of the lock."""
        if tool_context.interrupt(f"{self.lock}-keeper", reason={"gates": gates}).lower() != "y":
            return False
        OPENED.extend(gates)
        return True


@pytest.mark.parametrize(("answer", "gave"), [("y", True), ("n", False)])
def test_a_tool_asks_for_itself_and_gives_what_it_makes_of_the_answer(answer: str, gave: bool) -> None:
    agent = Agent(
        system_prompt="You open gates for boats", tools=[Gatehouse("canal").open_gates], callback_handler=None
    )
    result = agent(ASKED)
    assert [(one.name, one.reason) for one in result.interrupts] == [("canal-keeper", {"gates": ["north", "south"]})]
    answered(agent, result, answer, "canal-keeper")
    assert told(agent) == [("success", gave)] and (["north", "south"] if gave else []) == OPENED


def test_a_direct_call_cannot_ask_and_leaves_no_question() -> None:
    agent = Agent(tools=[Gatehouse("canal").open_gates], callback_handler=None)
    with pytest.raises(RuntimeError, match="can only be called while"):
        agent.tool.open_gates(gates=["north"])
    assert str(agent("Hello")) == "You said: Hello" and OPENED == []


# Sessions: each call in a process of its own

SERVER = """
import json, sys
from typing import Any
from graphs import (Agent, AgentInput, AgentResult, BeforeToolCallEvent, FileSessionManager, HookProvider,
                    HookRegistry, tool)

log = sys.argv[2] + "/opened"

@tool
def open_gates(gates: list[str]) -> bool:
    with open(log, "a") as file:
        file.write(" ".join(gates) + "\\n")
    return True

class KeeperHook(HookProvider):
    def register_hooks(self, registry: HookRegistry, **kwargs: Any) -> None:
        registry.add_callback(BeforeToolCallEvent, self.ask)

    def ask(self, event: BeforeToolCallEvent) -> None:
        if event.agent.state.get("keeper") == "t":
            return
        answer = event.interrupt("keeper", reason={"gates": event.tool_use["input"]["gates"]}).lower()
        if answer not in ["y", "t"]:
            event.cancel_tool = "The keeper keeps them shut"
        event.agent.state.set("keeper", answer)

def server(prompt: AgentInput) -> AgentResult:
    agent = Agent(
        hooks=[KeeperHook()],
        session_manager=FileSessionManager(session_id="lock", storage_dir=sys.argv[2]),
        system_prompt="You open gates for boats",
        tools=[open_gates],
        callback_handler=None,
    )
    return agent(prompt)

result = server(json.loads(sys.argv[1]))
print(json.dumps({"stop_reason": result.stop_reason, "message": result.message,
                  "interrupts": [{"id": one.id, "name": one.name, "reason": one.reason} for one in result.interrupts]}))
"""


def serve(folder: Path, prompt: Any) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-c", SERVER, json.dumps(prompt), str(folder)], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def client(folder: Path, prompt: str, answer: str) -> tuple[int, dict[str, Any]]:
    """How often it was asked, and how the conversation stands then."""
    result, asked = serve(folder, prompt), 0
    while result["stop_reason"] == "interrupt":
        asked += 1
        blocks = [{"interruptResponse": {"interruptId": one["id"], "response": answer}} for one in result["interrupts"]]
        result = serve(folder, blocks)
    return asked, result


@pytest.mark.parametrize(
    ("answer", "again", "opened"), [("t", 0, ["north south", "east"]), ("y", 1, ["north south", "east"]), ("n", 1, [])]
)
def test_a_session_goes_on_in_other_processes_and_keeps_trust(
    tmp_path: Path, answer: str, again: int, opened: list[str]
) -> None:
    asked, result = client(tmp_path, ASKED, answer)
    assert asked == 1 and result["message"]["role"] == "assistant"
    assert client(tmp_path, "And gates=<['east']>", answer)[0] == again
    log = tmp_path / "opened"
    assert (log.read_text().splitlines() if log.exists() else []) == opened


def test_what_a_call_gives_is_an_agent_result() -> None:
    result = keeper()("Hello")
    assert isinstance(result, AgentResult) and result.stop_reason == "end_turn" and result.interrupts == ()
