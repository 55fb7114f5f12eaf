"""Talking to an agent or a team from Python: a prompt starts or goes on, responses answer what it asked."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import gettempdir
from typing import Any, Protocol, runtime_checkable

from graphs.engine.checkpointers.memory import InMemoryCheckpointer
from graphs.engine.checkpointers.sqlite import SQLiteCheckpointer
from graphs.engine.errors import AnswerMismatch, DefinitionError, InputMismatch, ThreadBusy
from graphs.engine.graph import CompiledGraph
from graphs.engine.interrupts import GraphResume, Interrupt
from graphs.engine.journal import open_of
from graphs.engine.messages import Message
from graphs.engine.ports import Checkpointer, Emit, Json, Snapshot, ThreadRef, random_id
from graphs.engine.results import GraphRunResult
from graphs.engine.runner import GraphRunner, Runner
from graphs.engine.scopes import running_task
from graphs.engine.statuses import ThreadStatus

#: What an agent is called with: a text, content blocks, a message, or responses to its questions.
AgentInput = str | Sequence[Mapping[str, Any]] | Mapping[str, Any] | None
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
RESPONSE = "interruptResponse"
#: Where a call left its conversation that ended neither in a pause nor in a result: it was cancelled, or killed.
_CUT_OFF = frozenset({ThreadStatus.READY, ThreadStatus.RUNNING})
_GO_ON = ": retry() goes on from where it stopped, and then takes the next prompt"


@runtime_checkable
class SessionManager(Protocol):
    """Where a conversation is kept between processes: a store, and the conversation's name in it."""

    session_id: str

    @property
    def checkpointer(self) -> Checkpointer: ...


class FileSessionManager:
    """Keeps a conversation in one file of a folder, `session_<id>.sqlite3`; a new process goes on with it (H23).

    `storage_dir` is the folder, made where it is missing; the system's temporary one where it is left out. Raises
    `DefinitionError` for an id that is no plain name, which could lead out of the folder.
    """

    def __init__(self, session_id: str, storage_dir: str | Path | None = None) -> None:
        if not isinstance(session_id, str) or not _NAME.fullmatch(session_id):
            raise DefinitionError(f"session_id={session_id!r}: letters, digits, . _ and -, at most 100 of them")
        self.session_id = session_id
        folder = Path(storage_dir) if storage_dir is not None else Path(gettempdir()) / "sayso-sessions"
        self.path = folder / f"session_{session_id}.sqlite3"
        self._checkpointer: SQLiteCheckpointer | None = None

    @property
    def checkpointer(self) -> Checkpointer:
        """The store; its file is made when it is first needed."""
        if self._checkpointer is None:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._checkpointer = SQLiteCheckpointer(self.path)
        return self._checkpointer


class _OwnMemory:
    """What serves where no manager is given: a conversation as long as its agent lives."""

    def __init__(self) -> None:
        self.session_id = random_id()
        self.checkpointer: Checkpointer = InMemoryCheckpointer()


class Session:
    """One conversation with one graph. `who` is what refusals call the other side."""

    def __init__(
        self, graph: CompiledGraph, manager: SessionManager | None = None, hooks: Sequence[Any] = (), who: str = "agent"
    ) -> None:
        if manager is not None and not isinstance(manager, SessionManager):
            raise DefinitionError(f"session_manager={manager!r:.100} has no session_id and checkpointer")
        self.graph = graph
        self.kept = manager is not None
        self.hooks = tuple(hooks)
        self.who = who
        self._manager = manager or _OwnMemory()
        #: The calls of this object that are under way, each until nothing of it runs any more.
        self._calls: set[asyncio.Future[None]] = set()

    @property
    def ref(self) -> ThreadRef:
        """The thread of the conversation."""
        return ThreadRef(self.graph.id, self._manager.session_id)

    @property
    def checkpointer(self) -> Checkpointer:
        """Where it is kept."""
        return self._manager.checkpointer

    async def snapshot(self) -> Snapshot | None:
        """The conversation as it is stored; None before its first message."""
        return await self.checkpointer.load(self.ref)

    async def send(
        self,
        given: AgentInput,
        *,
        invocation_state: Mapping[str, Any] | None = None,
        emit: Emit | None = None,
    ) -> GraphRunResult:
        """Bring a prompt or responses to the conversation and run until it pauses or ends.

        Raises, before anything changes: `ThreadBusy` for a prompt while it waits for responses (H20), is at work or was
        cut off (`retry` then goes on), `AnswerMismatch` for responses while nothing waits (H21, H25), `InputMismatch`
        for what is neither (H22), `AnswerInvalid`.
        """
        responses = read_responses(given)
        snapshot = await self.snapshot()
        asked = open_of(snapshot) if snapshot is not None and snapshot.status is not ThreadStatus.COMPLETED else []
        if responses is None:
            self._refuse_prompt(asked, given, snapshot)
            run = self._run().context(invocation_state or {})
            return await self._driven(run, given if isinstance(given, Mapping) else _text(given), None, emit)
        self._refuse_responses(asked, snapshot)
        run = self._run().resume_from(self.checkpointer, self.ref.thread_id)
        return await self._driven(run, None, GraphResume(responses), emit)

    async def retry(self) -> GraphRunResult:
        """Let a conversation that failed, or whose call was cut off, go on from there, with its answers and finished
        calls (Z04). A call of this object that is under way is awaited first: beside it, what it does would be done
        twice. Two processes must not do this at once to one file; an installation's tables refuse the second.

        Raises `UnknownThread`, `ThreadEnded` where there is nothing to go on with, `ThreadBusy` in another process's
        call, or in this one's own.
        """
        await self._quiet()
        with self._under_way():
            snapshot = await self.snapshot()
            if snapshot is not None and snapshot.status in _CUT_OFF:
                return await self._run().resume_from(self.checkpointer, self.ref.thread_id).arun()
            return await Runner.aretry_graph(
                self.graph, checkpointer=self.checkpointer, thread_id=self.ref.thread_id, hooks=self.hooks
            )

    async def _quiet(self) -> None:
        loop = asyncio.get_running_loop()
        while self._calls:
            if running_task() is not None or any(one.get_loop() is not loop for one in self._calls):
                raise ThreadBusy(f"a call of the {self.who} is under way; retry when it has ended")
            await asyncio.wait(set(self._calls))

    @contextmanager
    def _under_way(self) -> Iterator[None]:
        call = asyncio.get_running_loop().create_future()
        self._calls.add(call)
        try:
            yield
        finally:
            self._calls.discard(call)
            call.set_result(None)

    def _run(self) -> GraphRunner:
        return GraphRunner().graph(self.graph).thread(self.ref.thread_id).hook(self.checkpointer, *self.hooks)

    async def _driven(
        self, run: GraphRunner, given: Json, resume: GraphResume | None, emit: Emit | None
    ) -> GraphRunResult:
        with self._under_way():
            if emit is None:
                return await run.arun(given, resume=resume)
            streamed = await run.arun(given, resume=resume, stream=True)
            try:
                async for event in streamed.stream_events():
                    emit(event)
            except BaseException:
                # A call that was given up must not go on unseen: a retry would do beside it what it does.
                await streamed.stop()
                raise
            ended: GraphRunResult = streamed.result
            return ended

    def _refuse_prompt(self, asked: Sequence[Interrupt], given: AgentInput, snapshot: Snapshot | None) -> None:
        if asked:
            count = f"{len(asked)} response{'s' if len(asked) != 1 else ''}"
            raise ThreadBusy(
                f"the {self.who} waits for {count}; call it with a list of "
                '{"interruptResponse": {"interruptId": …, "response": …}} blocks',
                [one.id for one in asked],
            )
        if given is None or given == "" or given == []:
            raise InputMismatch(f"nothing to say to the {self.who}: give a prompt, or responses to what it asked")
        if self._calls:
            raise ThreadBusy(f"a call of the {self.who} is under way; await it before the next prompt")
        if snapshot is not None and snapshot.status in _CUT_OFF:
            raise ThreadBusy(f"the {self.who}'s last call was cut off or still runs elsewhere{_GO_ON}")
        if snapshot is not None and snapshot.status in (ThreadStatus.FAILED, ThreadStatus.QUARANTINED):
            raise ThreadBusy(f"the {self.who}'s last call is {snapshot.status}{_GO_ON}")

    def _refuse_responses(self, asked: Sequence[Interrupt], snapshot: Snapshot | None) -> None:
        if asked:
            return
        hint = "" if self.kept else "; where another process asked, give both the same session_manager"
        state = "has not begun" if snapshot is None else f"is {snapshot.status}"
        if snapshot is not None and snapshot.status in _CUT_OFF:
            hint = "; its last call was cut off or still runs elsewhere" + _GO_ON
        raise AnswerMismatch(f"the {self.who} {state} and waits for no response{hint}")


def read_responses(given: AgentInput) -> dict[str, Json] | None:
    """The responses by interrupt id where all of `given` are response blocks, else None.

    Raises `InputMismatch` where other content stands beside them, or one lacks its id or its response (H20, H22).
    """
    if not isinstance(given, list | tuple):
        return None
    blocks = [one for one in given if isinstance(one, Mapping) and RESPONSE in one]
    if not blocks:
        return None
    if len(blocks) < len(given) or any(len(one) > 1 for one in blocks):
        raise InputMismatch("responses stand alone: give nothing else in the same list")
    found: dict[str, Json] = {}
    for index, one in enumerate(block[RESPONSE] for block in blocks):
        if not isinstance(one, Mapping) or "response" not in one or not isinstance(one.get("interruptId"), str):
            raise InputMismatch(f"response {index} needs an interruptId, which is text, and a response")
        if one["interruptId"] in found:
            raise InputMismatch(f"{one['interruptId']!r} is answered twice")
        found[one["interruptId"]] = one["response"]
    return found


def _text(given: Any) -> Json:
    """A prompt as a graph's input: plain text where it is that, else a message of its blocks."""
    if isinstance(given, str):
        return given
    if not isinstance(given, list | tuple):
        raise InputMismatch(f"a prompt is text, a message or a list of content blocks, not {given!r:.100}")
    blocks = [one for one in given if isinstance(one, Mapping)]
    if blocks and all("role" in one for one in blocks):
        if len(blocks) > 1:
            raise InputMismatch("give one message at a time; the conversation keeps the earlier ones")
        return Message.of(blocks[0])
    return Message.of({"role": "user", "content": list(given)})


async def events_of(session: Session, given: AgentInput, **options: Any) -> AsyncGenerator[Mapping[str, Any]]:
    """What a run tells while it goes on, and as its last item `{"result": GraphRunResult}`."""
    told: asyncio.Queue[Mapping[str, Any]] = asyncio.Queue()
    running = asyncio.ensure_future(session.send(given, emit=told.put_nowait, **options))
    try:
        while not running.done() or not told.empty():
            getting = asyncio.ensure_future(told.get())
            await asyncio.wait({getting, running}, return_when=asyncio.FIRST_COMPLETED)
            if getting.done():
                yield getting.result()
            else:
                getting.cancel()
        yield {"result": running.result()}
    finally:
        if not running.done():
            running.cancel()
            await asyncio.wait({running})
