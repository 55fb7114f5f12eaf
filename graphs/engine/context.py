"""What a running node knows of its task, and the one place where questions are posed and effects are settled."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Protocol

from graphs.engine import answers, canonical
from graphs.engine.counters import counted
from graphs.engine.errors import QuestionChanged, SaysoError
from graphs.engine.interrupts import Decision, GraphInterrupt, Interrupt
from graphs.engine.journal import MAX_REVISION, Journal, digest_of
from graphs.engine.patches import Patches
from graphs.engine.pool import Pool
from graphs.engine.ports import JournalEntry, Json
from graphs.engine.scopes import Scope, running_scope
from graphs.engine.state import StateView
from graphs.engine.statuses import InterruptStatus
from graphs.engine.trust import Grant

REPLY_KEY = "__resume_reply__"


class Services(Protocol):
    """What a context needs of the loop that runs it."""

    pool: Pool

    async def record_effect(self, task: Context, entry: JournalEntry) -> None: ...

    def new_id(self) -> str: ...

    def now(self) -> datetime: ...

    def tell(self, type_: str, task: Context, **details: Any) -> None: ...

    async def grants(self) -> Sequence[Grant]: ...


@dataclass(slots=True)
class ExecutableInput:
    """A node's input with its envelope; `metadata` holds `__resume_reply__` once a question of it is answered (G05)."""

    input: Any = None
    metadata: dict[str, Any] = field(default_factory=dict)

    @property
    def value(self) -> Any:
        """The input under its other name."""
        return self.input


class Context:
    """One execution of one node, as its body sees it: input, state, answers so far, and the journal behind `once`.

    `context` is what the run's caller gave beside the input, stored with the thread (Z58). `attempt` counts from 1.
    """

    def __init__(
        self,
        services: Services,
        journal: Journal,
        *,
        graph_id: str,
        thread_id: str,
        graph_path: tuple[str, ...],
        node_id: str,
        path: str,
        visit: int,
        input: Json,
        state: StateView,
        context: Mapping[str, Any],
        queue: str = "",
    ) -> None:
        self.services = services
        self.journal = journal
        self.graph_id = graph_id
        self.thread_id = thread_id
        self.graph_path = graph_path
        self.node_id = node_id
        self.path = path
        self.visit = visit
        self.input = input
        self.state = state
        self.context = context
        self.queue = queue
        self.attempt = 0
        self.usage: Counter[str] = Counter()
        self.metadata: dict[str, Any] = {}
        self.raised: dict[str, Interrupt] = {}
        self.fault: SaysoError | None = None
        self.store_error: BaseException | None = None
        #: Questions of this task that were decided since its last pass; None where that is not known.
        self.news: frozenset[str] | None = None
        #: What a child adds to the metadata of its questions, so that a reviewer sees who asks.
        self.labels: Mapping[str, Json] = {}
        #: Children that run now, by place.
        self.children: dict[str, asyncio.Future[Any]] = {}
        self.patches = Patches(journal)
        self.over = False
        self.loop = asyncio.get_running_loop()
        self.loop_thread = threading.get_ident()
        self.scope = Scope(self)

    @property
    def idempotency_key(self) -> str:
        """The same text each time this very effect runs, for receivers that drop repetitions (R5)."""
        effect = running_scope(self).effect
        return "/".join(part for part in (self.graph_id, self.thread_id, self.path, str(self.visit), effect) if part)

    @property
    def resume_inputs(self) -> dict[str, Any]:
        """The answers to this task's `RequestInput`s so far, by interrupt id; empty on the first pass (W07)."""
        found = {}
        for one in self.journal.questions():
            if one.style == "request_input" and one.decision is not None:
                found[one.interrupt_id] = answers.delivered(one)
        return found

    @property
    def decisions(self) -> dict[str, Decision]:
        """The decisions on this task's `RequestInput`s so far, by interrupt id: who decided, how, and the comment.
        A node reads them that runs again on an answer (`rerun_on_resume=True`)."""
        found = {}
        for one in self.journal.questions():
            if one.style == "request_input" and one.decision is not None:
                found[one.interrupt_id] = answers.with_default(one, one.decision)
        return found

    def once(self, key: str, fn: Callable[..., Any], *args: Any, mode: str = "idempotent", **kwargs: Any) -> Any:
        """See `graphs.once`."""
        from graphs.engine.effects import once

        return once(key, fn, *args, mode=mode, **kwargs)

    async def aonce(self, key: str, fn: Callable[..., Any], *args: Any, mode: str = "idempotent", **kwargs: Any) -> Any:
        """See `graphs.aonce`."""
        from graphs.engine.effects import aonce

        return await aonce(key, fn, *args, mode=mode, **kwargs)

    def ask(self, message: str, **details: Any) -> Any:
        """See `graphs.ask`."""
        from graphs.engine.asking import ask

        return ask(message, **details)

    async def run_node(self, child: Any, input: Any = None, *, name: str | None = None) -> Any:
        """Run a function, agent, workflow or graph as a child of this node and return its output (W30).

        A child that has finished is not run again when this node is; a question of a child is this node's, and the
        child's output follows its answer as anywhere. `name` is the child's own where it is left out, and must be
        given where several of one name run at the same time (`AmbiguousQuestion`). Raises what a function or an agent
        raises, and `ChildFailed` where a graph fails.
        """
        from graphs.engine.children import run_child

        return await run_child(self, child, input, name)

    def run_node_sync(self, child: Any, input: Any = None, *, name: str | None = None) -> Any:
        """`run_node` for synchronous nodes; RuntimeError on the loop's thread, which it would block."""
        if threading.get_ident() == self.loop_thread:
            raise RuntimeError("run_node_sync() would block the event loop here; use `await ctx.run_node(...)`")
        from graphs.engine.children import run_child_blocking

        return run_child_blocking(self, child, input, name)

    def patched(self, id: str) -> bool:
        """Whether this execution goes the new way of an edit named `id`: True where it reached it first after the edit
        or began with it, False where it had settled or asked anything before. The answer never changes for a task."""
        return self.patches.chosen(id)

    def stream(self, delta: Any) -> None:
        """Tell whoever streams this run a piece of output as it comes; nothing of it is stored."""
        if threading.get_ident() == self.loop_thread:
            self.services.tell("graph.node_stream", self, delta=delta)
        else:
            self.loop.call_soon_threadsafe(lambda: self.services.tell("graph.node_stream", self, delta=delta))

    def spend(self, **usage: int) -> None:
        """Count tokens or the like against the thread's budgets; counted once, when the task finishes. Raises
        `PayloadError` for what is no whole number from 0 up."""
        self.usage.update(counted(usage))

    def begin_attempt(self, attempt: int, state: StateView) -> None:
        """Forget what an attempt counted and wrote; its journal stays (G16)."""
        self.attempt = attempt
        self.state = state
        self.usage.clear()
        self.raised.clear()
        self.fault = None
        self.scope = Scope(self)
        self.over = False
        replies = [one for one in self.journal.questions() if one.decision is not None and _asked_by_node(one)]
        self.metadata = {REPLY_KEY: answers.delivered(replies[-1])} if replies else {}

    async def see_children_through(self) -> None:
        """End the pass for its children too: where one has asked, the others finish and are settled; else they stop."""
        while running := dict(self.children):
            if not self.raised:
                for one in running.values():
                    one.cancel()
            await asyncio.wait(running.values())
            for place, one in running.items():
                if self.children.get(place) is one:
                    del self.children[place]
                if not one.cancelled():
                    one.exception()  # seen, so that nobody reports it as never retrieved
            for _ in range(3):
                await asyncio.sleep(0)  # a branch that waited for this child may begin its next one
        self.over = bool(self.raised)

    def pose(self, draft: Interrupt, key: str, ordinal: int, *, again: bool = False) -> Interrupt:
        """The decided question at this place, or the pause. The one primitive under every way of asking.

        `again` opens a new revision where the same question was answered already. Raises `GraphInterrupt`,
        `QuestionChanged`.
        """
        if self.labels:
            draft = replace(draft, metadata={**draft.metadata, **self.labels})
        known = self.journal.question(key, ordinal)
        digest = digest_of(draft)
        if known is not None and known.status is not InterruptStatus.WITHDRAWN and known.digest == digest:
            if known.decision is None:
                raise self.pause(known)
            if not again:
                return known
        raise self.pause(self._placed(replace(draft, digest=digest, key=key, ordinal=ordinal), known))

    def pause(self, question: Interrupt) -> GraphInterrupt:
        """Note a raised question, so that the node's boundary opens it even where others hide it."""
        self.raised[question.id] = question
        return GraphInterrupt(question)

    def _placed(self, draft: Interrupt, known: Interrupt | None) -> Interrupt:
        revision = 0 if known is None else known.revision + 1
        if revision > MAX_REVISION:
            self.fault = QuestionChanged(
                f"node {self.node_id!r} asked another question at {draft.key}[{draft.ordinal}] {MAX_REVISION} times"
            )
            raise self.fault
        new_id = self.services.new_id()
        name = draft.interrupt_id or (new_id if draft.style == "request_input" else _name_of(draft))
        return replace(
            draft,
            id=new_id,
            interrupt_id=name,
            node_id=self.node_id,
            graph_path=self.graph_path,
            path=self.path,
            visit=self.visit,
            revision=revision,
            queue=draft.queue or self.queue,
        )

    async def record(self, entry: JournalEntry) -> None:
        """Store one effect; an error of the store ends the loop, whatever the node does with it."""
        await self.keep_patches()
        await self._record(entry)

    async def keep_patches(self) -> None:
        """Store which ways were chosen since the last boundary: before the next effect, question or end of a pass."""
        for entry in self.patches.take():
            await self._record(entry)

    async def _record(self, entry: JournalEntry) -> None:
        write = asyncio.ensure_future(self.services.record_effect(self, entry))
        deadline = await _seen_through(write)
        try:
            write.result()
        except BaseException as error:
            self.store_error = error
            raise
        self.journal.settle(entry)
        if deadline is not None:
            raise deadline

    def record_from_thread(self, entry: JournalEntry) -> None:
        """The same from a pool thread: the store is only ever called on the loop's thread."""
        self.call_on_loop(self.record(entry))

    def call_on_loop(self, call: Coroutine[Any, Any, Any]) -> Any:
        """Run a coroutine on the loop and wait for it here, in a pool thread."""
        future = asyncio.run_coroutine_threadsafe(call, self.loop)
        while True:
            try:
                return future.result(1.0)
            except concurrent.futures.TimeoutError:
                # A loop that was stopped never answers, and this thread would keep its process from ending.
                if future.done() or self.loop.is_closed():
                    raise


async def _seen_through(write: asyncio.Future[None]) -> asyncio.CancelledError | None:
    """Wait until the store is done, even where the node's deadline strikes meanwhile: an entry that is stored and that
    the journal does not know would run once more. Returns the deadline's cancellation, for afterwards."""
    deadline = None
    while not write.done():
        try:
            await asyncio.wait([write])
        except asyncio.CancelledError as error:
            deadline = error
    return deadline


def _asked_by_node(question: Interrupt) -> bool:
    """Whether its reply is the node's. What a tool asked is the tool's: a cancellation of it ends that call alone, and
    would end the whole task if it were delivered to the node."""
    return question.style == "request_human_input" and question.tool_call_id is None


def _name_of(draft: Interrupt) -> str:
    name = draft.key if draft.ordinal == 0 else f"{draft.key}:{draft.ordinal}"
    # A handle for people; where two are cut to the same one, a reply by it is refused as ambiguous.
    return name[: canonical.MAX_NAME]
