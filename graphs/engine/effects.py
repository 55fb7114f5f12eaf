"""Side effects that happen once: settled in the journal when they finish, returned from it when the task re-fires."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, TypeVar

from graphs.engine import answers, asking, canonical, failpoints
from graphs.engine.errors import PayloadError
from graphs.engine.interrupts import GraphInterrupt
from graphs.engine.ports import JournalEntry, Json
from graphs.engine.scopes import Scope, current_scope, entered

IDEMPOTENT, PURE, AT_MOST_ONCE = "idempotent", "pure", "at_most_once"
MODES = frozenset({IDEMPOTENT, PURE, AT_MOST_ONCE})
#: How the journal marks an effect that a fork runs again without asking.
HARMLESS = "harmless"

T = TypeVar("T")
#: In a rehearsal: gives what stands for an effect, as a function of nothing, or None to let it run (rehearsal.py).
stand_in: ContextVar[Callable[[Effect], Callable[[], Any] | None] | None] = ContextVar("sayso_stand_in", default=None)


def once(key: str, fn: Callable[..., Any], *args: Any, mode: str = IDEMPOTENT, **kwargs: Any) -> Any:
    """Run `fn(*args, **kwargs)` once in the life of this task, and return its stored JSON result on every later pass.

    For synchronous nodes and tools; an async one uses `aonce`. `mode` says what a crash in the middle means:
    `idempotent` (it runs again under the same `ctx.idempotency_key`), `pure` (likewise), `at_most_once` (a person is
    asked whether it happened). Raises `PayloadError` where the result is not JSON; RuntimeError outside a run.
    """
    scope = current_scope("once")
    if threading.get_ident() == scope.task.loop_thread:
        raise RuntimeError("once() would block the event loop here; in an async node use `await aonce(...)`")
    _check_function(key, fn)
    if inspect.iscoroutinefunction(fn):
        raise TypeError(f"once({key!r}) was given a coroutine function; in an async node use `await aonce(...)`")
    effect = Effect(scope, key, mode)
    if effect.found():
        return effect.value()
    for entry in effect.beginning():
        scope.task.record_from_thread(entry)
    if effect.found():
        return effect.value()
    failpoints.reach("before_effect")
    try:
        with entered(effect.inner):
            result = _performed(effect, lambda: fn(*args, **kwargs))()
    except GraphInterrupt:
        for entry in effect.paused():
            scope.task.record_from_thread(entry)
        raise
    failpoints.reach("after_effect")
    scope.task.record_from_thread(effect.finished(result))
    failpoints.reach("after_record_effect")
    return effect.value()


async def aonce(key: str, fn: Callable[..., Any], *args: Any, mode: str = IDEMPOTENT, **kwargs: Any) -> Any:
    """`once` for async nodes; `fn` may be a coroutine function or a plain one (which runs in a thread)."""
    scope = current_scope("aonce")
    _check_function(key, fn)
    return await settle(scope, key, lambda: _call(fn, args, kwargs), mode)


async def settle(
    scope: Scope,
    key: str,
    run: Callable[[], Any],
    mode: str = IDEMPOTENT,
    ordinal: int | None = None,
    *,
    harmless: bool = False,
) -> Json:
    """The journaled result of the awaitable `run()` at the scope's next place under `key` (or at `ordinal`).

    `harmless` is for what changes nothing outside and depends on all that came before it, such as a model call, or only
    wraps effects of its own: a fork runs it again without asking.
    """
    effect = Effect(scope, key, mode, ordinal, harmless=harmless)
    if effect.found():
        return effect.value()
    for entry in effect.beginning():
        await scope.task.record(entry)
    if effect.found():
        return effect.value()
    failpoints.reach("before_effect")
    try:
        with entered(effect.inner):
            stood = _performed(effect, None)
            result = await run() if stood is None else stood()
    except GraphInterrupt:
        for entry in effect.paused():
            await scope.task.record(entry)
        raise
    failpoints.reach("after_effect")
    await scope.task.record(effect.finished(result))
    failpoints.reach("after_record_effect")
    return effect.value()


def _performed(effect: Effect, run: T) -> Callable[[], Any] | T:
    stands = stand_in.get()
    found = None if stands is None else stands(effect)
    return run if found is None else found


def _check_function(key: str, fn: Any) -> None:
    if not callable(fn):
        raise TypeError(f"once({key!r}, {fn!r}): give the function itself, not what it returns: once(key, fn, *args)")


async def _call(fn: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    if inspect.iscoroutinefunction(fn):
        return await fn(*args, **kwargs)
    result = await current_scope("aonce").task.services.pool.run(lambda: fn(*args, **kwargs))
    return await result if inspect.isawaitable(result) else result


class Effect:
    """One effect at one place of a task's journal, and what its mode makes of a beginning without an end."""

    def __init__(
        self, scope: Scope, key: str, mode: str, ordinal: int | None = None, *, harmless: bool = False
    ) -> None:
        if mode not in MODES:
            raise ValueError(f"mode {mode!r} is none of {', '.join(sorted(MODES))}")
        if not isinstance(key, str) or not key or len(key) > canonical.MAX_KEY:
            raise PayloadError(f"an effect's key is text of 1 to {canonical.MAX_KEY} characters", "key")
        self.scope = scope
        self.mode = mode
        self.harmless = harmless
        #: Whether a node or tool asked for it by `once` or `aonce`; the engine's own stand at places that it names.
        self.named = ordinal is None
        self.key, self.ordinal = scope.place(key) if ordinal is None else (f"{scope.prefix}{key}", ordinal)
        self.inner = Scope(scope.task, f"{self.key}.{self.ordinal}/", f"{self.key}/{self.ordinal}", scope.call)
        self._entry = scope.task.journal.effect(self.key, self.ordinal)
        # What took place in the parent of a fork stands here until this thread has an entry of its own.
        self._inherited = None if harmless or self._entry else scope.task.journal.inherited(self.key, self.ordinal)

    def found(self) -> bool:
        """Whether the journal holds the result."""
        return self._entry is not None and self._entry.state == "done"

    def value(self) -> Any:
        """A private copy of the stored result."""
        return None if self._entry is None else canonical.copy(self._entry.value)

    def beginning(self) -> list[JournalEntry]:
        """What to record before it runs. Asks a person first where an earlier beginning has no end (F9), and in a fork
        where it took place in the thread that this one was forked from (E25)."""
        if self._inherited is not None and self._takes(self._inherited):
            return [self._known(self._inherited.value["result"])]
        if self.mode != AT_MOST_ONCE:
            return []
        begun = 0
        if self._entry is not None and self._entry.state == "started":
            begun = int(self._entry.value)
            verdict = self._ask_whether_it_happened(begun)
            if verdict.get("happened"):
                return [self._known(verdict.get("result"))]
        return [JournalEntry(self.key, self.ordinal, "started", begun + 1, self.mode)]

    def paused(self) -> list[JournalEntry]:
        """A pause inside an effect is no end of it, and no doubt about it either: it begins anew when answered."""
        return [JournalEntry(self.key, self.ordinal, "paused", None, self.mode)] if self.mode == AT_MOST_ONCE else []

    def finished(self, result: Any) -> JournalEntry:
        """The entry that settles it; `PayloadError` where the result is not JSON."""
        mode = HARMLESS if self.harmless else self.mode
        self._entry = JournalEntry(self.key, self.ordinal, "done", self._encoded(result), mode)
        return self._entry

    def _encoded(self, result: Any) -> Json:
        try:
            return canonical.encode(result, self.key)
        except PayloadError as error:
            if not self.named:
                raise
            who = f"once({self.key.rpartition('/')[2]!r}) of node {self.scope.task.node_id!r}"
            raise PayloadError(f"{who} got a result that cannot be stored: {error.reason}", error.path) from None

    def _known(self, result: Json) -> JournalEntry:
        self._entry = JournalEntry(self.key, self.ordinal, "done", result, self.mode)
        return self._entry

    def _takes(self, inherited: JournalEntry) -> bool:
        """Whether the parent's result stands: always for a pure effect, else by a person's word."""
        if self.mode == PURE and inherited.value["done"]:
            return True
        told = "took place" if inherited.value["done"] else "was cut off while it ran"
        draft = asking.build(
            self.scope,
            "effect",
            # Without the node's name, so that the answer still fits where a migration has renamed the node.
            f"{self._named()} {told} in the thread that this one was forked from. Take its result, or do it again?",
            payload={"effect": self.key, "result": inherited.value["result"], "forked_from": inherited.value["thread"]},
            schema=asking.INHERITED_SCHEMA,
            reason="effect_in_parent",
        )
        verdict = answers.delivered(self.scope.task.pose(draft, f"inherited:{self.key}.{self.ordinal}", 0))
        return bool(verdict["do"] == asking.TAKE)

    def _named(self) -> str:
        """The effect as its question names it: a node may have several of one key."""
        return f"“{self.key}” number {self.ordinal + 1}" if self.ordinal else f"“{self.key}”"

    def _ask_whether_it_happened(self, begun: int) -> dict[str, Any]:
        draft = asking.build(
            self.scope,
            "effect",
            f"{self._named()} of {self.scope.task.node_id} was cut off while it ran. Did it happen?",
            payload={"effect": self.key, "idempotency_key": self.scope.task.idempotency_key, "begun": begun},
            schema=asking.EFFECT_SCHEMA,
            reason="effect_in_doubt",
        )
        key = f"effect:{self.key}.{self.ordinal}"
        verdict: dict[str, Any] = answers.delivered(self.scope.task.pose(draft, key, begun))
        return verdict
