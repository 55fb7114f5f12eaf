"""A function as a node with its options, for places that take nodes and not options: edge lists and `run_node`."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import CodeType
from typing import Any

from graphs.engine.errors import DefinitionError
from graphs.engine.policies import NodeRetryPolicy


class AnswersUnread(UserWarning):
    """A node reads `ctx.resume_inputs` but is not run again when it is answered, so it never sees an answer (W09)."""


@dataclass(frozen=True, slots=True, eq=False)
class FunctionNode:
    """A function, plain or async, generator or not, as a node named `name` (the function's own where it is left out).

    With `rerun_on_resume=False` the answer to a `RequestInput` is the node's output; with True its body runs again and
    finds the answers in `ctx.resume_inputs` (W05, W06). The rest is as for `Graph.node`; `join` None leaves it to the
    edges. Raises `DefinitionError` where no name can be had.
    """

    func: Callable[..., Any]
    rerun_on_resume: bool = False
    name: str = ""
    retry: NodeRetryPolicy | None = None
    timeout: float | None = None
    on_error: Callable[..., Any] | None = None
    join: str | None = None
    crash: str = "idempotent"
    label: str = ""

    def __post_init__(self) -> None:
        if not callable(self.func):
            raise DefinitionError(f"FunctionNode(func={self.func!r}): func is a function")
        if not self.name:
            object.__setattr__(self, "name", name_of(self.func))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function itself."""
        return self.func(*args, **kwargs)

    @property
    def options(self) -> Mapping[str, Any]:
        """What `Graph.node` takes beside name and body."""
        given = {name: getattr(self, name) for name in ("rerun_on_resume", "retry", "timeout", "on_error", "crash")}
        return {**given, "label": self.label, **({} if self.join is None else {"join": self.join})}


def name_of(body: Any) -> str:
    """The name a body goes by as a node: a function's, an agent's or a graph's own. Raises `DefinitionError`."""
    for attribute in ("name", "id", "__name__"):
        found = getattr(body, attribute, None)
        if isinstance(found, str) and found and not found.startswith("<"):
            return found
    raise DefinitionError(f"{body!r} has no name of its own; give it one with FunctionNode(func=…, name=…)")


def warn_of_unread_answers(name: str, body: Any, rerun_on_resume: bool) -> None:
    """Warn of a body that reads answers and will not run again (W09)."""
    code = getattr(inspect.unwrap(body), "__code__", None) if callable(body) else None
    if rerun_on_resume or not isinstance(code, CodeType):
        return
    if any("resume_inputs" in one.co_names for one in _codes(code)):
        text = (
            f"node {name!r} reads ctx.resume_inputs but is not run again when it is answered: its first answer becomes"
            " its output; declare it with FunctionNode(func=…, rerun_on_resume=True)"
        )
        warnings.warn(text, AnswersUnread, stacklevel=4)


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)
