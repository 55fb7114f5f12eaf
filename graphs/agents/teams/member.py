"""One member of a team as a node of the team's graph: what it is told, what it leaves for the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from graphs.agents.agent import Agent
from graphs.agents.asked_hooks import asked_before, cancelled_by
from graphs.agents.run import AgentRun
from graphs.engine import canonical, effects
from graphs.engine.answers import TaskEnded
from graphs.engine.context import Context
from graphs.engine.graph import Graph
from graphs.engine.hooks import BeforeNodeCallEvent, HookRegistry
from graphs.engine.messages import Message
from graphs.engine.outputs import Event
from graphs.engine.ports import Json, TaskRecord
from graphs.engine.scopes import Scope
from graphs.engine.state import Channel, StateView
from graphs.engine.statuses import TaskStatus

#: State channels of a team: the prompt, who has run or was stopped, whom the last one handed over to, and with what.
TASK, ORDER, NEXT, HANDOFF = "task", "order", "next", "handoff"
#: Makes a member's prompt of the team's state and what its node was given.
Prompt = Callable[[StateView, str, Json], Json]
#: Says after a member's run what else it writes, by channel.
After = Callable[[AgentRun | None], Mapping[str, Json]]


def result_channel(name: str) -> str:
    """Where a member's newest output is kept."""
    return f"result:{name}"


def messages_channel(name: str) -> str:
    """Where a member's conversation is kept."""
    return f"messages:{name}"


def channels(names: Sequence[str]) -> dict[str, Any]:
    """The state channels of a team with these members. Conversations go on; the rest is of the newest prompt alone."""
    own = {messages_channel(name): Channel("messages", []) for name in names}
    last = {name: Channel(each_turn=True) for name in (TASK, NEXT, HANDOFF, *map(result_channel, names))}
    return {ORDER: Channel("append", [], each_turn=True), **last, **own}


class TeamGraph(Graph):
    """A graph of members: any of them may be the last one, and what that one says is what the team comes to."""

    last_word = True


class Member:
    """An agent, or a team, a graph or a function, under its name in a team. Its hooks are asked before each run."""

    node_kind = "agent"
    rerun_on_resume = True

    def __init__(self, name: str, executor: Any, hooks: HookRegistry, prompt: Prompt, after: After) -> None:
        self.name = name
        self.executor = executor.by_itself(messages_channel(name))[0] if isinstance(executor, Agent) else executor
        self.hooks = hooks
        self.prompt = prompt
        self.after = after
        if isinstance(executor, Agent):
            self.toolbox = executor.toolbox
            self.queue = executor.queue

    async def run_node(self, ctx: Context, value: Any) -> Event:
        """Its output, and what the team's state learns of it; of one that is stopped, that its turn came to it."""
        try:
            return await self._run(ctx, value)
        except TaskEnded as stopped:
            stopped.writes[ORDER] = [self.name]
            raise

    async def _run(self, ctx: Context, value: Any) -> Event:
        await self._ask_hooks(ctx, value)
        prompt = self.prompt(ctx.state, self.name, value)
        run = self.executor.running(ctx) if isinstance(self.executor, Agent) else None
        if run is not None:
            output = await run.run(prompt)
        else:
            output = await ctx.run_node(self.executor, prompt, name=self.name)
        written = {result_channel(self.name): output, ORDER: [self.name], **self.after(run)}
        return Event(output=output, state=written)

    def given_up(self, state: StateView, value: Any, record: TaskRecord, how: str) -> Mapping[str, Json]:
        """What an agent's conversation is written with where its run was given up."""
        if not isinstance(self.executor, Agent):
            return {}
        return self.executor.given_up(state, self.prompt(state, self.name, value), record, how)

    async def _ask_hooks(self, ctx: Context, value: Any) -> None:
        """Let the team's hooks cancel the run; settled once, so that it is not asked about again meanwhile (H27)."""
        prefix = f"{BeforeNodeCallEvent.kind}/"
        if not self.hooks.wants(BeforeNodeCallEvent) and not asked_before(ctx, prefix):
            return

        async def ask() -> dict[str, Json]:
            event = BeforeNodeCallEvent(self.name, canonical.copy(value), ctx)
            event.scope = Scope(ctx, prefix)
            default = f"{self.name} was cancelled."
            return {"cancel": await cancelled_by(self.hooks, event, ctx, lambda: event.cancel_node, default)}

        found = await effects.settle(ctx.scope, "before_member", ask, ordinal=0, harmless=True)
        if found["cancel"]:
            raise TaskEnded(TaskStatus.CANCELLED, found["cancel"])


def text_of(value: Any) -> str:
    """A value as a prompt tells it."""
    if isinstance(value, Mapping) and isinstance(value.get("content"), list):
        return Message(value).text()
    return value if isinstance(value, str) else canonical.dumps(value).decode()
