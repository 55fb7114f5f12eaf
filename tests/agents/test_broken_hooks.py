"""A hook that raises beside one that asks: the question stands, and a retry goes on with its answer (Z42, Z52)."""

from __future__ import annotations

from typing import Any

import pytest

from graphs.agents.hooks import BeforeToolCallEvent, BeforeToolsEvent
from graphs.agents.outcomes import AgentFailed
from graphs.agents.sessions import FileSessionManager
from graphs.engine.cells import channel
from graphs.engine.hooks import HookRegistry
from graphs.engine.messages import read
from tests.agents.files import DELETE, LOOK, Disk, Gate, keeper, responses, results_of


class Breaks:
    """Raises at the first events of this class."""

    def __init__(self, event: Any, times: int = 1) -> None:
        self.event = event
        self.times = times

    def register_hooks(self, registry: HookRegistry) -> None:
        registry.add_callback(self.event, self.raise_)

    def raise_(self, event: Any) -> None:
        if self.times:
            self.times -= 1
            raise ValueError("hook broke")


@pytest.mark.parametrize("first", [True, False], ids=["raises-first", "asks-first"])
async def test_z42_a_hook_that_raises_beside_one_that_asks_loses_no_question(first: bool) -> None:
    disk, breaks = Disk(), Breaks(BeforeToolCallEvent)
    hooks: list[Any] = [breaks, Gate()] if first else [Gate(), breaks]
    agent = keeper(disk, [[DELETE], "Done."], *hooks)
    with pytest.raises(AgentFailed, match="hook broke"):
        await agent.invoke_async("tidy")
    snapshot = await agent.session.snapshot()
    assert snapshot is not None and snapshot.status == "failed"
    asked = [one for record in snapshot.tasks.values() for one in record.interrupts]
    assert [(one.name, one.decision) for one in asked] == [("gate", None)]
    assert read(snapshot.cells.get(channel("", "messages"))) == [], "no call of a tool stands open in the history"
    answer = [{"interruptResponse": {"interruptId": asked[0].id, "response": "y"}}]
    # The answer is taken while it is failed; what had failed is tried again on request.
    with pytest.raises(AgentFailed, match="hook broke"):
        await agent.invoke_async(answer)
    done = await agent.retry_async()
    assert (str(done), disk.deleted) == ("Done.", ["old/a.txt"])
    assert len(agent.model.seen) == 2, "one call of the model for each reply"  # type: ignore[union-attr]
    said = read((await agent.session.snapshot()).cells[channel("", "messages")])  # type: ignore[union-attr]
    called = [call["toolUseId"] for one in said for call in one.tool_calls]
    assert called == [result["toolUseId"] for one in said for result in one.tool_results]


async def test_z42_a_batch_hook_that_raises_runs_nothing_of_the_batch_before_the_retry(tmp_path: Any) -> None:
    disk = Disk()

    def built(*hooks: Any) -> Any:
        return keeper(disk, [[LOOK, DELETE], "Done."], *hooks, session_manager=FileSessionManager("s", tmp_path))

    with pytest.raises(AgentFailed, match="hook broke"):
        await built(Breaks(BeforeToolsEvent), Gate()).invoke_async("tidy")
    assert (disk.looked, disk.deleted) == ([], [])
    agent = built(Gate())
    paused = await agent.retry_async()
    assert [one.name for one in paused.interrupts] == ["gate"] and disk.looked == ["old/a.txt"]
    done = await agent.invoke_async(responses(paused, "n"))
    assert (done.stop_reason, disk.looked, disk.deleted) == ("end_turn", ["old/a.txt"], [])
    assert [status for _, status, _ in results_of(agent)] == ["success", "error"]


async def test_z52_a_call_that_one_hook_cancelled_is_not_asked_about_by_another() -> None:
    class Cancels:
        def register_hooks(self, registry: HookRegistry) -> None:
            registry.add_callback(BeforeToolCallEvent, self.cancel)

        def cancel(self, event: BeforeToolCallEvent) -> None:
            event.cancel_tool = "Not at night."

    for hooks in ([Cancels(), Gate()], [Gate(), Cancels()]):
        disk = Disk()
        agent = keeper(disk, [[DELETE], "Done."], *hooks)
        done = await agent.invoke_async("tidy")
        assert (done.stop_reason, disk.deleted) == ("end_turn", [])
        assert [status for _, status, _ in results_of(agent)] == ["error"]
