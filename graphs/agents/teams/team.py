"""What every team can do: be called, be a node, be a tool of an agent, and tell how it stands."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from functools import cached_property
from typing import Any

from graphs.agents.agent import Agent
from graphs.agents.agent_tool import AgentTool
from graphs.agents.results import AgentResult, MultiAgentResult, NodeResult, Status
from graphs.agents.sessions import AgentInput, Session, SessionManager
from graphs.agents.teams.member import ORDER, messages_channel, result_channel
from graphs.agents.telling import heard
from graphs.agents.tools import Tool
from graphs.engine import messages
from graphs.engine.blocking import blocking
from graphs.engine.cells import channel, spell
from graphs.engine.context import Context
from graphs.engine.graph import CompiledGraph
from graphs.engine.journal import open_questions
from graphs.engine.ports import Snapshot, TaskKey, TaskResult
from graphs.engine.results import GraphRunResult
from graphs.engine.statuses import TaskStatus

_ENDED = {
    TaskStatus.FINISHED: Status.COMPLETED,
    TaskStatus.CANCELLED: Status.CANCELLED,
    TaskStatus.REJECTED: Status.REJECTED,
    TaskStatus.FAILED: Status.FAILED,
}
_STOPPED = (Status.CANCELLED, Status.REJECTED)
_REASONS = {Status.COMPLETED: "end_turn", Status.INTERRUPTED: "interrupt"}


class Team:
    """Members that work on one prompt, as a graph of their own; `members` are what it runs, by name."""

    node_kind = "team"
    rerun_on_resume = True

    def __init__(
        self, graph: CompiledGraph, members: Mapping[str, Any], session_manager: SessionManager | None = None
    ) -> None:
        self.graph = graph
        self.name = graph.id
        self.members = dict(members)
        self._session_manager = session_manager

    async def run_node(self, ctx: Context, value: Any) -> Any:
        """Run as a part of another graph: its questions are that graph's, with the whole path (H35)."""
        return await ctx.run_node(self.graph, value, name=self.name)

    def as_tool(self, *, name: str = "", description: str = "") -> Tool:
        """The team as a tool of an agent."""
        return AgentTool(self, name or self.name, description or f"Ask the team {self.name}.")

    def __call__(self, given: AgentInput = None, **invocation_state: Any) -> MultiAgentResult:
        """`invoke_async` for code without an event loop."""
        return blocking(self.invoke_async(given, **invocation_state))

    async def invoke_async(self, given: AgentInput = None, **invocation_state: Any) -> MultiAgentResult:
        """Bring a prompt, or responses to what its members asked, and return how far that led.

        Raises `ThreadBusy`, `AnswerMismatch`, `AnswerInvalid` and `InputMismatch` where nothing was done; what failed
        is in the result, and `retry_async` goes on from there.
        """
        return await self._result(await self.session.send(given, invocation_state=invocation_state))

    async def stream_async(self, given: AgentInput = None, **invocation_state: Any) -> AsyncIterator[Mapping[str, Any]]:
        """The same, told as it goes on, each thing with its `node_id`; at the end `{"result": MultiAgentResult}`."""
        async with aclosing(heard(self.session, given, invocation_state, self._result)) as things:
            async for event, told in things:
                yield told if "result" in told else {**told, "node_id": event.get("node_id", "")}

    async def retry_async(self) -> MultiAgentResult:
        """Go on where a member failed, or where a call was cut off."""
        return await self._result(await self.session.retry())

    def retry(self) -> MultiAgentResult:
        """`retry_async` for code without an event loop."""
        return blocking(self.retry_async())

    @cached_property
    def session(self) -> Session:
        """The conversation that it is called in."""
        return Session(self.graph, self._session_manager, who="team")

    # How it stands

    async def _result(self, result: GraphRunResult) -> MultiAgentResult:
        snapshot = await self.session.snapshot()
        assert snapshot is not None
        order: list[str] = _value(snapshot, ORDER) or []
        results = await self._node_results(snapshot, order)
        ran = [*order, *(name for name, one in results.items() if name not in order and _has_run(one))]
        finished = [name for name in order if name not in results or results[name].status not in _STOPPED]
        return MultiAgentResult(
            Status.of(result.status),
            results,
            result.interrupts,
            tuple(ran),
            _value(snapshot, result_channel(finished[-1])) if finished else result.output,
            result.error,
            result.thread_id,
        )

    async def _node_results(self, snapshot: Snapshot, order: Sequence[str]) -> dict[str, NodeResult]:
        visits = {name: snapshot.cells.get(f"visit:{name}") for name in self.members}
        keys = [TaskKey(name, found[0]) for name, found in visits.items() if found]
        ended = await self.session.checkpointer.results(snapshot.ref, keys)
        found = {}
        for key in keys:
            asked = open_questions(snapshot.tasks[key]) if key in snapshot.tasks else []
            task = ended.get(key)
            # What an earlier turn left is none of this one: who ran is in the order, who failed in it still stands.
            if asked or (task is not None and (key.path in order or f"task:{spell(key)}" in snapshot.cells)):
                found[key.path] = self._node_result(snapshot, key.path, task, asked)
        return found

    def _node_result(self, snapshot: Snapshot, name: str, task: TaskResult | None, asked: Sequence[Any]) -> NodeResult:
        status = _ENDED[task.status] if task is not None and not asked else Status.INTERRUPTED
        told = AgentResult(
            _REASONS.get(status, str(status)),
            self._message(snapshot, name, task),
            tuple(asked),
            usage=dict(task.usage) if task is not None else {},
            error=task.error if task is not None else None,
            thread_id=snapshot.ref.thread_id,
        )
        return NodeResult(told, status, task.seconds if task is not None else 0.0)

    def _message(self, snapshot: Snapshot, name: str, task: TaskResult | None) -> dict[str, Any]:
        """The newest message of a member; the text it was cancelled with where it was (H41)."""
        said = messages.read(_value(snapshot, messages_channel(name)))
        own = [one for one in said if one.role == "assistant"]
        if own and isinstance(self.members[name], Agent) and (task is None or task.status is TaskStatus.FINISHED):
            return dict(own[-1])
        output = "" if task is None or task.output is None else task.output
        block = {"text": output} if isinstance(output, str) else {"json": output}
        return {"role": "assistant", "content": [block]}


def _value(snapshot: Snapshot, name: str) -> Any:
    return snapshot.cells.get(channel("", name))


def _has_run(one: NodeResult) -> bool:
    return one.status is not Status.INTERRUPTED
