"""A no that is recorded blocks its call, whatever has become of the hook that asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from graphs.agents.agent import Agent
from graphs.agents.hooks import BeforeToolCallEvent
from graphs.agents.sessions import FileSessionManager
from graphs.engine.hooks import HookRegistry
from graphs.engine.ports import Answer
from graphs.engine.runner import GraphRunner
from graphs.engine.statuses import Outcome
from tests.agents.files import DELETE, Disk, Gate, keeper, results_of


class Quiet:
    """The same hook, which now ignores what it is told."""

    def register_hooks(self, registry: HookRegistry) -> None:
        registry.add_callback(BeforeToolCallEvent, lambda event: event.interrupt("gate", {"path": "old/a.txt"}))


@pytest.mark.parametrize("hooks", [[], [Gate("renamed")], [Quiet()]], ids=["removed", "renamed", "deaf"])
@pytest.mark.parametrize("how", ["rejected", "answered"])
async def test_a_recorded_no_blocks_also_without_the_hook_that_asked(tmp_path: Path, hooks: Any, how: str) -> None:
    disk = Disk()
    before = keeper(disk, [DELETE, "Done."], Gate(), session_manager=FileSessionManager("s", tmp_path))
    (one,) = (await before.invoke_async("tidy")).interrupts
    answer = (
        Answer(one.id, Outcome.REJECTED, None, "Keep it.")
        if how == "rejected"
        else Answer(one.id, Outcome.ANSWERED, "n")
    )
    await before.session.checkpointer.answer(before.session.ref, [answer])
    after = keeper(disk, [DELETE, "Done."], *hooks, session_manager=FileSessionManager("s", tmp_path))
    result = await _go_on(after)
    if hooks and isinstance(hooks[0], Quiet) and how == "answered":
        # It is there, heard the answer, and that is all that an answered “n” asks for: what it means is the hook's.
        assert disk.deleted == ["old/a.txt"]
    else:
        assert disk.deleted == [] and result.status == "completed"
        assert results_of(after)[0][1] == "error"


async def _go_on(agent: Agent) -> Any:
    session = agent.session
    return await GraphRunner().graph(session.graph).resume_from(session.checkpointer, session.ref.thread_id).arun()
