"""Hooks: code of the graph's author, called around nodes and, on the same registry, around tools and models."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, TypeVar, runtime_checkable

from graphs.engine import answers, asking
from graphs.engine.context import Context
from graphs.engine.errors import DefinitionError, SaysoError
from graphs.engine.interrupts import GraphInterrupt
from graphs.engine.scopes import Scope, entered


class DuplicateHookName(SaysoError):
    """Two hooks of one event ask under the same name; each question needs its own (H12)."""


@runtime_checkable
class HookProvider(Protocol):
    """Registers its callbacks when a run begins."""

    def register_hooks(self, registry: HookRegistry, **kwargs: Any) -> None: ...


@dataclass(slots=True)
class HookEvent:
    """What every callback receives."""

    kind: ClassVar[str] = "event"
    asks: ClassVar[bool] = False

    scope: Scope | None = field(default=None, init=False, repr=False)
    asked: set[str] = field(default_factory=set, init=False, repr=False)

    @property
    def cancelled(self) -> bool:
        """Whether a callback has cancelled what the event stands before."""
        return False

    def interrupt(self, name: str, reason: Any = None, response: Any = None) -> Any:
        """Ask a person under `name` and return the answer; `response`, where given, answers at once (H38).

        Raises the pause, `DuplicateHookName`, or RuntimeError on an event that cannot ask (H42).
        """
        if not self.asks or self.scope is None:
            raise RuntimeError(
                f"{type(self).__name__} cannot ask; BeforeToolCallEvent, BeforeToolsEvent and BeforeNodeCallEvent can"
            )
        if name in self.asked:
            raise DuplicateHookName(f"two hooks of {self.kind} ask under the name {name!r}")
        self.asked.add(name)
        if response is not None:
            return response
        if self.cancelled:
            return "n"  # nothing is left to decide, so nobody is asked (Z52)
        draft = asking.build(self.scope, "hook", _message(name, reason), reason=reason, name=name, interrupt_id=name)
        return answers.delivered(asking.pose(self.scope, draft, name))


def _message(name: str, reason: Any) -> str:
    return reason if isinstance(reason, str) and reason else name


@dataclass(slots=True)
class BeforeNodeCallEvent(HookEvent):
    """Before a node is called. `cancel_node` (True or a text) ends the node as cancelled without a call."""

    kind: ClassVar[str] = "before_node"
    asks: ClassVar[bool] = True

    node_id: str = ""
    input: Any = None
    context: Context | None = None
    cancel_node: bool | str = False

    @property
    def cancelled(self) -> bool:
        """Whether a callback has cancelled the node."""
        return bool(self.cancel_node)


@dataclass(slots=True)
class AfterNodeCallEvent(HookEvent):
    """After a node has given its output or failed with `error`."""

    kind: ClassVar[str] = "after_node"

    node_id: str = ""
    output: Any = None
    error: BaseException | None = None
    context: Context | None = None


E = TypeVar("E", bound=HookEvent)
Callback = Callable[[Any], Any]


class HookRegistry:
    """The callbacks of a run, by the event they are for, in the order they were added."""

    def __init__(self, providers: Sequence[HookProvider] = ()) -> None:
        self._callbacks: dict[type[HookEvent], list[Callback]] = {}
        for provider in providers:
            self.add_hook(provider)

    def add_hook(self, provider: HookProvider) -> None:
        """Let a provider register its callbacks; it may take `**kwargs` or not."""
        if not callable(getattr(provider, "register_hooks", None)):
            what = "neither a checkpointer nor an object with register_hooks(registry)"
            raise DefinitionError(f"hook {provider!r} is {what}")
        provider.register_hooks(self)

    def add_callback(self, event: type[HookEvent], callback: Callback) -> None:
        """Call `callback(event)`, plain or async, at each event of this class."""
        self._callbacks.setdefault(event, []).append(callback)

    def followed_by(self, other: HookRegistry) -> HookRegistry:
        """The callbacks of both, those of `other` after these."""
        both = HookRegistry()
        for registry in (self, other):
            for event, callbacks in registry._callbacks.items():
                both._callbacks.setdefault(event, []).extend(callbacks)
        return both

    def callbacks(self) -> list[Callback]:
        """All callbacks, event by event."""
        return [callback for callbacks in self._callbacks.values() for callback in callbacks]

    def of(self, event: type[HookEvent]) -> list[Callback]:
        """The callbacks for this event."""
        return list(self._callbacks.get(event, ()))

    def wants(self, event: type[HookEvent]) -> bool:
        """Whether anything is registered for this event."""
        return bool(self.of(event))

    async def fire(self, event: E, task: Context, prefix: str = "") -> E:
        """Call all callbacks, also after one has asked (H14); then raise the first error, or else the first pause.

        A cancelled event drops the questions that its callbacks raised.
        """
        if event.scope is None:
            event.scope = Scope(task, f"{prefix}{event.kind}/")
        pauses: list[GraphInterrupt] = []
        errors: list[Exception] = []
        for callback in self.of(type(event)):
            await self._call(callback, event, pauses, errors)
        if event.cancelled:
            for pause in pauses:
                task.raised.pop(pause.interrupt.id, None)
            pauses = []
        for raised in (*errors, *pauses):
            raise raised
        return event

    @staticmethod
    async def _call(
        callback: Callback, event: HookEvent, pauses: list[GraphInterrupt], errors: list[Exception]
    ) -> None:
        assert event.scope is not None
        try:
            with entered(event.scope):
                result = callback(event)
                if inspect.isawaitable(result):
                    await result
        except GraphInterrupt as pause:
            pauses.append(pause)
        except Exception as error:  # noqa: BLE001 - the other hooks are called first, then it is raised
            errors.append(error)
