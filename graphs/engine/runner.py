"""Running graphs from Python: start, stream, resume; all of it thin over the one loop."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, overload

from graphs.engine import answers, failpoints, superstep, turns
from graphs.engine.blocking import blocking
from graphs.engine.cells import channel
from graphs.engine.checkpointers.memory import InMemoryCheckpointer
from graphs.engine.errors import (
    AlreadyAnswered,
    AnswerMismatch,
    DefinitionError,
    NestedPause,
    ThreadBusy,
    ThreadExists,
    UnknownThread,
)
from graphs.engine.graph import CompiledGraph
from graphs.engine.hooks import HookProvider
from graphs.engine.interrupts import GraphResume, Interrupt
from graphs.engine.journal import open_of
from graphs.engine.loop import Advanced, advance
from graphs.engine.ports import (
    Answer,
    Checkpointer,
    Clock,
    Emit,
    IdFactory,
    Snapshot,
    SystemClock,
    TaskKey,
    ThreadRef,
    random_id,
)
from graphs.engine.results import GraphRunResult, GraphRunResultStreaming, GraphState
from graphs.engine.scopes import running_task
from graphs.engine.statuses import Outcome
from graphs.engine.workflow import compiled

if TYPE_CHECKING:
    from graphs.engine.conversation.apps import RunEvent
    from graphs.engine.conversation.content import Content


@dataclass(frozen=True, slots=True)
class GraphRunner:
    """A run being configured: `Runner.configure().graph(g).resume_from(cp, "t").arun("go", resume=...)`. Immutable."""

    compiled: CompiledGraph | None = None
    checkpointer: Checkpointer | None = None
    thread_id: str | None = None
    resuming: bool = False
    only_new: bool = False
    hooks: tuple[HookProvider, ...] = ()
    given_context: Mapping[str, Any] = field(default_factory=dict)
    given_state: Mapping[str, Any] = field(default_factory=dict)
    given_actor: str = ""
    clock: Clock = field(default_factory=SystemClock)
    new_id: IdFactory = random_id

    def graph(self, graph: Any) -> GraphRunner:
        """Run this graph, workflow or agent."""
        return replace(self, compiled=compiled(graph))

    def resume_from(self, checkpointer: Checkpointer, thread_id: str) -> GraphRunner:
        """Go on with this stored thread; the input given to `arun` is then ignored, the stored one holds (Z10)."""
        return replace(self, checkpointer=checkpointer, thread_id=thread_id, resuming=True)

    def thread(self, thread_id: str) -> GraphRunner:
        """Give the thread this id."""
        return replace(self, thread_id=thread_id)

    def new_thread(self, thread_id: str) -> GraphRunner:
        """Begin a thread of this id; where there is one, `arun` raises `ThreadExists` instead of a next turn."""
        return replace(self, thread_id=thread_id, only_new=True)

    def hook(self, *hooks: Any) -> GraphRunner:
        """Use these hook providers and, where one of them is a store, keep the thread there."""
        stores = [one for one in hooks if _is_store(one)]
        providers = tuple(one for one in hooks if not _is_store(one))
        store = stores[-1] if stores else self.checkpointer
        return replace(self, checkpointer=store, hooks=(*self.hooks, *providers))

    def context(self, context: Mapping[str, Any]) -> GraphRunner:
        """What nodes and predicates may read beside the input; stored with the thread (Z58)."""
        return replace(self, given_context=context)

    def state(self, values: Mapping[str, Any]) -> GraphRunner:
        """First values of state channels."""
        return replace(self, given_state=values)

    def actor(self, name: str) -> GraphRunner:
        """Who answers."""
        return replace(self, given_actor=name)

    @overload
    async def arun(
        self, input: Any = None, *, stream: Literal[False] = False, resume: Any = None
    ) -> GraphRunResult: ...

    @overload
    async def arun(
        self, input: Any = None, *, stream: Literal[True], resume: Any = None
    ) -> GraphRunResultStreaming: ...

    async def arun(
        self, input: Any = None, *, stream: bool = False, resume: Any = None
    ) -> GraphRunResult | GraphRunResultStreaming:
        """Start the thread, or go on with it, until it pauses or ends. `resume` is a `GraphResume` or a mapping.

        Raises `ThreadBusy` (a new input for a paused thread), `UnknownThread`, `AnswerMismatch`, `AnswerInvalid`,
        `PayloadError`, `DefinitionChanged`; failures of nodes are in the result.
        """
        ready = self._identified()
        if not stream:
            return await ready._drive(input, resume, None)
        return GraphRunResultStreaming(ready.thread_id or "", lambda emit: ready._drive(input, resume, emit))

    def run(
        self, input: Any = None, *, stream: bool = False, resume: Any = None
    ) -> GraphRunResult | GraphRunResultStreaming:
        """`arun` for code without an event loop."""
        if stream:
            ready = self._identified()
            return GraphRunResultStreaming(ready.thread_id or "", lambda emit: ready._drive(input, resume, emit))
        return blocking(self.arun(input, resume=resume))

    def _identified(self) -> GraphRunner:
        if self.compiled is None:
            raise DefinitionError("no graph to run; give one with .graph(...)")
        store = self.checkpointer or self.compiled.checkpointer or _own_store(self.compiled)
        return replace(self, checkpointer=store, thread_id=self.thread_id or self.new_id())

    @property
    def _ref(self) -> ThreadRef:
        assert self.compiled is not None and self.thread_id is not None
        return ThreadRef(self.compiled.id, self.thread_id)

    async def _drive(self, input: Any, resume: Any, emit: Emit | None) -> GraphRunResult:
        assert self.checkpointer is not None
        async with self.checkpointer.holding(self._ref):
            if self.resuming or resume is not None:
                await self._answer(resume)
            else:
                await self._start(input)
            advanced = await self._advance(emit)
        result = await self._result(advanced)
        _refuse_hidden_pause(result)
        return result

    async def _advance(self, emit: Emit | None) -> Advanced:
        assert self.compiled is not None and self.checkpointer is not None
        return await advance(
            self.compiled,
            self.checkpointer,
            self._ref,
            clock=self.clock,
            new_id=self.new_id,
            emit=emit,
            hooks=self.hooks,
        )

    async def _start(self, input: Any) -> None:
        assert self.compiled is not None and self.checkpointer is not None
        snapshot = await self.checkpointer.load(self._ref)
        if snapshot is None:
            start = superstep.begin(self.compiled, input, state=self.given_state, context=self.given_context)
            failpoints.reach("before_create")
            await self.checkpointer.create(self._ref, start)
        elif self.only_new:
            raise ThreadExists(f"graph {self._ref.graph_id!r} has a thread {self._ref.thread_id!r} already")
        else:
            await self._next_turn(snapshot, input)

    async def _next_turn(self, snapshot: Snapshot, input: Any) -> None:
        assert self.compiled is not None and self.checkpointer is not None
        asked = open_of(snapshot)
        if snapshot.status not in turns.FOLLOWED:
            count = f"{len(asked)} answer{'s' if len(asked) != 1 else ''}"
            what = f"waits for {count}" if asked else f"is {snapshot.status}"
            way = '; answer with {"resume": …} or a GraphResume' if asked else ""
            told = f"thread {self._ref.thread_id!r} {what} and takes no new input{way}"
            raise ThreadBusy(told, [one.id for one in asked])
        commit = turns.begun(
            self.compiled, snapshot, input, state=self.given_state, context=self.given_context, at=self.clock.now()
        )
        await self.checkpointer.commit(self._ref, commit)

    async def _answer(self, resume: Any) -> None:
        assert self.compiled is not None and self.checkpointer is not None
        snapshot = await self.checkpointer.load(self._ref)
        if snapshot is None:
            raise UnknownThread(f"graph {self._ref.graph_id!r} has no thread {self._ref.thread_id!r}")
        if not resume or resume == GraphResume():
            return
        asked = open_of(snapshot)
        rank = self.compiled.rank
        asked.sort(key=lambda one: (rank(one.path), one.visit))
        given = _repeated(resume, asked) or answers.match(asked, resume)
        try:
            await self.checkpointer.answer(self._ref, given, actor=self.given_actor)
        except AlreadyAnswered:
            raise
        except AnswerMismatch:
            answers.match(asked, resume)  # says the same with the open questions in node order (Z27)
            raise

    async def _result(self, advanced: Advanced) -> GraphRunResult:
        return GraphRunResult(
            advanced.status,
            self.thread_id or "",
            advanced.output,
            advanced.interrupts,
            await self._state(advanced),
            advanced.error,
        )

    async def _state(self, advanced: Advanced) -> GraphState:
        assert self.compiled is not None and self.checkpointer is not None
        cells = advanced.cells
        keys = []
        for path, visit in [(name[6:], value[0]) for name, value in cells.items() if name.startswith("visit:")]:
            # A node whose newest visit still waits is shown with the output of the one before.
            under_way = f"task:{path}#{visit}" in cells
            keys.append(TaskKey(path, visit - under_way))
        found = await self.checkpointer.results(self._ref, keys)
        done = {key.path: result.output for key, result in found.items() if result.error is None}
        done.update(advanced.settled)
        pending: dict[str, Interrupt] = {}
        for one in advanced.interrupts:
            pending.setdefault(one.path.split("/")[0], one)
        prefix = channel("", "")
        values = {name.removeprefix(prefix): value for name, value in advanced.cells.items() if name.startswith(prefix)}
        return GraphState({path: done[path] for path in sorted(done, key=self.compiled.rank)}, pending, values)


class Runner:
    """The ways to run a graph. Async ones begin with `a`; the others are for code without an event loop.

    `Runner(app=…)` or `Runner(agent=…)` speaks with conversations, see `run_async`; `session_service` is a checkpointer
    or an `InMemorySessionService`. Raises `DefinitionError`.
    """

    def __init__(self, *, app: Any = None, agent: Any = None, app_name: str = "", session_service: Any = None) -> None:
        from graphs.engine.conversation.apps import App
        from graphs.engine.conversation.conversations import Conversations

        if (app is None) == (agent is None):
            raise DefinitionError("Runner(app=…) or Runner(agent=…): one of them")
        self.app: App = app if app is not None else App(app_name or compiled(agent).id, agent)
        self._conversations = Conversations.of(self.app, session_service)

    def run_async(
        self,
        user_id: str,
        session_id: str,
        new_message: Content | str | None = None,
        invocation_id: str | None = None,
    ) -> AsyncIterator[RunEvent]:
        """Bring a message to the conversation of `user_id` and `session_id`, and tell what comes of it (W46).

        Text starts a thread of a workflow, whatever else waits (W42), and is the next turn of any other graph's thread.
        Function responses answer the questions of their ids, in whichever threads asked (W41), each thread's all or
        none. Without a message the thread `invocation_id` goes on, at its failed nodes where it failed (W34).
        Raises, where the first event is read and before anything is stored: `AnswerMismatch`, `AnswerInvalid`,
        `UnknownThread`, and for a graph that is no workflow `ThreadBusy`.
        """
        return self._conversations.send(user_id, session_id, new_message, invocation_id)

    @staticmethod
    def configure() -> GraphRunner:
        """Begin a run step by step."""
        return GraphRunner()

    @staticmethod
    async def arun_graph(graph: Any, input: Any = None, **options: Any) -> GraphRunResult:
        """Run a new thread (or a completed one's next turn) until it pauses or ends.

        Options: `hooks`, `thread_id`, `checkpointer`, `context`, `state`, `clock`, `new_id`.
        """
        return await _configured(graph, **options).arun(input)

    @staticmethod
    async def arun_graph_streamed(graph: Any, input: Any = None, **options: Any) -> GraphRunResultStreaming:
        """The same, told event by event; nothing runs before the events are read."""
        return await _configured(graph, **options).arun(input, stream=True)

    @staticmethod
    async def arun_graph_from_checkpoint(
        graph: CompiledGraph,
        *,
        checkpointer: Checkpointer,
        thread_id: str,
        resume: GraphResume | Mapping[str, Any] | Sequence[Answer] | None = None,
        **options: Any,
    ) -> GraphRunResult:
        """Go on with a stored thread, with the answers of `resume`; without any it goes on only if it was cut off."""
        run = _configured(graph, **options).resume_from(checkpointer, thread_id)
        return await run.arun(resume=resume)

    @staticmethod
    def run_graph(graph: Any, input: Any = None, **options: Any) -> GraphRunResult:
        """`arun_graph` for code without an event loop."""
        return blocking(Runner.arun_graph(graph, input, **options))

    @staticmethod
    def run_graph_streamed(graph: Any, input: Any = None, **options: Any) -> GraphRunResultStreaming:
        """`arun_graph_streamed` for code without an event loop: read `.events()`."""
        return blocking(Runner.arun_graph_streamed(graph, input, **options))

    @staticmethod
    def run_graph_from_checkpoint(graph: Any, **options: Any) -> GraphRunResult:
        """`arun_graph_from_checkpoint` for code without an event loop."""
        return blocking(Runner.arun_graph_from_checkpoint(graph, **options))

    @staticmethod
    async def aretry_graph(graph: Any, *, checkpointer: Checkpointer, thread_id: str, **options: Any) -> GraphRunResult:
        """Run the failed tasks of a failed thread again, with their journals and answers (Z04)."""
        await checkpointer.retry(ThreadRef(compiled(graph).id, thread_id))
        return await _configured(graph, **options).resume_from(checkpointer, thread_id).arun()


def _configured(
    graph: Any,
    *,
    hooks: Sequence[Any] = (),
    thread_id: str | None = None,
    checkpointer: Checkpointer | None = None,
    context: Mapping[str, Any] | None = None,
    state: Mapping[str, Any] | None = None,
    actor: str = "",
    clock: Clock | None = None,
    new_id: IdFactory = random_id,
) -> GraphRunner:
    if not isinstance(hooks, Sequence):
        raise DefinitionError(f"hooks is a list of hook providers and checkpointers, not {hooks!r:.100}")
    if checkpointer is not None and not _is_store(checkpointer):
        raise DefinitionError(f"checkpointer={checkpointer!r:.100} is none; give InMemoryCheckpointer() or another one")
    run = GraphRunner(compiled(graph), checkpointer, thread_id, clock=clock or SystemClock(), new_id=new_id)
    return run.hook(*hooks).context(context or {}).state(state or {}).actor(actor)


def _is_store(hook: Any) -> bool:
    return hasattr(hook, "open_interrupt") and hasattr(hook, "commit")


def _own_store(graph: CompiledGraph) -> Checkpointer:
    # One store a graph: two graphs of a process never see each other's threads (T32, Z17).
    if graph.checkpointer is None:
        graph.checkpointer = InMemoryCheckpointer()
    return graph.checkpointer


def _repeated(resume: Any, asked: Sequence[Interrupt]) -> list[Answer]:
    """Answers none of which is open by the ids they name: the store says whether they repeat what it has (Z34)."""
    known = answers.names(asked)
    if not isinstance(resume, GraphResume):
        return []
    named = [*resume.replies, *resume.rejected]
    if not named or any(name in known or len(name) != 36 for name in named) or len(set(named)) != len(named):
        return []
    replies = [Answer(name, Outcome.ANSWERED, value) for name, value in resume.replies.items()]
    return replies + [Answer(name, Outcome.REJECTED, None, text) for name, text in resume.rejected.items()]


def _refuse_hidden_pause(result: GraphRunResult) -> None:
    outer = running_task()
    if outer is not None and result.paused:
        raise NestedPause(
            f"a run started inside node {outer.node_id!r} waits for {len(result.interrupts)} answers; "
            "make its graph a node, so that its questions are the outer run's"
        )
