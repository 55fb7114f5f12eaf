"""Functions that an agent's model may call."""

from __future__ import annotations

import copy
import inspect
import typing
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, overload

from graphs.agents.tool_context import ToolContext
from graphs.engine.context import Context
from graphs.engine.effects import IDEMPOTENT
from graphs.engine.errors import DefinitionError
from graphs.engine.scopes import running_task

#: Whether a person must agree to a call: always, never, or where this function of the call's arguments says so.
Confirmation = bool | Callable[..., bool | Awaitable[bool]]
_HIDDEN = frozenset({"self", "cls"})
#: The parameter that `@tool(context=True)` gives the `ToolContext` to.
CONTEXT_PARAMETER = "tool_context"


class Tool:
    """One function as a model sees it: name, description, and the JSON Schema of its arguments.

    With `require_confirmation` a person must agree before its body runs (W43).
    """

    #: Another name that `approve` knows it by: that of a tool where it comes from; empty where there is none.
    remote = ""
    #: True where a person gives the result, after the body has run (`LongRunningFunctionTool`).
    long_running = False

    def __init__(
        self,
        fn: Callable[..., Any],
        *,
        name: str = "",
        description: str = "",
        crash: str = IDEMPOTENT,
        require_confirmation: Confirmation = False,
        context: bool | str = False,
        timeout: float | None = None,
    ) -> None:
        if not callable(fn):
            raise DefinitionError(f"{fn!r} is no tool: give a function, or a method of an object")
        if inspect.isgeneratorfunction(fn) or inspect.isasyncgenfunction(fn):
            raise DefinitionError(f"tool {fn.__name__!r} yields; a tool returns its result, several of them as a list")
        self.fn = fn
        self.require_confirmation = require_confirmation
        self.name: str = name or fn.__name__
        self.description, told = _documented(fn, description)
        self.crash = crash
        self.timeout = timeout
        self.is_async = inspect.iscoroutinefunction(fn)
        hints = _hints(fn)
        parameters = [one for one in inspect.signature(fn).parameters.values() if one.kind.name.endswith("KEYWORD")]
        self._task = [one.name for one in parameters if _is_task(one.name, hints)]
        named = context if isinstance(context, str) else CONTEXT_PARAMETER
        self._call = [one.name for one in parameters if hints.get(one.name) is ToolContext or one.name == named]
        hidden = {*_HIDDEN, *self._task, *self._call}
        shown = [one for one in parameters if one.name not in hidden]
        self._fields = {one.name: (hints.get(one.name, Any), _default(one, told.get(one.name))) for one in shown}
        self._model: Any = None

    def __get__(self, instance: Any, owner: type | None = None) -> Tool:
        """As a method: bound to its object, which never reaches the schema."""
        if instance is None:
            return self
        bound = copy.copy(self)
        bound.fn = self.fn.__get__(instance, owner)
        return bound

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The plain function."""
        return self.fn(*args, **kwargs)

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of its arguments."""
        schema: dict[str, Any] = self._arguments().model_json_schema()
        schema.pop("title", None)
        return schema

    @property
    def spec(self) -> dict[str, Any]:
        """What a model is told of it."""
        return {"name": self.name, "description": self.description, "inputSchema": self.schema}

    def bind(self, arguments: Mapping[str, Any], call: ToolContext | None = None) -> dict[str, Any]:
        """The call's keyword arguments, coerced to their annotations, with the context that the function asks for.
        Raises ValueError naming what does not fit."""
        checked = self._arguments().model_validate(dict(arguments))
        bound = {name: getattr(checked, name) for name in self._fields}
        # A whole number is a float, as for a type checker: 25 is then also shown as 25.
        plain = {name for name in self._fields if self._is_float(name) and type(arguments.get(name)) is int}
        bound.update({name: arguments[name] for name in plain})
        given = {**dict.fromkeys(self._task, running_task()), **dict.fromkeys(self._call, call or ToolContext())}
        return {**bound, **given}

    def _is_float(self, name: str) -> bool:
        hint = self._fields[name][0]
        return getattr(hint, "__origin__", hint) is float

    def _arguments(self) -> Any:
        # Built when first needed: Pydantic is slow to import and a process that runs no agent never needs it.
        if self._model is None:
            from pydantic import ConfigDict, create_model

            fields: Any = self._fields
            self._model = create_model(self.name, __config__=ConfigDict(extra="forbid"), **fields)
        return self._model


class LongRunningFunctionTool(Tool):
    """A tool whose result a person gives. Its body runs once and may start something; then the agent waits.

    What the body returns is shown to the reviewer beside the question; the model never sees it, so that it cannot pass
    for an approval (W35, Z46). The answer is the tool's result. `response_schema` is what the answer must fit.
    """

    long_running = True

    def __init__(self, func: Callable[..., Any], *, response_schema: Any = None, **options: Any) -> None:
        super().__init__(func, **options)
        self.response_schema = response_schema


@overload
def tool(fn: Callable[..., Any], /) -> Tool: ...


@overload
def tool(
    *,
    name: str = "",
    description: str = "",
    crash: str = IDEMPOTENT,
    require_confirmation: Confirmation = False,
    context: bool | str = False,
    timeout: float | None = None,
) -> Callable[[Callable[..., Any]], Tool]: ...


def tool(fn: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Make a function or method a tool: `@tool` or `@tool(name=..., crash="at_most_once")`.

    Its schema comes from the signature, its description and those of its arguments from the docstring. With `context`
    (True, or the name of a parameter) it is given its `ToolContext`; `timeout` bounds one run of it, in seconds.
    """
    if fn is not None:
        return Tool(fn)
    return lambda wrapped: Tool(wrapped, **options)


def as_tool(given: Any) -> Tool:
    """A tool, a plain callable as one, or an agent or a team as one that is run with a text."""
    if isinstance(given, Tool):
        return given
    made = getattr(given, "as_tool", None)
    return made() if callable(made) else Tool(given)


def _hints(fn: Callable[..., Any]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(fn, include_extras=True)
    except (NameError, TypeError):
        return {}


def _is_task(name: str, hints: Mapping[str, Any]) -> bool:
    """Whether a parameter is given the task: by annotation, or by name where no annotation says what else it is."""
    hint = hints.get(name, Any)
    return hint is Context or Context in typing.get_args(hint) or (name in ("ctx", "context") and hint is Any)


def _documented(fn: Callable[..., Any], description: str) -> tuple[str, dict[str, str]]:
    """What a docstring says of the function, and of its parameters by name."""
    text = inspect.getdoc(fn) or ""
    if "\n" not in text:
        return description or text, {}
    from docstring_parser import parse

    found = parse(text)
    parts = [part for part in (found.short_description, found.long_description) if part]
    told = {one.arg_name: one.description for one in found.params if one.description}
    return description or ("\n\n".join(parts) if told or found.meta else text), told


def _default(parameter: inspect.Parameter, told: str | None) -> Any:
    given = ... if parameter.default is inspect.Parameter.empty else parameter.default
    if told is None:
        return given
    from pydantic import Field

    return Field(given, description=told)
