"""What a thread has used of its budgets, kept in its cells so that neither a crash nor a slice resets it (G36)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from graphs.engine.cells import Draft
from graphs.engine.errors import BudgetExceeded, PayloadError
from graphs.engine.ports import Cells, Json, TaskResult

if TYPE_CHECKING:
    from graphs.engine.graph import Budgets

CELL = "counters"
_OVER = "over"


def counted(usage: Mapping[str, Any]) -> dict[str, int]:
    """What was used, where budgets can count it. Raises `PayloadError`."""
    for name, used in usage.items():
        if isinstance(used, bool) or not isinstance(used, int) or used < 0:
            raise PayloadError(f"{used!r} where a whole number from 0 up says what was used", f"usage/{name}")
    return dict(usage)


def count(draft: Draft, budgets: Budgets, results: Sequence[TaskResult], seconds: float) -> dict[str, Json]:
    """Add one superstep and what its results used. Returns what was added, for the log."""
    used = used_by(budgets, results, seconds)
    add(draft, used)
    return used


def used_by(budgets: Budgets, results: Sequence[TaskResult], seconds: float) -> dict[str, Json]:
    """What one superstep used. Seconds and lifetimes are counted where a budget asks for them."""
    used: dict[str, Json] = {"supersteps": 1}
    if tokens := sum(result.usage.get("tokens", 0) for result in results):
        used["tokens"] = tokens
    if budgets.seconds is not None or budgets.lifetime_seconds is not None:
        used["seconds"] = round(seconds, 6)
    for kind in ("supersteps", "tokens", "seconds"):
        if getattr(budgets, f"lifetime_{kind}") is not None:
            used[f"lifetime_{kind}"] = used.get(kind, 0)
    return used


def add(draft: Draft, used: Mapping[str, Json]) -> None:
    """Add to the counters."""
    counters = dict(draft.cells.get(CELL, {}))
    for kind, more in used.items():
        total = counters.get(kind, 0) + more
        counters[kind] = round(total, 6) if isinstance(total, float) else total
    draft.put(CELL, counters)


def renew(draft: Draft) -> None:
    """Begin an activation: only what counts over the thread's life stays."""
    kept = {name: used for name, used in draft.cells.get(CELL, {}).items() if name.startswith("lifetime_")}
    draft.put(CELL, kept)


def exceeded(draft: Draft, budgets: Budgets) -> BudgetExceeded | None:
    """Which budget is used up, if one is; the cells then say so, and a retry begins an activation."""
    counters = draft.cells.get(CELL, {})
    for one in fields(budgets):
        allowed = getattr(budgets, one.name)
        if allowed is not None and counters.get(one.name, 0) >= allowed:
            end(draft)
            return BudgetExceeded(f"the budget of {allowed} {one.name.replace('_', ' ')} is used up")
    return None


def end(draft: Draft) -> None:
    """Note in the cells that a budget is used up."""
    draft.put(CELL, {**draft.cells.get(CELL, {}), _OVER: True})


def was_exceeded(cells: Cells) -> bool:
    """Whether the thread failed by its budgets."""
    return bool(cells.get(CELL, {}).get(_OVER))
