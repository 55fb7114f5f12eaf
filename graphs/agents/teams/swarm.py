"""A swarm: agents that hand the work over to each other, one at a time (H27 to H29)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphs.agents.agent import Agent
from graphs.agents.run import AgentRun
from graphs.agents.sessions import SessionManager
from graphs.agents.teams.member import HANDOFF, NEXT, ORDER, TASK, Member, TeamGraph, channels, result_channel, text_of
from graphs.agents.teams.team import Team
from graphs.agents.tool_context import ToolContext
from graphs.agents.tools import Tool
from graphs.engine.errors import DefinitionError
from graphs.engine.graph import CompiledGraph
from graphs.engine.hooks import HookRegistry
from graphs.engine.messages import Message
from graphs.engine.ports import Json
from graphs.engine.state import StateView
from graphs.engine.workflow import MESSAGE

#: The tool by which a member hands over.
HAND_OVER = "handoff_to_agent"


class Swarm(Team):
    """Agents that work on one prompt in turn. Each has a tool to hand over to another by name; the swarm ends with the
    first one that does not.

    The first of `nodes` begins, or `entry_point` (an agent or its name). `hooks` are asked before each run of a member.
    A member that would be the one after `max_handoffs` is not handed to any more: the model is told to finish itself.
    Raises `DefinitionError`.
    """

    def __init__(
        self,
        nodes: Sequence[Agent],
        *,
        hooks: Sequence[Any] = (),
        session_manager: SessionManager | None = None,
        entry_point: Agent | str | None = None,
        max_handoffs: int = 20,
        name: str = "swarm",
        **options: Any,
    ) -> None:
        members = _named(nodes)
        first = entry_point.name if isinstance(entry_point, Agent) else entry_point or next(iter(members))
        if first not in members:
            raise DefinitionError(f"the swarm has no member {first!r} to begin with; it has {', '.join(members)}")
        self.max_handoffs = max_handoffs
        graph = self._graph(name, members, first, HookRegistry(tuple(hooks)), options)
        super().__init__(graph, members, session_manager)

    def _graph(
        self, name: str, members: dict[str, Agent], first: str, hooks: HookRegistry, options: dict[str, Any]
    ) -> CompiledGraph:
        built = TeamGraph(name, state=channels(list(members)), **{"input_schema": MESSAGE, **options})
        for one, agent in members.items():
            built.node(one, Member(one, _with_handover(agent, members, self.max_handoffs), hooks, _prompt, _after))
            built.terminal(one)
        for source in members:
            for target in members:
                if source != target:
                    built.edge(source, target, when=_leads_to(target), label="hands over")
        return built.entry(first).compile()


def _named(nodes: Sequence[Agent]) -> dict[str, Agent]:
    if not nodes or not all(isinstance(one, Agent) for one in nodes):
        raise DefinitionError("a swarm is a list of one or more agents")
    found = {one.name: one for one in nodes}
    if len(found) < len(nodes):
        raise DefinitionError(f"two members of the swarm have one name, of {', '.join(one.name for one in nodes)}")
    return found


def _leads_to(target: str) -> Any:
    def taken(output: Any, state: StateView) -> bool:
        return state.get(NEXT) == target

    return taken


def _with_handover(agent: Agent, members: dict[str, Agent], most: int) -> Agent:
    """The same agent with the tool to hand over. The agent itself is left as its author made it."""
    others = {name: one for name, one in members.items() if name != agent.name}
    return agent.with_tools([_handover(agent.name, others, most)]) if others else agent


def _handover(name: str, others: dict[str, Agent], most: int) -> Tool:
    told = "; ".join(
        f"{one}: {agent.description or agent.system_prompt or 'an agent'}" for one, agent in others.items()
    )

    async def handoff_to_agent(
        tool_context: ToolContext, agent_name: str, message: str, context: dict[str, Any] | None = None
    ) -> str:
        run: Any = tool_context.agent
        task = tool_context.context
        assert task is not None
        if agent_name not in others:
            raise ValueError(f"there is no agent {agent_name!r} to hand over to; there are {', '.join(others)}")
        if handed(run) is not None or run.handing:
            raise ValueError(f"the work was handed over already; only one agent can go on with what {name} did")
        if len(task.state.get(ORDER) or []) >= most:
            raise ValueError(f"this team has handed over {most} times; finish the work yourself")
        run.handing = agent_name
        return f"{agent_name} goes on when you have finished."

    described = f"Hand the work over to another agent when it is better placed to go on. The agents are: {told}"
    return Tool(handoff_to_agent, name=HAND_OVER, description=described, context=True)


def handed(run: AgentRun) -> dict[str, Json] | None:
    """The first handover that a run has made since its prompt, or None: its agent, message and context.

    Read from the journal, by the place of each call: a model may repeat the ids of its calls, a reviewer may have
    changed what they were called with, and a pass that fired again finds what the one before it did.
    """
    replies = [one for one in run.messages[run.known :] if one.role == "assistant"]
    for turn, reply in enumerate(replies):
        for index, call in enumerate(reply.tool_calls):
            if call["name"] == HAND_OVER and (given := _made(run, f"tool:{turn}.{index}", call["input"])) is not None:
                return {"from": run.name, **given}
    return None


def _made(run: AgentRun, place: str, proposed: Json) -> Json | None:
    """What a call was made with that succeeded; what hooks made of its result counts."""
    call, after = (run.ctx.journal.effect(f"{place}/{one}", 0) for one in ("call", "after"))
    if call is None or call.state != "done":
        return None
    settled = call.value if isinstance(call.value, dict) else {}
    told = after.value["result"] if after is not None and after.state == "done" else settled
    return settled.get("arguments", proposed) if told.get("status", "success") == "success" else None


def _after(run: AgentRun | None) -> dict[str, Json]:
    found = handed(run) if run is not None else None
    return {NEXT: found["agent_name"] if found else "", HANDOFF: found}


def _prompt(state: StateView, name: str, value: Json) -> Json:
    """The prompt itself for who begins; for the others what was handed over, the prompt, and what was done so far."""
    handoff = state.get(HANDOFF)
    if state.get(NEXT) != name or not isinstance(handoff, dict):
        state[TASK] = value
        return value
    parts = [f"{handoff['from']} hands over to you: {handoff['message']}", f"The task: {text_of(state.get(TASK))}"]
    done = [f"- {one}: {text_of(state.get(result_channel(one)))}" for one in dict.fromkeys(state.get(ORDER) or [])]
    parts.append("Done so far:\n" + "\n".join(done))
    if handoff.get("context"):
        parts.append(f"What {handoff['from']} knows: {text_of(handoff['context'])}")
    return Message.text_message("\n\n".join(parts))
