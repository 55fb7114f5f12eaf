"""What a call of a graph is told of its run, level by level, as JSON; and the open question read back from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from graphs.engine import canonical, messages
from graphs.engine.checkpointers.rules import interrupt_from_json, interrupt_to_json
from graphs.engine.interrupts import Interrupt
from graphs.engine.invocation.granularity import ResponseGranularity
from graphs.engine.messages import Message
from graphs.engine.ports import Json
from graphs.engine.results import GraphRunResult
from graphs.engine.statuses import ENDED, InterruptStatus, ThreadStatus


def respond(level: ResponseGranularity, result: GraphRunResult, before: int) -> dict[str, Any]:
    """The response at this level. `before` messages of the thread are older than the call, or its input."""
    values = values_of(result)
    response: dict[str, Any] = {"messages": said(result, before)}
    if level is not ResponseGranularity.LOW:
        response["context"] = messages.read(values.get("messages"))
        response["summary"] = values.get("summary")
    if level is ResponseGranularity.FULL:
        response["state"] = state_of(result)
    response["meta"] = meta_of(result)
    return response


def said(result: GraphRunResult, before: int) -> list[Message]:
    """The messages that came after the first `before`; the output as one where the graph wrote none and is done."""
    found = messages.read(values_of(result).get("messages"))[before:]
    over = result.status in ENDED and result.status is not ThreadStatus.FAILED
    return [Message.text_message(_text(result.output), "assistant")] if over and not found else found


def meta_of(result: GraphRunResult) -> dict[str, Any]:
    """How the thread stands: its id, its stored status, all open questions in node order; what it put out or why it
    failed, where it did (Z25, Z26)."""
    meta: dict[str, Any] = {
        "thread_id": result.thread_id,
        "status": str(result.status),
        "interrupts": [as_json(one) for one in result.interrupts],
    }
    if result.status is ThreadStatus.COMPLETED:
        meta["output"] = result.output
    if result.error is not None:
        meta["error"] = dict(result.error)
    return meta


def state_of(result: GraphRunResult) -> dict[str, Any]:
    """The state: channels, `messages`, and `execution_meta` with the pause (T25)."""
    return {**channels_of(values_of(result)), "execution_meta": _execution(result)}


def channels_of(values: Mapping[str, Json]) -> dict[str, Any]:
    """The state's channels; `messages` is always among them."""
    return {**values, "messages": messages.read(values.get("messages"))}


def values_of(result: GraphRunResult) -> Mapping[str, Json]:
    """The outermost graph's channels."""
    return result.state.values if result.state is not None else {}


def as_json(question: Interrupt) -> dict[str, Json]:
    """A question as JSON, under the names that callers read."""
    return {**interrupt_to_json(question), "message": question.message or None}


def pending_interrupt(state: Mapping[str, Any]) -> Interrupt | None:
    """The question that a state of FULL granularity waits for, the first where several are open; None where none is."""
    data = (state.get("execution_meta") or {}).get("interrupt_data") or {}
    found = data.get("interrupt")
    if found is None:
        return None
    stored = {name: value for name, value in found.items() if name != "message"}
    return interrupt_from_json(stored, str(InterruptStatus.OPEN), None)


def _execution(result: GraphRunResult) -> dict[str, Any]:
    asked: Sequence[Interrupt] = result.interrupts
    told: dict[str, Any] = {"thread_id": result.thread_id, "status": str(result.status)}
    if not asked:
        return {**told, "interrupt_reason": None, "interrupt_data": {}}
    first = asked[0]
    shown = [as_json(one) for one in asked]
    # A pause that the definition sets says where it stands; one that code asked for is an interrupt, whatever its tag.
    reason = first.reason if first.style == "structural" else "interrupt"
    return {**told, "interrupt_reason": reason, "interrupt_data": {"interrupt": shown[0], "interrupts": shown}}


def _text(output: Json) -> str:
    if output is None:
        return ""
    return output if isinstance(output, str) else canonical.dumps(output).decode()
