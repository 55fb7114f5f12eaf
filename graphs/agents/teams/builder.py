"""A graph of agents: who comes after whom is said by edges, some of them under a condition (H30 to H34)."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from graphs.agents.results import AgentResult, NodeResult, Status
from graphs.agents.run import AgentRun
from graphs.agents.sessions import SessionManager
from graphs.agents.teams.member import (
    ORDER,
    TASK,
    Member,
    TeamGraph,
    channels,
    messages_channel,
    result_channel,
    text_of,
)
from graphs.agents.teams.team import Team
from graphs.engine import messages
from graphs.engine.errors import DefinitionError
from graphs.engine.functions import name_of
from graphs.engine.graph import Budgets, Graph
from graphs.engine.hooks import HookRegistry
from graphs.engine.messages import Message
from graphs.engine.ports import Json
from graphs.engine.state import StateView
from graphs.engine.workflow import MESSAGE

Condition = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class TeamState:
    """What a condition decides by: the prompt, the results by node so far, in which order they came, and what the run's
    caller gave beside the prompt, as it is stored with the thread (H34, Z58)."""

    task: Json
    results: Mapping[str, NodeResult]
    execution_order: Sequence[str] = ()
    invocation_state: Mapping[str, Any] = field(default_factory=dict)


class GraphBuilder:
    """Builds a team from nodes and edges: `add_node`, `add_edge`, `set_entry_point`, then `build()`."""

    def __init__(self, name: str = "graph") -> None:
        self.name = name
        self._nodes: dict[str, Any] = {}
        self._edges: list[tuple[str, str, Condition | None]] = []
        self._entries: list[str] = []
        self._hooks: tuple[Any, ...] = ()
        self._manager: SessionManager | None = None
        self._most: int | None = None

    def add_node(self, executor: Any, node_id: str | None = None) -> GraphBuilder:
        """Add an agent, a team, a graph or a function under an id, its own name where that is left out."""
        id = node_id or str(getattr(executor, "name", "") or name_of(executor))
        if id in self._nodes:
            raise DefinitionError(f"node {id!r} is added twice; give one of them another node_id")
        self._nodes[id] = executor
        return self

    def add_edge(self, source: str, target: str, condition: Condition | None = None) -> GraphBuilder:
        """Let `target` run after `source`, where given only if `condition(state)` is true (`TeamState`). Decided once,
        when the source finishes. A node of several edges runs once, when all that still come have come."""
        for id in (source, target):
            if id not in self._nodes:
                raise DefinitionError(f"edge {source} → {target}: there is no node {id!r}; add it first")
        self._edges.append((source, target, condition))
        return self

    def set_entry_point(self, node_id: str) -> GraphBuilder:
        """Let the team begin with this node; several entries begin together."""
        self._entries.append(node_id)
        return self

    def set_hook_providers(self, hooks: Sequence[Any]) -> GraphBuilder:
        """Ask these hooks before each run of a node (`BeforeNodeCallEvent`)."""
        self._hooks = tuple(hooks)
        return self

    def set_session_manager(self, manager: SessionManager) -> GraphBuilder:
        """Keep the team's conversation there."""
        self._manager = manager
        return self

    def set_max_node_executions(self, most: int) -> GraphBuilder:
        """Stop with `budget_exceeded` after so many supersteps of one prompt; loops are bounded by it."""
        self._most = most
        return self

    def build(self) -> Team:
        """The team. Raises `DefinitionError` for a graph without nodes or entry."""
        if not self._nodes:
            raise DefinitionError(f"graph {self.name!r} has no nodes; add one with add_node(agent, 'id')")
        entries = self._entries or self._sources()
        if not entries:
            raise DefinitionError(f"graph {self.name!r} has no entry; name one with set_entry_point('id')")
        return Team(self._graph(entries).compile(), self._nodes, self._manager)

    def _sources(self) -> list[str]:
        targets = {target for _, target, _ in self._edges}
        return [id for id in self._nodes if id not in targets]

    def _graph(self, entries: Sequence[str]) -> Graph:
        budgets = Budgets() if self._most is None else Budgets(supersteps=self._most)
        built = TeamGraph(self.name, state=channels(list(self._nodes)), budgets=budgets, input_schema=MESSAGE)
        hooks = HookRegistry(self._hooks)
        before = {id: [source for source, target, _ in self._edges if target == id] for id in self._nodes}
        for id, executor in self._nodes.items():
            built.node(id, Member(id, executor, hooks, _prompting(before[id], id in entries), _nothing))
        for source, target, condition in self._edges:
            built.edge(source, target, when=None if condition is None else self._predicate(condition))
        leading = {source for source, _, condition in self._edges if condition is None}
        for id in self._nodes:
            if id not in leading:
                built.terminal(id)
        for id in entries:
            built.entry(id)
        return built

    def _predicate(self, condition: Condition) -> Callable[[Any, StateView, Mapping[str, Any]], bool]:
        takes = inspect.signature(condition).parameters
        names = list(self._nodes)

        def holds(output: Any, state: StateView, context: Mapping[str, Any]) -> bool:
            seen = _state(names, state, context)
            more = {"invocation_state": context} if "invocation_state" in takes else {}
            return bool(condition(seen, **more))

        return holds


def _state(names: Sequence[str], state: StateView, context: Mapping[str, Any]) -> TeamState:
    order = list(state.get(ORDER) or [])
    results = {name: _result(name, state) for name in names if name in order}
    return TeamState(state.get(TASK), results, order, context)


def _result(name: str, state: StateView) -> NodeResult:
    output = state.get(result_channel(name))
    said = [one for one in messages.read(state.get(messages_channel(name))) if one.role == "assistant"]
    message = said[-1] if said else Message.text_message(text_of(output), "assistant")
    return NodeResult(AgentResult("end_turn", dict(message), structured_output=output), Status.COMPLETED)


def _prompting(sources: Sequence[str], entry: bool) -> Callable[[StateView, str, Json], Json]:
    def prompt(state: StateView, name: str, value: Json) -> Json:
        given = [one for one in sources if one in (state.get(ORDER) or [])]
        if not given:
            if entry:
                state[TASK] = value
            return value
        parts = [f"The task: {text_of(state.get(TASK))}"]
        parts += [f"{one} gave:\n{text_of(state.get(result_channel(one)))}" for one in given]
        return "\n\n".join(parts)

    return prompt


def _nothing(run: AgentRun | None) -> Mapping[str, Json]:
    return {}
