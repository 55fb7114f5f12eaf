"""The source of a function as a syntax tree, and what the names in it stand for. Nothing is called or imported."""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
import linecache
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from graphs.engine.context import Context

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


class _Mark:
    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


#: What a name stands for that only a run can tell, and the task's own context.
UNKNOWN, CONTEXT = _Mark("UNKNOWN"), _Mark("CONTEXT")


@dataclass(slots=True, eq=False)
class Scope:
    """The names of one function: its own first, then those around it, then its module's."""

    module: Mapping[str, Any]
    own: dict[str, Any] = field(default_factory=dict)
    around: Scope | None = None

    def find(self, name: str) -> Any:
        """What a name stands for, or UNKNOWN."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.own:
                return scope.own[name]
            scope = scope.around
        return self.module.get(name, getattr(builtins, name, UNKNOWN))

    def value(self, expression: ast.expr | None) -> Any:
        """What an expression comes to without running anything: constants, displays of them, names, attributes of
        modules and classes; UNKNOWN for all else."""
        if isinstance(expression, ast.Constant):
            return expression.value
        if isinstance(expression, ast.Name):
            return self.find(expression.id)
        if isinstance(expression, ast.Attribute):
            return _attribute(self.value(expression.value), expression.attr)
        if isinstance(expression, ast.List):
            return _whole([self.value(one) for one in expression.elts])
        if isinstance(expression, ast.Dict) and all(key is not None for key in expression.keys):
            keys, values = [self.value(one) for one in expression.keys], [self.value(one) for one in expression.values]
            if all(isinstance(one, str) for one in keys) and _whole(values) is not UNKNOWN:
                return dict(zip(keys, values, strict=True))
            return UNKNOWN
        if isinstance(expression, ast.UnaryOp) and isinstance(expression.op, ast.USub):
            found = self.value(expression.operand)
            return -found if isinstance(found, (int, float)) else UNKNOWN
        return UNKNOWN


def _whole(values: list[Any]) -> Any:
    return UNKNOWN if any(isinstance(one, (_Mark, Body)) for one in values) else values


def _attribute(owner: Any, name: str) -> Any:
    if isinstance(owner, (_Mark, Body)):
        return UNKNOWN
    if isinstance(owner, (ModuleType, type)):
        return getattr(owner, name, UNKNOWN)
    # A property would run: only what the class or the object plainly holds is looked at.
    held = getattr(owner, "__dict__", {})
    if isinstance(held, dict) and name in held:
        return held[name]
    found = inspect.getattr_static(type(owner), name, UNKNOWN)
    return MethodType(found, owner) if isinstance(found, FunctionType) else found


@dataclass(slots=True, eq=False)
class Body:
    """A function that can be read: its tree, its file and its names."""

    tree: Function
    file: str
    scope: Scope
    name: str
    module: str

    @property
    def statements(self) -> list[ast.stmt]:
        """Its statements; those of a lambda are one expression."""
        if isinstance(self.tree, ast.Lambda):
            return [ast.copy_location(ast.Return(self.tree.body), self.tree.body)]
        return self.tree.body

    @property
    def line(self) -> int:
        """The line of its `def`."""
        return self.tree.lineno

    def inner(self, tree: Function, scope: Scope) -> Body:
        """A function defined inside this one."""
        return Body(tree, self.file, inside(tree, scope), getattr(tree, "name", "lambda"), self.module)


def read(given: Any) -> Body | None:
    """The body of a function, method, partial, or object that can be called; None where there is no source."""
    fn, owner = _function(given)
    if fn is None:
        return None
    tree = _tree(fn.__code__)
    if tree is None:
        return None
    around = Scope(fn.__globals__, dict(_closure(fn)))
    scope = inside(tree, around)
    parameters = _parameters(tree)
    if owner is not None and parameters:
        scope.own[parameters[0].arg] = owner
    scope.own.update(dict.fromkeys(_contexts(fn, parameters), CONTEXT))
    return Body(tree, fn.__code__.co_filename, scope, fn.__qualname__, fn.__module__)


def line_of(file: str, line: int) -> str:
    """One line of a file, empty where there is none."""
    return linecache.getline(file, line)


def inside(tree: Function, around: Scope) -> Scope:
    """The scope of a function: its parameters and what it assigns are known to a run alone."""
    parameters = _parameters(tree)
    own: dict[str, Any] = {one.arg: UNKNOWN for one in parameters}
    if not isinstance(tree, ast.Lambda):
        own.update({name: UNKNOWN for statement in tree.body for name in _assigned(statement)})
    own.update({one.arg: CONTEXT for one in parameters if one.arg in ("ctx", "context")})
    return Scope(around.module, own, around)


def _function(given: Any) -> tuple[FunctionType | None, Any]:
    owner = None
    for _ in range(16):
        if isinstance(given, functools.partial):
            given = given.func
        elif isinstance(given, MethodType):
            given, owner = given.__func__, given.__self__
        elif isinstance(given, FunctionType):
            unwrapped = inspect.unwrap(given)
            return (unwrapped if isinstance(unwrapped, FunctionType) else given), owner
        elif isinstance(getattr(given, "__wrapped__", None), FunctionType):
            given = given.__wrapped__
        else:
            called = getattr(type(given), "__call__", None)  # noqa: B004 - the function itself is wanted
            if isinstance(given, type) or not isinstance(called, FunctionType):
                return None, None
            given, owner = called, given
    return None, None


@lru_cache(maxsize=128)
def _module(source: str) -> ast.Module | None:
    try:
        return ast.parse(source)
    except SyntaxError:
        return None


def _tree(code: CodeType) -> Function | None:
    linecache.checkcache(code.co_filename)
    module = _module("".join(linecache.getlines(code.co_filename)))
    kinds = (ast.Lambda,) if code.co_name == "<lambda>" else (ast.FunctionDef, ast.AsyncFunctionDef)
    found = [
        one
        for one in (ast.walk(module) if module is not None else ())
        if isinstance(one, kinds) and _first_line(one) == code.co_firstlineno and _fits(one, code)
    ]
    return found[0] if len(found) == 1 else _by_column(found, code)


def _first_line(tree: Any) -> int:
    return int(min([tree.lineno, *(one.lineno for one in getattr(tree, "decorator_list", ()))]))


def _fits(tree: Any, code: CodeType) -> bool:
    if not isinstance(tree, ast.Lambda):
        return bool(tree.name == code.co_name)
    return [one.arg for one in _parameters(tree)] == list(code.co_varnames[: len(_parameters(tree))])


def _by_column(found: list[Function], code: CodeType) -> Function | None:
    """Of several lambdas of one line the one in which the code's own columns lie."""
    places = {(line, column) for line, _, column, _ in code.co_positions() if line and column}
    for one in found:
        body = one.body if isinstance(one, ast.Lambda) else one
        if isinstance(body, ast.expr) and (body.lineno, body.col_offset) in places:
            return one
    return None


def _parameters(tree: Function) -> list[ast.arg]:
    given = tree.args
    rest = [one for one in (given.vararg, given.kwarg) if one is not None]
    return [*given.posonlyargs, *given.args, *given.kwonlyargs, *rest]


def _assigned(statement: ast.stmt) -> Iterator[str]:
    todo: list[ast.AST] = [statement]
    while todo:
        one = todo.pop()
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store):
            yield one.id
        if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield one.name
        elif isinstance(one, (ast.Import, ast.ImportFrom)):
            yield from (alias.asname or alias.name.partition(".")[0] for alias in one.names)
        elif not isinstance(one, ast.Lambda):
            todo.extend(ast.iter_child_nodes(one))


def imported(statement: ast.Import | ast.ImportFrom) -> dict[str, Any]:
    """What an import inside a function binds, as far as it is loaded already."""
    found: dict[str, Any] = {}
    for alias in statement.names:
        name = alias.asname or alias.name.partition(".")[0]
        if isinstance(statement, ast.Import):
            module = sys.modules.get(alias.name if alias.asname else name)
            found[name] = UNKNOWN if module is None else module
        else:
            found[name] = getattr(sys.modules.get(statement.module or ""), alias.name, UNKNOWN)
    return found


def _closure(fn: FunctionType) -> Iterator[tuple[str, Any]]:
    for name, cell in zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:
            yield name, UNKNOWN


def _contexts(fn: Callable[..., Any], parameters: list[ast.arg]) -> Iterator[str]:
    hints = getattr(fn, "__annotations__", {})
    for one in parameters:
        hint = hints.get(one.arg)
        if hint is Context or (isinstance(hint, str) and hint.rpartition(".")[2] == "Context"):
            yield one.arg
