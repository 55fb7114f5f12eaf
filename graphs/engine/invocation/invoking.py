"""Calling a compiled graph with input or an answer, whole or as a stream of chunks: thin over `GraphRunner` (seed 001).

What the parts of a response mean: `messages` are those that this call added after its input (where a graph keeps none,
its output as an assistant's message); `context` is the whole conversation of the thread, earlier turns included;
`summary` is its channel of that name; `meta` says in every level how the thread stands and which questions are open.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from graphs.engine import answers, messages, schemas, superstep
from graphs.engine.blocking import blocking, iterated
from graphs.engine.cells import channel, spell
from graphs.engine.errors import (
    AnswerMismatch,
    DefinitionChanged,
    InputMismatch,
    ThreadBusy,
    ThreadEnded,
    UnknownThread,
)
from graphs.engine.graph import CompiledGraph
from graphs.engine.interrupts import GraphResume, Interrupt
from graphs.engine.invocation.chunks import Teller
from graphs.engine.invocation.granularity import ResponseGranularity, StreamChunk
from graphs.engine.invocation.responses import respond
from graphs.engine.journal import open_of
from graphs.engine.machine import Machine
from graphs.engine.messages import Message
from graphs.engine.outputs import NOTHING
from graphs.engine.ports import Checkpointer, Commit, Json, Snapshot, TaskKey, ThreadRef
from graphs.engine.runner import GraphRunner
from graphs.engine.state import encoded
from graphs.engine.statuses import ENDED, ThreadStatus

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z", re.IGNORECASE)


async def ainvoke(
    graph: CompiledGraph, input: Any, config: Any = None, level: ResponseGranularity | str = ResponseGranularity.LOW
) -> dict[str, Any]:
    """Run a new thread, its next turn, or on with an answer, until it pauses or ends.

    Raises `InputMismatch` (neither input nor answer), `ThreadBusy` with the open ids (input for a paused thread, T23),
    `ThreadEnded` (an answer where nothing is asked, T24), `AnswerMismatch`, `AnswerInvalid`, `UnknownThread`,
    `PayloadError`, `DefinitionChanged`.
    """
    told = ResponseGranularity(level)
    call = await _call(graph, input, config)
    result = await call.run.arun(call.input, resume=call.resume)
    return respond(told, result, call.before)


def invoke(
    graph: CompiledGraph, input: Any, config: Any = None, level: ResponseGranularity | str = ResponseGranularity.LOW
) -> dict[str, Any]:
    """`ainvoke` for code without an event loop."""
    return blocking(ainvoke(graph, input, config, level))


async def astream(
    graph: CompiledGraph, input: Any, config: Any = None, level: ResponseGranularity | str = ResponseGranularity.LOW
) -> AsyncIterator[StreamChunk]:
    """`ainvoke` told chunk by chunk, in the kinds that the level sends (T22). Raises the same, before the first one."""
    told = ResponseGranularity(level)
    call = await _call(graph, input, config)
    streamed = await call.run.arun(call.input, stream=True, resume=call.resume)
    teller = Teller(told, call.thread_id, call.before)
    async for event in streamed.stream_events():
        cells = None
        if teller.needs_state(event):
            cells = await call.store.load_step(call.ref, event["step"])
        for chunk in teller.chunks(event, cells):
            yield chunk
    yield teller.last(streamed.result)


def stream(
    graph: CompiledGraph, input: Any, config: Any = None, level: ResponseGranularity | str = ResponseGranularity.LOW
) -> Iterator[StreamChunk]:
    """`astream` for code without an event loop. Where the reader stops, the run goes on to its pause or end."""
    return iterated(astream(graph, input, config, level))


async def aupdate_state(graph: CompiledGraph, config: Any, values: Mapping[str, Any]) -> dict[str, Any]:
    """Set channels of the graph whose node the thread is paused before or after, whole, and return its channels (T17).

    Where pauses of several graphs are open, `interrupt_id` in the config names the one. Raises `UnknownThread`,
    `ThreadBusy` (no such pause), `AnswerMismatch` (it does not say which graph), `PayloadError`, `DefinitionChanged`.
    """
    run, ref, store = _configured(graph, config)
    snapshot = await store.load(ref)
    if snapshot is None:
        raise UnknownThread(f"graph {ref.graph_id!r} has no thread {ref.thread_id!r}")
    if reason := superstep.compatible(graph, snapshot.cells):
        raise DefinitionChanged(f"graph {graph.id!r} changed under thread {ref.thread_id!r}: {reason}")
    frame = _edited_frame(snapshot, _setting(config, "interrupt_id"))
    machine = Machine(graph, snapshot.cells)
    log = superstep.edit(machine, _channels(values), frame)
    cells = machine.cells
    waiting = tuple(id for task in machine.tasks.values() for id in task.waiting or ())
    delta, active = machine.draft.take(), tuple(machine.tasks)
    status = ThreadStatus.INTERRUPTED
    commit = Commit(snapshot.step + 1, status, delta, lambda: dict(cells), waiting=waiting, active=active, log=log)
    if await store.commit(ref, commit):
        # Somebody answered at this moment: the thread is to run, and whoever paused it has to see to that (F22).
        await run.resume_from(store, ref.thread_id).arun()
    prefix = channel(frame, "")
    return {name.removeprefix(prefix): value for name, value in cells.items() if name.startswith(prefix)}


def update_state(graph: CompiledGraph, config: Any, values: Mapping[str, Any]) -> dict[str, Any]:
    """`aupdate_state` for code without an event loop."""
    return blocking(aupdate_state(graph, config, values))


# What a call is


@dataclass(frozen=True, slots=True)
class _Call:
    """One call made ready: what to run it with, and how many messages the thread holds before it adds any."""

    run: GraphRunner
    ref: ThreadRef
    store: Checkpointer
    input: Json = None
    resume: GraphResume | None = None
    before: int = 0

    @property
    def thread_id(self) -> str:
        return self.ref.thread_id


@dataclass(frozen=True, slots=True)
class _Input:
    """What a caller gave: channels, or an answer."""

    channels: Mapping[str, Json] = field(default_factory=dict)
    resume: Any = NOTHING
    interrupt_id: str = ""
    goes_on: bool = False


async def _call(graph: CompiledGraph, input: Any, config: Any) -> _Call:
    given = _read(input)
    run, ref, store = _configured(graph, config)
    snapshot = await store.load(ref)
    known = messages.read(snapshot.cells.get(channel("", "messages"))) if snapshot is not None else []
    if given.goes_on:
        return _Call(run.resume_from(store, ref.thread_id), ref, store, before=len(known))
    if given.resume is not NOTHING:
        resume = _answers(graph, ref, snapshot, given)
        return _Call(run.resume_from(store, ref.thread_id), ref, store, resume=resume, before=len(known))
    before = len(known) + len(given.channels.get("messages", ()))
    return _Call(run.state(given.channels), ref, store, dict(given.channels), before=before)


def _configured(graph: CompiledGraph, config: Any) -> tuple[GraphRunner, ThreadRef, Checkpointer]:
    run = GraphRunner().graph(graph).context(_setting(config, "context", Mapping) or {})
    thread_id = _setting(config, "thread_id")
    ready = (run.thread(thread_id) if thread_id else run)._identified()
    assert ready.thread_id is not None and ready.checkpointer is not None
    return ready, ThreadRef(graph.id, ready.thread_id), ready.checkpointer


def _setting(config: Any, name: str, kind: type = str) -> Any:
    if config is not None and not isinstance(config, Mapping):
        raise InputMismatch("the config is a mapping with the thread_id")
    value = (config or {}).get(name)
    if value is not None and not isinstance(value, kind):
        raise InputMismatch(f"{name} in the config is {'text' if kind is str else 'a mapping'}, not {value!r}")
    return value


def _read(input: Any) -> _Input:
    if input is None:
        return _Input(goes_on=True)
    if not isinstance(input, Mapping):
        raise InputMismatch('the input is a mapping such as {"messages": […]} or {"resume": …}')
    if "resume" not in input:
        if not input or "interrupt_id" in input or (set(input) == {"messages"} and not input["messages"]):
            raise InputMismatch("nothing to run: give messages or other channels, or `resume` with an answer")
        return _Input(_channels(input))
    rest = set(input) - {"resume", "interrupt_id"}
    if rest:
        raise InputMismatch(f"an answer comes alone, not beside {', '.join(sorted(map(str, rest)))}")
    named = input.get("interrupt_id")
    if named is not None and (not isinstance(named, str) or not named):
        raise InputMismatch("interrupt_id is the id of an open question")
    return _Input(resume=input["resume"], interrupt_id=named or "")


def _channels(values: Mapping[str, Any]) -> dict[str, Json]:
    if not isinstance(values, Mapping):
        raise InputMismatch("state is a mapping from the names of channels to their values")
    found = encoded({name: value for name, value in values.items() if name != "messages"})
    if "messages" in values:
        given = values["messages"]
        items = given if isinstance(given, list | tuple) else [given]
        found["messages"] = [Message.of(one, f"messages/{index}") for index, one in enumerate(items)]
    return found


# Which question an answer is for


def _answers(graph: CompiledGraph, ref: ThreadRef, snapshot: Snapshot | None, given: _Input) -> GraphResume:
    if snapshot is None:
        raise UnknownThread(f"graph {ref.graph_id!r} has no thread {ref.thread_id!r}")
    if given.interrupt_id:
        return GraphResume({given.interrupt_id: given.resume})
    asked = _open(graph, snapshot)
    if _by_name(given.resume, asked):
        return GraphResume(dict(given.resume))
    if len(asked) == 1:
        return GraphResume({asked[0].id: given.resume})
    if asked:
        what = f"{len(asked)} questions are open; name one with interrupt_id, or give a mapping from names to answers"
        raise AnswerMismatch(what, [one.id for one in asked])
    if snapshot.status in ENDED:
        raise ThreadEnded(
            f"thread {ref.thread_id!r} is {snapshot.status} and asks nothing, so there is no answer to take"
        )
    raise AnswerMismatch(f"thread {ref.thread_id!r} is {snapshot.status} and asks nothing")


def _by_name(value: Any, asked: Sequence[Interrupt]) -> bool:
    """Whether a mapping is answers by the names of questions, and not itself the answer to the only one (T12).

    Taken for the answer, `{"pay": False}` would be a yes to whoever looks only whether it is true. A UUID among the
    keys says the same whatever is open: a question that closed between two looks must not change what was meant.
    """
    if not isinstance(value, Mapping) or not value or not all(isinstance(key, str) for key in value):
        return False
    if len(asked) == 1 and set(value) <= set(schemas.properties(asked[0].response_schema)):
        return False
    return any(_UUID.match(key) for key in value) or set(value) <= answers.names(asked)


def _open(graph: CompiledGraph, snapshot: Snapshot) -> list[Interrupt]:
    return sorted(open_of(snapshot), key=lambda one: (graph.rank(one.path), one.visit))


def _edited_frame(snapshot: Snapshot, interrupt_id: str | None) -> str:
    asked = [one for one in open_of(snapshot) if one.style == "structural"]
    if snapshot.status is not ThreadStatus.INTERRUPTED or not asked:
        raise ThreadBusy(
            f"thread {snapshot.ref.thread_id!r} is {snapshot.status} and not paused before or after a node, "
            "so its state is not to be edited"
        )
    named: Sequence[Interrupt] = [one for one in asked if interrupt_id in (None, one.id)]
    frames = {_frame_of(snapshot, one) for one in named}
    if len(frames) != 1:
        what = f"{interrupt_id!r} is no pause around a node" if not frames else "several graphs are paused; name one"
        raise AnswerMismatch(what, [one.id for one in asked])
    return frames.pop()


def _frame_of(snapshot: Snapshot, question: Interrupt) -> str:
    task = snapshot.cells.get(f"task:{spell(TaskKey(question.path, question.visit))}", {})
    return str(task.get("f", ""))
