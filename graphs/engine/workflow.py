"""Workflows: graphs written as a list of edges, whose nodes are the functions, agents and graphs themselves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final
from weakref import WeakKeyDictionary

from graphs.engine.bodies import own_graph
from graphs.engine.errors import DefinitionError
from graphs.engine.functions import FunctionNode, name_of, warn_of_unread_answers
from graphs.engine.graph import Budgets, CompiledGraph, Graph, NodeBody
from graphs.engine.ports import Checkpointer


class _Mark:
    """A name in edge lists that is no node."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return self._name


#: Where a workflow begins: the first element of its first chains.
START: Final = _Mark("START")
#: The key of a route dict that holds where nothing else matches (W18).
DEFAULT_ROUTE: Final = _Mark("DEFAULT_ROUTE")


class Workflow(Graph):
    """A graph by its edges: `Workflow(name="review", edges=[(START, draft, review), (review, {"rejected": draft})])`.

    Each element of `edges` is a chain: START, nodes, `(b, c)` for several side by side, and `{route: node or list of
    nodes}` after a node that gives a route; routes are text, whole numbers, booleans or `DEFAULT_ROUTE`. A node after
    `(b, c)` is their join: it waits for all of them that can still come and gets `{"b": …, "c": …}` (W27). A node is a
    function, a `FunctionNode`, an agent, a graph or another workflow, and named as that is.

    Independent branches run on while one waits (`pause="quiescent"`). Only one terminal may put something out: two that
    both do are refused here where the edges show it, else the thread fails as `misconfigured` (W45).
    Raises `DefinitionError` naming node and edge; warns `AnswersUnread` (W09).
    """

    single_output = True

    def __init__(
        self,
        name: str,
        edges: Sequence[Sequence[Any]],
        *,
        title: str = "",
        description: str = "",
        input_schema: Any = None,
        version: str = "1",
        queue: str = "",
        pause: str = "quiescent",
        state: Mapping[str, Any] | None = None,
        budgets: Budgets | None = None,
    ) -> None:
        super().__init__(
            name,
            title=title,
            description=description,
            input_schema=input_schema,
            version=version,
            queue=queue,
            pause=pause,
            state=state,
            budgets=budgets,
        )
        self._compiled: CompiledGraph | None = None
        self._build(_Edges.read(name, edges))

    @property
    def name(self) -> str:
        """Its id under the name it was given by."""
        return self.id

    def compile(
        self,
        checkpointer: Checkpointer | None = None,
        interrupt_before: Sequence[str] = (),
        interrupt_after: Sequence[str] = (),
    ) -> CompiledGraph:
        """The checked, immutable graph; the same one each time where nothing is asked for beside it."""
        if checkpointer is not None or interrupt_before or interrupt_after:
            return super().compile(checkpointer, interrupt_before, interrupt_after)
        if self._compiled is None:
            self._compiled = super().compile()
        return self._compiled

    def _build(self, read: _Edges) -> None:
        for name, body in read.bodies.items():
            options: dict[str, Any] = {"join": "all"} if name in read.joins else {}
            if isinstance(body, FunctionNode):
                options, body = {**options, **body.options}, body.func
            warn_of_unread_answers(name, body, options.get("rerun_on_resume", False))
            self.node(name, body, **options)
        for source, target, route in read.edges:
            if route is DEFAULT_ROUTE:
                self.edge(source, target, default=True)
            else:
                self.edge(source, target, when=route)
        for name in read.entries:
            self.entry(name)
        _refuse_two_outputs(self.id, read)


@dataclass(slots=True)
class _Edges:
    """An edge list as read: bodies by name, edges with their route (None: always), joins, entries."""

    workflow: str
    bodies: dict[str, Any] = field(default_factory=dict)
    edges: list[tuple[str, str, Any]] = field(default_factory=list)
    joins: set[str] = field(default_factory=set)
    entries: list[str] = field(default_factory=list)

    @classmethod
    def read(cls, workflow: str, chains: Sequence[Sequence[Any]]) -> _Edges:
        read = cls(workflow)
        if not chains:
            raise DefinitionError(f"workflow {workflow!r} has no edges; begin with edges=[(START, first)]")
        for chain in chains:
            read._chain(chain)
        if not read.entries:
            raise DefinitionError(f"workflow {workflow!r} begins nowhere; put START before its first node")
        return read

    def _chain(self, chain: Sequence[Any]) -> None:
        if not isinstance(chain, (tuple, list)) or len(chain) < 2:
            raise DefinitionError(f"workflow {self.workflow!r}: {chain!r} is no chain of two elements or more")
        for left, right in pairwise(chain):
            self._link(left, right, chain)

    def _link(self, left: Any, right: Any, chain: Sequence[Any]) -> None:
        if right is START or (isinstance(left, Mapping) and left is chain[0]):
            raise DefinitionError(
                f"workflow {self.workflow!r}: only START or a node begins a chain, and START only one"
            )
        targets = list(self._targets(right))
        if left is START:
            if any(route is not None for _, route in targets):
                raise DefinitionError(f"workflow {self.workflow!r}: START gives no route, so no dict can follow it")
            self.entries += [name for name, _ in targets if name not in self.entries]
            return
        sources = [name for name, _ in self._targets(left)]
        if len(sources) > 1 and isinstance(left, (tuple, list)):
            self.joins.update(name for name, _ in targets)
        for source in sources:
            for target, route in targets:
                self._edge(source, target, route)

    def _edge(self, source: str, target: str, route: Any) -> None:
        # True == 1 in Python; as routes they are two.
        known = [(one[0], one[1], type(one[2]), one[2]) for one in self.edges]
        if (source, target, type(route), route) not in known:
            self.edges.append((source, target, route))

    def _targets(self, element: Any) -> Iterator[tuple[str, Any]]:
        if isinstance(element, Mapping):
            for route, bodies in element.items():
                self._check_route(route)
                for body in _several(bodies):
                    yield self._named(body), route
        else:
            for body in _several(element):
                yield self._named(body), None

    def _check_route(self, route: Any) -> None:
        if route is not DEFAULT_ROUTE and not isinstance(route, (str, int)):
            raise DefinitionError(
                f"workflow {self.workflow!r}: route {route!r} is none of text, whole number, boolean, DEFAULT_ROUTE"
            )

    def _named(self, body: Any) -> str:
        if isinstance(body, (Mapping, tuple, list, _Mark, type)):
            raise DefinitionError(f"workflow {self.workflow!r}: {body!r} stands where a node is needed")
        if body is None or isinstance(body, str):
            what = "stands where a node is needed; give the function itself"
            raise DefinitionError(f"workflow {self.workflow!r}: {body!r} {what}")
        name = name_of(body)
        known = self.bodies.setdefault(name, body)
        # A bound method is another object each time it is read.
        if known is not body and known != body:
            raise DefinitionError(
                f"workflow {self.workflow!r} has two nodes named {name!r}: {known!r} and {body!r};"
                " name one of them with FunctionNode(func=…, name=…)"
            )
        return name


def _several(element: Any) -> Sequence[Any]:
    return element if isinstance(element, (tuple, list)) else (element,)


def _refuse_two_outputs(workflow: str, read: _Edges) -> None:
    """Refuse terminals that fire together whatever the nodes say: from START, or from one route of one node (W45)."""
    always: dict[str, list[str]] = {name: [] for name in read.bodies}
    routed: dict[tuple[str, type, Any], list[str]] = {}
    for source, target, route in read.edges:
        if route is None:
            always[source].append(target)
        else:
            routed.setdefault((source, type(route), route), []).append(target)
    ends = {name for name in read.bodies if not any(source == name for source, _, _ in read.edges)}
    starts = [read.entries, *(always[source] + targets for (source, _, _), targets in routed.items())]
    for start in starts:
        both = [name for name in read.bodies if name in ends & _following(start, always)]
        if len(both) > 1:
            raise DefinitionError(
                f"workflow {workflow!r} is misconfigured: {' and '.join(map(repr, both))} are ends that both put out;"
                f" join them with (({', '.join(both)}), join)"
            )


def _following(start: Iterable[str], always: Mapping[str, Sequence[str]]) -> set[str]:
    found: set[str] = set()
    todo = list(start)
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            todo.extend(always[name])
    return found


#: What somebody who talks to an agent or a team enters: words.
MESSAGE = {"type": "string", "title": "Message", "format": "textarea", "minLength": 1}
_of_bodies: WeakKeyDictionary[Any, CompiledGraph] = WeakKeyDictionary()


def compiled(root: Any) -> CompiledGraph:
    """What can be run of a graph, a workflow or an agent; of an agent a graph of that one node, named as it is.

    Raises `DefinitionError` for anything else.
    """
    if isinstance(root, CompiledGraph):
        return root
    if isinstance(root, Workflow):
        return root.compile()
    if (own := own_graph(root)) is not None:
        return own
    if not isinstance(root, (Graph, NodeBody)):
        raise DefinitionError(f"{root!r} is no graph, workflow or agent")
    if root not in _of_bodies:
        # Kept, because a graph without a store has its threads beside it (T32).
        _of_bodies[root] = root.compile() if isinstance(root, Graph) else _alone(root)
    return _of_bodies[root]


def _alone(body: NodeBody) -> CompiledGraph:
    """A graph of one node. An agent keeps its conversation there, since no graph around it does (`by_itself`)."""
    name = name_of(body)
    keep = getattr(body, "by_itself", None)
    kept, channels = keep() if keep is not None else (body, {})
    asked = MESSAGE if keep is not None else None
    told = {one: str(getattr(body, one, "") or "") for one in ("title", "description", "queue")} if asked else {}
    built = Graph(name, **{"state": channels, "input_schema": asked, **told, "title": told.get("title") or name})
    return built.node(name, kept).entry(name).terminal(name).compile()
