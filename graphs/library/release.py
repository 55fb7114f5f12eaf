"""Release: notes are drafted, reviewed and revised until they please, then the roll-out stops for a last look."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

from graphs.engine.asking import ask
from graphs.engine.context import Context
from graphs.engine.graph import Graph
from graphs.engine.outputs import Event

#: What a reviewer of the notes fills in; `feedback` is read by the next draft.
REVIEW = {
    "type": "object",
    "properties": {"feedback": {"type": "string", "title": "What to change", "maxLength": 2000, "format": "textarea"}},
}


class Release(BaseModel):
    """What is to be released."""

    version: str = Field(title="Version", pattern=r"^\d+\.\d+\.\d+$", examples=["2.4.0"])
    changes: list[str] = Field(title="Changes, one a line", min_length=1, max_length=50)


def draft(release: Release) -> dict[str, Any]:
    """Write the first notes."""
    lines = "\n".join(f"- {change}" for change in release.changes)
    return {"version": release.version, "notes": f"Release {release.version}\n\n{lines}", "round": 1}


def review(notes: dict[str, Any]) -> Event:
    """Each pass through the loop is a new visit with a question of its own."""
    decision = ask(
        f"Publish the notes of {notes['version']}, draft {notes['round']}",
        payload=notes,
        schema=REVIEW,
        reason="Release notes are read by a person before they go out",
        queue="releases",
    )
    if decision.approved:
        return Event(output=notes, route="approved")
    wish = (decision.value or {}).get("feedback") or decision.comment
    return Event(output={**notes, "feedback": wish}, route="rejected")


def revise(notes: dict[str, Any]) -> dict[str, Any]:
    """Write the next draft from what the reviewer wished for."""
    wish = notes.get("feedback") or "Please say more."
    text = f"{notes['notes']}\n\nRevised after review: {wish}"
    return {"version": notes["version"], "notes": text, "round": notes["round"] + 1}


def roll_out(notes: dict[str, Any], ctx: Context) -> dict[str, Any]:
    """Runs only after the pause before it was continued; a crash in the middle asks a person instead of guessing."""
    tag = ctx.once("tag", lambda: f"v{notes['version']}", mode="at_most_once")
    return {"released": tag, "drafts": notes["round"], "notes": notes["notes"]}


app = (
    Graph.new(
        "release",
        title="Release a version",
        description="Drafts release notes, revises them until a reviewer agrees, and stops again before rolling out.",
        input_schema=Release,
        queue="releases",
    )
    .node("draft", draft, label="Draft the notes")
    .node("review", review, label="Ask for a review")
    .node("revise", revise, label="Revise")
    .node("roll_out", roll_out, label="Roll out")
    .edge("draft", "review")
    .edge("review", "revise", when="rejected")
    .edge("review", "roll_out", when="approved")
    .edge("revise", "review")
    .entry("draft")
    .terminal("roll_out")
    .compile(interrupt_before=["roll_out"])
)
