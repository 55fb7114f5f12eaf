"""What a thread has used of its budgets, kept in its cells so that neither a crash nor a slice resets it (G36)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

from graphs.engine.cells import Draft
from graphs.engine.errors import BudgetExceeded
from graphs.engine.graph import Budgets
from graphs.engine.ports import Cells, TaskResult

CELL = "counters"
_OVER = "over"


def count(draft: Draft, budgets: Budgets, results: Sequence[TaskResult], seconds: float) -> None:
    """Add one superstep and what its results used. Seconds and lifetimes are kept where a budget asks for them."""
    counters = dict(draft.cells.get(CELL, {}))
    used = {"supersteps": 1, "tokens": sum(result.usage.get("tokens", 0) for result in results)}
    if budgets.seconds is not None or budgets.lifetime_seconds is not None:
        counters["seconds"] = round(counters.get("seconds", 0) + seconds, 6)
        used["seconds"] = 0
    for kind, more in used.items():
        if more:
            counters[kind] = counters.get(kind, 0) + more
        if getattr(budgets, f"lifetime_{kind}") is not None:
            counters[f"lifetime_{kind}"] = counters.get(f"lifetime_{kind}", 0) + (more or 0)
    if budgets.lifetime_seconds is not None:
        counters["lifetime_seconds"] = round(counters["lifetime_seconds"] + seconds, 6)
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
            draft.put(CELL, {**counters, _OVER: True})
            return BudgetExceeded(f"the budget of {allowed} {one.name.replace('_', ' ')} is used up")
    return None


def was_exceeded(cells: Cells) -> bool:
    """Whether the thread failed by its budgets."""
    return bool(cells.get(CELL, {}).get(_OVER))
