"""What is refused while a graph is being defined: each message names the node, the option and the way out."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterable
from typing import Any

from graphs.engine import schemas
from graphs.engine.errors import DefinitionError, SchemaError
from graphs.engine.policies import NodeRetryPolicy

_RESERVED = frozenset("/#|")


def plain_id(id: Any, what: str) -> str:
    """The id itself, where it can be a part of paths and keys."""
    if not isinstance(id, str) or not id or len(id) > 200 or _RESERVED & set(id) or not id.isprintable():
        raise DefinitionError(f"{what} id {id!r}: text of 1 to 200 printable characters without / # |")
    return id


def options(id: str, retry: Any, timeout: Any, on_error: Any) -> None:
    """Refuse options of a node that would only break when they are needed."""
    if retry is not None and not isinstance(retry, NodeRetryPolicy):
        raise DefinitionError(f"node {id!r}: retry is a NodeRetryPolicy(max_attempts=…), not {retry!r}")
    if timeout is not None and (isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or timeout <= 0):
        raise DefinitionError(f"node {id!r}: timeout is a number of seconds above 0, not {timeout!r}")
    if on_error is not None and not callable(on_error):
        raise DefinitionError(f"node {id!r}: on_error is a function of the error and the input, not {on_error!r}")


def given(graph_id: str, what: str, value: Any, kind: type, wanted: str) -> None:
    """Refuse an option of a graph that is of another kind."""
    if not isinstance(value, kind):
        raise DefinitionError(f"graph {graph_id!r}: {what} is {wanted}, not {value!r}")


def schema(graph_id: str, shape: Any) -> schemas.Schema | None:
    """A graph's input schema. Raises `SchemaError` that says whose it is."""
    try:
        return schemas.of(shape)
    except SchemaError as error:
        raise SchemaError(f"graph {graph_id!r}: input_schema is {error}") from error


def meant(name: str, known: Iterable[str]) -> str:
    """What was probably meant by an unknown name, and what there is."""
    names = list(known)
    close = difflib.get_close_matches(str(name), names, 1)
    hint = f"; did you mean {close[0]!r}? Its" if close else "; its"
    return f"{hint} nodes are {', '.join(map(repr, names[:20]))}{' …' if len(names) > 20 else ''}"


def way_to_a_body(body: Any) -> str:
    """What somebody who gave this as a node most likely wanted."""
    if isinstance(body, type):
        return f"; make an object of it: {body.__name__}(…)"
    if body is None or inspect.isawaitable(body) or inspect.isgenerator(body):
        return "; give the function itself, without calling it"
    return "; give the function itself, not its name" if isinstance(body, str) else ""


def arity(predicate: Callable[..., Any], where: str) -> int:
    """How many of (output, state, context) a predicate takes. Refuses one that gives no answer at once."""
    try:
        parameters = inspect.signature(predicate).parameters.values()
    except (ValueError, TypeError):
        return 1
    for kind, found in (
        ("a coroutine", inspect.iscoroutinefunction(predicate) or inspect.isasyncgenfunction(predicate)),
        ("a generator", inspect.isgeneratorfunction(predicate)),
    ):
        if found:
            raise DefinitionError(f"{where}: a predicate is a plain function that returns True or False, not {kind}")
    positional = [one for one in parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    if any(one.kind is one.VAR_POSITIONAL for one in parameters):
        return 3
    return min(3, len([one for one in positional if one.default is one.empty]) or min(1, len(positional)))
