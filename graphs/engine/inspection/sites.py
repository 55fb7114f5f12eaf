"""Places in a node's source where it asks or acts, and what one reading of it found there."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field, replace
from typing import Any

from graphs.engine.inspection.sources import Scope
from graphs.engine.interrupts import GraphInterrupt


@dataclass(frozen=True)
class Site:
    """A call in a file; `text` is what is called."""

    file: str
    line: int
    column: int
    text: str


@dataclass(frozen=True)
class Question:
    """A place that asks: the call, the names around it, and whether its key is its own in every pass."""

    site: Site
    style: str
    call: ast.Call = field(compare=False)
    scope: Scope = field(compare=False)
    keyed: bool = field(compare=False)


@dataclass(slots=True)
class Passage:
    """What one reading found. Pairs are (effect, question) and (question, reason)."""

    questions: dict[Question, int] = field(default_factory=dict)
    bypassed: dict[tuple[Site, Question], None] = field(default_factory=dict)
    unstable: dict[tuple[Question, str], None] = field(default_factory=dict)
    swallowed: dict[Site, None] = field(default_factory=dict)
    doubtful: dict[Site, None] = field(default_factory=dict)
    children: list[Any] = field(default_factory=list)

    def take(self, inner: Passage) -> None:
        """What was found inside an effect or a child, whose places are its own: there its keys are told apart."""
        self.questions.update({replace(one, keyed=True): many for one, many in inner.questions.items()})
        self.bypassed.update(inner.bypassed)
        self.unstable.update(inner.unstable)
        self.swallowed.update(inner.swallowed)
        self.doubtful.update(inner.doubtful)
        self.children += inner.children


def hides(handler: ast.ExceptHandler, scope: Scope) -> bool:
    """Whether an `except` takes a pause and does not raise it again."""
    last = handler.body[-1]
    if isinstance(last, ast.Raise) and last.exc is None:
        return False
    given = handler.type
    names = given.elts if isinstance(given, ast.Tuple) else [] if given is None else [given]
    return given is None or any(_takes_pauses(scope.value(one)) for one in names)


def suppresses(given: ast.expr, scope: Scope) -> bool:
    """Whether a `with` of this takes a pause."""
    named = given.func if isinstance(given, ast.Call) else None
    name = named.attr if isinstance(named, ast.Attribute) else getattr(named, "id", "")
    arguments = given.args if isinstance(given, ast.Call) else []
    return name == "suppress" and any(_takes_pauses(scope.value(one)) for one in arguments)


def _takes_pauses(given: Any) -> bool:
    return isinstance(given, type) and issubclass(GraphInterrupt, given)


def argument(call: ast.Call, index: int, name: str) -> ast.expr | None:
    """An argument by its name, or by its index where that is not below 0."""
    named = {one.arg: one.value for one in call.keywords}
    return named.get(name) or (call.args[index] if 0 <= index < len(call.args) else None)
