"""One task: its attempts, how each of them ends, and the boundary where the pauses of a pass are opened."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from graphs.engine import asking, forking
from graphs.engine.answers import TaskEnded
from graphs.engine.context import Context
from graphs.engine.errors import PauseSwallowed, SaysoError
from graphs.engine.failpoints import Crash
from graphs.engine.interrupts import GraphInterrupt, Interrupt
from graphs.engine.journal import Journal
from graphs.engine.machine import Active
from graphs.engine.outputs import Collected
from graphs.engine.passing import Entered, Host, NodePass
from graphs.engine.ports import Json, TaskRecord, TaskResult
from graphs.engine.state import encoded
from graphs.engine.statuses import TaskStatus
from graphs.engine.superstep import Ran
from graphs.engine.turns import kept_by

_MAX_TRACEBACK = 8_000
_MAX_TEXT = 100_000
#: What means something to the engine, a test's process or the loop; it goes through a node or tool.
_ENGINES = (GraphInterrupt, TaskEnded, Crash, asyncio.CancelledError)


class TaskRun:
    """Runs one task once. Failures of the node become results; only errors of the store and cancellation come out."""

    def __init__(self, host: Host, task: Active, record: TaskRecord) -> None:
        self.host = host
        self.task = task
        self.node = task.place.node
        self.journal = self._journal(record)
        self.ctx = self._context()
        if task.waiting is not None:
            waited = set(task.waiting)
            self.ctx.news = frozenset(
                one.id for one in record.interrupts if one.id in waited and one.decision is not None
            )
        self.current = NodePass(host, task, self.ctx)
        self.started = 0.0

    async def run(self) -> Ran:
        """Attempts until one ends in a result or a pause."""
        waits = self._still_waits()
        if waits:
            return Ran(self.task, waiting=waits)
        attempt = 0
        while True:
            attempt += 1
            self.started = self.host.clock.monotonic()
            ran = await self._attempt(attempt)
            if ran is not None:
                return ran
            await asyncio.sleep(self.node.retry.wait(attempt))

    def _journal(self, record: TaskRecord) -> Journal:
        return Journal(record, forking.inherited(self.host.machine.cells, self.task.key))

    def _context(self) -> Context:
        task, place = self.task, self.task.place
        return Context(
            self.host,
            self.journal,
            graph_id=self.host.ref.graph_id,
            thread_id=self.host.ref.thread_id,
            graph_path=place.graph_path,
            node_id=self.node.id,
            path=task.key.path,
            visit=task.key.visit,
            input=task.input,
            state=self.host.machine.view(task.frame),
            context=self.host.machine.cells.get("context") or {},
            queue=place.graph.queue or self.host.machine.graph.queue,
        )

    def _still_waits(self) -> tuple[Interrupt, ...]:
        # A node that is not run again waits for the last of its answers, without a pass that has nothing to do (W10).
        if self.node.rerun_on_resume or self.task.waiting is None:
            return ()
        asked = [one for one in self.journal.questions() if one.style == "request_input"]
        waits = tuple(one for one in asked if one.decision is None)
        return waits if waits and len(waits) == len(self.journal.open()) else ()

    # How an attempt ends

    async def _attempt(self, attempt: int) -> Ran | None:
        if attempt > 1:
            self.current = NodePass(self.host, self.task, self.ctx)
        try:
            targets = await self.current.run(attempt)
            self._refuse_swallowed()
            return self._finished(targets)
        except Entered:
            return Ran(self.task, entered=True, writes=tuple(self.ctx.state.writes))
        except GraphInterrupt as pause:
            return await self._paused(pause)
        except TaskEnded as ended:
            return self._ended(ended)
        except BaseExceptionGroup as group:
            return await self._grouped(group)
        except (asyncio.CancelledError, SystemExit) as error:
            return await self._raised(failure_of(error, f"node {self.node.id!r}"))
        except Exception as error:  # noqa: BLE001 - whatever a node raises becomes its result
            return await self._raised(error)
        except BaseException as error:
            if not is_authors(error):
                raise
            return await self._raised(failure_of(error, f"node {self.node.id!r}"))

    def _refuse_swallowed(self) -> None:
        if self.ctx.store_error is not None:
            raise self.ctx.store_error
        if self.ctx.fault is not None:
            raise self.ctx.fault
        if self.ctx.raised:
            raise PauseSwallowed(
                f"node {self.node.id!r} caught the pause that it had raised; let GraphInterrupt through"
            )

    async def _paused(self, pause: GraphInterrupt) -> Ran:
        if self.ctx.store_error is not None:
            raise self.ctx.store_error
        if self.ctx.fault is None and pause.interrupt.id not in self.ctx.raised:
            self._adopt(pause.interrupt)
        if self.ctx.fault is not None:
            return self._failed(self.ctx.fault)
        opened = await self._open_raised()
        return Ran(self.task, waiting=tuple(self.journal.open()), opened=opened)

    def _adopt(self, raised: Interrupt) -> None:
        """Place a question that the node raised by itself (G38): its answer comes back in the envelope."""
        number = len([one for one in self.journal.questions() if one.key == "raised" and one.decision is not None])
        try:
            self.ctx.pose(asking.adopted(self.ctx.scope, raised), "raised", number)
        except SaysoError as error:
            self.ctx.fault = error
        except GraphInterrupt:
            return  # noted in ctx.raised, as for every other question

    async def _open_raised(self) -> tuple[Interrupt, ...]:
        await self.current.keep_states()
        known = set(self.task.waiting or ())
        opened = []
        for question in list(self.ctx.raised.values()):
            if not any(one.id == question.id for one in self.journal.record.interrupts):
                question = await self.host.open_interrupt(question)
                self.journal.opened(question)
            if question.id not in known:
                opened.append(question)
        return tuple(opened)

    async def _grouped(self, group: BaseExceptionGroup[BaseException]) -> Ran | None:
        pauses, rest = group.split(GraphInterrupt)
        if pauses is not None and rest is None:
            return await self._paused(_first_leaf(pauses))
        ends, _ = group.split(lambda error: not isinstance(error, (Exception, GraphInterrupt, BaseExceptionGroup)))
        if ends is not None:
            ended = _first_leaf(ends)
            if isinstance(ended, TaskEnded):
                return self._ended(ended)
            if not is_authors(ends):
                raise ended
            return await self._raised(failure_of(ended, f"node {self.node.id!r}"))
        return await self._raised(_first_leaf(rest) if rest is not None else Exception(str(group)))

    async def _raised(self, error: Exception) -> Ran | None:
        if self.ctx.store_error is not None:
            raise self.ctx.store_error
        if self.ctx.fault is not None:
            return self._failed(self.ctx.fault)
        if self.ctx.raised and _came_from_pause(error):
            return self._failed(PauseSwallowed(f"node {self.node.id!r} caught its pause and raised {error!r}"))
        if isinstance(error, PauseSwallowed):
            return self._failed(error)
        if self.node.retry.retries(error, self.ctx.attempt):
            return None
        if self.ctx.raised:
            # Another flow of this node asked before this one broke: its question must not be lost (Z42).
            opened = await self._open_raised()
            return Ran(self.task, self._failed(error).result, opened=opened)
        if self.node.on_error is not None:
            return await self._handled(error)
        return await self._told(error)

    async def _handled(self, error: Exception) -> Ran:
        try:
            targets = await self.current.handle(error)
            self._refuse_swallowed()
            return self._finished(targets)
        except GraphInterrupt as pause:
            return await self._paused(pause)
        except TaskEnded as ended:
            return self._ended(ended)
        except (asyncio.CancelledError, SystemExit) as second:
            return self._failed(failure_of(second, f"on_error of node {self.node.id!r}"))
        except Exception as second:
            if self.ctx.store_error is not None:
                raise
            return self._failed(second)
        except BaseException as second:
            if not is_authors(second):
                raise
            return self._failed(failure_of(second, f"on_error of node {self.node.id!r}"))

    def _finished(self, targets: tuple[str, ...]) -> Ran:
        return Ran(self.task, self._result(TaskStatus.FINISHED, self.current.collected, targets))

    def _ended(self, ended: TaskEnded) -> Ran:
        result = self._result(ended.status, Collected(output=ended.text or None))
        view = self.host.machine.view(self.task.frame)
        kept = kept_by(self.node.body, view, self.task.input, self.journal.record, ended.status)
        return Ran(self.task, replace(result, writes=tuple(encoded({**kept, **ended.writes}).items())))

    async def _told(self, error: Exception) -> Ran:
        try:
            await self.current.tell_failure(error)
        except Exception as second:  # noqa: BLE001 - a hook that fails on a failure does not hide it
            second.__cause__ = error
            return self._failed(second)
        return self._failed(error)

    def _failed(self, error: BaseException) -> Ran:
        result = TaskResult(
            self.task.key,
            TaskStatus.FAILED,
            error=describe(error),
            attempt=self.ctx.attempt,
            seconds=round(self.host.clock.monotonic() - self.started, 6),
            usage=dict(self.ctx.usage),
        )
        return Ran(self.task, result)

    def _result(self, status: TaskStatus, given: Collected, targets: tuple[str, ...] | None = None) -> TaskResult:
        return TaskResult(
            self.task.key,
            status,
            given.output,
            given.route,
            given.has_route,
            tuple(self.ctx.state.writes) if status is TaskStatus.FINISHED else (),
            attempt=self.ctx.attempt,
            seconds=round(self.host.clock.monotonic() - self.started, 6),
            usage=dict(self.ctx.usage),
            targets=targets,
        )


def failure_of(error: BaseException, who: str) -> RuntimeError:
    """The failure of `who` that stands for an error which means something to the loop and is not the loop's.

    A `SystemExit` would end the worker, which looks like a crash: the thread would be tried again and again, and with
    it what had taken place; so would any `BaseException` of the author's own. Raises a `CancelledError` itself where
    the caller is really cancelled.
    """
    task = asyncio.current_task()
    if isinstance(error, asyncio.CancelledError):
        if task is None or task.cancelling():
            raise error
        failure = RuntimeError(f"{who} awaited something that had been cancelled; catch asyncio.CancelledError there")
    else:
        failure = RuntimeError(f"{who} raised {type(error).__name__}({text_of(error)})")
    failure.__cause__ = error
    return failure


def is_authors(error: BaseException) -> bool:
    """Whether an error that is no `Exception` means nothing to the engine, to asyncio or to the process: then it is a
    mistake of who wrote the node or tool, like any `Exception`.

    A `KeyboardInterrupt` in a group is one: a real one comes alone. A `GeneratorExit` without a loop is Python's, which
    clears a coroutine away.
    """
    if isinstance(error, BaseExceptionGroup):
        return not any(isinstance(one, _ENGINES) for one in _leaves(error))
    if isinstance(error, GeneratorExit):
        return _running()
    return not isinstance(error, (*_ENGINES, KeyboardInterrupt, SystemExit))


def _running() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _leaves(group: BaseExceptionGroup[Any]) -> Iterator[BaseException]:
    for one in group.exceptions:
        if isinstance(one, BaseExceptionGroup):
            yield from _leaves(one)
        else:
            yield one


def describe(error: BaseException) -> dict[str, Json]:
    """An error as JSON: `type` (a code for the engine's own), `message`, `traceback`; text that every store takes."""
    kind = error.code() if isinstance(error, SaysoError) else type(error).__name__
    lines = "".join(traceback.format_exception(error))
    return {
        "type": kind,
        "message": _clean(text_of(error) or kind, 4_000),
        "traceback": _clean(lines[-_MAX_TRACEBACK:], _MAX_TRACEBACK),
    }


def text_of(error: BaseException) -> str:
    """What an error says of itself, as text that every store takes; that it says nothing, where even that fails."""
    try:
        return _clean(str(error), _MAX_TEXT)
    except Exception as second:  # noqa: BLE001 - code of the graph's author, run while its failure is written down
        return f"no message: its text raised {type(second).__name__}"


def _clean(text: str, limit: int) -> str:
    return text[:limit].replace("\0", "\\0").encode("utf-8", "backslashreplace").decode()


def _first_leaf(group: BaseExceptionGroup[Any]) -> Any:
    leaf: BaseException = group
    while isinstance(leaf, BaseExceptionGroup):
        leaf = leaf.exceptions[0]
    return leaf


def _came_from_pause(error: BaseException) -> bool:
    seen: set[int] = set()
    found: BaseException | None = error
    while found is not None and id(found) not in seen:
        if isinstance(found, GraphInterrupt):
            return True
        seen.add(id(found))
        found = found.__cause__ or found.__context__
    return False
