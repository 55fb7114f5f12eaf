"""The tools that an agent or a tool node may call, and what stands before the calls."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from graphs.agents.approvals import gate_schema
from graphs.agents.tools import Tool, as_tool
from graphs.engine import canonical
from graphs.engine.errors import DefinitionError
from graphs.engine.hooks import HookRegistry

#: A model that proposes a call which people have rejected so often is stopped instead of asking for ever (E10).
MAX_REJECTIONS = 3
CONCURRENT, SEQUENTIAL = "concurrent", "sequential"
#: A name pattern, or a predicate of the tool's name and its arguments, plain or async. One that has a parameter `agent`
#: is given the agent as it runs, too, so that it can decide by what was done before (`agent.state`).
Rule = str | Callable[..., Any]


class Toolbox:
    """The tools of one `owner`. `approve` says which calls a person must agree to, beside tools that require it.

    Of `approve` a text is a pattern of names, and a function of the tool's name and arguments decides each call; it is
    asked once a call (E23). `execution` says whether the calls of one reply run at once or one after the other (H19);
    `timeout` bounds each run of a tool that names none, in seconds. A source of tools (an object with `list_tools`) is
    opened before the first call. `reserved` is a name that no tool may have.
    """

    def __init__(
        self,
        owner: str,
        tools: Sequence[Any],
        approve: Sequence[Rule] = (),
        hooks: Sequence[Any] = (),
        max_rejections: int = MAX_REJECTIONS,
        execution: str = CONCURRENT,
        timeout: float | None = None,
        reserved: str = "",
    ) -> None:
        if isinstance(approve, str) or not all(isinstance(one, str) or callable(one) for one in approve):
            raise DefinitionError(f"{owner!r}: approve is a list of name patterns and functions, not {approve!r:.100}")
        if execution not in (CONCURRENT, SEQUENTIAL):
            raise DefinitionError(f"{owner!r}: execution is {CONCURRENT} or {SEQUENTIAL}, not {execution!r}")
        self.owner = owner
        self.patterns = tuple(one for one in approve if isinstance(one, str))
        self.predicates = tuple(one for one in approve if not isinstance(one, str))
        self.hooks = HookRegistry(tuple(hooks))
        self.max_rejections = max_rejections
        self.execution = execution
        self.timeout = timeout
        self.reserved = reserved
        self.tools: dict[str, Tool] = {}
        self._sources = [one for one in tools if is_source(one)]
        for one in tools:
            if not is_source(one):
                self._add(as_tool(one))

    def with_tools(self, more: Sequence[Any]) -> Toolbox:
        """The same box with more tools in it."""
        other = copy.copy(self)
        other.tools = dict(self.tools)
        other._sources = list(self._sources)
        for one in more:
            other._add(as_tool(one))
        return other

    def _add(self, tool: Tool) -> None:
        if tool.name == self.reserved:
            raise DefinitionError(f"{self.owner!r} gives its answer as {tool.name!r}; name that tool otherwise")
        if self.tools.setdefault(tool.name, tool) is not tool:
            raise DefinitionError(f"{self.owner!r} has two tools named {tool.name!r}")

    async def open(self) -> None:
        """Learn the tools of sources that were not asked yet. Raises what a source raises, and `DefinitionError` for a
        second tool of one name; the source is asked again then."""
        for source in list(self._sources):
            self._take(source, [as_tool(one) for one in await source.list_tools()])

    def _take(self, source: Any, found: Sequence[Tool]) -> None:
        if not any(one is source for one in self._sources):
            return  # another task of this process has opened it meanwhile
        taken = [one.name for one in found if one.name in self.tools or one.name == self.reserved]
        if taken:
            raise DefinitionError(
                f"{self.owner!r} has two tools named {taken[0]!r}, one of them from {source!r}; "
                "give that source a prefix, or leave one of the two out"
            )
        self._sources = [one for one in self._sources if one is not source]
        for one in found:
            self._add(one)

    def gates(self, tool_name: str) -> bool:
        """Whether a person must agree to all calls of this tool."""
        tool = self.tools.get(tool_name)
        names = [tool_name] if tool is None or not tool.remote else [tool_name, tool.remote]
        named = any(fnmatchcase(name, pattern) for name in names for pattern in self.patterns)
        return named or (tool is not None and tool.require_confirmation is True)

    async def must_confirm(self, tool: Tool, arguments: Mapping[str, Any], agent: Any = None) -> bool:
        """Whether rules that look at the arguments want a person to agree to this call (E23)."""
        for predicate in self.predicates:
            more = {"agent": agent} if "agent" in inspect.signature(predicate).parameters else {}
            said = predicate(tool.name, canonical.copy(dict(arguments)), **more)
            if await said if inspect.isawaitable(said) else said:
                return True
        return await _requires(tool, arguments)

    def schema_of(self, tool_name: str) -> dict[str, Any]:
        """What a reviewer of this tool's calls answers."""
        return gate_schema(self.tools[tool_name].schema)


async def _requires(tool: Tool, arguments: Mapping[str, Any]) -> bool:
    rule = tool.require_confirmation
    if not callable(rule):
        return False
    try:
        bound = tool.bind(arguments)
    except ValueError:
        return False  # the call itself tells the model what does not fit
    wanted = inspect.signature(rule).parameters
    takes_all = any(one.kind is one.VAR_KEYWORD for one in wanted.values())
    said = rule(**{name: value for name, value in bound.items() if takes_all or name in wanted})
    return bool(await said if inspect.isawaitable(said) else said)


def is_source(given: Any) -> bool:
    """Whether something is no tool itself but knows several, to be asked when they are needed."""
    return callable(getattr(given, "list_tools", None))
