"""How a node function's parameters are filled: by annotation first, then by name."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from graphs.engine import canonical
from graphs.engine.context import Context, ExecutableInput
from graphs.engine.errors import InputMismatch
from graphs.engine.ports import Json
from graphs.engine.state import StateView

_CONTEXT_NAMES = frozenset({"ctx", "context"})
_INPUT_NAMES = frozenset({"node_input", "input"})
_ENVELOPE_NAMES = frozenset({"inp"})
_ERROR_NAMES = frozenset({"error", "exc"})
_PLAIN = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


@dataclass(frozen=True, slots=True)
class _Slot:
    name: str
    source: str
    annotation: Any
    default: Any
    positional: bool


class Binder:
    """The plan of one function's call, made once when its graph is compiled."""

    def __init__(self, fn: Callable[..., Any], node_id: str) -> None:
        self.fn = fn
        self.node_id = node_id
        called = fn if inspect.isroutine(fn) else type(fn).__call__
        self.is_async = inspect.iscoroutinefunction(called) or inspect.iscoroutinefunction(fn)
        self.is_generator = inspect.isgeneratorfunction(called)
        self.is_async_generator = inspect.isasyncgenfunction(called)
        self._slots = _slots(fn, called)

    def call(self, task: Context, value: Json, error: BaseException | None = None) -> Any:
        """Call the function: its result, coroutine or generator. Raises `InputMismatch` naming node and parameter."""
        positional: list[Any] = []
        named: dict[str, Any] = {}
        for slot in self._slots:
            filled = self._fill(slot, task, value, error)
            if slot.positional:
                positional.append(filled)
            else:
                named[slot.name] = filled
        return self.fn(*positional, **named)

    def _fill(self, slot: _Slot, task: Context, value: Json, error: BaseException | None) -> Any:
        if slot.source == "context":
            return task
        if slot.source == "envelope":
            return ExecutableInput(canonical.copy(value), dict(task.metadata))
        if slot.source == "state":
            return task.state
        if slot.source == "error":
            return error
        if slot.source == "input":
            return self._whole(slot, canonical.copy(value))
        return self._by_name(slot, task, value)

    def _whole(self, slot: _Slot, value: Any) -> Any:
        try:
            return self._coerce(slot, value)
        except InputMismatch:
            # An input of several channels has the one that the parameter is named after (seed 001).
            if not isinstance(value, dict) or slot.name not in value:
                raise
            return self._coerce(slot, value[slot.name])

    def _by_name(self, slot: _Slot, task: Context, value: Json) -> Any:
        if slot.source == "named" and isinstance(value, dict) and slot.name in value:
            return self._coerce(slot, canonical.copy(value[slot.name]))
        if slot.name in task.state:
            return self._coerce(slot, task.state[slot.name])
        if slot.default is not inspect.Parameter.empty:
            return slot.default
        has = (
            f"has {', '.join(map(repr, value))}" if isinstance(value, dict) and value else f"is {type(value).__name__}"
        )
        raise InputMismatch(
            f"node {self.node_id!r}: nothing fills its parameter {slot.name!r}: its input {has}; name it after a key of"
            " the input or a channel of the state, or give it a default"
        )

    def _coerce(self, slot: _Slot, value: Any) -> Any:
        wanted = slot.annotation
        if wanted in (inspect.Parameter.empty, Any, object) or type(value) is wanted:
            return value
        if wanted is float and type(value) is int:
            return value  # as for a type checker; 25 is then also shown as 25
        try:
            return _adapter(wanted).validate_python(value)
        except Exception as error:
            if isinstance(value, str) and (read := _read(wanted, value)) is not None:
                return read
            why = _why(error, wanted)
            raise InputMismatch(f"node {self.node_id!r}: its input does not fit {slot.name!r}: {why}") from error


@lru_cache(maxsize=1024)
def _adapter(annotation: Any) -> Any:
    # Pydantic is slow to import and most nodes are annotated with what their input already is.
    from pydantic import TypeAdapter

    return TypeAdapter(annotation)


def _why(error: Exception, wanted: Any) -> str:
    """What is wrong, in a line, without the addresses of another library's pages."""
    details = getattr(error, "errors", None)
    if not callable(details):
        return (
            f"{wanted!r} is nothing that JSON can become; annotate it with a plain type, a dataclass or a Pydantic"
            " model, or not at all"
        )
    found = [(".".join(map(str, one["loc"])), one["msg"]) for one in details(include_url=False)]
    return "; ".join(f"{where}: {text}" if where else text for where, text in found)


def _read(annotation: Any, text: str) -> Any:
    """What a text that says it as JSON gives, or None: a message is text, also to a node that takes a model."""
    try:
        return _adapter(annotation).validate_json(text)
    except Exception:  # noqa: BLE001 - the first reason why it does not fit is the one that is told
        return None


def _slots(fn: Callable[..., Any], called: Any) -> list[_Slot]:
    parameters = [one for one in inspect.signature(fn).parameters.values() if one.kind in _PLAIN]
    hints = _hints(called)
    sources = {one.name: _source(one.name, hints.get(one.name, one.annotation)) for one in parameters}
    rest = [one for one in parameters if sources[one.name] == ""]
    required = [one for one in rest if one.default is inspect.Parameter.empty]
    takes_input = "input" in sources.values() or "envelope" in sources.values()
    for index, one in enumerate(rest):
        whole = not takes_input and (required == [one] or (not required and index == 0 and len(rest) == 1))
        sources[one.name] = "input" if whole else "named" if len(required) > 1 else "state_named"
    return [
        _Slot(
            one.name,
            sources[one.name],
            hints.get(one.name, one.annotation),
            one.default,
            one.kind is not inspect.Parameter.KEYWORD_ONLY,
        )
        for one in parameters
    ]


def _hints(called: Any) -> dict[str, Any]:
    try:
        return typing.get_type_hints(called)
    except Exception:  # noqa: BLE001 - an annotation that cannot be read (a name under TYPE_CHECKING) binds by name
        return dict.fromkeys(getattr(called, "__annotations__", {}), Any)


def _source(name: str, annotation: Any) -> str:
    if annotation is ExecutableInput:
        return "envelope"
    if annotation is Context:
        return "context"
    if annotation is StateView:
        return "state"
    if isinstance(annotation, type) and issubclass(annotation, BaseException):
        return "error"
    if annotation in (inspect.Parameter.empty, Any) or not isinstance(annotation, type):
        for source, names in (("context", _CONTEXT_NAMES), ("envelope", _ENVELOPE_NAMES), ("error", _ERROR_NAMES)):
            if name in names:
                return source
    if name in _INPUT_NAMES:
        return "input"
    return "state" if name == "state" else ""
