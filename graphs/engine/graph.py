"""Defining a graph, and what is checked and computed when it is compiled."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

from graphs.engine import canonical, refusals, shapes, state
from graphs.engine.binding import Binder
from graphs.engine.context import Context
from graphs.engine.effects import MODES
from graphs.engine.errors import DefinitionError
from graphs.engine.functions import FunctionNode
from graphs.engine.invocation.invocable import Invocable
from graphs.engine.policies import ONCE, NodeRetryPolicy
from graphs.engine.ports import Checkpointer

PAUSES = frozenset({"superstep", "quiescent"})


@runtime_checkable
class NodeBody(Protocol):
    """Something other than a function that can be a node, such as an agent."""

    node_kind: str
    rerun_on_resume: bool

    async def run_node(self, ctx: Context, value: Any) -> Any:
        """Its output for this input; effects go through the task's journal."""
        ...


@dataclass(frozen=True, slots=True)
class Budgets:
    """What one activation may use; `lifetime_*` count over the whole thread. None: no bound; seconds are wall time."""

    supersteps: int | None = 10_000
    tokens: int | None = None
    seconds: float | None = None
    lifetime_supersteps: int | None = None
    lifetime_tokens: int | None = None
    lifetime_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Edge:
    """A way from one node to another: always, `when` something holds, or as the `default` where nothing else does."""

    source: str
    target: str
    when: Any = None
    default: bool = False
    label: str = ""
    arity: int = 0

    @property
    def conditional(self) -> bool:
        """True where the edge is not taken every time."""
        return self.when is not None or self.default


#: How a node with several incoming edges fires. `merge` (the default) and `all` wait for every branch that can still
#: reach it; its input is {source: output}, except that under `merge` a lone arrival comes as it is, since of two ways
#: that exclude each other only one ever arrives. `any` fires at once with what has arrived, and again for each later
#: arrival.
JOINS = ("merge", "all", "any")


@dataclass(frozen=True, slots=True)
class Node:
    """One node: what it runs and how."""

    id: str
    body: Any
    kind: str
    order: int
    retry: NodeRetryPolicy = ONCE
    timeout: float | None = None
    on_error: Binder | None = None
    join: str = "merge"
    crash: str = "idempotent"
    label: str = ""
    rerun_on_resume: bool = False
    binder: Binder | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """A node where it lies in the whole graph: `path` is `outer/inner`, `rank` sorts by node order, level by level."""

    path: str
    graph: CompiledGraph
    node: Node
    rank: tuple[int, ...]
    graph_path: tuple[str, ...]
    signature: str
    gated_before: bool
    gated_after: bool


class Graph(Invocable):
    """Builds a graph. `Graph.new("id").node(...).edge(...).entry(...).terminal(...).compile()`.

    `title` and `description` are shown to people; `input_schema` (JSON Schema, Pydantic model or type) makes the form
    that starts a thread, and what is entered is checked against it; of several registered graphs of one id the highest
    `version` takes new threads, and threads of the others go on with theirs; `queue` is the team of questions that name
    none; `pause` is `superstep` (stop once a question has opened) or `quiescent` (let other branches run on first);
    `state` names the reducers of state channels; `budgets` bound what one thread may use. Raises `DefinitionError`.
    """

    #: Whether two terminals that both put out are a mistake (W45), and whether one that leads on puts nothing out.
    single_output = last_word = False

    def __init__(
        self,
        id: str,
        *,
        title: str = "",
        description: str = "",
        input_schema: Any = None,
        version: str = "1",
        queue: str = "",
        pause: str = "superstep",
        state: Mapping[str, Any] | None = None,
        budgets: Budgets | None = None,
    ) -> None:
        self.id = refusals.plain_id(id, "graph")
        self.title = title or id
        self.description = description
        self.input_schema = input_schema
        self.version = version
        self.queue = queue
        self.pause = pause
        self.state = state
        self.budgets = budgets or Budgets()
        refusals.given(self.id, "budgets", self.budgets, Budgets, "graphs.Budgets(supersteps=…)")
        refusals.given(self.id, "state", state or {}, Mapping, "a mapping from channels to reducers")
        self._nodes: dict[str, Node] = {}
        self._edges: list[Edge] = []
        self._entries: list[str] = []
        self._terminals: list[str] = []

    @classmethod
    def new(cls, id: str, **options: Any) -> Graph:
        """A new, empty graph. Options, as for `Graph(...)`, which says what each means: `title`, `description`,
        `input_schema`, `version`, `queue`, `pause`, `state`, `budgets`."""
        return cls(id, **options)

    def node(
        self,
        id: str,
        body: Any,
        *,
        retry: NodeRetryPolicy | None = None,
        timeout: float | None = None,
        on_error: Callable[..., Any] | None = None,
        join: str = "merge",
        crash: str = "idempotent",
        label: str = "",
        rerun_on_resume: bool | None = None,
    ) -> Graph:
        """Add a node: a function, a graph or an agent. `timeout` is in seconds an attempt; `join` is one of JOINS;
        `crash` is idempotent, pure or at_most_once; `rerun_on_resume` says whether an answered `RequestInput` runs it
        again."""
        refusals.plain_id(id, "node")
        if isinstance(body, FunctionNode):
            given = {"retry": retry, "timeout": timeout, "on_error": on_error, "rerun_on_resume": rerun_on_resume}
            named = {"join": join, "crash": crash, "label": label}
            plain = {"join": "merge", "crash": "idempotent", "label": ""}
            told = {name: value for name, value in {**given, **named}.items() if value not in (None, plain.get(name))}
            return self.node(id, body.func, **{**body.options, **told})
        if id in self._nodes:
            raise DefinitionError(
                f"node {id!r} is defined twice, as {self._nodes[id].body!r} and as {body!r}; give one another id"
            )
        if isinstance(body, Graph):
            body = body.compile()
        kind = _kind(id, body)
        if kind == "graph" and (retry or timeout is not None or on_error or crash != "idempotent"):
            raise DefinitionError(f"node {id!r} is a graph: put retry, timeout, on_error and crash on its own nodes")
        if join not in JOINS:
            raise DefinitionError(f"node {id!r}: join is one of {', '.join(JOINS)}, not {join!r}")
        if crash not in MODES:
            raise DefinitionError(f"node {id!r}: crash is one of {', '.join(sorted(MODES))}, not {crash!r}")
        refusals.options(id, retry, timeout, on_error)
        rerun = rerun_on_resume if rerun_on_resume is not None else bool(getattr(body, "rerun_on_resume", False))
        self._nodes[id] = Node(
            id,
            body,
            kind,
            len(self._nodes),
            retry or ONCE,
            timeout,
            None if on_error is None else Binder(on_error, id),
            join,
            crash,
            label or id,
            rerun,
            Binder(body, id) if kind == "node" else None,
        )
        return self

    def edge(self, source: str, target: str, *, when: Any = None, default: bool = False, label: str = "") -> Graph:
        """Add an edge. `when` is a predicate of (output, state, context), as many as it takes, or a route value."""
        if when is not None and default:
            raise DefinitionError(f"edge {source} → {target}: either when or default")
        if when is not None and not callable(when) and not isinstance(when, (str, int)):
            raise DefinitionError(f"edge {source} → {target}: when is a function, text, a whole number or a boolean")
        arity = refusals.arity(when, f"edge {source} → {target}") if callable(when) else 0
        self._edges.append(Edge(source, target, when, default, label, arity))
        return self

    def entry(self, id: str) -> Graph:
        """Start the graph at this node; several entries start together."""
        self._entries.append(id)
        return self

    def terminal(self, id: str) -> Graph:
        """Make this node's output an output of the graph."""
        self._terminals.append(id)
        return self

    def compile(
        self,
        checkpointer: Checkpointer | None = None,
        interrupt_before: Sequence[str] = (),
        interrupt_after: Sequence[str] = (),
    ) -> CompiledGraph:
        """The checked, immutable graph. Raises `DefinitionError` naming the node or edge that is wrong."""
        for what, names in (("interrupt_before", interrupt_before), ("interrupt_after", interrupt_after)):
            if isinstance(names, str):
                raise DefinitionError(f"{what} is a list of node ids, [{names!r}], not text")
        return CompiledGraph(self, checkpointer, tuple(interrupt_before), tuple(interrupt_after))


class CompiledGraph(Invocable):
    """An immutable definition with a fingerprint; what threads are pinned to."""

    def __init__(
        self, built: Graph, checkpointer: Checkpointer | None, before: tuple[str, ...], after: tuple[str, ...]
    ) -> None:
        self.id, self.title, self.description = built.id, built.title, built.description
        self.version, self.queue, self.pause = built.version, built.queue, built.pause
        self.budgets = built.budgets
        self.single_output, self.last_word = built.single_output, built.last_word
        self.checkpointer = checkpointer
        self.input_schema = refusals.schema(built.id, built.input_schema)
        self.channels = state.channels(built.state)
        self.nodes: dict[str, Node] = dict(built._nodes)
        self.edges: tuple[Edge, ...] = tuple(built._edges)
        self.entries: tuple[str, ...] = tuple(dict.fromkeys(built._entries)) or self._only_entry()
        self.terminals: tuple[str, ...] = tuple(dict.fromkeys(built._terminals)) or self._sinks()
        self.interrupt_before, self.interrupt_after = frozenset(before), frozenset(after)
        self._check()
        self.outgoing = self._grouped()
        self.sources = self._sources()
        self.fingerprint = canonical.digest(self._structure())
        self.places = self._places()

    def shape(self) -> dict[str, list[dict[str, Any]]]:
        """The graph as data for pictures and lists: nodes and edges, nested graphs by path."""
        return shapes.draw(self)

    def mermaid(self) -> str:
        """The graph as Mermaid flowchart text (`graphs.mermaid`)."""
        from graphs.engine.inspection import diagrams  # reads graphs, so it is above this file

        return diagrams.mermaid(self)

    def rank(self, path: str) -> tuple[int, ...]:
        """The sort key of a task path: node order, outer levels first."""
        place = self.places.get(path)
        return place.rank if place is not None else (len(self.nodes),)

    @cached_property
    def reach(self) -> dict[str, int]:
        """For each node the nodes that it can still lead to, as a bit mask by node order; what joins wait by."""
        found = {id: sum(1 << self.nodes[one.target].order for one in edges) for id, edges in self._by_source().items()}
        changed = True
        while changed:
            changed = False
            for id in reversed(self.nodes):
                mask = found[id]
                for one in self.outgoing[id]:
                    mask |= found[one.target]
                changed, found[id] = changed or mask != found[id], mask
        return found

    def _by_source(self) -> dict[str, list[Edge]]:
        return {id: list({one.target: one for one in self.outgoing[id]}.values()) for id in self.nodes}

    def _only_entry(self) -> tuple[str, ...]:
        targets = {one.target for one in self.edges}
        free = [id for id in self.nodes if id not in targets]
        return tuple(free) if len(free) == 1 else ()

    def _sinks(self) -> tuple[str, ...]:
        sources = {one.source for one in self.edges}
        return tuple(id for id in self.nodes if id not in sources)

    def _grouped(self) -> dict[str, tuple[Edge, ...]]:
        grouped: dict[str, list[Edge]] = {id: [] for id in self.nodes}
        for one in self.edges:
            grouped[one.source].append(one)
        return {id: tuple(edges) for id, edges in grouped.items()}

    def _sources(self) -> dict[str, tuple[str, ...]]:
        found: dict[str, dict[str, None]] = {id: {} for id in self.nodes}
        for id in self.nodes:
            for one in self.outgoing[id]:
                found[one.target][id] = None
        return {id: tuple(sources) for id, sources in found.items()}

    def _check(self) -> None:
        if not self.nodes:
            raise DefinitionError(f"graph {self.id!r} has no nodes")
        if self.pause not in PAUSES:
            raise DefinitionError(f"graph {self.id!r}: pause is 'superstep' or 'quiescent', not {self.pause!r}")
        named = [("entry", id) for id in self.entries] + [("terminal", id) for id in self.terminals]
        named += [("interrupt_before", id) for id in sorted(self.interrupt_before)]
        named += [("interrupt_after", id) for id in sorted(self.interrupt_after)]
        named += [(f"edge {one.source} → {one.target}", id) for one in self.edges for id in (one.source, one.target)]
        for what, id in named:
            if id not in self.nodes:
                raise DefinitionError(
                    f"{what} names the unknown node {id!r} of graph {self.id!r}{refusals.meant(id, self.nodes)}"
                )
        if not self.entries:
            raise DefinitionError(f"graph {self.id!r} has no entry; name one with .entry(...)")
        if not self.terminals:
            raise DefinitionError(f"graph {self.id!r} has no terminal; name one with .terminal(...)")
        self._check_reachable()

    def _check_reachable(self) -> None:
        grouped = self._grouped()
        seen = set(self.entries)
        todo = list(self.entries)
        while todo:
            for one in grouped[todo.pop()]:
                if one.target not in seen:
                    seen.add(one.target)
                    todo.append(one.target)
        for id in self.nodes:
            if id not in seen:
                raise DefinitionError(f"node {id!r} of graph {self.id!r} cannot be reached from an entry")
        if not seen & set(self.terminals):
            raise DefinitionError(f"no terminal of graph {self.id!r} can be reached")

    def _structure(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "pause": self.pause,
            "input": self.input_schema,
            "channels": {name: one.reducer for name, one in self.channels.items()},
            "nodes": [
                [id, self.signature(id), getattr(node.body, "fingerprint", "")] for id, node in self.nodes.items()
            ],
            "edges": [[one.source, one.target, *_condition(one)] for one in self.edges],
            "entries": list(self.entries),
            "terminals": list(self.terminals),
            "before": sorted(self.interrupt_before),
            "after": sorted(self.interrupt_after),
        }

    def signature(self, id: str) -> str:
        """Eight digits that change where a finished or waiting task of this node could not go on (R8)."""
        node = self.nodes[id]
        what = [node.kind, node.join, node.crash, node.rerun_on_resume, list(self.sources[id])]
        return canonical.digest(what)[:8]

    def _places(self, prefix: str = "", rank: tuple[int, ...] = (), above: tuple[str, ...] = ()) -> dict[str, Place]:
        found: dict[str, Place] = {}
        graph_path = (*above, self.id)
        for node in self.nodes.values():
            path, at = f"{prefix}{node.id}", (*rank, node.order)
            if len(path) > canonical.MAX_PATH:
                raise DefinitionError(f"node {path!r} lies under more than {canonical.MAX_PATH} characters of ids")
            gates = (node.id in self.interrupt_before, node.id in self.interrupt_after)
            found[path] = Place(path, self, node, at, graph_path, self.signature(node.id), *gates)
            if node.kind == "graph":
                found.update(node.body._places(f"{path}/", at, graph_path))
        return found


def _condition(edge: Edge) -> list[Any]:
    if edge.when is None:
        return ["default" if edge.default else "always"]
    return ["predicate"] if callable(edge.when) else ["route", type(edge.when).__name__, edge.when]


def _kind(id: str, body: Any) -> str:
    if isinstance(body, CompiledGraph):
        return "graph"
    if isinstance(body, NodeBody):
        return body.node_kind
    if callable(body) and not isinstance(body, type):
        return "node"
    raise DefinitionError(f"node {id!r}: {body!r} is no function, graph or agent{refusals.way_to_a_body(body)}")
