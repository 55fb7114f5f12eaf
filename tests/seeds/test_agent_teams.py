"""The spellings of the fourth document for teams: swarms and graphs of agents whose hooks ask before a member runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from graphs import (
    Agent,
    BeforeNodeCallEvent,
    FileSessionManager,
    GraphBuilder,
    HookProvider,
    HookRegistry,
    ScriptedModel,
    Status,
    Swarm,
    ToolCall,
)
from tests.seeds.test_agents import OPENED, KeeperHook, all_closed, answered, open_gates

__all__ = ["all_closed"]


class WatchHook(HookProvider):
    """Asks before these members run."""

    def __init__(self, *nodes: str) -> None:
        self.nodes = nodes

    def register_hooks(self, registry: HookRegistry) -> None:
        registry.add_callback(BeforeNodeCallEvent, self.ask)

    def ask(self, event: BeforeNodeCallEvent) -> None:
        if event.node_id not in self.nodes:
            return
        if event.interrupt("watch", reason={"node": event.node_id}).lower() != "y":
            event.cancel_node = "Not on my watch"


def message_of(result: Any, node: str) -> str:
    return str(json.loads(json.dumps(result.results[node].result.message))["content"][0]["text"])


@pytest.mark.parametrize(("answer", "status"), [("y", Status.COMPLETED), ("n", Status.CANCELLED)])
def test_a_swarm_is_asked_about_before_its_member_runs(answer: str, status: Status) -> None:
    swarm = Swarm(
        [Agent(name="lights", system_prompt="You light the lock at night.", callback_handler=None)],
        hooks=[WatchHook("lights")],
    )
    paused = swarm("Good evening")
    assert paused.status == Status.INTERRUPTED
    assert [(one.name, one.reason) for one in paused.interrupts] == [("watch", {"node": "lights"})]
    done = answered(swarm, paused, answer, "watch")
    said = "You said: Good evening" if answer == "y" else "Not on my watch"
    assert (done.status, message_of(done, "lights")) == (status, said)


@pytest.mark.parametrize("answer", ["y", "n"])
def test_a_member_of_a_swarm_asks_by_its_own_hook_and_hands_over_afterwards(answer: str) -> None:
    over = ToolCall("handoff_to_agent", {"agent_name": "clerk", "message": "Note it"})
    opens = ToolCall("open_gates", {"gates": ["north"]})
    first = Agent("keeper", ScriptedModel([[opens, over], "Noted."]), tools=[open_gates], hooks=[KeeperHook("canal")])
    swarm = Swarm([first, Agent("clerk", ScriptedModel(["It is in the book."]))])
    paused = swarm("A boat waits")
    assert (paused.status, [one.name for one in paused.interrupts]) == (Status.INTERRUPTED, ["canal-keeper"])
    done = answered(swarm, paused, answer)
    assert (done.status, done.execution_order) == (Status.COMPLETED, ("keeper", "clerk"))
    assert (["north"] if answer == "y" else []) == OPENED


def lock(*hooks: Any) -> Any:
    builder = GraphBuilder()
    builder.add_node(Agent(name="lookout", system_prompt="You look for boats.", callback_handler=None), "lookout")
    builder.add_node(Agent(name="lights", system_prompt="You light the lock.", callback_handler=None), "lights")
    builder.add_edge("lookout", "lights")
    builder.set_entry_point("lookout")
    builder.set_hook_providers(list(hooks))
    return builder.build()


@pytest.mark.parametrize(("answer", "status"), [("y", Status.COMPLETED), ("n", Status.CANCELLED)])
def test_a_graph_finishes_what_stands_before_the_member_it_asks_about(answer: str, status: Status) -> None:
    graph = lock(WatchHook("lights"))
    paused = graph("Look out and light up")
    assert (paused.status, paused.results["lookout"].status) == (Status.INTERRUPTED, Status.COMPLETED)
    done = answered(graph, paused, answer, "watch")
    assert done.status == status and done.results["lights"].status == status
    assert ("Not on my watch" in message_of(done, "lights")) is (answer == "n")


def test_members_side_by_side_ask_together_and_are_answered_apart(tmp_path: Path) -> None:
    def built() -> Any:
        builder = GraphBuilder("both")
        for name in ("north", "south"):
            builder.add_node(Agent(name=name, callback_handler=None), name).set_entry_point(name)
        builder.set_hook_providers([WatchHook("north", "south")])
        return builder.set_session_manager(FileSessionManager("both", tmp_path)).build()

    paused = built()("Go")
    assert [one.reason["node"] for one in paused.interrupts] == ["north", "south"]
    first = paused.interrupts[0].id
    half = built()([{"interruptResponse": {"interruptId": first, "response": "y"}}])
    assert (half.status, [one.reason["node"] for one in half.interrupts]) == (Status.INTERRUPTED, ["south"])
    assert answered(built(), half, "y").status == Status.COMPLETED
