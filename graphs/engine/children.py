"""Children: functions, agents and graphs that a node runs itself, settled in that node's journal.

A child is one effect of its node; what it settles and asks on the way stands in the same journal, behind its place:

run_node:<name>               the child's output and writes, once it has finished
run_node:<name>.<n>/...       the effects and questions of a function or an agent
run_node:<name>.<n>/task:<path>#<visit>, and behind it `.0/...`   the nodes of a graph, each an effect of its own

A graph is run in memory by the scheduler that threads have, from its start each time; nodes that are settled already
are applied without being run. Its state is its own; a function or an agent sees and writes that of its node.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, cast

from graphs.engine import canonical, effects, superstep
from graphs.engine.answers import TaskEnded
from graphs.engine.bodies import own_graph
from graphs.engine.cells import spell
from graphs.engine.checkpointers import rules
from graphs.engine.context import Context
from graphs.engine.errors import AmbiguousQuestion, BudgetExceeded, ChildFailed, DefinitionError
from graphs.engine.functions import FunctionNode, name_of
from graphs.engine.graph import CompiledGraph, Graph, NodeBody
from graphs.engine.hooks import AfterNodeCallEvent, BeforeNodeCallEvent
from graphs.engine.interrupts import GraphInterrupt, Interrupt
from graphs.engine.journal import CHILD, Journal
from graphs.engine.machine import Active, Frame, Machine
from graphs.engine.passing import Host
from graphs.engine.pool import LentThread, Pool
from graphs.engine.ports import Cells, JournalEntry, Json, TaskRecord
from graphs.engine.scopes import Scope, current_scope, running_scope
from graphs.engine.state import StateView
from graphs.engine.statuses import DONE, TaskStatus, ThreadStatus
from graphs.engine.superstep import Applied, Ran
from graphs.engine.task import TaskRun
from graphs.engine.together import all_ended, errors_of
from graphs.engine.trust import Grant

_ENDS = {ThreadStatus.REJECTED: TaskStatus.REJECTED, ThreadStatus.CANCELLED: TaskStatus.CANCELLED}


async def run_child(parent: Context, child: Any, input: Any, name: str | None, pool: Pool | None = None) -> Any:
    """See `Context.run_node`. `pool` is where synchronous bodies run, the node's own where it is left out."""
    graph, whole = _graph_of(child, name)
    scope = running_scope(parent)
    key, ordinal = scope.place(f"{CHILD}{name or graph.id}")
    if key in parent.children:
        parent.fault = AmbiguousQuestion(
            f"node {parent.node_id!r} runs two children named {name or graph.id!r} at the same time;"
            " give each a name: ctx.run_node(child, input, name=…)"
        )
        raise parent.fault
    run = _Child(parent, graph, whole, canonical.encode(input, "input"), pool)
    running = asyncio.ensure_future(run.settled(scope, key[len(scope.prefix) :], ordinal))
    parent.children[key] = running
    try:
        await asyncio.wait([running])
    except asyncio.CancelledError:
        if not parent.raised:
            running.cancel()
            await asyncio.wait([running])  # a node that gave it a deadline of its own may run it again at once
            _forget(parent, key, running)
        raise
    _forget(parent, key, running)
    given = running.result()
    for channel, value in given["writes"]:
        parent.state.write(channel, value)
    parent.usage.update(given["usage"])
    return given["output"]


def _forget(parent: Context, key: str, running: asyncio.Future[Any]) -> None:
    if parent.children.get(key) is running:
        del parent.children[key]
    if not running.cancelled():
        running.exception()  # seen, so that nobody reports it as never retrieved


def run_child_blocking(parent: Context, child: Any, input: Any, name: str | None) -> Any:
    """See `Context.run_node_sync`."""
    lent = LentThread()
    return lent.serve(run_child(parent, child, input, name, lent), parent.loop)


def _graph_of(child: Any, name: str | None) -> tuple[CompiledGraph, bool]:
    """The child as a graph, and whether it is one by itself; anything else is the only node of one."""
    if name is not None and (not isinstance(name, str) or not name):
        raise DefinitionError(f"run_node(name={name!r}): a name is text that is not empty")
    if (own := own_graph(child)) is not None:
        return own, True
    if isinstance(child, (CompiledGraph, Graph)):
        return (child if isinstance(child, CompiledGraph) else child.compile()), True
    body, options = (child.func, child.options) if isinstance(child, FunctionNode) else (child, {})
    if not callable(body) and not isinstance(body, NodeBody):
        raise DefinitionError(f"run_node({child!r}): a child is a function, an agent, a workflow or a graph")
    called = name or name_of(child)
    return Graph(called).node(called, body, **options).entry(called).terminal(called).compile(), False


class _Child:
    """One child in one pass of its node. `whole` says that it is a graph by itself, with state of its own."""

    def __init__(self, parent: Context, graph: CompiledGraph, whole: bool, input: Json, pool: Pool | None) -> None:
        self.parent = parent
        self.graph = graph
        self.whole = whole
        self.pool = pool
        host = cast(Host, parent.services)
        wanted = host.hooks.wants(BeforeNodeCallEvent) or host.hooks.wants(AfterNodeCallEvent)
        cells = superstep.begin(graph, input, context=parent.context).cells
        self.machine = Machine(graph, cells, lambda place: wanted) if whole else _Shared(graph, cells, parent)
        self.scope = parent.scope
        self.waiting: list[str] = []
        self.usage: Counter[str] = Counter()

    async def settled(self, scope: Scope, key: str, ordinal: int) -> Json:
        """Its output, writes and usage, from the journal where it has finished before."""
        try:
            return await effects.settle(scope, key, self._run, ordinal=ordinal, harmless=True)
        except GraphInterrupt:
            self._pass_on()
            raise

    async def _run(self) -> Json:
        self.scope = current_scope("run_node")
        return await (self._run_graph() if self.whole else self._run_alone())

    async def _run_alone(self) -> Json:
        (task,) = self.machine.tasks.values()
        run = self._pass(task, self.scope.prefix, self.graph.id)
        result = (await self._made(run, task)).result
        if result is None:
            raise self._pause([Ran(task, waiting=tuple(run.journal.open()))])
        if result.status is TaskStatus.FAILED:
            assert run.error is not None
            raise run.error
        if result.status is not TaskStatus.FINISHED:
            raise TaskEnded(result.status, str(result.output or ""))
        return {"output": result.output, "writes": [list(one) for one in result.writes], "usage": dict(result.usage)}

    async def _run_graph(self) -> Json:
        left = self.graph.budgets.supersteps
        passes: dict[str, Ran] = {}
        applied = Applied(ThreadStatus.RUNNING)
        while applied.status is ThreadStatus.RUNNING:
            if left is not None and (left := left - 1) < 0:
                raise BudgetExceeded(f"child {self.graph.id!r} used up its {self.graph.budgets.supersteps} supersteps")
            ended = await all_ended(self._run_task(task) for task in superstep.plan(self.machine, {}))
            for error in errors_of(ended):
                raise error
            ran = [one.result() for one in ended]
            passes.update({spell(one.task.key): one for one in ran})
            applied = superstep.apply(self.machine, ran)
        waiting = [one for one in passes.values() if one.waiting]
        if applied.status is ThreadStatus.INTERRUPTED:
            raise self._pause(waiting)
        if applied.status in _ENDS:
            raise TaskEnded(_ENDS[applied.status], str(applied.output or ""))
        if applied.status is ThreadStatus.FAILED:
            self._pause(waiting)
            self._pass_on()
            raise self._failure(applied.error or {})
        return {"output": applied.output, "writes": [], "usage": dict(self.usage)}

    async def _run_task(self, task: Active) -> Ran:
        """One node of a graph: its stored result, or a pass whose result is stored."""
        place = f"task:{spell(task.key)}"
        ended: list[Ran] = []

        async def run() -> Json:
            made = self._pass(task, f"{self.scope.prefix}{place}.0/", f"{self.graph.id}/{task.key.path}")
            ended.append(await self._made(made, task))
            result = ended[0].result
            if result is None or result.status not in DONE:
                raise _Unsettled
            return rules.result_to_json(result)

        try:
            settled = await effects.settle(self.scope, place, run, ordinal=0, harmless=True)
        except _Unsettled:
            return ended[0]
        result = rules.result_from_json(task.key, settled)
        self.usage.update(result.usage)
        return Ran(task, result)

    def _pass(self, task: Active, prefix: str, label: str) -> _ChildRun:
        journal = self.parent.journal.under(prefix, task.key)
        if journal.record.interrupts:
            task.waiting = tuple(one.id for one in journal.record.interrupts)
        above = self.parent.labels.get("child")
        label = f"{above}/{label}" if above else label
        return _ChildRun(_ChildHost(self.parent, self.machine, prefix, self.pool), task, journal, label)

    async def _made(self, run: _ChildRun, task: Active) -> Ran:
        ran = await run.run()
        if run.ctx.fault is not None:
            self.parent.fault = run.ctx.fault
        return ran

    def _pause(self, waiting: list[Ran]) -> GraphInterrupt:
        asked = [question for one in waiting for question in one.waiting]
        self.waiting = [one.id for one in asked]
        return GraphInterrupt(asked[0] if asked else Interrupt())

    def _pass_on(self) -> None:
        """Make the questions that the child waits for its node's."""
        asked = {one.id: one for one in self.parent.journal.record.interrupts}
        self.parent.raised.update({id: asked[id] for id in self.waiting})

    def _failure(self, error: Mapping[str, Json]) -> ChildFailed:
        where = f" in {error['path']}" if error.get("path") else ""
        return ChildFailed(f"child {self.graph.id!r} failed{where}: {error.get('type')}: {error.get('message')}")


class _Unsettled(Exception):  # not an error: the way out of an effect that is not over
    """A node of a child's graph waits, failed, or opened a nested graph."""


class _Shared(Machine):
    """A machine of one node that sees the state of the node that runs it."""

    def __init__(self, graph: CompiledGraph, cells: Cells, parent: Context) -> None:
        super().__init__(graph, cells)
        self._state = parent.state

    def view(self, frame: Frame) -> StateView:
        return self._state.beneath()


class _ChildHost:
    """What a child's task needs of a loop, given by the node that runs it: its journal is a part of that node's."""

    def __init__(self, parent: Context, machine: Machine, prefix: str, pool: Pool | None) -> None:
        host = cast(Host, parent.services)
        self.parent, self.machine, self.prefix = parent, machine, prefix
        self.ref, self.clock, self.hooks, self.pool = host.ref, host.clock, host.hooks, pool or host.pool
        self._open = host.open_interrupt

    def new_id(self) -> str:
        return self.parent.services.new_id()

    def now(self) -> datetime:
        return self.clock.now()

    def tell(self, type_: str, task: Context, **details: Any) -> None:
        self.parent.services.tell(type_, self.parent, **details)

    async def record_effect(self, task: Context, entry: JournalEntry) -> None:
        await self.parent.record(replace(entry, key=f"{self.prefix}{entry.key}"))

    async def grants(self) -> Sequence[Grant]:
        return await self.parent.services.grants()

    async def decided(self, name: str) -> Sequence[Interrupt]:
        return await cast(Host, self.parent.services).decided(name)

    async def open_interrupt(self, question: Interrupt) -> Interrupt:
        """Open a child's question at once as one of its node's task, so that it does not wait for other children."""
        parent = self.parent
        key = f"{self.prefix}{question.key}"
        try:
            await parent.keep_patches()
            opened = await self._open(replace(question, key=key, path=parent.path, visit=parent.visit))
        except Exception as error:
            parent.store_error = error
            raise
        parent.journal.opened(opened)
        return replace(opened, key=question.key, path=question.path, visit=question.visit)


class _ChildRun(TaskRun):
    """Runs one task of a child once."""

    host: _ChildHost

    def __init__(self, host: _ChildHost, task: Active, journal: Journal, label: str) -> None:
        self._given = journal
        self._label = label
        self.error: BaseException | None = None
        super().__init__(host, task, journal.record)
        self.ctx.news = host.parent.news

    async def run(self) -> Ran:
        asked, news = self.journal.open(), self.ctx.news
        # A child that waits is left alone while only others are answered (G13).
        if asked and news is not None and not any(one.id in news for one in self.journal.record.interrupts):
            return Ran(self.task, waiting=tuple(asked))
        return await super().run()

    def _journal(self, record: TaskRecord) -> Journal:
        return self._given

    def _context(self) -> Context:
        ctx, parent = super()._context(), self.host.parent
        # What idempotency keys are made of: the node's own place, then the child's within it.
        ctx.path = f"{parent.path}/{parent.visit}/{self.host.prefix}{self.task.key.path}"
        ctx.graph_path = (*parent.graph_path, parent.node_id, *self.task.place.graph_path)
        ctx.context = parent.context
        ctx.queue = ctx.queue or parent.queue
        ctx.labels = {"child": self._label}
        return ctx

    def _failed(self, error: BaseException) -> Ran:
        self.error = error
        return super()._failed(error)
