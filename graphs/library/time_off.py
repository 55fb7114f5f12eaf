"""Time off: one day is granted at once, more goes to a manager, whose form becomes the answer."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import Any, Literal

from pydantic import BaseModel, Field

from graphs.engine.context import Context
from graphs.engine.graph import Graph
from graphs.engine.outputs import Event, RequestInput

#: Up to this many days nobody is asked.
FREE_DAYS = 1


class TimeOffRequest(BaseModel):
    """What an employee fills in."""

    employee: str = Field(title="Who", min_length=1, max_length=100)
    first_day: date = Field(title="First day")
    days: int = Field(title="Working days", ge=1, le=60)
    kind: Literal["vacation", "parental", "unpaid", "other"] = Field("vacation", title="Kind")
    note: str = Field("", title="Note", max_length=2000)


class TimeOffDecision(BaseModel):
    """What the manager's form asks for."""

    approved: bool = Field(title="Grant it")
    granted_days: int | None = Field(None, title="Days granted", description="Empty grants all of them.", ge=0, le=60)
    cover: str = Field("", title="Who covers", max_length=100)


def manager(request: TimeOffRequest, ctx: Context) -> Iterator[Event | RequestInput]:
    """Run again on the answer, which then stands in `ctx.resume_inputs` under the question's id."""
    if request.days <= FREE_DAYS:
        yield Event(output={**request.model_dump(mode="json"), "approved": True, "granted_days": request.days})
        return
    answer = ctx.resume_inputs.get("manager_approval")
    if answer is None:
        yield RequestInput(
            interrupt_id="manager_approval",
            message=f"Grant {request.employee} {request.days} days off from {request.first_day.isoformat()}",
            payload=request,
            response_schema=TimeOffDecision,
        )
        return
    yield Event(output={**request.model_dump(mode="json"), **answer})


def book(decision: dict[str, Any]) -> dict[str, Any]:
    """Turn the verdict into what the employee reads."""
    granted = decision.get("granted_days")
    days = (decision["days"] if granted is None else granted) if decision["approved"] else 0
    return {
        "employee": decision["employee"],
        "from": decision["first_day"],
        "granted_days": days,
        "cover": decision.get("cover", ""),
    }


app = (
    Graph.new(
        "time_off",
        title="Request time off",
        description="A single day is granted at once; a manager decides on more, with a form.",
        input_schema=TimeOffRequest,
        queue="people",
    )
    .node("manager", manager, rerun_on_resume=True, label="Ask the manager")
    .node("book", book, label="Book the days")
    .edge("manager", "book")
    .entry("manager")
    .terminal("book")
    .compile()
)
