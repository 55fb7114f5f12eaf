"""Conversations: messages of one user in one session, each of which starts a thread or answers threads that wait.

A conversation's threads are found again by their ids alone, `user/session/number` counted from 1, on every store and
after a restart. They are searched newest first; those that have ended are not read twice by one process.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any
from urllib.parse import quote

from graphs.engine import answers, canonical, events, schemas
from graphs.engine.checkpointers.memory import InMemoryCheckpointer
from graphs.engine.checkpointers.replayed import replayed
from graphs.engine.conversation.apps import App, EventActions, RunEvent, call_id, call_of
from graphs.engine.conversation.content import Content, FunctionResponse, Part
from graphs.engine.errors import AnswerMismatch, DefinitionError, ThreadExists, UnknownThread
from graphs.engine.graph import CompiledGraph
from graphs.engine.interrupts import GraphResume, Interrupt
from graphs.engine.journal import open_of
from graphs.engine.ports import Answer, Cells, Checkpointer, Json, ThreadRef
from graphs.engine.runner import GraphRunner
from graphs.engine.statuses import Outcome, ThreadStatus

_LONGEST_NAME = 80
_OVER = frozenset({ThreadStatus.COMPLETED, ThreadStatus.REJECTED, ThreadStatus.CANCELLED})


@dataclass(frozen=True, slots=True)
class Session:
    """A conversation as clients name it."""

    app_name: str
    user_id: str
    id: str


class InMemorySessionService:
    """Keeps the conversations of one process. Any checkpointer can stand in its place and keeps them durably."""

    def __init__(self) -> None:
        self.checkpointer: Checkpointer = InMemoryCheckpointer()

    async def create_session(self, *, app_name: str, user_id: str, session_id: str) -> Session:
        """Name a conversation; it begins with its first message, whether it was named before or not."""
        return Session(app_name, user_id, session_id)


@dataclass(slots=True)
class Conversations:
    """All conversations of one app on one store, as `Runner.run_async` uses them."""

    graph: CompiledGraph
    store: Checkpointer
    resumable: bool
    _numbers: dict[str, int] = field(default_factory=dict)
    _over: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, app: App, session_service: Any) -> Conversations:
        """Those of an app; without a session service they are kept where its graph keeps its threads."""
        store = getattr(session_service, "checkpointer", session_service)
        if store is None:
            store = app.graph.checkpointer or InMemoryCheckpointer()
        if not hasattr(store, "open_interrupt"):
            raise DefinitionError(f"{session_service!r} is no session service: give a checkpointer or what has one")
        return cls(app.graph, store, app.is_resumable)

    async def send(
        self, user_id: str, session_id: str, message: Content | str | None, invocation_id: str | None
    ) -> AsyncIterator[RunEvent]:
        """Bring one message to the conversation and tell what comes of it; see `Runner.run_async`."""
        base = _base(user_id, session_id)
        text, responses = _read(message)
        if text and invocation_id is not None:
            raise AnswerMismatch(
                "free text starts a run of its own; leave invocation_id out, or answer by function response"
            )
        if responses:
            threads = await self._threads(base, invocation_id)
            for thread_id, replies in (await self._matched(threads, responses)).items():
                async for event in self._run(thread_id, resume=GraphResume(replies)):
                    yield event
        elif message is None:
            (thread_id,) = await self._threads(base, invocation_id or "")
            async for event in self._go_on(thread_id):
                yield event
        else:
            async for event in self._start(base, self._input(text)):
                yield event

    # Finding threads

    async def _threads(self, base: str, invocation_id: str | None) -> list[str]:
        """The conversation's threads, newest first, or the one that is named."""
        if invocation_id is not None:
            if not str(invocation_id).startswith(f"{base}/") or not await self._exists(invocation_id):
                raise UnknownThread(f"this conversation has no run {invocation_id!r}; name one to go on with")
            return [invocation_id]
        return [f"{base}/{number}" for number in range(await self._newest(base), 0, -1)]

    async def _newest(self, base: str) -> int:
        """The number of the newest thread, 0 where there is none: doubling, then halving."""
        low = self._numbers.get(base, 0)
        step = 1
        while await self._exists(f"{base}/{low + step}"):
            low, step = low + step, step * 2
        while step > 1:
            step //= 2
            if await self._exists(f"{base}/{low + step}"):
                low += step
        self._numbers[base] = low
        return low

    async def _exists(self, thread_id: str) -> bool:
        return await self.store.load(self._ref(thread_id)) is not None

    def _ref(self, thread_id: str) -> ThreadRef:
        return ThreadRef(self.graph.id, thread_id)

    # Answers

    async def _matched(
        self, threads: Sequence[str], responses: Sequence[FunctionResponse]
    ) -> dict[str, dict[str, Json]]:
        """The replies by thread, all of them checked before any is stored (W38, W40)."""
        asked = {thread_id: await self._open(thread_id) for thread_id in threads}
        found: dict[str, dict[str, Json]] = {}
        for response in responses:
            thread_id, question_id, value = await self._place(asked, response)
            if question_id in found.setdefault(thread_id, {}):
                raise AnswerMismatch(f"the question of {response.id!r} is answered twice", _open_ids(asked))
            if question_id:
                found[thread_id][question_id] = value
        for thread_id, replies in found.items():
            answers.match(asked[thread_id], replies)
        return found

    async def _open(self, thread_id: str) -> list[Interrupt]:
        if thread_id in self._over:
            return []
        snapshot = await self.store.load(self._ref(thread_id))
        if snapshot is None or snapshot.status in _OVER:
            if self.graph.single_output:
                self._over.add(thread_id)
            return []
        return open_of(snapshot)

    async def _place(
        self, asked: Mapping[str, Sequence[Interrupt]], response: FunctionResponse
    ) -> tuple[str, str, Json]:
        named = [
            (thread_id, one)
            for thread_id, questions in asked.items()
            for one in questions
            if response.id and response.id in (one.id, one.interrupt_id, one.tool_call_id)
        ]
        exact = [(thread_id, one) for thread_id, one in named if one.id == response.id] or named
        if len(exact) == 1:
            thread_id, question = exact[0]
            return thread_id, question.id, _value(question, response)
        if named:
            raise AnswerMismatch(f"{response.id!r} names {len(named)} open questions", _open_ids(asked))
        return await self._repeated(asked, response), "", None

    async def _repeated(self, asked: Mapping[str, Sequence[Interrupt]], response: FunctionResponse) -> str:
        """The thread in which this very answer was given before (Z34). A store only ever compares here."""
        for thread_id in asked if len(response.id) == 36 else ():
            given = [Answer(response.id, Outcome.ANSWERED, _bare(response.response))]
            try:
                await self.store.answer(self._ref(thread_id), given)
            except AnswerMismatch as mismatch:
                if type(mismatch) is not AnswerMismatch:
                    raise
            else:
                return thread_id
        raise AnswerMismatch(f"{response.id!r} names no open question of this conversation", _open_ids(asked))

    # Running

    def _input(self, text: str) -> Json:
        """The message as the graph's input: its text, or what the text says as JSON where the schema wants that."""
        schema = self.graph.input_schema
        if schema is None or not schemas.validate(schema, text):
            return text
        try:
            return canonical.loads(text.encode())
        except ValueError:
            return text

    async def _start(self, base: str, given: Json) -> AsyncIterator[RunEvent]:
        number = await self._newest(base)
        # A workflow is run anew for each message; the thread of any other graph takes it as its next turn (W42).
        number = number + 1 if self.graph.single_output or number == 0 else number
        while True:
            told = False
            try:
                async for event in self._run(f"{base}/{number}", given):
                    told = True
                    yield event
            except ThreadExists:
                # Another message came in at the same time and has this number.
                if told:
                    raise
                number += 1
            else:
                return

    async def _go_on(self, thread_id: str) -> AsyncIterator[RunEvent]:
        snapshot = await self.store.load(self._ref(thread_id))
        if snapshot is not None and snapshot.status in (ThreadStatus.FAILED, ThreadStatus.QUARANTINED):
            await self.store.retry(self._ref(thread_id))
        async for event in self._run(thread_id, resume=GraphResume()):
            yield event

    async def _run(
        self, thread_id: str, given: Json = None, resume: GraphResume | None = None
    ) -> AsyncIterator[RunEvent]:
        before = await self.store.load(self._ref(thread_id))
        telling = _Telling(self.graph.id, thread_id, self.resumable, {} if before is None else before.cells)
        store = self.store if self.resumable else replayed(self.store, self.graph)
        run = GraphRunner(self.graph, store, thread_id)
        if resume is None and self.graph.single_output:
            run = run.new_thread(thread_id)  # two messages at once are two threads, never two turns of one (W42)
        streamed = await run.arun(given, stream=True, resume=resume)
        async for event in streamed.stream_events():
            for told in telling.of(event):
                yield told


class _Telling:
    """A run's engine events as what clients of conversations read."""

    def __init__(self, graph_id: str, thread_id: str, resumable: bool, cells: Cells) -> None:
        self._graph_id, self._thread_id, self._resumable = graph_id, thread_id, resumable
        self._nodes: dict[str, dict[str, Json]] = _standing(cells)

    def of(self, event: Mapping[str, Any]) -> list[RunEvent]:
        """Those that one engine event comes to."""
        kind = event["type"]
        if kind == events.NODE_START and self._resumable:
            return [self._node(event, "running")]
        if kind == events.NODE_END:
            return [self._node(event, "completed", output=event["output"])]
        if kind == events.NODE_ERROR:
            error = event["error"] or {}
            return [self._node(event, "failed", error_code=error["type"], error_message=error["message"])]
        if kind == events.NODE_STREAM:
            said = events.words_of(event["delta"])
            text = canonical.dumps(event["delta"]).decode() if said is None else said
            return [self._event(content=Content("model", [Part(text=text)]), partial=True)]
        if kind == events.NODE_INTERRUPT:
            return [self._question(event["interrupt"])]
        return self._end(event) if kind == events.GRAPH_END else []

    def _node(self, event: Mapping[str, Any], status: str, **details: Any) -> RunEvent:
        self._nodes[event["path"]] = {"status": status}
        return self._event(author=event["node_id"], node_path=event["path"], **details)

    def _question(self, question: Interrupt) -> RunEvent:
        known = self._nodes.setdefault(question.path, {})
        ids = [*(known.get("interrupts") or []), call_id(question)]
        self._nodes[question.path] = {"status": "waiting", "interrupts": list(dict.fromkeys(ids))}
        ids_of_call = frozenset({call_id(question)})
        return self._event(
            author=question.node_id,
            node_path=question.path,
            content=call_of(question),
            long_running_tool_ids=ids_of_call,
        )

    def _end(self, event: Mapping[str, Any]) -> list[RunEvent]:
        status, output = event["status"], event["output"]
        if status is ThreadStatus.INTERRUPTED:
            return []
        if status is ThreadStatus.COMPLETED:
            text = output if isinstance(output, str) else canonical.dumps(output).decode()
            content = None if output is None else Content("model", [Part(text=text)])
            return [self._event(content=content, output=output, final=True, ended=True)]
        error = event["error"] or {"type": str(status), "message": str(output or "")}
        details = {"error_code": error["type"], "error_message": error["message"]}
        return [self._event(final=True, ended=status in _OVER, **details)]

    def _event(self, *, author: str = "", ended: bool = False, **details: Any) -> RunEvent:
        state = None
        if self._resumable:
            state = {"nodes": {path: dict(node) for path, node in self._nodes.items()}}
        return RunEvent(author or self._graph_id, self._thread_id, actions=EventActions(state, ended), **details)


def _standing(cells: Cells) -> dict[str, dict[str, Json]]:
    """Where each node stands by the cells of a stored thread."""
    found: dict[str, dict[str, Json]] = {}
    for name, value in cells.items():
        if name.startswith("visit:"):
            task = f"{name[6:]}#{value[0]}"
            status = "completed"
            if f"task:{task}" in cells:
                status = "waiting" if f"wait:{task}" in cells else "failed" if f"fail:{task}" in cells else "running"
            found[name[6:]] = {"status": status}
    return found


def _base(user_id: str, session_id: str) -> str:
    return f"{_name('user_id', user_id)}/{_name('session_id', session_id)}"


def _name(what: str, given: str) -> str:
    if not isinstance(given, str) or not given:
        raise DefinitionError(
            f"a conversation is named by a user_id and a session_id; {what}={given!r} is no such text"
        )
    name = quote(str(canonical.encode(given, what)), safe="@.-_:")
    # A plain name never has a "!" in it, so that nobody can take the name that another one's is shortened to.
    return name if len(name) <= _LONGEST_NAME else f"!{sha256(name.encode()).hexdigest()}"


def _read(message: Content | str | None) -> tuple[str, list[FunctionResponse]]:
    """A message as text or as answers; both in one are refused (W39)."""
    if message is None or isinstance(message, str):
        return _said(message), []
    if not isinstance(message, Content) or not all(isinstance(one, Part) for one in message.parts or ()):
        raise AnswerMismatch(f"new_message is text or a types.Content of types.Parts, not {message!r}")
    parts = message.parts or ()
    responses = [one.function_response for one in parts if one.function_response is not None]
    texts = [one.text for one in parts if one.text]
    if responses and texts:
        raise AnswerMismatch("this message has free text beside answers; send them as two messages")
    if not all(isinstance(one.id, str) for one in responses):
        raise AnswerMismatch("a function response has the id of the function call that it answers, as text")
    return ("", responses) if responses else (_said("\n".join(texts)), [])


def _said(text: str | None) -> str:
    if text == "":
        raise AnswerMismatch("this message has neither text nor an answer")
    return text or ""


def _bare(response: Any) -> Json:
    return response["result"] if isinstance(response, Mapping) and list(response) == ["result"] else response


def _value(question: Interrupt, response: FunctionResponse) -> Json:
    """The answer in a response: what stands alone under `result` (W20), unless only the whole dict fits (W21)."""
    if response.response is None:
        raise AnswerMismatch(f"the answer to {response.id!r} has no response; send {{'result': …}}", [question.id])
    bare, schema = _bare(response.response), question.response_schema
    if schema is not None and bare is not response.response:
        whole = canonical.encode(response.response, response.id)
        fits = not schemas.validate(schema, whole)
        if fits and schemas.validate(schema, canonical.encode(bare, response.id)):
            return whole
    return bare


def _open_ids(asked: Mapping[str, Sequence[Interrupt]]) -> list[str]:
    return [one.id for questions in asked.values() for one in questions]
